//! Bytes, encoding and framing, as lines: rows S-01 to S-24 of the catalogue, and R-02.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use papertape::server::Limits;
use serde_json::json;

use crate::fixture;
use crate::peer::{LEGACY, MODERN, Peer, call, in_words_of, request, run, words};

/// A call of the tool that counts its calls, without a line end.
type Q<'a> = &'a dyn Fn(&str) -> Vec<u8>;

/// Sends bytes in every revision: the responses are `expected`, only what was answered ran, and a valid request sent
/// right after is answered too.
fn check(input: impl Fn(Q<'_>) -> Vec<u8>, expected: &str) {
    for revision in LEGACY.into_iter().chain([MODERN]) {
        run(async {
            let q = |id: &str| call(revision, id, "count", &json!({"text": "x"})).into_bytes();
            let input = input(&q);
            let shown: String = input.escape_ascii().to_string().chars().take(300).collect();
            let (server, runs) = fixture::counting();
            let mut peer = Peer::open(server, revision).await;
            let answers = words(&peer.send(&input).await);
            assert_eq!(answers, in_words_of(revision, expected), "{revision}: {shown}");
            assert_eq!(runs.load(Ordering::Relaxed), answers.matches("R(").count(), "{revision}: {shown}");
            let sentinel = [q("\"sentinel\""), b"\n".to_vec()].concat();
            assert_eq!(words(&peer.send(sentinel).await), "R(\"sentinel\")", "{revision}, after: {shown}");
            assert_eq!(words(&peer.end().await), "");
        });
    }
}

/// The same for bytes that are the last.
fn check_end(input: impl Fn(Q<'_>) -> Vec<u8>, expected: &str) {
    for revision in LEGACY.into_iter().chain([MODERN]) {
        run(async {
            let input = input(&|id| call(revision, id, "count", &json!({"text": "x"})).into_bytes());
            let (server, _) = fixture::counting();
            let mut peer = Peer::open(server, revision).await;
            let before_the_end = words(&peer.send(&input).await);
            assert_eq!(before_the_end, "", "{revision}");
            let answers = words(&peer.end().await);
            assert_eq!(answers, in_words_of(revision, expected), "{revision}: {}", input.escape_ascii());
        });
    }
}

/// The text that comes back when `count` is called with `text`, a JSON string as it stands on the wire.
fn check_text(text: &[u8], expected: &str) {
    for revision in LEGACY.into_iter().chain([MODERN]) {
        run(async {
            let (server, _) = fixture::counting();
            let mut peer = Peer::open(server, revision).await;
            let line = call(revision, "7", "count", &json!({"text": "@"}));
            let (before, after) = line.split_once("\"@\"").unwrap();
            let answer = peer.send([before.as_bytes(), text, after.as_bytes(), b"\n"].concat()).await;
            assert_eq!(words(&answer), "R(7)", "{revision}: {}", text.escape_ascii());
            assert_eq!(answer.iter().filter(|&&b| b == b'\n').count(), 1);
            let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap();
            assert_eq!(answer["result"]["content"][0]["text"], expected, "{revision}");
        });
    }
}

fn lines(parts: &[&[u8]]) -> Vec<u8> {
    parts.iter().flat_map(|part| [part, &b"\n"[..]]).flatten().copied().collect()
}

/// Bytes after bytes.
fn join<const N: usize>(parts: [&[u8]; N]) -> Vec<u8> {
    parts.concat()
}

fn utf16(text: &[u8], encode: fn(u16) -> [u8; 2]) -> Vec<u8> {
    std::str::from_utf8(text).unwrap().encode_utf16().flat_map(encode).collect()
}

fn utf32(text: &[u8], encode: fn(u32) -> [u8; 4]) -> Vec<u8> {
    std::str::from_utf8(text).unwrap().chars().flat_map(|c| encode(c.into())).collect()
}

/// A call whose text has `bytes` in the middle.
fn with_text(q: Q<'_>, bytes: &[u8]) -> Vec<u8> {
    let line = q("7");
    let at = line.windows(3).position(|window| window == b"\"x\"").unwrap() + 1;
    join([&line[..at], bytes, &line[at..], b"\n"])
}

#[test]
fn text_that_is_not_json_gets_an_error() {
    check(|_| b"hello\n".to_vec(), "E(-32700,–)"); // S-01
    check(|_| b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\n".to_vec(), "E(-32700,–)"); // S-02
    check(|_| lines(&[b"hello", b"}", b"[1,"]), "E(-32700,–) E(-32700,–) E(-32700,–)");
}

#[test]
fn blank_lines_get_no_response() {
    check(|_| b"\n".to_vec(), ""); // S-03
    check(|_| b"   \t \n".to_vec(), ""); // S-04
    check(|_| b"\r\n\n\r\n \n".to_vec(), "");
    check(|q| lines(&[b"", &q("7"), b"  ", &q("8"), b""]), "R(7) R(8)");
}

#[test]
fn a_line_may_end_in_crlf() {
    check(|q| join([&q("7"), b"\r\n"]), "R(7)"); // S-05
    check(|q| join([&q("7"), b" \t \r\n"]), "R(7)");
    check(|q| join([b"  \t", &q("7"), b"\n"]), "R(7)");
}

#[test]
fn a_lone_cr_ends_no_line_and_neither_request_runs() {
    check(|q| join([&q("7"), b"\r", &q("8"), b"\n"]), "E(-32700,–)"); // S-06
    check(|q| join([&q("7"), b"\r", &q("8"), b"\r\n"]), "E(-32700,–)");
}

#[test]
fn a_byte_order_mark_is_ignored_on_any_line() {
    const BOM: &[u8] = b"\xEF\xBB\xBF";
    check(|q| join([BOM, &q("7"), b"\n"]), "R(7)"); // S-07
    check(
        |q| join([BOM, &q("7"), b"\n", BOM, &q("8"), b"\n", &q("9"), b"\n", BOM, &q("10"), b"\r\n"]),
        "R(7) R(8) R(9) R(10)",
    ); // S-08
    // One is ignored; more are not JSON.
    check(|q| join([BOM, BOM, &q("7"), b"\n"]), "E(-32700,–)");
    // As the first bytes of a connection, too.
    run(async {
        let mut peer = Peer::connect(fixture::counting().0);
        let ping = br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
        assert_eq!(words(&peer.send(join([BOM, ping, b"\n"])).await), "R(7)");
    });
}

#[test]
fn other_encodings_get_an_error_per_line() {
    // S-09. The second half of the line end is the first byte of the next line.
    check(|q| join([b"\xFF\xFE", &utf16(&q("7"), u16::to_le_bytes), b"\n\0\n"]), "E(-32700,–) E(-32700,–)");
    check(|q| join([&utf16(&q("7"), u16::to_be_bytes), b"\0\n"]), "E(-32700,–)"); // S-10
    // S-11
    check(|q| join([b"\0\0\xFE\xFF", &utf32(&q("7"), u32::to_be_bytes), b"\0\0\0\n"]), "E(-32700,–)");
    check(|q| join([&utf32(&q("7"), u32::to_le_bytes), b"\n\0\0\0\n"]), "E(-32700,–) E(-32700,–)");
}

#[test]
fn invalid_utf_8_gets_an_error_and_the_tool_does_not_run() {
    check(|q| join([b"\0", &q("7"), b"\n"]), "E(-32700,–)"); // S-12
    check(|q| with_text(q, b"\xFF\xFE"), "E(-32700,–)"); // S-13
    // S-14: an overlong NUL, a surrogate, beyond the last character, a lone continuation, a cut-off sequence.
    for bytes in [&b"\xC0\x80"[..], b"\xED\xA0\x80", b"\xF4\x90\x80\x80", b"\x80", b"\xE2\x82"] {
        check(|q| with_text(q, bytes), "E(-32700,–)");
    }
}

#[test]
fn an_escaped_lone_surrogate_gets_an_error() {
    // S-15: this is JSON, but no text.
    for escaped in [r"\ud800", r"\udc00", r"\ud800\u0041", r"\ude00\ud83d"] {
        check(|q| with_text(q, escaped.as_bytes()), "E(-32700,7)");
    }
}

#[test]
fn text_comes_back_as_it_was_sent() {
    // S-16
    check_text(br#""\ud83d\ude00""#, "\u{1F600}");
    check_text("\"\u{1F600}\"".as_bytes(), "\u{1F600}");
    check_text(br#""\u0000""#, "\0");
    check_text("\"\u{2028}\u{2029}\u{85}\"".as_bytes(), "\u{2028}\u{2029}\u{85}");
    check_text(br#""a\nb\r\n\tc\u007f\/\"\\""#, "a\nb\r\n\tc\u{7f}/\"\\");
    check_text("\"comió — 食べた — e\u{301}\u{FEFF}\"".as_bytes(), "comió — 食べた — e\u{301}\u{FEFF}");
}

#[test]
fn control_characters_in_strings_are_not_json() {
    // S-17
    for byte in [0x00, 0x01, b'\t', b'\r', 0x1f] {
        check(|q| with_text(q, &[byte]), "E(-32700,–)");
    }
}

#[test]
fn two_messages_on_one_line_are_invalid() {
    check(|q| join([&q("7"), &q("8"), b"\n"]), "E(-32700,–)"); // S-18
    check(|q| join([&q("7"), b" ", &q("8"), b"\n"]), "E(-32700,–)");
    check(|q| join([&q("7"), b" xyz\n"]), "E(-32700,–)"); // S-19
    check(|q| join([&q("7"), b",\n"]), "E(-32700,–)");
}

#[test]
fn a_pretty_printed_request_gets_an_error_per_line() {
    // S-20
    let pretty =
        b"{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 7,\n  \"method\": \"tools/list\",\n  \"params\": {}\n}\n";
    check(|_| pretty.to_vec(), &["E(-32700,–)"; 6].join(" "));
}

#[test]
fn bytes_may_come_one_by_one() {
    // S-21
    run(async {
        let (server, _) = fixture::counting();
        let mut peer = Peer::open(server, "2025-11-25").await;
        let line = call("2025-11-25", "7", "count", &json!({"text": "é"})) + "\n";
        let mut answers = Vec::new();
        for byte in line.bytes() {
            assert_eq!(answers, b"");
            answers.extend(peer.send([byte]).await);
            tokio::time::advance(Duration::from_millis(5)).await;
        }
        assert_eq!(words(&answers), "R(7)");
    });
}

#[test]
fn ten_thousand_requests_in_one_write_get_one_response_each() {
    // S-22
    for revision in ["2025-06-18", MODERN] {
        run(async {
            let mut peer = Peer::open(fixture::counting().0, revision).await;
            let requests: Vec<String> = (0..10_000)
                .map(|id| request(revision, &format!("{id}"), "tools/list", json!({})) + "\n")
                .collect();
            let answers = words(&peer.send(requests.concat()).await);
            let mut missing: HashSet<String> = (0..10_000).map(|id| format!("R({id})")).collect();
            let unexpected: Vec<&str> =
                answers.split(' ').filter(|&word| !missing.remove(word)).take(5).collect();
            assert!(
                unexpected.is_empty() && missing.is_empty(),
                "{unexpected:?}, and {} are missing",
                missing.len()
            );
        });
    }
}

#[test]
fn the_last_line_needs_no_end() {
    check_end(|q| q("7"), "R(7)"); // S-23
    check_end(|_| b"{}".to_vec(), "E(-32600,–)");
}

#[test]
fn half_a_message_at_the_end_is_let_go() {
    // S-24
    for cut in [1, 2, 20, 60] {
        check_end(|q| q("7")[..cut].to_vec(), "");
    }
    check_end(|q| q("7").split_last().unwrap().1.to_vec(), "");
    check_end(|_| b"\xEF\xBB".to_vec(), "");
    check_end(|_| b"  \r".to_vec(), "");
}

#[test]
fn an_empty_connection_ends_without_output() {
    run(async {
        assert_eq!(Peer::connect(fixture::counting().0).end().await, b"");
    });
}

#[test]
fn a_line_over_the_limit_gets_one_error_and_is_skipped() {
    // R-02, with a limit that is quick to reach.
    let limit = 1_000;
    for (length, expected) in
        [(limit, "E(-32700,–)"), (limit + 1, "E(-32600,–)"), (100 * limit, "E(-32600,–)")]
    {
        for pieces in [1, 7] {
            run(async {
                let server = fixture::counting().0.limits(Limits { frame: limit, ..Limits::default() });
                let mut peer = Peer::open(server, "2025-11-25").await;
                let mut line = vec![b'x'; length];
                line.push(b'\n');
                let mut answers = Vec::new();
                for piece in line.chunks(line.len().div_ceil(pieces)) {
                    answers.extend(peer.send(piece).await);
                }
                assert_eq!(words(&answers), expected, "{length} bytes in {pieces} pieces");
                assert_eq!(
                    words(&peer.send(r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#.to_owned() + "\n").await),
                    "R(8)"
                );
            });
        }
    }
}

#[test]
fn an_endless_line_gets_an_error_before_it_ends() {
    run(async {
        let server = fixture::counting().0.limits(Limits { frame: 1_000, ..Limits::default() });
        let mut peer = Peer::open(server, "2025-11-25").await;
        assert_eq!(words(&peer.send([b'['; 999]).await), "");
        assert_eq!(words(&peer.send("[".repeat(9_000)).await), "E(-32600,–)");
        for _ in 0..100 {
            assert_eq!(words(&peer.send("[".repeat(9_000)).await), "");
        }
        // Not even at the end is there more to say.
        assert_eq!(words(&peer.end().await), "");
    });
}

#[test]
fn the_default_limit_is_16_mib() {
    run(async {
        let limit = 16 * 1024 * 1024;
        let mut peer = Peer::open(fixture::counting().0, "2025-11-25").await;
        let line = call("2025-11-25", "7", "count", &json!({"text": "@"}));
        let text = "x".repeat(limit - line.len() + 1);
        assert_eq!(words(&peer.send(line.replace('@', &text) + "\n").await), "R(7)");
        assert_eq!(words(&peer.send(line.replace('@', &(text + "x")) + "\n").await), "E(-32600,–)");
        assert_eq!(words(&peer.send(line + "\n").await), "R(7)");
    });
}
