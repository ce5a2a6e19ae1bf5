//! `papertape tape stats`.

use serde_json::json;

use crate::tape_tools::{HTTP, STDIO, tool_of};
use crate::{document, text};

#[test]
fn numbers_are_readable() {
    let end = tool_of(&["stats"], STDIO);
    end.is_clean();
    assert_eq!(
        text(&end),
        "duration    1.00 s
revision    2025-06-18
client      host 7
server      adder 1
to server   5 frames, 430 bytes
to client   3 frames, 320 bytes
stderr      1 line, 14 bytes
events      end, exit, start

                  count  errors  no resp.       p50       p95       max  request  response
→ initialize          1       -         -  100.0 ms  100.0 ms  100.0 ms    150 B     139 B
→ tools/call add      2       1         -  100.0 ms  200.0 ms  200.0 ms     92 B      90 B
→ ping                1       -         1         -         -         -     41 B         -
request and response: bytes on average

1 request without a response
  → 11 ping, id 3
"
    );
}

#[test]
fn one_frame_that_is_not_a_message_is_one() {
    let end = tool_of(
        &["stats"],
        &STDIO.replace("3 ! 0.150000 line listening⟦1b⟧[0m", "3 < 0.150000 line listening"),
    );
    end.is_clean();
    assert!(
        text(&end).contains("\n1 frame that is not a message, or is a response to no request\n"),
        "{}",
        text(&end)
    );
}

#[test]
fn numbers_are_a_document() {
    let end = tool_of(&["stats", "--output", "json"], STDIO);
    end.is_clean();
    let document = document(&end);
    assert_eq!(document["methods"].as_array().unwrap().len(), 3);
    assert_eq!(
        document["methods"][1],
        json!({
            "direction": "to-server", "method": "tools/call", "name": "add", "count": 2, "errors": 1, "cancelled": 0,
            "unanswered": 0, "latency": {"p50": 0.1, "p95": 0.2, "max": 0.2},
            "request_bytes": {"total": 184, "max": 93}, "response_bytes": {"total": 181, "max": 106},
        })
    );
    assert_eq!(document["unanswered"][0]["number"], 11);
    assert_eq!((&document["ended"], &document["stderr"]["lines"]), (&json!(true), &json!(1)));
}

#[test]
fn a_tape_of_http_has_heads() {
    let end = tool_of(&["stats"], HTTP);
    end.is_clean();
    assert!(text(&end).contains("HTTP        4 heads") && text(&end).contains("2.0 ms"), "{}", text(&end));
}

#[test]
fn what_is_wrong_is_named() {
    let end = tool_of(
        &["stats"],
        "papertape 1\n1 * - start {}\n2 < - line listening\n3 < - line {\"id\":7,\"result\":{}}\n",
    );
    end.is_clean();
    for words in [
        "duration    not recorded",
        "ended       no: the tape was cut, or is still being written",
        "2 frames that are not messages, or responses to no request",
        "← 3 a response to no request: id 7",
    ] {
        assert!(text(&end).contains(words), "{words}:\n{}", text(&end));
    }
}
