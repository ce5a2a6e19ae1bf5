//! A TOML document as a list of its statements, and where each is in the text.

use std::borrow::Cow;
use std::ops::Range;

use toml_parser::Source;
use toml_parser::parser::{Event, EventKind, RecursionGuard, parse_document};

/// The deepest nesting of values; `toml` refuses less.
const DEEPEST: u32 = 200;

/// A header of a table, or a key with its value.
#[derive(Debug)]
pub(crate) struct Item {
    /// All keys from the root on.
    pub(crate) path: Vec<String>,
    pub(crate) range: Range<usize>,
    pub(crate) kind: ItemKind,
}

#[derive(Debug)]
pub(crate) enum ItemKind {
    Header,
    Value(TomlValue),
}

#[derive(Debug)]
pub(crate) struct TomlValue {
    pub(crate) range: Range<usize>,
    pub(crate) kind: TomlValueKind,
}

#[derive(Debug)]
pub(crate) enum TomlValueKind {
    String(String),
    Array(Vec<TomlValue>),
    Table(Vec<(Vec<String>, TomlValue)>),
    Other,
}

impl Item {
    /// Whether it is about something at or below a path.
    pub(crate) fn is_below(&self, path: &[&str]) -> bool {
        self.path.len() >= path.len() && self.path.iter().zip(path).all(|(key, wanted)| key == wanted)
    }
}

/// The statements of a valid document, in its order.
pub(crate) fn statements(text: &str) -> Vec<Item> {
    let source = Source::new(text);
    let tokens: Vec<_> = source.lex().collect();
    let mut events: Vec<Event> = Vec::new();
    parse_document(&tokens, &mut RecursionGuard::new(&mut events, DEEPEST), &mut ());
    events.retain(|event| {
        !matches!(
            event.kind(),
            EventKind::Whitespace | EventKind::Comment | EventKind::Newline | EventKind::KeySep
        )
    });
    let mut reader = Reader { source, events: events.into_iter().peekable() };
    let (mut items, mut table) = (Vec::new(), Vec::new());
    while let Some(event) = reader.events.peek().copied() {
        match event.kind() {
            EventKind::StdTableOpen | EventKind::ArrayTableOpen => {
                reader.events.next();
                table = reader.keys();
                let end = reader.events.next().map_or(event.span().end(), |close| close.span().end());
                items.push(Item {
                    path: table.clone(),
                    range: event.span().start()..end,
                    kind: ItemKind::Header,
                });
            }
            EventKind::SimpleKey => {
                let (keys, value) = reader.key_value();
                let path = table.iter().cloned().chain(keys).collect();
                let range = event.span().start()..value.range.end;
                items.push(Item { path, range, kind: ItemKind::Value(value) });
            }
            _ => {
                reader.events.next();
            }
        }
    }
    items
}

struct Reader<'a> {
    source: Source<'a>,
    events: std::iter::Peekable<std::vec::IntoIter<Event>>,
}

impl Reader<'_> {
    fn keys(&mut self) -> Vec<String> {
        let mut keys = Vec::new();
        while let Some(event) = self.events.next_if(|event| event.kind() == EventKind::SimpleKey) {
            let mut key = Cow::Borrowed("");
            if let Some(raw) = self.source.get(event) {
                raw.decode_key(&mut key, &mut ());
            }
            keys.push(key.into_owned());
        }
        keys
    }

    fn key_value(&mut self) -> (Vec<String>, TomlValue) {
        let keys = self.keys();
        self.events.next_if(|event| event.kind() == EventKind::KeyValSep);
        (keys, self.value())
    }

    fn value(&mut self) -> TomlValue {
        let Some(event) = self.events.next() else {
            return TomlValue { range: 0..0, kind: TomlValueKind::Other };
        };
        let (start, mut end) = (event.span().start(), event.span().end());
        let kind = match event.kind() {
            EventKind::ArrayOpen => {
                let mut items = Vec::new();
                while let Some(next) = self.events.peek().copied() {
                    match next.kind() {
                        EventKind::ArrayClose => {
                            end = next.span().end();
                            self.events.next();
                            break;
                        }
                        EventKind::ValueSep => {
                            self.events.next();
                        }
                        _ => items.push(self.value()),
                    }
                }
                TomlValueKind::Array(items)
            }
            EventKind::InlineTableOpen => {
                let mut members = Vec::new();
                while let Some(next) = self.events.peek().copied() {
                    match next.kind() {
                        EventKind::InlineTableClose => {
                            end = next.span().end();
                            self.events.next();
                            break;
                        }
                        EventKind::SimpleKey => members.push(self.key_value()),
                        _ => {
                            self.events.next();
                        }
                    }
                }
                TomlValueKind::Table(members)
            }
            EventKind::Scalar if event.encoding().is_some() => {
                let mut text = Cow::Borrowed("");
                let _kind = self.source.get(event).map(|raw| raw.decode_scalar(&mut text, &mut ()));
                TomlValueKind::String(text.into_owned())
            }
            _ => TomlValueKind::Other,
        };
        TomlValue { range: start..end, kind }
    }
}
