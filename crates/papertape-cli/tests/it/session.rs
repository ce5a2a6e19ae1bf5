//! Whole sessions, byte for byte as in published documents.

use serde_json::{Value, json};

use crate::process::{answer, run};
use crate::{assert_silent, papertape};

/// One message in the framing of LSP.
fn headed(body: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

/// Bytes in the framing of LSP as messages; not a byte may be left over.
fn headed_messages(mut bytes: &[u8]) -> Vec<Value> {
    let mut messages = Vec::new();
    while !bytes.is_empty() {
        let rest = bytes.strip_prefix(b"Content-Length: ").expect("a header");
        let end = rest.windows(4).position(|window| window == b"\r\n\r\n").expect("the end of the header");
        let length: usize =
            std::str::from_utf8(&rest[..end]).unwrap().parse().expect("a length and no other header");
        let body = &rest[end + 4..];
        messages.push(serde_json::from_slice(&body[..length]).expect("JSON"));
        bytes = &body[length..];
    }
    messages
}

fn names(list: &Value) -> Vec<&str> {
    list["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

const GRAMMAR_TOOLS: [&str; 5] =
    ["conjugate", "lookup_irregular_verb", "lookup_spanish", "check_subject_verb_agreement", "drill"];

#[test]
fn a_session_in_line_framing() {
    let input = concat!(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"test","version":"0.1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"conjugate","arguments":{"verb":"eat","tense":"past simple","person":"3rd singular"}}}"#,
        "\n",
    );
    let end = run(&mut papertape(["serve", "grammar"]), input);
    assert_eq!(end.is_clean().log, "");
    let answers = end.messages();
    assert_eq!(answers.len(), 3, "{answers:?}");
    let [opened, list, verb] = [0, 1, 2].map(|id| answer(&answers, id));

    assert_eq!((&opened["jsonrpc"], &opened["id"]), (&json!("2.0"), &json!(0)));
    assert_eq!(opened["result"]["protocolVersion"], "2024-11-05");
    let fixed = json!({"listChanged": false});
    let resources = json!({"listChanged": false, "subscribe": false});
    let offered = json!({"tools": fixed, "prompts": fixed, "resources": resources});
    assert_eq!(opened["result"]["capabilities"], offered);
    assert_eq!(opened["result"]["serverInfo"]["name"], "papertape-grammar");

    assert_eq!((&list["jsonrpc"], &list["id"]), (&json!("2.0"), &json!(1)));
    assert_eq!(names(list), GRAMMAR_TOOLS);
    let schema = &list["result"]["tools"][0]["inputSchema"];
    assert_eq!(schema["required"], json!(["verb", "tense", "person"]));

    let right = json!({"content": [{"type": "text", "text": "ate"}], "isError": false});
    assert_eq!(verb, &json!({"jsonrpc": "2.0", "id": 2, "result": right}));
}

#[test]
fn a_session_in_content_length_framing() {
    let messages = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"lab","version":"0.1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"conjugate","arguments":{"verb":"eat","tense":"past_simple","person":"3sg"}}}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"lookup_spanish","arguments":{"english_form":"ate"}}}"#,
    ];
    let end = run(&mut papertape(["serve", "grammar"]), messages.map(headed).concat());
    assert_eq!(end.is_clean().log, "");
    let answers = headed_messages(&end.output);
    assert_eq!(answers.len(), 4, "{answers:?}");
    let [opened, list, verb, spanish] = [1, 2, 3, 4].map(|id| answer(&answers, id));
    assert!(answers.iter().all(|answer| answer["jsonrpc"] == "2.0"));
    assert_eq!(opened["result"]["protocolVersion"], "2024-11-05");
    assert_eq!(names(list), GRAMMAR_TOOLS);
    assert_eq!(verb["result"], json!({"content": [{"type": "text", "text": "ate"}], "isError": false}));
    assert_eq!(spanish["result"]["content"][0]["text"], "comió");
    assert_eq!(spanish["result"]["isError"], false);
    // The accent went as two bytes, and the length counts bytes.
    assert!(end.output.windows(7).any(|window| window == "comió\"".as_bytes()));
}

#[test]
fn a_modern_client_needs_no_handshake() {
    let input = concat!(
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"word_count","arguments":{"text":"one two three"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
        "\n",
    );
    let end = run(&mut papertape(["serve", "text"]), input);
    let answers = end.is_clean().messages();
    assert_eq!(answers.len(), 1);
    assert_eq!((&answers[0]["id"], &answers[0]["result"]["content"][0]["text"]), (&json!("a"), &json!("3")));
}

// S-23 and S-24
#[test]
fn the_last_line_needs_no_end_but_must_be_complete() {
    let ping = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
    let end = run(&mut papertape(["serve", "text"]), ping);
    assert_eq!(end.is_clean().output, b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n");
    assert_silent(&run(&mut papertape(["serve", "text"]), ping.split_at(20).0));
}

// L-06 to L-12: the position in the stream is lost: an error response and an orderly end.
#[test]
fn invalid_headers_get_an_error_and_end_the_session() {
    let ping = headed(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
    let endless = "X: y\r\n".repeat(200_000);
    for broken in [
        "Content-Type: x\r\n\r\n{}",
        "Content-Length: -5\r\n\r\n{}",
        "Content-Length: 0x10\r\n\r\n{}",
        "Content-Length: 99999999999999999999\r\n\r\n{}",
        "Content-Length: 4294967296\r\n\r\n{}",
        "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        &endless,
    ] {
        let shown = broken.get(..60).unwrap_or(broken).escape_debug().to_string();
        let end = run(&mut papertape(["serve", "text"]), format!("{ping}{broken}{ping}"));
        let answers = headed_messages(&end.is_clean().output);
        assert_eq!(answers.len(), 2, "{shown}: {answers:?}");
        let code = if shown.contains("4294967296") { -32600 } else { -32700 };
        assert_eq!((&answers[0]["id"], &answers[1]["error"]["code"]), (&json!(7), &json!(code)), "{shown}");
    }
}
