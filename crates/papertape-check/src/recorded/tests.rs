use std::time::Duration;

use super::{RecordedSession, check_recording};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}"#;
const OPENED: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;

/// A session whose lines begin with `>` or `<`.
fn session(lines: &[&str]) -> RecordedSession {
    let mut session = RecordedSession::stdio();
    let all = ["> ".to_owned() + INITIALIZE, "< ".to_owned() + OPENED];
    for line in all.iter().map(String::as_str).chain(lines.iter().copied()) {
        match line.split_at(2) {
            ("> ", json) => session.request(json.as_bytes(), None, Duration::ZERO),
            (_, json) => session.output(format!("{json}\n").as_bytes(), None, Duration::ZERO),
        }
    }
    session
}

fn codes(session: RecordedSession) -> Vec<&'static str> {
    check_recording(vec![session]).findings.iter().map(|finding| finding.code.name()).collect()
}

#[test]
fn a_healthy_session_has_no_findings() {
    let report = check_recording(vec![session(&[
        r#"< {"jsonrpc":"2.0","id":0,"method":"roots/list"}"#,
        r#"> {"jsonrpc":"2.0","id":0,"result":{"roots":[]}}"#,
        r#"> {"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"< {"jsonrpc":"2.0","id":1,"result":{}}"#,
        // A host that uses an id again, and a request that is not answered before the end.
        r#"> {"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"< {"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"> {"jsonrpc":"2.0","id":2,"method":"ping"}"#,
    ])]);
    assert_eq!(report.findings, []);
    assert!(!report.breaks());
    assert_eq!(
        (report.server.name.as_deref(), &report.server.revisions[..]),
        (Some("s"), &["2025-06-18".to_owned()][..])
    );
}

#[test]
fn faults_of_stdout_messages_definitions_and_results_are_found() {
    assert_eq!(codes(session(&["< starting"])), ["PT0101"]);
    let twice = [
        r#"> {"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"< {"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"< {"jsonrpc":"2.0","id":1,"result":{}}"#,
    ];
    assert_eq!(codes(session(&twice)), ["PT0315"]);
    let no_capability = r#"< {"jsonrpc":"2.0","id":0,"method":"sampling/createMessage"}"#;
    assert_eq!(codes(session(&[no_capability])), ["PT0321"]);
    let odd =
        [r#"> {"jsonrpc":"2.0","id":1,"method":"ping"}"#, r#"< {"jsonrpc":"2.0","id":"1","result":{}}"#];
    assert_eq!(codes(session(&odd)), ["PT0312"]);
    let call = [
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
        r#"< {"jsonrpc":"2.0","id":1,"result":{"content":"x"}}"#,
    ];
    assert_eq!(codes(session(&call)), ["PT0613"]);
    let list = [
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        r#"< {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","description":"Does a."}]}}"#,
    ];
    assert!(check_recording(vec![session(&list)]).breaks());
}

#[test]
fn the_end_of_a_recording_that_was_cut_is_not_a_fault() {
    let mut cut = session(&[]);
    cut.output(b"{\"jsonrpc\":\"2.0\",\"me", None, Duration::ZERO);
    assert_eq!(codes(cut), [""; 0]);
    let mut ended = session(&[]);
    ended.output(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}", None, Duration::ZERO);
    ended.end();
    assert_eq!(codes(ended), ["PT0106"]);
}

#[test]
fn responses_to_invalid_input_are_not_faults() {
    let invalid = [
        r#"> {"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        "> {",
        r#"< {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON"}}"#,
        r#"< {"jsonrpc":"2.0","id":1,"result":{}}"#,
    ];
    let report = check_recording(vec![session(&invalid)]);
    assert_eq!(report.findings, []);
    assert!(report.skipped.iter().any(|skipped| skipped.contains("not a request")));
}

#[test]
fn clients_over_http_may_use_the_same_ids() {
    let mut session = RecordedSession::http();
    for exchange in [1, 2] {
        session.request(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, Some(exchange), Duration::ZERO);
    }
    for exchange in [2, 1] {
        session.output(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n", Some(exchange), Duration::ZERO);
    }
    assert_eq!(codes(session), [""; 0]);
}

#[test]
fn a_complete_recording_proves_that_a_request_was_not_answered() {
    let lines = [
        r#"> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
        r#"> {"jsonrpc":"2.0","id":2,"method":"ping"}"#,
        r#"< {"jsonrpc":"2.0","id":2,"result":{}}"#,
    ];
    assert_eq!(codes(session(&lines)), [""; 0], "the recording may have been cut");
    let complete = |lines: &[&str]| {
        let mut session = session(lines);
        session.complete();
        session
    };
    let report = check_recording(vec![complete(&lines)]);
    let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!(
        (finding.code.name(), &*finding.message),
        ("PT0209", "`tools/call` with the id `1` is never answered")
    );
    assert_eq!(codes(complete(&lines[1..])), [""; 0]);
    let cancelled =
        [lines[0], r#"> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#];
    assert_eq!(codes(complete(&cancelled)), [""; 0]);
    for (left, found) in [(59, [].as_slice()), (61, &["PT0209"])] {
        let mut session = complete(&lines);
        session.client_left(Duration::from_secs(left));
        assert_eq!(codes(session), found, "{left} s");
    }
    let subscription = r#"> {"jsonrpc":"2.0","id":3,"method":"subscriptions/listen"}"#;
    assert_eq!(codes(complete(&[subscription])), [""; 0]);
}

#[test]
fn long_recordings_are_read_in_one_pass() {
    let ids: [fn(usize) -> usize; 2] = [|number| number, |_| 7];
    for id in ids {
        let mut session = session(&[]);
        for number in 1..super::MOST {
            let id = id(number);
            let request = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            session.request(request.as_bytes(), None, Duration::ZERO);
            let response = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n");
            session.output(response.as_bytes(), None, Duration::ZERO);
        }
        session.complete();
        assert_eq!(codes(session), [""; 0]);
    }
}
