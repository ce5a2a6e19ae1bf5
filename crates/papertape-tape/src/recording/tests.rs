use papertape::wire::tape::{Direction, Entry, read};
use proptest::prelude::{Strategy, any, prop, proptest};

use super::{Call, Change, Outcome, Recording};

/// The recording of a tape without its first line.
fn recording(lines: &str) -> Recording {
    let mut recording = Recording::new();
    for entry in read(&format!("papertape 1\n{lines}")).unwrap() {
        let Entry::Record(record) = entry else { continue };
        recording.push(record.number, &record);
    }
    recording.finish();
    recording
}

/// Frames, `>` or `<` and JSON with `jsonrpc` left out, as lines of a tape, a second apart.
fn tape(frames: &[&str]) -> String {
    let lines = (1..).zip(frames).map(|(number, frame)| {
        let (source, json) = frame.split_once(' ').unwrap();
        let json = json.replace("{\"id\"", "{\"jsonrpc\":\"2.0\",\"id\"");
        let form = if source.len() > 1 { "raw" } else { "line" };
        format!("{number} {source} {number}.000000 {form} {json}\n")
    });
    lines.collect()
}

fn outcomes(recording: &Recording) -> Vec<(String, Outcome)> {
    let text = |call: &Call| format!("{} {}", call.id, call.name.as_deref().unwrap_or(&call.method));
    recording.calls().iter().map(|call| (text(call), call.outcome)).collect()
}

#[track_caller]
fn assert_outcomes(frames: &[&str], right: &[(&str, Outcome)]) {
    let outcomes = outcomes(&recording(&tape(frames)));
    let outcomes: Vec<_> = outcomes.iter().map(|(text, outcome)| (&**text, *outcome)).collect();
    assert_eq!(outcomes, right);
}

#[test]
fn responses_belong_to_requests() {
    assert_outcomes(
        &[
            r#"> {"id":1,"method":"tools/call","params":{"name":"add"}}"#,
            r#"> {"id":2,"method":"tools/call","params":{"name":"fail"}}"#,
            r#"> {"id":"3","method":"prompts/get","params":{"name":"greet\u0021"}}"#,
            r#"> {"id":4,"method":"resources/read","params":{"uri":"file:///a"}}"#,
            r#"> {"id":5,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"greet"}}}"#,
            r#"> {"id":6,"method":"tasks/get","params":{"taskId":"t"}}"#,
            r#"> {"id":7,"method":"ping"}"#,
            r#"< {"id":7,"result":{},"error":null}"#,
            r#"< {"id":5,"error":7}"#,
            r#"< {"id":4,"error":{"code":-32002,"message":"no"}}"#,
            r#"< {"id":2,"result":{"isError":true}}"#,
            r#"< {"id":1.0,"result":{"isError":false}}"#,
            r#"< {"id":"3","result":{"isError":true}}"#,
        ],
        &[
            ("1 add", Outcome::Ok),
            ("2 fail", Outcome::ToolError),
            ("\"3\" greet!", Outcome::Ok),
            ("4 file:///a", Outcome::Error(-32002)),
            ("5 greet", Outcome::Invalid),
            ("6 t", Outcome::None),
            ("7 ping", Outcome::Invalid),
        ],
    );
}

#[test]
fn an_id_used_twice_has_two_responses() {
    let recording = recording(&tape(&[
        r#"> {"id":1,"method":"a"}"#,
        r#"> {"id":1,"method":"b"}"#,
        r#"< {"id":1,"result":{}}"#,
        r#"< {"id":1,"error":{"code":1,"message":""}}"#,
        r#"< {"id":1,"result":{}}"#,
        r#"> {"id":1,"method":"c"}"#,
        r#"< {"id":1,"result":{}}"#,
    ]));
    let [a, b, c] = recording.calls() else { panic!() };
    assert_eq!((a.outcome, b.outcome, c.outcome), (Outcome::Ok, Outcome::Error(1), Outcome::Ok));
    assert_eq!([a, b, c].map(|call| call.response.unwrap().first), [3, 4, 7]);
    assert_eq!(a.latency().unwrap().as_secs(), 2);
    assert_eq!(&*recording.strays()[0].problem, "a response to no request: id 1");
}

#[test]
fn both_directions_have_ids_of_their_own() {
    assert_outcomes(
        &[
            r#"> {"id":1,"method":"tools/call","params":{"name":"ask"}}"#,
            r#"< {"id":1,"method":"roots/list"}"#,
            r#"> {"id":1,"result":{"roots":[]}}"#,
            r#"< {"id":1,"error":{"code":5,"message":""}}"#,
        ],
        &[("1 ask", Outcome::Error(5)), ("1 roots/list", Outcome::Ok)],
    );
}

#[test]
fn batches_are_many_messages_in_one_frame() {
    let recording = recording(&tape(&[
        r#"> [{"id":1,"method":"a"},{"id":2,"method":"b"},7,{"jsonrpc":"2.0","method":"n"}]"#,
        r#"< [{"id":2,"result":{}},{"id":null,"error":{"code":-32600,"message":""}}]"#,
        r#"< {"id":1,"result":{}}"#,
    ]));
    assert_eq!(outcomes(&recording), [("1 a".to_owned(), Outcome::Ok), ("2 b".to_owned(), Outcome::Ok)]);
    assert_eq!((recording.totals().frames_to_server, recording.notifications().len()), (1, 1));
    let problems: Vec<_> = recording.strays().iter().map(|stray| &*stray.problem).collect();
    assert_eq!(problems, ["a member of a batch must be a JSON object", "a response without an id"]);
}

#[test]
fn cancelled_requests_are_marked_unless_they_get_a_response() {
    let cancel = |id| {
        format!(r#"> {{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
    };
    assert_outcomes(
        &[
            r#"> {"id":1,"method":"a"}"#,
            r#"> {"id":2,"method":"b"}"#,
            &cancel("1"),
            &cancel("2.0"),
            &cancel("3"),
            r#"< {"id":2,"result":{}}"#,
        ],
        &[("1 a", Outcome::Cancelled), ("2 b", Outcome::Ok)],
    );
}

#[test]
fn progress_is_counted() {
    let progress = r#"< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#;
    let recording = recording(&tape(&[
        r#"> {"id":1,"method":"a"}"#,
        r#"> {"id":2,"method":"b","params":{"_meta":{"progressToken":"t"}}}"#,
        progress,
        progress,
        r#"< {"id":2,"result":{}}"#,
        progress,
    ]));
    assert_eq!(recording.calls().iter().map(|call| call.progress).collect::<Vec<_>>(), [0, 2]);
    let about: Vec<_> = recording.notifications().iter().map(|notification| notification.call).collect();
    assert_eq!(about, [Some(1), Some(1), None]);
}

#[test]
fn http_exchanges_with_the_same_id_are_apart() {
    let lines = tape(&[
        r#">1 {"id":1,"method":"a"}"#,
        r#">2 {"id":1,"method":"b"}"#,
        r#"<2 {"jsonrpc":"2.0","method":"notifications/message","params":{}}"#,
        r#"<2 {"id":1,"error":{"code":2,"message":""}}"#,
        r#"<1 {"id":1,"result":{}}"#,
        r#"<3 {"id":9,"method":"elicitation/create"}"#,
        r#">4 {"id":9,"result":{}}"#,
    ]);
    let recording = recording(&lines);
    let outcomes: Vec<_> = recording.calls().iter().map(|call| call.outcome).collect();
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Error(2), Outcome::Ok]);
    assert_eq!(recording.notifications()[0].call, Some(1));
}

#[test]
fn a_new_process_does_not_answer_for_the_one_before() {
    let recording = recording(
        "1 * - start {}\n2 > - line {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n3 * - exit {\"status\":1}\n4 * - start {}\n\
         5 > - line {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"b\"}\n6 < - line {\"id\":1,\"result\":{}}\n7 * - end {}\n",
    );
    let outcomes: Vec<_> = recording.calls().iter().map(|call| call.outcome).collect();
    assert_eq!(outcomes, [Outcome::None, Outcome::Ok]);
    let events: Vec<_> = recording.events().iter().map(|event| &*event.name).collect();
    assert_eq!(events, ["start", "exit", "start", "end"]);
    assert!(recording.has_ended());
}

#[test]
fn identities_and_revision_are_known() {
    let recording = recording(&tape(&[
        r#"> {"id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","clientInfo":{"name":"c","version":"1"}}}"#,
        r#"< {"id":0,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"s","version":"2"}}}"#,
    ]));
    assert_eq!(recording.revision(), Some("2025-06-18"));
    let name = |peer: Option<&super::Peer>| peer.map(|peer| format!("{} {}", peer.name, peer.version));
    assert_eq!(name(recording.client()).unwrap() + &name(recording.server()).unwrap(), "c 1s 2");

    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}"#;
    let recording = super::tests::recording(&tape(&[
        &format!(r#"> {{"id":0,"method":"server/discover","params":{{"_meta":{meta}}}}}"#),
        r#"< {"id":0,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"}}}}"#,
    ]));
    assert_eq!(recording.revision(), Some("2026-07-28"));
    assert_eq!(name(recording.client()).unwrap() + &name(recording.server()).unwrap(), "c 1s 2");
    assert_eq!(recording.calls()[0].result_type.as_deref(), Some("complete"));
}

#[test]
fn totals_count_everything_once() {
    let recording = recording(
        "1 > 0.500000 raw {\"jsonrpc\":\"2.0\",\n2 > - line \"method\":\"n\"}\n3 ! 0.700000 line a\n4 ! - raw b\n\
         5 >1 - head POST / HTTP/1.1\n6 < - line not JSON\n7 <1 1.000000 event {}\n",
    );
    let totals = recording.totals();
    assert_eq!((totals.records, totals.frames_to_server, totals.frames_to_client), (7, 1, 2));
    assert_eq!((totals.bytes_to_server, totals.bytes_to_client), (17 + 14 + 19, 9 + 10));
    assert_eq!((totals.stderr_lines, totals.stderr_bytes, totals.heads, totals.strays), (1, 3, 1, 2));
    assert_eq!(totals.last_time.unwrap() - totals.first_time.unwrap(), std::time::Duration::from_millis(500));
}

#[test]
fn changes_say_what_a_record_has_done() {
    let mut recording = Recording::new();
    let mut changes = Vec::new();
    let lines = tape(&[r#"> {"id":1,"method":"a"}"#, r#"< [{"id":1,"result":{}},{}]"#]);
    for entry in read(&format!("papertape 1\n{lines}")).unwrap() {
        let Entry::Record(record) = entry else { panic!() };
        changes.push(recording.push(0, &record));
    }
    assert_eq!(changes, [vec![Change::Request(0)], vec![Change::Response(0), Change::Stray(0)]]);
    assert_eq!(recording.strays()[0].direction, Direction::ToClient);
}

fn message() -> impl Strategy<Value = String> {
    let id = prop::sample::select(vec!["1", "1.0", "2", "\"1\"", "null"]);
    let shape = prop::sample::select(vec![
        r#""method":"tools/call","params":{"name":"a","_meta":{"progressToken":1}}"#,
        r#""method":"notifications/cancelled","params":{"requestId":1}"#,
        r#""method":"notifications/progress","params":{"progressToken":1}"#,
        r#""result":{"isError":true}"#,
        r#""error":{"code":1,"message":""}"#,
        r#""x":1"#,
    ]);
    (id, shape).prop_map(|(id, shape)| format!(r#"{{"jsonrpc":"2.0","id":{id},{shape}}}"#))
}

proptest! {
    #[test]
    fn each_response_belongs_to_one_request(
        frames in prop::collection::vec((any::<bool>(), prop::option::of(0..3u64), message()), 0..30)
    ) {
        let lines: String = (1..).zip(frames).map(|(number, (up, exchange, json))| {
            let exchange = exchange.map(|exchange| exchange.to_string()).unwrap_or_default();
            format!("{number} {}{exchange} - line {json}\n", if up { '>' } else { '<' })
        }).collect();
        let recording = recording(&lines);
        let mut responses: Vec<_> =
            recording.calls().iter().filter_map(|call| Some(call.response?.first)).collect();
        let all = responses.len();
        responses.sort_unstable();
        responses.dedup();
        assert_eq!(responses.len(), all);
        for call in recording.calls() {
            let Some(response) = call.response else { continue };
            assert!(response.first > call.request.first);
        }
    }
}
