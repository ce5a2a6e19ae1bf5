//! Records to lines of JSON.

use std::borrow::Cow;

use data_encoding::BASE64;
use papertape::wire::tape::{Content, Direction, Record};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{Head, Joiner, Message};

/// Turns records into JSON objects, one for each.
#[derive(Debug, Default)]
pub struct JsonLines {
    joiner: Joiner,
}

#[derive(Serialize)]
struct Object<'a> {
    number: u64,
    /// Seconds since the start of the tape.
    time: Option<Box<RawValue>>,
    source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    exchange: Option<u64>,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_line: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<Vec<(String, String)>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    more_messages: Vec<&'a RawValue>,
}

impl JsonLines {
    /// For the records of one tape, from the first.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The object of a record whose line begins at `offset`, with a line end.
    ///
    /// Its members are `number`, `time`, `source` (`to-server`, `to-client`, `stderr` or `event`), `exchange` on HTTP, `kind`
    /// (`frame`, `head`, `stderr` or `event`); the bytes as `text`, or as `base64` if they are not UTF-8; `first_line` and
    /// `headers` of a head, `event` and `detail` of an event. A message is the `message` of the record that completes it; if
    /// there are several, the others are in `more_messages`.
    pub fn line(&mut self, offset: u64, record: &Record<'_>) -> String {
        self.joiner.push(offset, record);
        let messages: Vec<Message> = std::iter::from_fn(|| self.joiner.next_message()).collect();
        let mut messages = messages.iter().filter_map(|message| {
            message.payload().ok()?;
            // Digits and the order of members stay as they are.
            serde_json::from_slice::<&RawValue>(message.body()).ok()
        });
        let mut object = Object {
            number: record.number,
            time: record.time.and_then(|time| {
                RawValue::from_string(format!("{}.{:06}", time.as_secs(), time.subsec_micros())).ok()
            }),
            source: "event",
            exchange: record.exchange,
            kind: "event",
            event: None,
            detail: None,
            text: None,
            base64: None,
            first_line: None,
            headers: None,
            message: messages.next(),
            more_messages: messages.collect(),
        };
        let bytes: &[u8] = match &record.content {
            Content::Event { name, detail } => {
                object.event = Some(name);
                object.detail = serde_json::from_str(detail).ok();
                &[]
            }
            Content::Stderr(bytes) => {
                (object.source, object.kind) = ("stderr", "stderr");
                bytes
            }
            Content::Frame(direction, bytes) => {
                (object.source, object.kind) = (source(*direction), "frame");
                bytes
            }
            Content::Head(direction, bytes) => {
                (object.source, object.kind) = (source(*direction), "head");
                let Head { first, headers } = Head::read(bytes);
                (object.first_line, object.headers) = (Some(first), Some(headers));
                bytes
            }
        };
        if object.event.is_none() {
            match std::str::from_utf8(bytes) {
                Ok(text) => object.text = Some(text),
                Err(_) => object.base64 = Some(BASE64.encode(bytes)),
            }
        }
        // All members can be written.
        serde_json::to_string(&object).unwrap_or_default() + "\n"
    }
}

fn source(direction: Direction) -> &'static str {
    match direction {
        Direction::ToServer => "to-server",
        Direction::ToClient => "to-client",
    }
}

#[cfg(test)]
mod tests {
    use papertape::wire::tape::{Entry, read};
    use serde_json::{Value, json};

    use super::JsonLines;

    fn lines(tape: &str) -> Vec<Value> {
        let mut lines = JsonLines::new();
        let mut values = Vec::new();
        for entry in read(&format!("papertape 1\n{tape}")).unwrap() {
            let Entry::Record(record) = entry else { continue };
            let line = lines.line(0, &record);
            assert_eq!(line.find('\n'), Some(line.len() - 1));
            values.push(serde_json::from_str(&line).unwrap());
        }
        values
    }

    #[test]
    fn each_record_is_an_object() {
        assert_eq!(
            lines(
                "1 * 0.000000 start {\"pid\":1}\n# x\n2 > 1.000250 raw {\"jsonrpc\":\"2.0\",\n3 > - line \"method\":\"n\"}\n\
                 4 ! - line a\n5 < - raw ⟦ff⟧\n6 >7 - head GET / HTTP/1.1⟦0d 0a⟧Host: a\n7 <7 - raw {\"id\":1,\"result\":9}{\"x\":1}[{}]\n"
            ),
            [
                json!({"number": 1, "time": 0.0, "source": "event", "kind": "event", "event": "start", "detail": {"pid": 1}}),
                json!({"number": 2, "time": 1.00025, "source": "to-server", "kind": "frame", "text": "{\"jsonrpc\":\"2.0\","}),
                json!({"number": 3, "time": null, "source": "to-server", "kind": "frame", "text": "\"method\":\"n\"}\n",
                    "message": {"jsonrpc": "2.0", "method": "n"}}),
                json!({"number": 4, "time": null, "source": "stderr", "kind": "stderr", "text": "a\n"}),
                json!({"number": 5, "time": null, "source": "to-client", "kind": "frame", "base64": "/w=="}),
                json!({"number": 6, "time": null, "source": "to-server", "exchange": 7, "kind": "head",
                    "text": "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "first_line": "GET / HTTP/1.1", "headers": [["Host", "a"]]}),
                json!({"number": 7, "time": null, "source": "to-client", "exchange": 7, "kind": "frame",
                    "text": "{\"id\":1,\"result\":9}{\"x\":1}[{}]", "message": {"id": 1, "result": 9}, "more_messages": [[{}]]}),
            ]
        );
    }
}
