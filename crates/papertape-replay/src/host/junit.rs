//! A report as JUnit XML: a test case for each request.

use std::fmt::Write;
use std::time::Duration;

use papertape::wire::shown::{xml_attribute as attribute, xml_text as content};

use super::report::{Replayed, Report, Verdict};
use super::text::lines;

impl Report {
    /// The report for continuous integration. `suite` names it: the tape and the server.
    #[must_use]
    pub fn junit(&self, suite: &str) -> String {
        let mut cases = String::new();
        let mut counts = Counts::default();
        for replayed in &self.requests {
            cases += &case(replayed, &mut counts);
        }
        let mut problem = |name: &str, kind: &str, text: &str| {
            counts.tests += 1;
            counts.failures += 1;
            let (name, text) = (attribute(name), attribute(text));
            let _ = write!(
                cases,
                "    <testcase name=\"{name}\" classname=\"papertape.replay\">\n      \
                 <failure message=\"{text}\" type=\"{kind}\"/>\n    </testcase>\n"
            );
        };
        for other in &self.others {
            problem("requests of the server", "different", other);
        }
        for violation in &self.violations {
            problem("messages of the server", "violation", violation);
        }
        if let Some(failure) = &self.failure {
            problem("the server", "failure", &failure.cause);
        }
        let name = attribute(&format!("papertape replay {suite}"));
        let Counts { tests, failures, skipped, time } = counts;
        let counts = format!(
            "tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" time=\"{:.3}\"",
            time.as_secs_f64()
        );
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{name}\" {counts}>\n  \
             <testsuite name=\"{name}\" {counts}>\n{cases}  </testsuite>\n</testsuites>\n"
        )
    }
}

#[derive(Debug, Default)]
struct Counts {
    tests: usize,
    failures: usize,
    skipped: usize,
    time: Duration,
}

fn case(replayed: &Replayed, counts: &mut Counts) -> String {
    counts.tests += 1;
    let inner = match &replayed.verdict {
        Verdict::Same => String::new(),
        Verdict::Different(differences) => {
            counts.failures += 1;
            let places: Vec<&str> =
                differences.iter().map(|difference| difference.pointer.as_str()).collect();
            let message = attribute(&format!("the response differs at {}", places.join(", ")));
            let text: Vec<String> = differences.iter().flat_map(lines).map(|line| line.to_string()).collect();
            format!(
                "      <failure message=\"{message}\" type=\"different\">{}</failure>\n",
                content(&text.join("\n"))
            )
        }
        Verdict::NoResponse => {
            counts.failures += 1;
            "      <failure message=\"there was no response\" type=\"no-response\"/>\n".to_owned()
        }
        Verdict::NotSent => {
            counts.skipped += 1;
            "      <skipped message=\"the server had ended\"/>\n".to_owned()
        }
        Verdict::NotCompared => {
            counts.skipped += 1;
            "      <skipped message=\"the tape has no response to it\"/>\n".to_owned()
        }
    };
    let time = replayed.time.unwrap_or_default();
    counts.time += time;
    let name = attribute(&format!("{} {}", replayed.number, replayed.call));
    let time = time.as_secs_f64();
    let head = format!("    <testcase name=\"{name}\" classname=\"papertape.replay\" time=\"{time:.3}\"");
    if inner.is_empty() { format!("{head}/>\n") } else { format!("{head}>\n{inner}    </testcase>\n") }
}
