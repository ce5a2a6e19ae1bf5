use proptest::prelude::*;
use serde_json::Value;

use super::{Kind, LineEnd, Message, Place, Scanner, scan};

const A: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"x":"{"}}"#;

/// A word for each piece.
fn words(bytes: &[u8]) -> String {
    let pieces = scan(bytes);
    let word = |kind: &Kind| match kind {
        Kind::Message(message) => {
            let mut word = format!("message {:?}", message.end);
            for (set, name) in [
                (message.pretty, " pretty"),
                (message.framed, " framed"),
                (message.invalid, " invalid"),
                (message.utf16, " utf16"),
                (message.not_a_number, " nan"),
            ] {
                word.push_str(if set { name } else { "" });
            }
            word
        }
        Kind::Json => "json".to_owned(),
        Kind::Text(place) => format!("text {place:?}"),
        Kind::Headers => "headers".to_owned(),
        Kind::Mark => "mark".to_owned(),
        Kind::Blank => "blank".to_owned(),
        Kind::Unread => "unread".to_owned(),
    };
    pieces.iter().map(|piece| word(&piece.kind)).collect::<Vec<_>>().join(", ")
}

#[test]
fn every_way_to_write_a_message_is_told_apart() {
    let pretty = format!("{:#}", serde_json::from_str::<Value>(A).unwrap());
    let utf16: Vec<u8> = format!("{A}\n").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let length = A.len();
    for (bytes, expected) in [
        (format!("{A}\n{A}\n"), "message Lf, message Lf"),
        (format!("{A}\r\n\r\n"), "message CrLf, blank"),
        (A.to_owned(), "message Missing"),
        (format!("Starting\n{A}\n"), "text OwnLine, message Lf"),
        (format!("{{ loading: 1 }}\n{A}\n"), "text OwnLine, message Lf"),
        (format!("{{\n{A}\n"), "text OwnLine, message Lf"),
        (format!("Working ... {A}\n"), "text Before, message Lf"),
        (format!("{A} done\n{A}\n"), "message Other, text After, message Lf"),
        (format!("{A}{A}\n"), "message Other, message Lf"),
        (format!("[1] {A}{A} x\n"), "text Before, message Other, message Other, text After"),
        (format!("{pretty}\n{pretty}\n"), "message Lf pretty, message Lf pretty"),
        (format!("{pretty}{A}\n"), "message Lf pretty, message Lf"),
        (format!("Content-Length: {length}\r\n\r\n{A}"), "headers, message Other framed"),
        (
            format!(
                "content-length: {length}\r\nContent-Type: x\r\n\r\n{A}Content-Length: {length}\n\n{A}\n"
            ),
            "headers, message Other framed, headers, message Other framed",
        ),
        (format!("Content-Length: 7\r\n\r\n{A}\n"), "headers, message Lf"),
        (format!("Content-Length: many\r\n{A}\n"), "text OwnLine, message Lf"),
        (format!("\u{feff}{A}\n\u{feff}{A}\n"), "mark, message Lf, mark, message Lf"),
        (format!("[{A},{A}]\n"), "message Lf"),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{"NaN\"":NaN,"b":-Infinity}}"#.to_owned() + "\n",
            "message Lf nan",
        ),
        ("{\"level\":30,\"msg\":\"up\"}\n[]\n42\n".to_owned(), "json, json, text OwnLine"),
    ] {
        assert_eq!(words(bytes.as_bytes()), expected, "{bytes}");
    }
    assert_eq!(words(&utf16), "message Lf utf16");
    assert_eq!(words(&[b"\xff\xfe".as_slice(), &utf16].concat()), "mark, message Lf utf16");
    assert_eq!(words(b"\xff\xfe caf\xe9\n"), "text OwnLine");
    let latin1 = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"caf\xe9\"}\n";
    assert_eq!(words(latin1), "message Lf invalid");
}

#[test]
fn a_message_is_there_once_its_line_is() {
    let mut scanner = Scanner::default();
    assert_eq!(scanner.next(A.as_bytes(), false), None);
    let piece = scanner.next(format!("{A}\n").as_bytes(), false).unwrap();
    assert!(matches!(piece.kind, Kind::Message(Message { end: LineEnd::Lf, .. })));
    assert_eq!(scanner.next(format!("{A}\n").as_bytes(), false), None);
}

#[test]
fn deep_json_and_unclosed_braces_do_no_harm() {
    for bytes in ["[".repeat(100_000), "{\"a\":".repeat(100_000), format!("{A}{}", "{".repeat(10_000))] {
        assert!(
            scan(bytes.as_bytes())
                .iter()
                .any(|piece| matches!(piece.kind, Kind::Text(Place::OwnLine | Place::After)))
        );
    }
}

#[test]
fn the_number_of_pieces_is_bounded() {
    let bytes = b"y\n".repeat(300_000);
    let pieces = scan(&bytes);
    assert!(pieces.last().is_some_and(|piece| piece.kind == Kind::Unread));
    assert_eq!((pieces.len(), pieces.last().map(|piece| piece.end)), (super::PIECES + 1, Some(bytes.len())));
}

proptest! {
    #[test]
    fn pieces_are_the_input(
        parts in proptest::collection::vec(
            prop_oneof![
                Just(A.as_bytes().to_vec()), Just(b"\n".to_vec()), Just(b"\r\n".to_vec()), Just(b"\xff\xfe".to_vec()),
                Just(b"\xef\xbb\xbf".to_vec()), Just(b"Content-Length: 42\r\n\r\n".to_vec()), Just(b"{".to_vec()), Just(b"[".to_vec()),
                Just(b"{\0\"\0".to_vec()), Just(b"\0".to_vec()), proptest::collection::vec(any::<u8>(), 0..8),
            ],
            0..12,
        ),
        cut in 0_usize..200,
    ) {
        let bytes = parts.concat();
        let mut at = 0;
        for piece in scan(&bytes) {
            prop_assert_eq!(piece.start, at);
            prop_assert!(piece.end > at);
            at = piece.end;
        }
        prop_assert_eq!(at, bytes.len());
        // Arriving in two parts, nothing is lost, either.
        let mut scanner = Scanner::default();
        let mut at = 0;
        for (part, ended) in [(&bytes[..cut.min(bytes.len())], false), (&bytes[..], true)] {
            while let Some(piece) = scanner.next(part, ended) {
                prop_assert_eq!(piece.start, at);
                at = piece.end;
            }
        }
        prop_assert_eq!(at, bytes.len());
    }
}
