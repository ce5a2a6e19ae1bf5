//! The known cases of event streams, and that no way to cut the bytes changes what they say.

use std::borrow::Cow;

use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};

use super::{Decoder, Event, TooLong, write_event};

const LIMIT: usize = 1_000;

/// The events of a stream, and all its bytes once more.
fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Event<'static>>, Vec<u8>) {
    let mut decoder = Decoder::new(LIMIT);
    let (mut events, mut raw) = (Vec::new(), Vec::new());
    for piece in pieces {
        decoder.push(piece);
        while let Some(block) = decoder.next_block().unwrap() {
            raw.extend_from_slice(block.raw);
            let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
            events.push(Event {
                name: block.event.name.map(owned),
                data: block.event.data.map(|data| Cow::Owned(data.into_owned())),
                id: block.event.id.map(owned),
                retry: block.event.retry,
            });
        }
    }
    raw.extend_from_slice(decoder.unfinished());
    (events, raw)
}

/// The events that say anything, written as `name|data|id|retry`.
fn said(stream: &str) -> Vec<String> {
    let (events, raw) = decode([stream.as_bytes()]);
    assert_eq!(raw, stream.as_bytes());
    let events = events.into_iter().filter(|event| *event != Event::default());
    let say = |event: Event<'_>| {
        let data = event.data.map(|data| String::from_utf8(data.into_owned()).unwrap());
        let retry = event.retry.map(|retry| retry.to_string());
        let text = |text: Option<Cow<'_, str>>| text.map_or("-".to_owned(), Cow::into_owned);
        let parts = [text(event.name), data.unwrap_or("-".to_owned()), text(event.id)];
        format!("{}|{}", parts.join("|"), retry.unwrap_or("-".to_owned()))
    };
    events.map(say).collect()
}

#[test]
fn the_known_cases() {
    for (stream, events) in [
        // Line ends.
        ("data: a\n\n", &["-|a|-|-"][..]),
        ("data: a\r\n\r\n", &["-|a|-|-"]),
        ("data: a\r\r", &["-|a|-|-"]),
        ("data: a\n\r\n", &["-|a|-|-"]),
        ("data: a\r\n\rdata: b\n\n", &["-|a|-|-", "-|b|-|-"]),
        ("data: a\r\n\n", &["-|a|-|-"]),
        ("\n\n\ndata: a\n\n\n\n", &["-|a|-|-"]),
        // A byte order mark at the very beginning only.
        ("\u{feff}data: a\n\n", &["-|a|-|-"]),
        ("\u{feff}\ndata: a\n\n", &["-|a|-|-"]),
        ("\u{feff}\u{feff}data: a\n\n", &[]),
        ("data: a\n\n\u{feff}data: b\n\n", &["-|a|-|-"]),
        // Comments and unknown fields.
        (": hello\n\n", &[]),
        (":\n:data: x\ndata: a\n\n", &["-|a|-|-"]),
        ("what: x\ndata: a\nDATA: b\n data: c\n\n", &["-|a|-|-"]),
        // Fields.
        ("data\n\n", &["-||-|-"]),
        ("data:\n\n", &["-||-|-"]),
        ("data: \n\n", &["-||-|-"]),
        ("data:a\n\n", &["-|a|-|-"]),
        ("data:  a\n\n", &["-| a|-|-"]),
        ("data: a: b\n\n", &["-|a: b|-|-"]),
        ("data: a\ndata\ndata: b\n\n", &["-|a\n\nb|-|-"]),
        ("event: x\ndata: a\nevent: y\n\n", &["y|a|-|-"]),
        ("event\ndata: a\n\n", &["|a|-|-"]),
        ("event: x\n\n", &["x|-|-|-"]),
        ("id: 1\n\n", &["-|-|1|-"]),
        ("id\ndata: a\n\n", &["-|a||-"]),
        ("id: 1\nid: a\0b\ndata: a\n\n", &["-|a|1|-"]),
        ("id: é\ndata: ü\n\n", &["-|ü|é|-"]),
        ("retry: 500\n\n", &["-|-|-|500"]),
        ("retry: 5s\nretry:\nretry: -1\nretry: 1.5\nretry: +1\n\n", &[]),
        ("retry: 0\n\n", &["-|-|-|0"]),
        ("retry: 99999999999999999999\n\n", &["-|-|-|18446744073709551615"]),
        // A block without an end is not an event.
        ("data: a\n", &[]),
        ("data: a", &[]),
        ("data: a\n\ndata: b\n", &["-|a|-|-"]),
    ] {
        assert_eq!(said(stream), events, "{stream:?}");
    }
}

#[test]
fn an_event_does_not_wait_for_the_byte_after_its_end() {
    let mut decoder = Decoder::new(LIMIT);
    decoder.push(b"data: a\r\r");
    assert_eq!(decoder.next_block().unwrap().unwrap().event, Event::of(b"a"));
    decoder.push(b"\ndata: b\r\n\r");
    assert_eq!(decoder.next_block().unwrap().unwrap().event, Event::of(b"b"));
    assert_eq!(decoder.next_block(), Ok(None));
}

#[test]
fn a_block_has_a_limit() {
    let mut decoder = Decoder::new(20);
    decoder.push(b"data: 12345678901\n\n");
    assert_eq!(decoder.next_block().unwrap().unwrap().raw.len(), 19);
    decoder.push(b"data: 1234567890123\n\n");
    assert_eq!(decoder.next_block(), Err(TooLong { limit: 20 }));
    let mut decoder = Decoder::new(20);
    decoder.push(&b": ping\n".repeat(3));
    assert_eq!(decoder.next_block(), Err(TooLong { limit: 20 }));
}

fn streams() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(&b"data: "[..]),
        Just(&b"data"[..]),
        Just(&b"id:"[..]),
        Just(&b"retry: 1"[..]),
        Just(&b"event: x"[..]),
        Just(&b":"[..]),
        Just(&b"\r"[..]),
        Just(&b"\n"[..]),
        Just(&b"\n\n"[..]),
        Just(&b"\r\n\r\n"[..]),
        Just(&b"\xEF\xBB\xBF"[..]),
        Just(&b"\xff\0"[..]),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_cut_changes_what_is_said(stream in streams(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|cut| &stream[cut[0]..cut[1]]);
        let (cut_events, cut_raw) = decode(pieces);
        let (events, raw) = decode([&stream[..]]);
        prop_assert_eq!(&cut_raw, &stream);
        prop_assert_eq!(&raw, &stream);
        prop_assert_eq!(cut_events, events);
        prop_assert_eq!(decode(stream.chunks(1)).0, decode([&stream[..]]).0);
    }

    #[test]
    fn a_written_event_is_read_back(
        name in prop::option::of("[^\r\n]{0,10}"),
        id in prop::option::of("[^\r\n\0]{0,10}"),
        retry in any::<Option<u64>>(),
        data in prop::option::of(prop::collection::vec(any::<u8>().prop_filter("ends are lost", |b| *b != b'\r'), 0..50)),
    ) {
        let event = Event { name: name.map(Cow::Owned), data: data.map(Cow::Owned), id: id.map(Cow::Owned), retry };
        let mut bytes = Vec::new();
        write_event(&mut bytes, &event);
        let (events, _) = decode([&bytes[..]]);
        prop_assert_eq!(events, [event]);
    }
}
