//! The report of `papertape check` as text: the verdict, the findings with their evidence, and what was checked.

use papertape::wire::tape::escaped;
use papertape_check::{CheckedServer, Evidence, Finding, Report, ServerSummary, Severity};

use super::text::{counted, hanging, one_line};
use super::{Look, style};

/// How many findings of the same code in a row are shown.
const SAME_CODE: usize = 8;

/// How many lines of evidence are shown.
const EVIDENCE_LINES: usize = 12;

/// How many bytes are shown in hexadecimal.
const HEX_BYTES: usize = 96;

/// How many names of hosts the verdict has.
const HOSTS: usize = 3;

/// The report as text.
pub(crate) fn as_text(report: &Report, server: &CheckedServer, look: Look) -> String {
    let mut text = verdict(report, server, look);
    for findings in report.findings.chunk_by(is_same_kind) {
        text.push('\n');
        for finding in findings.iter().take(SAME_CODE) {
            text += &head(finding, look);
            text += &finding.evidence.iter().map(|evidence| proof(evidence, look)).collect::<String>();
        }
        if let Some(more) = findings.len().checked_sub(SAME_CODE).filter(|more| *more > 0) {
            let more = format!("  ... and {}; --output json has all", counted(more, "more finding"));
            text += &format!("{}\n", look.paint(style::DIM, &more));
        }
        // What they have in common, once.
        if let Some(finding) = findings.first() {
            text += &advice(finding, look);
        }
    }
    text.push('\n');
    text + &summary(&report.server, look) + &steps(report, look)
}

/// Findings that differ only in what they are about.
fn is_same_kind(one: &Finding, other: &Finding) -> bool {
    let kind =
        |finding: &Finding| (finding.code, finding.severity, finding.remedy.clone(), finding.affects.clone());
    kind(one) == kind(other)
}

/// `unhealthy: Go SDK, Java SDK and 2 more break on python3 server.py (1 error, 3 warnings)`.
fn verdict(report: &Report, server: &CheckedServer, look: Look) -> String {
    let kinds = [(Severity::Breaks, "error"), (Severity::Warning, "warning"), (Severity::Note, "note")];
    let kinds = kinds.map(|(severity, noun)| (report.count(severity), noun)).into_iter();
    let counts: Vec<String> =
        kinds.filter(|(count, _)| *count > 0).map(|(count, noun)| counted(count, noun)).collect();
    let counts = if counts.is_empty() { "no findings".to_owned() } else { counts.join(", ") };
    let (word, word_style) =
        if report.breaks() { ("unhealthy", style::WRONG) } else { ("healthy", style::SUBJECT) };
    let line = format!("{word}: {}{} ({counts})", broken(report), one_line(&server.name));
    hanging(&line, look.width).replacen(word, &look.paint(word_style, word), 1)
}

/// `Go SDK, Java SDK and 2 more break on `, or nothing.
fn broken(report: &Report) -> String {
    let mut hosts: Vec<&str> = Vec::new();
    for finding in report.findings.iter().filter(|finding| finding.severity == Severity::Breaks) {
        let names = finding.affects.iter().map(|affected| affected.name.as_str());
        hosts.extend(names.filter(|name| !hosts.contains(name)).collect::<Vec<_>>());
    }
    match hosts.as_slice() {
        [] => String::new(),
        [only] => format!("{only} breaks on "),
        [all @ .., last] if all.len() < HOSTS => format!("{} and {last} break on ", all.join(", ")),
        [one, other, third, more @ ..] => {
            format!("{one}, {other}, {third} and {} more break on ", more.len())
        }
        // There are no other numbers.
        _ => String::new(),
    }
}

/// `error PT0101  sentence`.
fn head(finding: &Finding, look: Look) -> String {
    let severity = finding.severity.as_str();
    let code = finding.code.name();
    let line = hanging(&format!("{severity} {code}  {}", one_line(&finding.sentence())), look.width);
    let severity_style = match finding.severity {
        Severity::Breaks => style::WRONG,
        Severity::Warning => style::REQUIRED,
        Severity::Note => style::DIM,
    };
    line.replacen(severity, &look.paint(severity_style, severity), 1).replacen(
        code,
        &look.paint(style::STRONG, code),
        1,
    )
}

/// Where the bytes were, and the bytes; or a fact.
fn proof(evidence: &Evidence, look: Look) -> String {
    let Evidence::Bytes { offset, bytes, hex, .. } = evidence else {
        return hanging(&format!("  {}", one_line(&evidence.text())), look.width);
    };
    let place = evidence.place().unwrap_or_default();
    let mut text = format!("  {}\n", look.paint(style::DIM, &place));
    let bar = look.paint(style::DIM, "|");
    let mut lines = Vec::new();
    for line in bytes.strip_suffix(b"\n").unwrap_or(bytes).split(|byte| *byte == b'\n') {
        lines.extend(cut(&escaped(line), look.width.saturating_sub(4)));
    }
    for line in lines.iter().take(EVIDENCE_LINES) {
        text += &format!("  {bar} {line}\n");
    }
    if lines.len() > EVIDENCE_LINES || evidence.missing() > 0 {
        text += &format!("  {bar} {}\n", look.paint(style::DIM, "..."));
    }
    if *hex {
        text += &dump(*offset, bytes, look);
    }
    text
}

/// A line in parts that fit.
fn cut(line: &str, width: usize) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut used = 0;
    for c in line.chars() {
        let columns = unicode_width::UnicodeWidthChar::width(c).unwrap_or_default();
        if used + columns > width {
            parts.push(String::new());
            used = 0;
        }
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
        used += columns;
    }
    parts
}

/// `  00000010  53 74 61 72  |Star|`.
fn dump(offset: u64, bytes: &[u8], look: Look) -> String {
    let per_line: u64 = if look.width < 80 { 8 } else { 16 };
    let columns = if per_line == 8 { 24 } else { 48 };
    let shown = bytes.get(..HEX_BYTES).unwrap_or(bytes);
    let mut text = String::new();
    let mut at = offset;
    for line in shown.chunks(if per_line == 8 { 8 } else { 16 }) {
        let hex: String = line.iter().map(|byte| format!("{byte:02x} ")).collect();
        let visible = |byte: &u8| if matches!(byte, b' '..=b'~') { char::from(*byte) } else { '.' };
        let visible: String = line.iter().map(visible).collect();
        let place = look.paint(style::DIM, &format!("{at:08x}"));
        text += &format!("  {place}  {hex:columns$} |{visible}|\n");
        at = at.saturating_add(per_line);
    }
    if shown.len() < bytes.len() {
        let more = format!("  ... and {}", counted(bytes.len() - shown.len(), "more byte"));
        text += &format!("{}\n", look.paint(style::DIM, &more));
    }
    text
}

/// What to do, and who breaks.
fn advice(finding: &Finding, look: Look) -> String {
    let mut text = String::new();
    if !finding.remedy.is_empty() {
        text += &labelled("  what to do:", &finding.remedy, look);
    }
    let label = format!("  {}:", finding.affects_label());
    for affected in &finding.affects {
        text += &labelled(&label, &affected.sentence(), look);
    }
    text
}

/// `label text`, wrapped.
pub(super) fn labelled(label: &str, text: &str, look: Look) -> String {
    let lines = hanging(&format!("{label} {}", one_line(text)), look.width);
    let label = label.trim_start();
    lines.replacen(label, &look.paint(style::HEADING, label), 1)
}

/// What the server is and has.
fn summary(server: &ServerSummary, look: Look) -> String {
    let name = server.name.as_deref().unwrap_or("(it has not said its name)");
    let mut facts = vec![match &server.version {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    }];
    facts.push(match server.revisions.as_slice() {
        [] => "it could not be opened".to_owned(),
        revisions => format!("opens in {}", revisions.join(", ")),
    });
    if let Some(time) = server.first_response {
        facts.push(format!("first response after {:.3} s", time.as_secs_f64()));
    }
    let lists = [
        (server.tools, "tool"),
        (server.resources, "resource"),
        (server.templates, "resource template"),
        (server.prompts, "prompt"),
    ];
    let lists: Vec<String> =
        lists.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| counted(count, noun)).collect();
    let mut text = labelled("server:", &facts.join("; "), look);
    if !lists.is_empty() {
        let size = format!("{} ({})", lists.join(", "), counted(server.list_bytes, "byte"));
        text += &labelled("lists:", &size, look);
    }
    text
}

/// What was tried and what was not, and how to read more.
fn steps(report: &Report, look: Look) -> String {
    let mut text = String::new();
    if !report.steps.is_empty() {
        text += &labelled("tried:", &report.steps.join("; "), look);
    }
    for skipped in &report.skipped {
        text += &labelled("not tried:", skipped, look);
    }
    if let Some(finding) = report.findings.first() {
        let explain = format!("papertape check --explain {}", finding.code);
        text += &labelled("more:", &explain, look);
    }
    text
}

#[cfg(test)]
mod tests {
    use papertape_check::{Evidence, Stream};

    use super::{cut, dump, proof};
    use crate::print::Look;

    const LOOK: Look = Look { colour: false, width: 40, terminal: true };

    #[test]
    fn bytes_are_shown_line_by_line_and_in_hexadecimal() {
        let evidence = Evidence::Bytes {
            stream: Stream::Stdout,
            offset: 255,
            bytes: b"{\n  \"a\":\x1b1}\r\n".to_vec(),
            length: 13,
            time: None,
            hex: true,
        };
        assert_eq!(
            proof(&evidence, LOOK),
            "  stdout, byte 255, 13 bytes\n  | {\n  |   \"a\":⟦1b⟧1}⟦0d⟧\n  \
             000000ff  7b 0a 20 20 22 61 22 3a  |{.  \"a\":|\n  \
             00000107  1b 31 7d 0d 0a           |.1}..|\n"
        );
    }

    #[test]
    fn long_evidence_is_cut() {
        assert_eq!(cut("abcde日本", 4), ["abcd", "e日", "本"]);
        assert_eq!(cut("", 4), [""]);
        let evidence = Evidence::Bytes {
            stream: Stream::Stderr,
            offset: 0,
            bytes: b"x\n".repeat(100),
            length: 1_000,
            time: None,
            hex: false,
        };
        let text = proof(&evidence, LOOK);
        assert_eq!((text.matches("| x\n").count(), text.ends_with("  | ...\n")), (12, true), "{text}");
        assert!(dump(0, &[0; 100], LOOK).ends_with("  ... and 4 more bytes\n"));
    }
}
