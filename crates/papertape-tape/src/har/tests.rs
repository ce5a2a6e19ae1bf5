use std::io::Cursor;

use serde_json::{Value, json};

use super::Har;
use crate::Reader;

fn archive(lines: &str) -> Value {
    let tape = format!("papertape 1\n{lines}").into_bytes();
    let mut har = Har::new();
    for line in Reader::new(&tape[..]) {
        har.push(&line.unwrap());
    }
    let mut out = Vec::new();
    let mut entries = 0;
    har.write(&mut Cursor::new(tape), &mut out, || entries += 1).unwrap();
    let archive: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(archive["log"]["entries"].as_array().unwrap().len(), entries);
    assert_eq!(har.len(), entries);
    archive
}

#[test]
fn an_http_exchange_is_an_entry() {
    let archive = archive(
        "# papertape 0.1.0, unix time 1790000000\n1 * 0.000000 start {\"url\":\"https://a.example/mcp\"}\n\
         2 >1 0.250000 head POST /mcp?x=a%20b&y HTTP/1.1⟦0d 0a⟧Host: a.example⟦0d 0a⟧Content-Type: application/json\n\
         3 >1 0.250500 raw {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\
         4 <1 0.300000 head HTTP/1.1 200 OK⟦0d 0a⟧Content-Type: text/event-stream\n\
         5 <1 0.350000 event {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\
         6 >2 0.400000 head GET /mcp HTTP/1.1⟦0d 0a⟧Host: a.example\n\
         7 <2 0.400000 raw ⟦ff⟧\n8 * 0.500000 end {}\n",
    );
    assert_eq!(archive["log"]["version"], "1.2");
    let entry = &archive["log"]["entries"][0];
    assert_eq!(entry["startedDateTime"], "2026-09-21T14:13:20.250000Z");
    let milliseconds = |name: &str| entry["timings"][name].as_f64().unwrap();
    let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
    assert!(
        near(milliseconds("send"), 0.5)
            && near(milliseconds("wait"), 49.5)
            && near(milliseconds("receive"), 50.0)
    );
    assert!(near(entry["time"].as_f64().unwrap(), 100.0));
    assert_eq!(
        entry["request"],
        json!({
            "method": "POST", "url": "https://a.example/mcp?x=a%20b&y", "httpVersion": "HTTP/1.1", "cookies": [],
            "headers": [{"name": "Host", "value": "a.example"}, {"name": "Content-Type", "value": "application/json"}],
            "queryString": [{"name": "x", "value": "a b"}, {"name": "y", "value": ""}],
            "postData": {"mimeType": "application/json", "params": [], "text": "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"},
            "headersSize": 81, "bodySize": 40,
        })
    );
    assert_eq!(
        entry["response"],
        json!({
            "status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "cookies": [],
            "headers": [{"name": "Content-Type", "value": "text/event-stream"}],
            "content": {"size": 44, "mimeType": "text/event-stream",
                "text": "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"},
            "redirectURL": "", "headersSize": 52, "bodySize": 44,
        })
    );
    let entry = &archive["log"]["entries"][1];
    assert_eq!((&entry["request"]["method"], &entry["response"]["status"]), (&json!("GET"), &json!(0)));
    assert_eq!(entry["response"]["content"]["encoding"], "base64");
    assert_eq!(entry["request"].get("postData"), None);
}

#[test]
fn a_request_on_stdio_is_an_entry() {
    let archive = archive(
        "1 > 0.100000 line {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\",\"params\":{\"name\":\"x y\"}}\n\
         2 < 0.200000 line {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"roots/list\"}\n\
         3 < 0.300000 line {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":-32602,\"message\":\"no\"}}\n",
    );
    let [call, roots] = &archive["log"]["entries"].as_array().unwrap()[..] else { panic!() };
    assert_eq!(call["request"]["url"], "stdio://server/tools/call?name=x%20y");
    assert_eq!(call["response"]["statusText"], "JSON-RPC error -32602");
    assert_eq!(call["_mcp"], json!({"id": "a", "method": "tools/call", "name": "x y", "outcome": "error"}));
    assert_eq!(call["startedDateTime"], "1970-01-01T00:00:00.100000Z");
    assert_eq!(roots["request"]["url"], "stdio://client/roots/list");
    assert_eq!((&roots["response"]["status"], &roots["_mcp"]["outcome"]), (&json!(0), &json!("none")));
}

#[test]
fn an_empty_tape_has_no_entries() {
    assert_eq!(archive("# x\n")["log"]["entries"], json!([]));
}
