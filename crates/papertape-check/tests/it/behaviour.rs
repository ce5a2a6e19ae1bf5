//! Real servers with one fault each in opening or behaviour: each is found, and nothing else.

use std::path::Path;
use std::time::Duration;

use papertape::stdio::ServerCommand;
use papertape_check::{Finding, Options, Report, Severity, check_stdio};

use crate::fixture::{PATIENT, check, only, proof, says, with_code};

/// For servers that leave a request without a response. Long enough for a machine under load to answer the others.
const UNANSWERED: Duration = Duration::from_secs(8);

fn server(fault: &str) -> ServerCommand {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/behaviour.py");
    ServerCommand::new("/usr/bin/env").args(["python3".into(), script]).args([fault])
}

/// The codes of findings above a note.
fn codes(report: &Report) -> Vec<&str> {
    let above = |finding: &&Finding| finding.severity != Severity::Note;
    let mut codes: Vec<&str> =
        report.findings.iter().filter(above).map(|finding| finding.code.name()).collect();
    codes.dedup();
    codes
}

#[track_caller]
fn healthy(report: &Report) {
    assert!(codes(report).is_empty(), "{:#?}", report.findings);
}

servers! {
    a_server_without_a_fault_is_called: server("none"), PATIENT, |report| {
        healthy(report);
        assert!(report.steps.iter().any(|step| step == "called \"add\""), "{:?}", report.steps);
        with_code(report, "PT0306");
    }
    a_tool_that_may_change_something_is_not_called: server("not-read-only"), PATIENT, |report| {
        healthy(report);
        assert!(!report.steps.iter().any(|step| step.starts_with("called")), "{:?}", report.steps);
        assert!(report.skipped.iter().any(|why| why.contains("\"add\"")), "{:?}", report.skipped);
    }

    an_empty_cursor_ends_a_list: server("empty-cursor"), PATIENT, |report| {
        healthy(report);
        assert_eq!(report.server.tools, 1);
        says(with_code(report, "PT0420"), "an empty `nextCursor`");
    }
    a_cursor_that_repeats: server("same-cursor"), PATIENT, |report| {
        assert_eq!(only(report, "PT0420").severity, Severity::Warning);
        assert_eq!(report.server.tools, 1);
    }

    a_list_of_many_pages: server("many-pages"), PATIENT, |report| {
        healthy(report);
        assert_eq!(report.server.tools, 100);
        let cut = "inspection of `tools/list` after its first 100 pages";
        assert!(report.skipped.iter().any(|why| why == cut), "{:?}", report.skipped);
    }
    a_list_of_many_entries: server("many-tools"), PATIENT, |report| {
        assert_eq!(report.server.tools, 10_000);
        let cut = "inspection of `tools/list` after its first 10000 entries";
        assert!(report.skipped.iter().any(|why| why == cut), "{:?}", report.skipped);
    }

    a_version_that_is_none: server("unknown-version"), PATIENT, |report| {
        let finding = only(report, "PT0301");
        says(finding, "1999-01-01");
        assert!(!finding.affects.is_empty());
        assert_eq!(proof(finding).0, 0);
    }
    a_version_that_is_a_number: server("number-version"), PATIENT, |report| {
        says(only(report, "PT0302"), "20251125");
    }
    no_server_info: server("no-server-info"), PATIENT, |report| {
        says(only(report, "PT0303"), "serverInfo");
    }
    initialize_is_refused_instead_of_negotiated: server("old-only"), PATIENT, |report| {
        says(only(report, "PT0304"), "opens in 2024-11-05");
        assert_eq!(report.server.revisions, ["2024-11-05"]);
    }
    stateless_only_is_a_note: server("modern"), PATIENT, |report| {
        healthy(report);
        says(with_code(report, "PT0305"), "2026-07-28 only");
        assert!(report.steps.iter().any(|step| step == "called \"add\""), "{:?}", report.steps);
    }
    results_without_a_type: server("modern-no-type"), PATIENT, |report| {
        says(only(report, "PT0310"), "`resultType`");
    }
    an_exit_at_a_probe: server("exits-at-a-probe"), PATIENT, |report| {
        assert_eq!(codes(report), ["PT0308"]);
    }
    a_response_to_a_notification: server("answers-notifications"), PATIENT, |report| {
        let finding = only(report, "PT0314");
        assert!(proof(finding).1.starts_with(b"{\"jsonrpc\": \"2.0\", \"id\": null"));
        assert_eq!(report.server.tools, 1);
    }
    two_responses: server("twice"), PATIENT, |report| {
        only(report, "PT0315");
    }
    no_jsonrpc: server("no-jsonrpc"), PATIENT, |report| {
        only(report, "PT0317");
    }
    an_error_that_is_null_beside_a_result: server("null-error"), PATIENT, |report| {
        says(only(report, "PT0318"), "both");
        assert_eq!(report.server.tools, 1);
    }
    an_error_that_is_text: server("text-error"), PATIENT, |report| {
        only(report, "PT0319");
    }
    a_request_before_initialize_is_answered: server("early-request"), PATIENT, |report| {
        assert_eq!(codes(report), ["PT0320", "PT0321"]);
    }
    a_request_without_a_capability: server("undeclared-request"), PATIENT, |report| {
        says(only(report, "PT0321"), "sampling/createMessage");
    }
    a_list_that_is_declared_and_refused: server("refused-list"), PATIENT, |report| {
        let finding = only(report, "PT0322");
        says(finding, "resources/list");
        assert_eq!((finding.severity, finding.affects.is_empty()), (Severity::Breaks, false));
    }
    a_list_that_always_fails: server("resources-fail"), PATIENT, |report| {
        let finding = only(report, "PT0322");
        says(finding, "the disk is full");
        assert_eq!(finding.severity, Severity::Breaks);
    }
    a_method_that_is_declared_and_refused: server("refused-completions"), PATIENT, |report| {
        let finding = only(report, "PT0322");
        says(finding, "completion/complete");
        assert_eq!(finding.severity, Severity::Warning);
    }
    a_capability_that_is_true: server("true-capability"), PATIENT, |report| {
        let finding = with_code(report, "PT0325");
        says(finding, "in the result of `initialize`, `capabilities.logging` is `true`");
        assert_eq!((finding.severity, finding.affects.is_empty()), (Severity::Breaks, false));
    }
    a_member_of_a_capability_that_is_null: server("null-capability"), PATIENT, |report| {
        says(only(report, "PT0325"), "`capabilities.tools.listChanged` is `null`, and should be true or false");
    }
    a_ping_that_is_refused: server("no-ping"), PATIENT, |report| {
        let finding = only(report, "PT0326");
        says(finding, "`Method not found` (-32601)");
        assert_eq!((finding.severity, finding.affects.is_empty()), (Severity::Breaks, false));
    }
    a_capability_that_is_not_declared: server("undeclared"), PATIENT, |report| {
        let finding = only(report, "PT0323");
        assert_eq!(finding.severity, Severity::Breaks);
        says(finding, "`tools`");
    }

    an_exit_at_a_call: server("exits-at-a-call"), PATIENT, |report| {
        let finding = only(report, "PT0601");
        says(finding, "at a valid call of tool \"add\"");
        assert!(format!("{:?}", finding.evidence).contains("cannot add"));
    }
    an_exit_after_a_call: server("exits-after-a-call"), PATIENT, |report| {
        says(only(report, "PT0601"), "after it has answered a call of tool \"add\"");
    }
    an_exit_at_bad_arguments: server("crashes"), PATIENT, |report| {
        let finding = only(report, "PT0602");
        assert_eq!(finding.severity, Severity::Breaks);
        says(finding, "with an object as \"a\"");
    }
    an_exit_at_what_no_host_sends_is_a_warning: server("exits-at-garbage"), PATIENT, |report| {
        let finding = only(report, "PT0602");
        assert_eq!(finding.severity, Severity::Warning);
        says(finding, "not JSON");
    }
    arguments_are_not_validated: server("not-validated"), PATIENT, |report| {
        let finding = only(report, "PT0604");
        says(finding, "an object as \"a\"");
        assert_eq!(finding.sentence().matches("\"add\"").count(), 1, "{}", finding.sentence());
    }
    the_text_of_an_error_that_was_asked_for: server("asked-for-an-error"), PATIENT, |report| {
        healthy(report);
        assert!(report.steps.iter().any(|step| step == "called \"add\""), "{:?}", report.steps);
    }
    an_error_as_a_success: server("error-as-success"), PATIENT, |report| {
        says(only(report, "PT0605"), "must be integers");
    }
    any_tool_succeeds: server("any-tool"), PATIENT, |report| {
        only(report, "PT0606");
    }
    any_method_succeeds: server("any-method"), PATIENT, |report| {
        only(report, "PT0607");
    }
    a_large_result: server("large"), PATIENT, |report| {
        assert_eq!(only(report, "PT0610").severity, Severity::Warning);
    }
    large_results_that_are_more_than_is_kept_of_them: server("many-large"), PATIENT, |report| {
        assert!(report.findings.iter().all(|finding| finding.severity != Severity::Breaks), "{:#?}", report.findings);
        assert_eq!(codes(report), ["PT0610"]);
        assert!(report.skipped.iter().any(|why| why.contains("large")), "{:?}", report.skipped);
    }
    a_result_without_bounds: server("too-large"), UNANSWERED, |report| {
        assert_eq!(with_code(report, "PT0610").severity, Severity::Breaks);
    }
    no_structured_content: server("no-structure"), PATIENT, |report| {
        only(report, "PT0611");
    }
    structured_content_against_its_schema: server("wrong-structure"), PATIENT, |report| {
        says(only(report, "PT0612"), "`structuredContent.sum`");
    }
    content_of_an_unknown_type: server("odd-content"), PATIENT, |report| {
        says(only(report, "PT0613"), "`json`");
    }
    a_subscription_that_is_refused: server("no-acknowledgement"), PATIENT, |report| {
        says(only(report, "PT0614"), "subscriptions/listen");
    }
}

servers_together! { probes_that_are_not_answered
    initialize_is_refused_after_a_probe: server("refuses-after-a-probe"), PATIENT, |report| {
        says(only(report, "PT0307"), "already initialized");
    }
    a_probe_that_is_ignored_is_a_note: server("ignores-a-probe"), PATIENT, |report| {
        healthy(report);
        with_code(report, "PT0309");
    }
    a_probe_that_is_answered_too_late_is_no_fault: server("answers-a-probe-late"), PATIENT, |report| {
        healthy(report);
        assert!(report.findings.iter().all(|finding| finding.code.name() != "PT0306"), "{:#?}", report.findings);
    }
}

servers_together! { ids_that_may_be_another_request_s
    another_id: server("other-id"), PATIENT, |report| {
        says(only(report, "PT0311"), "4711");
    }
    an_id_of_another_type: server("string-id"), PATIENT, |report| {
        says(only(report, "PT0312"), "\"1\"");
    }
    no_id: server("no-id"), PATIENT, |report| {
        only(report, "PT0313");
    }
}

servers_together! { slow_calls
    a_call_that_blocks: server("slow"), PATIENT, |report| {
        says(only(report, "PT0608"), "`ping`");
    }
    a_slow_call_that_does_not_block_can_be_cancelled: server("slow-in-threads"), PATIENT, |report| {
        healthy(report);
        says(with_code(report, "PT0609"), "goes on after it was cancelled");
    }
}

servers_together! { requests_without_a_response
    silence_after_an_unknown_notification: server("silent-after-unknown"), UNANSWERED, |report| {
        says(only(report, "PT0603"), "an unknown notification");
    }
    a_call_that_blocks_for_longer_than_it_is_waited_for: server("outlasts"), UNANSWERED, |report| {
        says(only(report, "PT0608"), "until the call has ended");
    }
    a_call_that_blocks_without_an_end: server("never-ends"), UNANSWERED, |report| {
        // It does not see the end of its input, either.
        says(with_code(report, "PT0608"), "and neither is the call");
        assert!(report.findings.iter().all(|finding| finding.code.name() != "PT0616"), "{:#?}", report.findings);
    }
    a_valid_call_that_is_never_answered: server("unanswered-call"), UNANSWERED, |report| {
        healthy(report);
        let finding = with_code(report, "PT0616");
        says(finding, "a call of tool \"add\", which says that it is read-only, with arguments that its `inputSchema` accepts has no response within 8");
        assert_eq!(finding.subject.as_deref(), Some("tool \"add\""));
    }
    a_resource_that_is_never_answered: server("unanswered-read"), UNANSWERED, |report| {
        healthy(report);
        let finding = with_code(report, "PT0616");
        says(finding, "`resources/read` of resource \"memo://a\" has no response within 8");
        assert!(report.steps.iter().any(|step| step == "called \"add\""), "{:?}", report.steps);
    }
    a_declared_method_that_is_never_answered: server("unanswered-completions"), UNANSWERED, |report| {
        says(only(report, "PT0209"), "`completion/complete` is never answered");
    }
}

#[tokio::test]
async fn a_tool_that_is_named_is_called() {
    let options = Options::default().timeout(PATIENT).call(["add".to_owned()]);
    let report = Box::pin(check_stdio(&server("not-read-only"), &options)).await;
    assert!(report.steps.iter().any(|step| step == "called \"add\""), "{:?}", report.steps);
}
