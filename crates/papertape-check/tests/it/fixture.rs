//! Servers with a fault, and what is looked at in their reports.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use papertape::stdio::ServerCommand;
use papertape_check::{Evidence, Finding, Options, Report, Severity, check_stdio};

/// For servers that answer: fires on failure only.
pub(crate) const PATIENT: Duration = Duration::from_secs(60);

/// For servers that do not.
pub(crate) const IMPATIENT: Duration = Duration::from_secs(4);

/// The faulty server in a mode.
pub(crate) fn faulty(arguments: &[&str]) -> ServerCommand {
    let test = env::current_exe().unwrap();
    let path: PathBuf = test.parent().and_then(Path::parent).unwrap().join("examples/faulty_server");
    assert!(path.is_file(), "{} has not been built: plain `cargo test` builds it", path.display());
    ServerCommand::new(path).args(arguments.iter().copied())
}

/// The small server in Python with a fault.
pub(crate) fn python(arguments: &[&str]) -> ServerCommand {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server.py");
    ServerCommand::new("/usr/bin/env").args(["python3"]).args([script]).args(arguments.iter().copied())
}

/// Checks a server.
pub(crate) async fn check(command: ServerCommand, wait: Duration) -> Report {
    check_stdio(&command, &Options::default().timeout(wait)).await
}

/// The only finding above a note, which has this code.
#[track_caller]
pub(crate) fn only<'a>(report: &'a Report, code: &str) -> &'a Finding {
    let above: Vec<&Finding> =
        report.findings.iter().filter(|finding| finding.severity != Severity::Note).collect();
    assert!(above.len() == 1 && above[0].code.name() == code, "{code} was expected, and there is {above:#?}");
    above[0]
}

/// The finding with a code, among others.
#[track_caller]
pub(crate) fn with_code<'a>(report: &'a Report, code: &str) -> &'a Finding {
    let found = report.findings.iter().find(|finding| finding.code.name() == code);
    found.unwrap_or_else(|| panic!("there is no {code}: {:#?}", report.findings))
}

/// The sentence of a finding has these words.
#[track_caller]
pub(crate) fn says(finding: &Finding, words: &str) {
    assert!(finding.message.contains(words), "{words:?} was expected in {finding:#?}");
}

/// The first bytes that prove a finding.
#[track_caller]
pub(crate) fn proof(finding: &Finding) -> (u64, &[u8]) {
    let bytes = finding.evidence.iter().find_map(|evidence| match evidence {
        Evidence::Bytes { offset, bytes, .. } => Some((*offset, bytes.as_slice())),
        Evidence::Fact(_) => None,
    });
    bytes.unwrap_or_else(|| panic!("no bytes: {finding:#?}"))
}

/// Tests of one server each: its command, how long it is waited for, and what is looked at.
macro_rules! servers {
    ($($name:ident: $command:expr, $wait:expr, |$report:ident| $look:block)*) => {
        $(#[tokio::test]
        async fn $name() {
            let report = Box::pin(check($command, $wait)).await;
            let $report = &report;
            $look
        })*
    };
}

/// A test of several servers at once, most of which are waited for.
macro_rules! servers_together {
    ($test:ident $($name:ident: $command:expr, $wait:expr, |$report:ident| $look:block)*) => {
        #[tokio::test]
        async fn $test() {
            let ($($name,)*) = tokio::join!($(Box::pin(check($command, $wait))),*);
            $({
                let $report = &$name;
                $look
            })*
        }
    };
}
