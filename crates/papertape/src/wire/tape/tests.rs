use std::borrow::Cow;
use std::time::Duration;

use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::{Content, Direction, Entry, HEADER, Record, escaped, read};

fn line(bytes: &[u8]) -> String {
    written(Content::Frame(Direction::ToServer, Cow::Borrowed(bytes)))
}

fn written(content: Content<'_>) -> String {
    let mut tape = String::new();
    Record { number: 7, exchange: None, time: Some(Duration::from_micros(1_000_250)), content }
        .write(&mut tape);
    tape
}

#[test]
fn a_tape_is_readable() {
    assert_eq!(line(b"{\"a\":\"\\n\"}\n"), "7 > 1.000250 line {\"a\":\"\\n\"}\n");
    assert_eq!(line("Content-Length: 3\r\n\r\n\"é".as_bytes()), "7 > 1.000250 length \"é\n");
    assert_eq!(line(b"Content-Length: 4\r\n\r\n{}"), "7 > 1.000250 raw Content-Length: 4⟦0d 0a 0d 0a⟧{}\n");
    assert_eq!(line(b"{}\r\n"), "7 > 1.000250 line {}⟦0d⟧\n");
    assert_eq!(line(b"\xff\xfe\x1b[1m "), "7 > 1.000250 raw ⟦ff fe 1b⟧[1m⟦20⟧\n");
    assert_eq!(line("⟦⟧\n".as_bytes()), "7 > 1.000250 line ⟦e2 9f a6⟧⟧\n");
    assert_eq!(line(b"\n"), "7 > 1.000250 line\n");
    assert_eq!(
        line("a\u{e0041}\u{e0042}\u{61c}b\u{fe01}❤️\n".as_bytes()),
        "7 > 1.000250 line a⟦f3 a0 81 81 f3 a0 81 82 d8 9c⟧b⟦ef b8 81⟧❤️\n"
    );
    assert_eq!(line(b"data: {}\n\n"), "7 > 1.000250 event {}\n");
    assert_eq!(line(b"data: \n\n"), "7 > 1.000250 event\n");
    assert_eq!(line(b"data: a\ndata: b\n\n"), "7 > 1.000250 line data: a⟦0a⟧data: b⟦0a⟧\n");
    assert_eq!(line(b"id: 1\r\n\r\n"), "7 > 1.000250 line id: 1⟦0d 0a 0d⟧\n");
}

#[test]
fn escaped_bytes_are_on_one_line() {
    assert_eq!(escaped(b"a\x1b[31m\xff"), "a⟦1b⟧[31m⟦ff⟧");
    assert_eq!(escaped(b""), "");
}

/// Escapes one character after the other, without a path for runs of ASCII.
fn escaped_one_by_one(bytes: &[u8]) -> String {
    let (mut text, mut hidden, mut at) = (String::new(), Vec::new(), 0);
    let flush = |text: &mut String, hidden: &mut Vec<String>| {
        if !hidden.is_empty() {
            *text += &format!("⟦{}⟧", hidden.join(" "));
            hidden.clear();
        }
    };
    for chunk in bytes.utf8_chunks() {
        for (c, is_shown) in super::super::shown::characters(chunk.valid()) {
            at += c.len_utf8();
            if is_shown && c != '⟦' && !(c == ' ' && at == bytes.len()) {
                flush(&mut text, &mut hidden);
                text.push(c);
            } else {
                hidden.extend(c.to_string().bytes().map(|byte| format!("{byte:02x}")));
            }
        }
        at += chunk.invalid().len();
        hidden.extend(chunk.invalid().iter().map(|byte| format!("{byte:02x}")));
    }
    flush(&mut text, &mut hidden);
    text
}

#[test]
fn stderr_events_and_heads_are_readable() {
    let stderr = |bytes| written(Content::Stderr(Cow::Borrowed(bytes)));
    assert_eq!(stderr(b"listening\r\n"), "7 ! 1.000250 line listening⟦0d⟧\n");
    assert_eq!(stderr(b"50 %"), "7 ! 1.000250 raw 50 %\n");
    let event = Content::Event { name: Cow::Borrowed("exit"), detail: Cow::Borrowed(r#"{"status":0}"#) };
    assert_eq!(written(event), "7 * 1.000250 exit {\"status\":0}\n");
    let head = b"HTTP/1.1 202 Accepted\r\nallow: POST\r\n\r\n";
    let content = Content::Head(Direction::ToClient, Cow::Borrowed(head));
    let mut tape = String::new();
    Record { number: 8, exchange: Some(3), time: None, content }.write(&mut tape);
    assert_eq!(tape, "8 <3 - head HTTP/1.1 202 Accepted⟦0d 0a⟧allow: POST\n");
}

#[test]
fn tapes_with_fewer_escapes_are_read() {
    let text = "papertape 1\n1 > - line a\u{e0041}\u{61c}\u{200b}\u{fe0f}b\n";
    let [Entry::Record(Record { content: Content::Frame(_, bytes), .. })] = &read(text).unwrap()[..] else {
        panic!()
    };
    assert_eq!(&bytes[..], "a\u{e0041}\u{61c}\u{200b}\u{fe0f}b\n".as_bytes());
}

#[test]
fn invalid_tapes_are_rejected_with_the_line() {
    for (text, problem) in [
        ("", "line 1: a tape begins with the line \"papertape 1\""),
        ("papertape 1\nx > - line {}", "line 2: \"x\" is not a frame number"),
        (
            "papertape 1\n1 = - line {}",
            "line 2: \"=\" is not a direction: > goes to the server, < to the client, ! is stderr, * an event, and \
             the number of an HTTP request may follow",
        ),
        (
            "papertape 1\n\n1 > 1.0 line {}",
            "line 3: \"1.0\" is not a time: write seconds with six decimals, or -",
        ),
        (
            "papertape 1\n1 > - page {}",
            "line 2: \"page\" is not a form: it is line, length, event, head or raw",
        ),
        ("papertape 1\n1 > -", "line 2: the form is missing"),
        (
            "papertape 1\n1 * - Exit {}",
            "line 2: \"Exit\" is not the name of an event: it has lower-case letters and hyphens",
        ),
        ("papertape 1\n1 * - exit 0", "line 2: what follows the event \"exit\" is not a JSON object"),
        ("papertape 1\n1 ! - length x", "line 2: \"length\" is not a form of stderr: it is line or raw"),
        ("papertape 1\n1 > - raw ⟦0", "line 2: ⟦ has no ⟧"),
        (
            "papertape 1\n1 > - raw ⟦+1⟧",
            "line 2: \"+1\" between ⟦ and ⟧ is not a byte: write two hexadecimal digits",
        ),
    ] {
        assert_eq!(read(text).unwrap_err().to_string(), problem);
    }
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<Vec<u8>>(),
        any::<String>().prop_map(String::into_bytes),
        any::<String>().prop_map(|s| format!("Content-Length: {}\r\n\r\n{s}", s.len()).into_bytes()),
        "[⟦⟧ a-c\r\n\u{202e}]{0,8}\n?".prop_map(String::into_bytes),
        "data: [⟦⟧ a-c\r\n]{0,8}\n\n".prop_map(String::into_bytes),
    ]
}

fn contents() -> impl Strategy<Value = Content<'static>> {
    let direction =
        || any::<bool>().prop_map(|up| if up { Direction::ToServer } else { Direction::ToClient });
    prop_oneof![
        4 => (direction(), bytes()).prop_map(|(direction, bytes)| Content::Frame(direction, Cow::Owned(bytes))),
        1 => (direction(), bytes()).prop_map(|(direction, mut bytes)| {
            bytes.extend_from_slice(b"\r\n\r\n");
            Content::Head(direction, Cow::Owned(bytes))
        }),
        1 => bytes().prop_map(|bytes| Content::Stderr(Cow::Owned(bytes))),
        1 => ("[a-z-]{1,8}", any::<String>()).prop_map(|(name, text)| Content::Event {
            name: Cow::Owned(name),
            detail: Cow::Owned(serde_json::json!({ "text": text }).to_string()),
        }),
    ]
}

fn records() -> impl Strategy<Value = Record<'static>> {
    (any::<u64>(), any::<Option<u64>>(), prop::option::of(0..10u64.pow(12)), contents()).prop_map(
        |(number, exchange, micros, content)| Record {
            number,
            exchange,
            time: micros.map(Duration::from_micros),
            content,
        },
    )
}

proptest! {
    #[test]
    fn runs_of_ascii_are_escaped_as_single_characters_are(
        parts in prop::collection::vec(
            prop_oneof![
                any::<Vec<u8>>(),
                "[ -~]{0,70}".prop_map(String::into_bytes),
                "[0-9#*a ⟦\u{fe0f}\u{20e3}\u{200d}😀\u{1f3fd}\u{e0041}é\u{1b}\r\n]{0,6}".prop_map(String::into_bytes),
            ],
            0..8,
        )
    ) {
        let bytes = parts.concat();
        prop_assert_eq!(escaped(&bytes), escaped_one_by_one(&bytes));
    }

    #[test]
    fn bytes_to_tape_to_bytes_is_the_identity(records in prop::collection::vec(records(), 0..5)) {
        let mut tape = format!("{HEADER}\n");
        for record in &records {
            record.write(&mut tape);
        }
        prop_assert!(!tape.contains('\r') && tape.lines().count() == records.len() + 1);
        let entries: Vec<Entry> = records.into_iter().map(Entry::Record).collect();
        prop_assert_eq!(read(&tape).unwrap(), entries);
    }

    #[test]
    fn any_text_is_a_tape_or_an_error(text in any::<String>()) {
        drop(read(&format!("{HEADER}\n{text}")));
    }
}
