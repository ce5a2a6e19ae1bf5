//! A finding as plain text, which the formats for programs contain.

use std::fmt::Write;

use papertape::wire::shown;

use crate::evidence::Evidence;
use crate::finding::{Finding, Severity};
use crate::hosts::Affected;

/// How many bytes of evidence are shown in hexadecimal.
const IN_HEX: usize = 64;

impl Finding {
    /// The sentence that names the cause, and what it is about.
    #[must_use]
    pub fn sentence(&self) -> String {
        match &self.subject {
            Some(subject) if !self.message.contains(subject) => format!("{subject}: {}", self.message),
            _ => self.message.clone(),
        }
    }

    /// What the hosts, SDKs and model APIs of this finding do with it: they break, unless it is harmless.
    #[must_use]
    pub fn affects_label(&self) -> &'static str {
        if self.severity == Severity::Breaks { "breaks" } else { "affects" }
    }
}

impl Evidence {
    /// Where the bytes are: `stdout, byte 0, 18 bytes, after 0.031 s`. `None` for a fact.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        let Evidence::Bytes { stream, offset, length, time, .. } = self else { return None };
        let unit = if *length == 1 { "byte" } else { "bytes" };
        let time = time.map(|time| format!(", after {:.3} s", time.as_secs_f64())).unwrap_or_default();
        Some(format!("{}, byte {offset}, {length} {unit}{time}", stream.as_str()))
    }

    /// The bytes as text, with `⟦..⟧` around the hexadecimal form of what is not printable; or the fact, unchanged.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Evidence::Bytes { bytes, .. } => printable(bytes),
            Evidence::Fact(fact) => fact.clone(),
        }
    }

    /// How many bytes there were besides those that are kept.
    #[must_use]
    pub fn missing(&self) -> u64 {
        let Evidence::Bytes { bytes, length, .. } = self else { return 0 };
        length.saturating_sub(u64::try_from(bytes.len()).unwrap_or(u64::MAX))
    }
}

impl Affected {
    /// What it does, and how that is known.
    #[must_use]
    pub fn sentence(&self) -> String {
        let evidence = if self.evidence.is_empty() { String::new() } else { format!(" ({})", self.evidence) };
        format!("{}: {}{evidence}", self.name, self.effect)
    }
}

/// A finding with its evidence, what to do, and who breaks: a few lines.
pub(super) fn lines(finding: &Finding) -> String {
    let mut text = finding.sentence();
    for evidence in &finding.evidence {
        text.push('\n');
        if let Some(place) = evidence.place() {
            let _ = write!(text, "{place}: ");
        }
        text += &evidence.text();
        if evidence.missing() > 0 {
            let _ = write!(text, " ... and {} more bytes", evidence.missing());
        }
        if let Evidence::Bytes { bytes, hex: true, .. } = evidence {
            let _ = write!(text, "\nin hexadecimal: {}", hex(bytes.get(..IN_HEX).unwrap_or(bytes)));
        }
    }
    if !finding.remedy.is_empty() {
        let _ = write!(text, "\nwhat to do: {}", finding.remedy);
    }
    for affected in &finding.affects {
        let _ = write!(text, "\n{}: {}", finding.affects_label(), affected.sentence());
    }
    text
}

/// `53 74 61`.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// Bytes as on a tape.
fn printable(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut hidden = Vec::new();
    for chunk in bytes.utf8_chunks() {
        for (c, is_shown) in shown::characters(chunk.valid()) {
            if is_shown && c != '⟦' {
                flush(&mut text, &mut hidden);
                text.push(c);
            } else {
                hidden.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        hidden.extend_from_slice(chunk.invalid());
    }
    flush(&mut text, &mut hidden);
    text
}

fn flush(text: &mut String, hidden: &mut Vec<u8>) {
    if !hidden.is_empty() {
        let _ = write!(text, "⟦{}⟧", hex(hidden));
        hidden.clear();
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::lines;
    use crate::code::{portability, stdout};
    use crate::evidence::{Evidence, Stream};
    use crate::finding::{Finding, Severity};
    use crate::hosts;
    use crate::report::{CheckedServer, Report, ServerSummary};

    /// A report with everything in it, and text of a server that tries to break out of each format.
    pub(crate) fn report() -> Report {
        let evidence = Evidence::bytes(Stream::Stdout, 7, b"\x1b[2J]]>\"<&\n\xff\xe2\x80\xae");
        let findings = vec![
            Finding::new(portability::PT0501, "its name has characters that OpenAI refuses")
                .subject("tool \"a/\u{1b}\u{202e}\u{ffff}\"")
                .affects(hosts::affected("PT0101")),
            Finding::new(portability::PT0501, "harmless").severity(Severity::Note),
            Finding::new(stdout::PT0101, "it wrote a line to stdout that is not a message")
                .evidence(evidence.in_hex().at(Duration::from_millis(31)))
                .evidence(Evidence::fact("it exited with status 3"))
                .remedy("write logs to stderr")
                .affects(hosts::affected("PT0101")),
        ];
        let server = ServerSummary {
            name: Some("a\u{0}b".to_owned()),
            revisions: vec!["2025-11-25".to_owned()],
            tools: 3,
            list_bytes: 1_000,
            first_response: Some(Duration::from_millis(120)),
            ..ServerSummary::default()
        };
        let mut report = Report::new(findings, server);
        report.steps.push("opened in 2025-11-25".to_owned());
        report.skipped.push("called \"x\": it is not declared as read-only".to_owned());
        report
    }

    pub(crate) fn server() -> CheckedServer {
        CheckedServer { name: "python3 'my server.py'".into(), file: "my server.py".into(), http: false }
    }

    #[test]
    fn a_finding_has_its_evidence_and_what_to_do() {
        let report = report();
        let text = lines(&report.findings[0]);
        assert!(
            text.starts_with(
                "it wrote a line to stdout that is not a message\nstdout, byte 7, 15 bytes, after 0.031 s: \
                 ⟦1b⟧[2J]]>\"<&⟦0a ff e2 80 ae⟧\nin hexadecimal: 1b 5b 32"
            ),
            "{text}"
        );
        assert!(
            text.contains("\nit exited with status 3\nwhat to do: write logs to stderr\nbreaks: "),
            "{text}"
        );
        let warning = lines(&report.findings[1]);
        assert!(warning.starts_with("tool \"a/") && warning.contains("\naffects: "), "{warning}");
    }

    #[test]
    fn bytes_that_were_not_kept_are_counted() {
        let evidence = Evidence::bytes(Stream::Stderr, 0, &[b'a'; 1_000]);
        assert_eq!((evidence.missing(), evidence.text().len()), (488, 512));
        let finding = Finding::new(stdout::PT0101, "x").evidence(evidence);
        assert!(lines(&finding).ends_with(" ... and 488 more bytes"));
    }
}
