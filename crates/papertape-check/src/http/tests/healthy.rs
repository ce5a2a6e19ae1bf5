//! Healthy servers have no findings above a note.

use std::future::pending;

use papertape::http;
use tokio::net::TcpListener;

use super::{check, check_url};
use crate::finding::Severity;
use crate::report::Report;

pub(super) fn is_healthy(report: &Report) {
    let found: Vec<_> = report.findings.iter().filter(|finding| finding.severity != Severity::Note).collect();
    assert!(found.is_empty(), "{found:#?}");
    assert_eq!(report.exit_code(), 0);
}

pub(super) async fn serve(options: http::Options) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(http::serve_until(listener, papertape_servers::text::server(), options, pending()));
    format!("http://{address}")
}

#[tokio::test]
async fn a_server_of_papertape_is_healthy_in_all_revisions() {
    let url = serve(http::Options::new()).await;
    let report = check_url(&format!("{url}/mcp"), &[]).await;
    is_healthy(&report);
    assert_eq!(report.server.name.as_deref(), Some("papertape-text"));
    assert_eq!(report.server.revisions.len(), 5, "{:?}", report.steps);
    assert_eq!(report.server.tools, 2);
    assert!(report.steps.iter().any(|step| step == "called \"echo\", \"word_count\""), "{:?}", report.steps);
}

#[tokio::test]
async fn a_server_of_stateless_revisions_only_is_healthy() {
    let url = serve(http::Options::new().modern_only()).await;
    let report = check_url(&format!("{url}/mcp"), &[]).await;
    is_healthy(&report);
    assert_eq!(
        (report.server.revisions.as_slice(), report.server.tools),
        (&["2026-07-28".to_owned()][..], 2)
    );
}

#[tokio::test]
async fn the_server_that_other_tests_change_is_healthy() {
    let report = check(|_| None).await;
    is_healthy(&report);
    assert_eq!((report.server.revisions.len(), report.server.tools), (5, 1), "{:?}", report.steps);
}
