//! Checks over real sockets: of healthy servers, and of servers with one fault each.

mod authorization;
mod calls;
mod connection;
mod endpoint;
mod healthy;
mod responses;
mod security;
mod server;
mod session;

use std::time::Duration;

use crate::evidence::Evidence;
use crate::finding::{Finding, Severity};
use crate::options::Options;
use crate::report::Report;
use server::{Ask, Reply, Server};

/// Checks a server that answers as the closure says, and as a healthy one where that has no answer.
async fn check(fault: impl Fn(&Ask) -> Option<Reply> + Send + Sync + 'static) -> Report {
    let server = Server::start(fault).await;
    check_url(&server.url("/mcp"), &[]).await
}

async fn check_url(url: &str, headers: &[(&str, &str)]) -> Report {
    let headers: Vec<(String, String)> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    super::check_http(url, &headers, &Options::default().timeout(Duration::from_secs(30))).await
}

/// The only finding with a code.
fn only<'a>(report: &'a Report, code: &str) -> &'a Finding {
    let found: Vec<&Finding> = report.findings.iter().filter(|finding| finding.code.name() == code).collect();
    assert_eq!(found.len(), 1, "{code} in {:#?}", report.findings);
    found[0]
}

/// Asserts that a fault has this finding, and no other above a note.
fn is_only(report: &Report, code: &str, severity: Severity, says: &str) {
    let finding = only(report, code);
    assert_eq!(finding.severity, severity, "{finding:#?}");
    assert!(finding.message.contains(says), "{finding:#?}");
    assert!(!finding.remedy.is_empty() && !finding.evidence.is_empty(), "{finding:#?}");
    let others: Vec<&Finding> = report
        .findings
        .iter()
        .filter(|other| other.code != finding.code && other.severity != Severity::Note)
        .collect();
    assert!(others.is_empty(), "{others:#?}");
}

/// All evidence as text.
fn evidence(finding: &Finding) -> String {
    finding.evidence.iter().map(Evidence::text).collect::<Vec<_>>().join("\n")
}
