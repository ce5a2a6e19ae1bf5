//! `Content-Length` framing: rows L-01 to L-16 of the catalogue.

use std::fmt::Write as _;

use papertape::Server;
use papertape::server::Limits;
use serde_json::json;

use crate::fixture;
use crate::peer::{MODERN, Peer, call, in_words_of, run, word, words};

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

/// What becomes of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Open,
    Closed,
}
use Then::{Closed, Open};

/// Sends bytes as the first of a connection, and in an opened one of each kind: the responses are `expected`, framed in
/// kind, and a valid request sent right after is answered, or the connection has ended.
fn check(input: &[u8], expected: &str, then: Then) {
    for revision in ["", "2025-06-18", "2025-11-25", MODERN] {
        run(async {
            let shown = format!(
                "{revision}: {}",
                input.escape_ascii().to_string().chars().take(200).collect::<String>()
            );
            let mut peer = Peer::connect(server());
            open(&mut peer, revision).await;
            let answers = framed_words(&peer.send(input).await);
            assert_eq!(answers, in_words_of(revision, expected), "{shown}");
            let sentinel =
                framed_words(&peer.send(framed(r#"{"jsonrpc":"2.0","id":"s","method":"no/such"}"#)).await);
            match then {
                Open => assert_eq!(sentinel, "E(-32601,\"s\")", "{shown}"),
                Closed => assert_eq!(sentinel, "", "{shown}"),
            }
            assert_eq!(peer.has_ended(), then == Closed, "{shown}");
            let rest = if then == Open { peer.end().await } else { Vec::new() };
            assert_eq!(framed_words(&rest), "", "{shown}");
        });
    }
}

/// A fault that loses the place in the stream, found once more bytes have come: one answer, and the end.
fn check_lost(input: &[u8], expected: &str) {
    let sentinel = framed(r#"{"jsonrpc":"2.0","id":"s","method":"ping"}"#);
    check(&[input, &sentinel].concat(), expected, Closed);
}

/// The same for bytes that are the last.
fn check_end(input: &[u8], expected: &str) {
    for revision in ["", "2025-06-18", "2025-11-25", MODERN] {
        run(async {
            let mut peer = Peer::connect(server());
            open(&mut peer, revision).await;
            let answers = [peer.send(input).await, peer.end().await].concat();
            assert_eq!(
                framed_words(&answers),
                in_words_of(revision, expected),
                "{revision}: {}",
                input.escape_ascii()
            );
        });
    }
}

fn server() -> Server {
    Server::new("headers", "1").tool("echo", fixture::echo)
}

/// Opens a session, in Content-Length framing.
async fn open(peer: &mut Peer, revision: &str) {
    let request = match revision {
        "" => return,
        MODERN => crate::peer::request(MODERN, "0", "server/discover", json!({})),
        _ => crate::peer::request(
            revision,
            "0",
            "initialize",
            json!({"protocolVersion": revision, "capabilities": {}}),
        ),
    };
    assert_eq!(framed_words(&peer.send(framed(&request)).await), "R(0)");
}

fn framed(body: &str) -> Vec<u8> {
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// `header`, an empty line, and the ping, of which `@` in the header is the length.
fn ping_with(header: &str) -> Vec<u8> {
    format!("{}\r\n\r\n{PING}", header.replace('@', &PING.len().to_string())).into_bytes()
}

/// A word for each frame of an answer; each must be framed exactly as we frame.
fn framed_words(mut bytes: &[u8]) -> String {
    let mut words = Vec::new();
    while !bytes.is_empty() {
        let rest = bytes.strip_prefix(b"Content-Length: ").expect("a header");
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let length: usize = std::str::from_utf8(&rest[..digits]).unwrap().parse().unwrap();
        let rest = rest[digits..].strip_prefix(b"\r\n\r\n").expect("an empty line");
        words.push(word(&rest[..length]));
        bytes = &rest[length..];
    }
    words.join(" ")
}

#[test]
fn a_frame_with_headers_gets_a_response_with_headers() {
    check(&ping_with("Content-Length: @"), "R(7)", Open); // L-01
}

#[test]
fn header_names_have_any_case() {
    // L-02
    for name in ["content-length", "CONTENT-LENGTH", "Content-length", "cONTENT-lENGTH"] {
        check(&ping_with(&format!("{name}: @")), "R(7)", Open);
    }
}

#[test]
fn other_headers_are_ignored() {
    // L-03
    let kind = "Content-Type: application/vscode-jsonrpc; charset=utf-8";
    check(&ping_with(&format!("{kind}\r\nContent-Length: @")), "R(7)", Open);
    check(&ping_with(&format!("Content-Length: @\r\n{kind}")), "R(7)", Open);
    check(&ping_with("Content-Length: @\r\nX-Empty:\r\nX: Content-Length: 3"), "R(7)", Open);
    check(&ping_with("Content-Length: @\r\nContent-Length-Too: 3"), "R(7)", Open);
}

#[test]
fn white_space_around_the_length_is_ignored() {
    // L-04
    for header in [
        "Content-Length:@",
        "Content-Length:\t@",
        "Content-Length: @  ",
        "Content-Length: \t @\t ",
        "Content-Length: 00@",
    ] {
        check(&ping_with(header), "R(7)", Open);
    }
}

#[test]
fn lines_of_headers_may_end_in_lf() {
    // L-05
    check(format!("Content-Length: {}\n\n{PING}", PING.len()).as_bytes(), "R(7)", Open);
    check(format!("Content-Length: {}\r\n\n{PING}", PING.len()).as_bytes(), "R(7)", Open);
    check(format!("Content-Length: {}\n\r\n{PING}", PING.len()).as_bytes(), "R(7)", Open);
}

#[test]
fn white_space_between_frames_is_ignored() {
    let frame = ping_with("Content-Length: @");
    check(&[&frame[..], b"\r\n", &frame, b"\n\n \t\n", &frame].concat(), "R(7) R(7) R(7)", Open);
    check(&[b"\r\n \n", &frame[..]].concat(), "R(7)", Open);
}

#[test]
fn headers_without_a_length_end_the_connection() {
    // L-06
    check(&ping_with("Content-Type: application/json"), "E(-32700,–)", Closed);
    check(b"Content-Length\r\n\r\n{}", "E(-32700,–)", Closed);
    check(b"Content-Lengthy: 2\r\n\r\n{}", "E(-32700,–)", Closed);
}

#[test]
fn an_invalid_content_length_ends_the_connection() {
    // L-07, L-08
    for length in [
        "-5",
        "abc",
        "1e3",
        "0x10",
        "+5",
        "",
        "5.0",
        "5;6",
        "5,5",
        "5 5",
        "²",
        "99999999999999999999",
        "18446744073709551616",
    ] {
        check(&ping_with(&format!("Content-Length: {length}")), "E(-32700,–)", Closed);
    }
}

#[test]
fn a_length_far_over_the_limit_ends_the_connection() {
    // L-09: within what a machine can address, over what is allowed.
    for length in ["4294967296", "9223372036854775807", "18446744073709551615"] {
        check(&ping_with(&format!("Content-Length: {length}")), "E(-32600,–)", Closed);
    }
}

#[test]
fn a_frame_over_the_limit_gets_one_error_and_is_skipped() {
    for (length, expected) in [
        (999, "E(-32700,null)"),
        (1_000, "E(-32700,null)"),
        (1_001, "E(-32600,null)"),
        (16_000, "E(-32600,null)"),
    ] {
        for pieces in [1, 13] {
            run(async {
                let mut peer = Peer::connect(server().limits(Limits { frame: 1_000, ..Limits::default() }));
                let frame = framed(&"x".repeat(length));
                let mut answers = Vec::new();
                for piece in frame.chunks(frame.len().div_ceil(pieces)) {
                    answers.extend(peer.send(piece).await);
                }
                assert_eq!(framed_words(&answers), expected, "{length} bytes in {pieces} pieces");
                assert_eq!(framed_words(&peer.send(framed(PING)).await), "R(7)");
            });
        }
    }
}

#[test]
fn a_frame_over_the_limit_gets_an_error_before_its_body() {
    run(async {
        let mut peer = Peer::connect(server().limits(Limits { frame: 1_000, ..Limits::default() }));
        assert_eq!(framed_words(&peer.send("Content-Length: 2000\r\n\r\n").await), "E(-32600,null)");
        assert_eq!(framed_words(&peer.send([b'x'; 1_999]).await), "");
        assert_eq!(framed_words(&peer.end().await), "");
    });
}

#[test]
fn a_length_that_is_wrong_by_one_is_one_fault() {
    // L-10
    let length = PING.len();
    for wrong in [length - 1, length + 1] {
        check_lost(format!("Content-Length: {wrong}\r\n\r\n{PING}").as_bytes(), "E(-32700,–)");
        check_end(format!("Content-Length: {wrong}\r\n\r\n{PING}").as_bytes(), "E(-32700,–)");
    }
    // However wrong it is.
    for wrong in [1, 10, length + 10] {
        check_lost(format!("Content-Length: {wrong}\r\n\r\n{PING}").as_bytes(), "E(-32700,–)");
    }
    check_end(format!("Content-Length: {}\r\n\r\n{PING}", length + 1_000).as_bytes(), "E(-32700,–)");
}

#[test]
fn the_input_may_end_inside_a_header() {
    // The answer is in kind even if this was all there ever was.
    check_end(b"Content-Length: 5", "E(-32700,–)");
    check_end(b"Content-Length: 5\r\n", "E(-32700,–)");
    check_end(b"Content-Length: 5\r\n\r\n", "E(-32700,–)");
    check_end(&[&ping_with("Content-Length: @")[..], b"\r\n"].concat(), "R(7)");
}

#[test]
fn two_lengths_must_agree() {
    // L-11
    check(&ping_with("Content-Length: @\r\nContent-Length: 3"), "E(-32700,–)", Closed);
    check(&ping_with("Content-Length: 3\r\nX: y\r\ncontent-length: @"), "E(-32700,–)", Closed);
    check(&ping_with("Content-Length: @\r\nContent-Length: @"), "R(7)", Open);
}

#[test]
fn a_header_that_never_ends_is_given_up() {
    // L-12
    check(format!("Content-Length: 5\r\nX: {}", "x".repeat(1 << 20)).as_bytes(), "E(-32700,–)", Closed);
    check(format!("Content-{}", "x".repeat(1 << 20)).as_bytes(), "E(-32700,–)", Closed);
    let mut many = String::from("Content-Length: 5\r\n");
    for number in 0..100_000 {
        write!(many, "X{number}: y\r\n").unwrap();
    }
    check(many.as_bytes(), "E(-32700,–)", Closed);
    // At 8 KiB, not later.
    run(async {
        let mut peer = Peer::connect(server());
        assert_eq!(
            framed_words(&peer.send(format!("Content-Length: 5\r\nX: {}", "x".repeat(8_000))).await),
            ""
        );
        assert!(!peer.has_ended());
        assert_eq!(framed_words(&peer.send("x".repeat(200)).await), "E(-32700,null)");
        assert!(peer.has_ended());
    });
}

#[test]
fn frames_may_be_split_anywhere() {
    // L-13, L-14
    let session = [
        framed(&crate::peer::request(
            "",
            "0",
            "initialize",
            json!({"protocolVersion": "2025-06-18", "capabilities": {}}),
        )),
        format!("Content-Type: x\ncontent-length:{}\n\n{PING}", PING.len()).into_bytes(),
        framed(&call("2025-06-18", "1", "echo", &json!({"text": "comió"}))),
    ]
    .concat();
    let play = |cuts: &[usize]| {
        run(async {
            let mut peer = Peer::connect(server());
            let mut answers = Vec::new();
            let mut from = 0;
            for &to in cuts.iter().chain([&session.len()]) {
                answers.extend(peer.send(&session[from..to]).await);
                from = to;
            }
            answers.extend(peer.end().await);
            answers
        })
    };
    let whole = play(&[]);
    assert_eq!(framed_words(&whole), "R(0) R(7) R(1)");
    assert!(String::from_utf8(whole.clone()).unwrap().contains("comió"));
    for at in 0..session.len() {
        assert!(play(&[at]) == whole, "cut at {at}");
    }
    let all: Vec<usize> = (0..session.len()).collect();
    assert!(play(&all) == whole, "byte by byte");
}

#[test]
fn a_length_counts_bytes() {
    // L-14
    let request = r#"{"jsonrpc":"2.0","id":"食べた 😀 é","method":"ping"}"#;
    assert_ne!(request.len(), request.chars().count());
    check(&framed(request), "R(\"食べた 😀 é\")", Open);
    check_lost(
        format!("Content-Length: {}\r\n\r\n{request}", request.chars().count()).as_bytes(),
        "E(-32700,–)",
    );
}

#[test]
fn an_empty_frame_is_not_json() {
    check(b"Content-Length: 0\r\n\r\n", "E(-32700,–)", Open); // L-15
    check(b"Content-Length: 2\r\n\r\n  ", "E(-32700,–)", Open);
}

#[test]
fn a_frame_that_is_not_json_loses_nothing() {
    check(&framed("hello"), "E(-32700,–)", Open);
    check(&framed("\u{feff}[]"), "E(-32600,–)", Open);
    // Line ends inside a frame are white space.
    check(&framed(&PING.replace(',', ",\r\n  ")), "R(7)", Open);
}

#[test]
fn the_first_message_fixes_the_framing() {
    // L-16
    run(async {
        let mut peer = Peer::connect(server());
        assert_eq!(words(&peer.send(format!("{PING}\n")).await), "R(7)");
        let answers = peer.send([framed(PING), b"\n".to_vec()].concat()).await;
        assert_eq!(words(&answers), "E(-32700,null) R(7)");
    });
    // Garbage counts as a message.
    run(async {
        let mut peer = Peer::connect(server());
        assert_eq!(words(&peer.send("hello\n").await), "E(-32700,null)");
        assert_eq!(words(&peer.send(format!("Content-Length: 40\n{PING}\n")).await), "E(-32700,null) R(7)");
    });
    // Blank lines do not.
    run(async {
        let mut peer = Peer::connect(server());
        assert_eq!(framed_words(&peer.send([b"\n\r\n", &framed(PING)[..]].concat()).await), "R(7)");
    });
    // What only begins like a header.
    run(async {
        let mut peer = Peer::connect(server());
        assert_eq!(words(&peer.send("content\n").await), "E(-32700,null)");
        assert_eq!(words(&peer.send(format!("{PING}\n")).await), "R(7)");
    });
}

#[test]
fn a_line_among_frames_with_headers_is_not_lost_in_silence() {
    // L-16, the other way round: no header has a name like that, and the sender of the line waits for a response.
    let line = format!("{PING}\n");
    let frame = ping_with("Content-Length: @");
    check(&[&frame[..], line.as_bytes()].concat(), "R(7) E(-32700,–)", Closed);
}
