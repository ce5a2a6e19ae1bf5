use super::{Bounds, Message, Payload, parse};
use crate::wire::error::{INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR};

const BOUNDS: Bounds = Bounds { depth: 127, batch: 100 };

/// What a body is, in few words: `request 7 m {..}`, `-32600 7`, ...
fn read(body: &[u8]) -> String {
    let raw = |raw: Option<&serde_json::value::RawValue>| raw.map_or("-", |raw| raw.get()).to_owned();
    match parse(body, BOUNDS) {
        Ok(Payload::Single(Message::Request(r))) => {
            format!("request {} {} {}", r.id, r.method, raw(r.params))
        }
        Ok(Payload::Single(Message::Notification(n))) => {
            format!("notification {} {}", n.method, raw(n.params))
        }
        Ok(Payload::Single(Message::Response(r))) => format!("response {:?}", r.id),
        Ok(Payload::Batch(members)) => format!("batch {}", members.len()),
        Err(rejected) => match rejected.id {
            Some(id) => format!("{} {id}", rejected.error.code),
            None => format!("{} –", rejected.error.code),
        },
    }
}

fn check(body: &str, expected: &str) {
    assert_eq!(read(body.as_bytes()), expected, "{body}");
}

#[test]
fn messages_are_classified_by_their_members() {
    check(r#"{"jsonrpc":"2.0","id":7,"method":"m"}"#, "request 7 m -");
    check(
        r#"{"params":{"a":[1]},"method":"m","id":"7","jsonrpc":"2.0","more":{}}"#,
        r#"request "7" m {"a":[1]}"#,
    );
    check(r#"{"jsonrpc":"2.0","method":"m","params":null}"#, "notification m -");
    check(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, "response Some(7)");
    check(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, "response None");
    check(r#"[{"jsonrpc":"2.0"},1]"#, "batch 2");
    check("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\"}", "request 7 m -");
    check(r#"{"jsonrpc":"2.0","\u0069d":7,"method":"tools\/list"}"#, "request 7 tools/list -");
}

#[test]
fn the_id_is_kept_when_the_rest_is_wrong() {
    for body in [
        r#"{"jsonrpc":"1.0","id":7,"method":"m"}"#,
        r#"{"jsonrpc":2.0,"id":7,"method":"m"}"#,
        r#"{"id":7,"method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":5}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":null}"#,
        r#"{"jsonrpc":"2.0","id":7}"#,
        r#"{"jsonrpc":"2.0","id":7,"Method":"m"}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"m","method":"m"}"#,
    ] {
        check(body, &format!("{INVALID_REQUEST} 7"));
    }
    for params in ["[1]", "\"x\"", "5"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{params}}}"#);
        check(&body, &format!("{INVALID_PARAMS} 7"));
    }
}

#[test]
fn an_invalid_message_has_no_id() {
    for body in
        ["1", "null", "\"x\"", "{}", "[]", "true", "1.5", r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#]
    {
        check(body, &format!("{INVALID_REQUEST} –"));
    }
    for id in ["1.5", "null", "true", "[1]", "{}", "1e400"] {
        check(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#), &format!("{INVALID_REQUEST} –"));
    }
    check(&format!("[{}]", vec!["1"; 101].join(",")), &format!("{INVALID_REQUEST} –"));
}

#[test]
fn syntax_comes_before_shape() {
    for body in
        ["hello", "", "[1,", "{\"id\":7", "{} {}", "{} x", "nul", "[1,]", "{\"a\":\"\t\"}", "\"\\x\"", "01"]
    {
        check(body, &format!("{PARSE_ERROR} –"));
    }
    for body in [&b"\"\xff\xfe\""[..], b"\"\xc0\x80\"", b"\"\xed\xa0\x80\"", b"\x00{}", b"\"\x00\""] {
        assert_eq!(read(body), format!("{PARSE_ERROR} –"));
    }
}

#[test]
fn the_id_of_a_beginning() {
    let id = |text: &str| super::id_at_the_beginning(text.as_bytes()).map(|id| id.to_string());
    assert_eq!(id(r#"{"jsonrpc":"2.0","id":7,"result":{"a":"xxx"#), Some("7".to_owned()));
    assert_eq!(id(r#" { "id" : "a" , "result":"#), Some("\"a\"".to_owned()));
    for nothing in [r#"{"result":{"id":7"#, r#"{"result":{},"i"#, "{", "", "[{\"id\":7}]", r#"{"id":null,"#] {
        assert_eq!(id(nothing), None, "{nothing}");
    }
}

#[test]
fn depth_is_bounded_without_recursion() {
    let nested = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"a":{open}{close}}}}}"#)
    };
    assert!(read(nested(125).as_bytes()).starts_with("request 7"));
    for levels in [126, 1_000, 100_000] {
        assert_eq!(read(nested(levels).as_bytes()), format!("{INVALID_REQUEST} 7"));
    }
    check(&"[".repeat(100_000), &format!("{PARSE_ERROR} –"));
    check(&"{\"a\":".repeat(1_000_000), &format!("{PARSE_ERROR} –"));
    // Brackets in strings are not levels.
    let brackets =
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"a":"\"{}"}}}}"#, "[".repeat(500));
    assert!(read(brackets.as_bytes()).starts_with("request 7"));
}
