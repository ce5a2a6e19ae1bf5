use std::borrow::Cow;
use std::time::Duration;

use papertape::wire::tape::{Content, Direction, Record, read};
use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::Joiner;
use crate::message::{Form, Message};

fn record(number: u64, exchange: Option<u64>, direction: Direction, bytes: &[u8]) -> Record<'static> {
    let time = Some(Duration::from_micros(number));
    Record { number, exchange, time, content: Content::Frame(direction, Cow::Owned(bytes.to_vec())) }
}

fn joined(records: &[Record<'_>]) -> Vec<Message> {
    let mut joiner = Joiner::new();
    let mut messages = Vec::new();
    for record in records {
        joiner.push(record.number * 100, record);
        while let Some(message) = joiner.next_message() {
            messages.push(message);
        }
    }
    joiner.finish();
    while let Some(message) = joiner.next_message() {
        messages.push(message);
    }
    messages
}

fn bodies(messages: &[Message]) -> Vec<(&str, Form)> {
    messages.iter().map(|message| (std::str::from_utf8(message.body()).unwrap(), message.form)).collect()
}

/// What comes of the parts of one source.
fn of_parts(exchange: Option<u64>, parts: &[&[u8]]) -> Vec<Message> {
    let parts = (1..).zip(parts).map(|(number, part)| record(number, exchange, Direction::ToClient, part));
    joined(&parts.collect::<Vec<_>>())
}

#[test]
fn lines_are_joined() {
    let messages = of_parts(None, &[b"{\"a\":", b"1}\n{}", b"\n", b"\n", b"{\"b\""]);
    let frame = |text| (text, Form::Frame);
    assert_eq!(
        bodies(&messages),
        [frame("{\"a\":1}"), frame("{}"), ("", Form::Blank), ("{\"b\"", Form::Unterminated)]
    );
    let place = messages[0].place;
    assert_eq!((place.first, place.last, place.offset, place.within, place.size), (1, 2, 100, 0, 8));
    assert_eq!(place.time, Some(Duration::from_micros(2)));
    let place = messages[1].place;
    assert_eq!((place.first, place.last, place.offset, place.within, place.size), (2, 3, 200, 3, 3));
}

#[test]
fn content_length_frames_are_joined() {
    let messages = of_parts(None, &[b"Content-Len", b"gth: 2\r\n\r\n{", b"}Content-Length: 2\r\n\r\n[]"]);
    assert_eq!(bodies(&messages), [("{}", Form::Frame), ("[]", Form::Frame)]);
}

#[test]
fn bodies_and_events_without_an_exchange_are_messages() {
    let messages = of_parts(None, &[b"{\"id\":1}", b"{\"id\":2}", b"id: 7\ndata: {}\n\n", b"{}\n"]);
    assert_eq!(
        bodies(&messages),
        [("{\"id\":1}", Form::Body), ("{\"id\":2}", Form::Body), ("{}", Form::Event), ("{}", Form::Frame)]
    );
}

#[test]
fn a_body_that_gets_its_line_end_later_is_one_message() {
    let messages = of_parts(None, &[b"{}", b"\n", b"[]\n"]);
    assert_eq!(bodies(&messages), [("{}", Form::Body), ("", Form::Blank), ("[]", Form::Frame)]);
}

#[test]
fn http_bodies_are_joined() {
    let messages = of_parts(Some(7), &[b"{\"a\":\"}", b"\"}\n", b"[]{}", b"<html>", b" "]);
    let body = |text| (text, Form::Body);
    assert_eq!(
        bodies(&messages),
        [body("{\"a\":\"}\"}"), body("[]"), body("{}"), ("<html>", Form::Other), ("", Form::Blank)]
    );
    assert_eq!(messages[2].place.within, 2);
}

#[test]
fn http_events_are_joined() {
    let messages = of_parts(
        Some(7),
        &[b": ping\n\nda", b"ta: {\ndata: }\n", b"\ndata: []\r\n\r\nid: 1\n\n", b"data: x"],
    );
    assert_eq!(
        bodies(&messages),
        [
            ("", Form::Blank),
            ("{\n}", Form::Event),
            ("[]", Form::Event),
            ("", Form::Blank),
            ("data: x", Form::Unterminated)
        ]
    );
    assert_eq!((messages[1].place.first, messages[1].place.last, messages[1].place.within), (1, 3, 8));
}

#[test]
fn exchanges_and_directions_are_apart() {
    let messages = joined(&[
        record(1, Some(1), Direction::ToServer, b"{\"a\":"),
        record(2, Some(2), Direction::ToServer, b"{\"b\":"),
        record(3, Some(1), Direction::ToClient, b"{\"c\":"),
        record(4, Some(2), Direction::ToServer, b"2}"),
        record(5, Some(1), Direction::ToServer, b"1}"),
    ]);
    let bodies: Vec<_> = messages.iter().map(|message| message.text().into_owned()).collect();
    assert_eq!(bodies, ["{\"b\":2}", "{\"a\":1}", "{\"c\":"]);
}

#[test]
fn streams_end_with_their_process() {
    let tape = "papertape 1\n1 > - raw {\"a\"\n2 * - eof {\"of\":\"client\"}\n3 < - raw x\n4 * - start {}\n\
        5 > - line {}\n6 >1 - raw {\n7 >1 - head POST / HTTP/1.1\n8 >1 - raw {}\n";
    let mut joiner = Joiner::new();
    let mut seen = Vec::new();
    for entry in read(tape).unwrap() {
        let papertape::wire::tape::Entry::Record(record) = entry else { panic!() };
        joiner.push(0, &record);
        while let Some(message) = joiner.next_message() {
            seen.push((record.number, message.text().into_owned(), message.form));
        }
    }
    let expected = [
        (2, "{\"a\"", Form::Unterminated),
        (4, "x", Form::Unterminated),
        (5, "{}", Form::Frame),
        (7, "{", Form::Unterminated),
        (8, "{}", Form::Body),
    ];
    let seen: Vec<_> = seen.iter().map(|(number, text, form)| (*number, &**text, *form)).collect();
    assert_eq!(seen, expected);
}

fn parts() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<Vec<u8>>(),
        "[{}\\[\\]\"\\\\ a:\r\n]{0,6}".prop_map(String::into_bytes),
        "(data|event|id)?(: )?[{}a\r\n]{0,4}(\n|\r\n|\r|\n\n)?".prop_map(String::into_bytes),
        "(Content-Length: [0-9]\r\n\r\n)?[{}a\n]{0,4}".prop_map(String::into_bytes),
    ]
}

proptest! {
    #[test]
    fn every_byte_is_in_one_message(
        parts in prop::collection::vec((any::<bool>(), prop::option::of(0u64..2), parts()), 0..12)
    ) {
        let records: Vec<_> = (1..)
            .zip(parts)
            .map(|(number, (up, exchange, bytes))| {
                record(number, exchange, if up { Direction::ToServer } else { Direction::ToClient }, &bytes)
            })
            .collect();
        let messages = joined(&records);
        for direction in [Direction::ToServer, Direction::ToClient] {
            for exchange in [None, Some(0), Some(1)] {
                let mine: Vec<&Record<'_>> = records.iter().filter(|record| {
                    record.exchange == exchange && record.as_frame().unwrap().0 == direction
                }).collect();
                let of_records = mine.iter().map(|record| record.as_frame().unwrap().1).collect::<Vec<_>>().concat();
                let mut of_messages = Vec::new();
                for message in &messages {
                    if message.exchange != exchange || message.direction != direction {
                        continue;
                    }
                    // The place leads to the bytes.
                    let first = mine.iter().position(|record| record.number == message.place.first).unwrap();
                    let before: usize = mine[..first].iter().map(|record| record.as_frame().unwrap().1.len()).sum();
                    prop_assert_eq!(before + usize::try_from(message.place.within).unwrap(), of_messages.len());
                    prop_assert_eq!(message.place.size, message.bytes.len() as u64);
                    prop_assert_eq!(message.place.offset, message.place.first * 100);
                    prop_assert!(!message.bytes.is_empty());
                    of_messages.extend_from_slice(&message.bytes);
                }
                prop_assert_eq!(of_messages, of_records);
            }
        }
    }
}
