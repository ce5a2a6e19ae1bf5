//! A report as JUnit XML: a test suite for each group of codes, and in it a test case for each code.

use std::fmt::Write;

use papertape::wire::shown::{xml_attribute as attribute, xml_text as content};

use super::{CheckedServer, Report, text};
use crate::code::Code;
use crate::finding::{Finding, Severity};

/// The groups that need a server that can be opened.
const AFTER_OPENING: [&str; 3] = ["definitions", "portability", "behaviour"];

/// The groups that are about a process.
const OF_PROCESSES: [&str; 3] = ["stdout", "start", "shutdown"];

pub(super) fn document(report: &Report, server: &CheckedServer) -> String {
    let mut suites = String::new();
    let mut total = Counts::default();
    for (group, codes) in Code::groups() {
        let findings = |code: Code| report.findings.iter().filter(move |finding| finding.code == code);
        let applies = if server.http { !OF_PROCESSES.contains(&group) } else { group != "HTTP" };
        let reached = was_reached(report, group);
        let mut cases = String::new();
        let mut counts = Counts::default();
        for code in codes {
            let found: Vec<&Finding> = findings(*code).collect();
            if applies || !found.is_empty() {
                cases += &case(*code, &found, reached, &mut counts);
            }
        }
        if counts.tests > 0 {
            let name = attribute(&format!("papertape check: {group}"));
            suites += &format!("  <testsuite name=\"{name}\" {counts}>\n{cases}  </testsuite>\n");
        }
        total.add(counts);
    }
    let name = attribute(&format!("papertape check {}", server.name));
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{name}\" {total}>\n{suites}</testsuites>\n"
    )
}

/// Whether there was something that findings of a group are about. A server that could not be started has had no steps.
fn was_reached(report: &Report, group: &str) -> bool {
    let is_opened = !report.server.revisions.is_empty();
    let is_started = is_opened || !report.steps.is_empty();
    if AFTER_OPENING.contains(&group) { is_opened } else { is_started || group == "start" }
}

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    tests: usize,
    failures: usize,
    skipped: usize,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.tests += other.tests;
        self.failures += other.failures;
        self.skipped += other.skipped;
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Counts { tests, failures, skipped } = self;
        write!(f, "tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\"")
    }
}

/// A code: it fails if a host would break; warnings and notes are its output.
fn case(code: Code, found: &[&Finding], reached: bool, counts: &mut Counts) -> String {
    counts.tests += 1;
    let (breaks, others): (Vec<&Finding>, Vec<&Finding>) =
        found.iter().partition(|finding| finding.severity == Severity::Breaks);
    let mut inner = String::new();
    if let Some(first) = breaks.first() {
        counts.failures += 1;
        let more = if breaks.len() > 1 { format!(" (and {} more)", breaks.len() - 1) } else { String::new() };
        let message = attribute(&format!("{}{more}", first.sentence()));
        let _ = writeln!(
            inner,
            "      <failure message=\"{message}\" type=\"{code}\">{}</failure>",
            all(&breaks)
        );
    } else if !reached && found.is_empty() {
        counts.skipped += 1;
        inner += "      <skipped message=\"the server could not be opened\"/>\n";
    }
    if !others.is_empty() {
        let _ = writeln!(inner, "      <system-out>{}</system-out>", all(&others));
    }
    let name = attribute(&format!("{code} {}", code.title()));
    let class = attribute(&format!("papertape.check.{}", code.group()));
    let head = format!("    <testcase name=\"{name}\" classname=\"{class}\"");
    if inner.is_empty() { format!("{head}/>\n") } else { format!("{head}>\n{inner}    </testcase>\n") }
}

fn all(findings: &[&Finding]) -> String {
    let texts = findings.iter().map(|finding| format!("{}: {}", finding.severity, text::lines(finding)));
    content(&texts.collect::<Vec<_>>().join("\n\n"))
}

#[cfg(test)]
mod tests {
    use crate::report::Report;
    use crate::report::text::tests::{report, server};

    #[test]
    fn what_breaks_a_host_fails() {
        let xml = report().junit(&server());
        assert!(
            xml.contains("<testsuites name=\"papertape check python3 'my server.py'\" tests=\""),
            "{xml}"
        );
        assert!(xml.contains("failures=\"1\""), "{xml}");
        let case = "<testcase name=\"PT0101 Text on stdout that is not a message\" classname=\"papertape.check.stdout\">\n      \
            <failure message=\"it wrote a line to stdout that is not a message\" type=\"PT0101\">error: it wrote";
        assert!(xml.contains(case), "{xml}");
        assert!(xml.contains("⟦1b⟧[2J]]&gt;&quot;&lt;&amp;⟦0a ff e2 80 ae⟧"), "{xml}");
        assert!(xml.contains("<system-out>warning: tool &quot;a/⟦1b⟧⟦e2 80 ae⟧⟦ef bf bf⟧&quot;: "), "{xml}");
        assert!(!xml.contains("papertape check: HTTP") && !xml.contains("<skipped"), "{xml}");
    }

    #[test]
    fn codes_that_were_not_reached_are_skipped() {
        let skipped = |report: &Report, code: &str| {
            let xml = report.junit(&server());
            let (_, case) = xml.split_once(&format!("<testcase name=\"{code} ")).unwrap();
            case.split("<testcase")
                .next()
                .unwrap()
                .contains("<skipped message=\"the server could not be opened\"/>")
        };
        let mut report = Report::default();
        let codes = ["PT0101", "PT0201", "PT0401"];
        assert_eq!(codes.map(|code| skipped(&report, code)), [true, false, true]);
        report.steps.push("`initialize`: not answered".to_owned());
        assert_eq!(codes.map(|code| skipped(&report, code)), [false, false, true]);
        report.server.revisions.push("2025-11-25".to_owned());
        assert_eq!(codes.map(|code| skipped(&report, code)), [false, false, false]);
    }
}
