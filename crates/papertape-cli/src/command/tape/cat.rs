//! `papertape tape cat`: a tape for people.

use papertape::wire::tape::{Content, Direction, Entry, Record};
use papertape_tape::{Change, Head, Joiner, Line, Message, Recording};

use super::output::{Output, Reader};
use super::source::{Followed, Source};
use crate::args::{Cat, Side};
use crate::exit::Failure;
use crate::print::text::safe;
use crate::print::{Look, frame, json, style};

pub(crate) fn run(args: &Cat) -> Result<(), Failure> {
    let mut printer = Printer {
        look: Look::of_stdout(),
        direction: args.direction,
        exchange: args.exchange,
        only: (!args.only.is_empty()).then(|| Only { methods: args.only.clone(), ..Only::default() }),
    };
    let mut output = Output::new();
    if args.follow {
        return follow(args, &mut printer, &mut output);
    }
    let mut source = Source::open(&args.tape)?;
    while let Some(line) = source.next_line()? {
        if output.write(printer.text(&line))? == Reader::Gone {
            return Ok(());
        }
    }
    output.flush()?;
    source.note_open();
    source.finish()
}

/// Goes on until the event `end`.
fn follow(args: &Cat, printer: &mut Printer, output: &mut Output) -> Result<(), Failure> {
    let mut source = Followed::open(&args.tape)?;
    loop {
        let Some(line) = source.next_line()? else {
            if output.flush()? == Reader::Gone {
                return Ok(());
            }
            source.wait()?;
            continue;
        };
        if output.write(printer.text(&line))? == Reader::Gone {
            return Ok(());
        }
        let ends =
            |record: &Record<'_>| matches!(&record.content, Content::Event { name, .. } if name == "end");
        if line.record().is_some_and(ends) {
            output.flush()?;
            return source.finish();
        }
    }
}

/// Whether a name is a pattern's, which may end in `*`.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

struct Printer {
    look: Look,
    direction: Option<Side>,
    exchange: Option<u64>,
    only: Option<Only>,
}

/// The messages of some methods.
#[derive(Default)]
struct Only {
    methods: Vec<String>,
    recording: Recording,
    joiner: Joiner,
}

impl Only {
    /// The messages that a record completes, if they are of such a method.
    fn messages(&mut self, offset: u64, record: &Record<'_>) -> Vec<Message> {
        let changes = self.recording.push(offset, record);
        self.joiner.push(offset, record);
        let messages: Vec<Message> = std::iter::from_fn(|| self.joiner.next_message()).collect();
        match changes.into_iter().any(|change| self.shows(change)) {
            true => messages,
            false => Vec::new(),
        }
    }

    fn shows(&self, change: Change) -> bool {
        let of_call = |index: usize| self.recording.calls().get(index).map(|call| &*call.method);
        let names: [Option<&str>; 2] = match change {
            Change::Request(index) | Change::Response(index) => [of_call(index), None],
            Change::Notification(index) => {
                let notification = self.recording.notifications().get(index);
                let about = notification.and_then(|notification| notification.call).and_then(of_call);
                [notification.map(|notification| &*notification.method), about]
            }
            Change::Stray(_) | Change::Event(_) => [None, None],
        };
        names.into_iter().flatten().any(|name| self.methods.iter().any(|pattern| fits(pattern, name)))
    }
}

impl Printer {
    fn text(&mut self, line: &Line) -> String {
        match &line.entry {
            Entry::Comment(comment) => match self.prints_everything() {
                true => self.look.paint(style::DIM, &safe(comment)) + "\n",
                false => String::new(),
            },
            Entry::Record(record) => {
                if let Some(only) = &mut self.only {
                    let messages = only.messages(line.offset, record);
                    return messages.iter().map(|message| self.message(message)).collect();
                }
                self.record(record)
            }
        }
    }

    fn prints_everything(&self) -> bool {
        self.direction.is_none() && self.exchange.is_none() && self.only.is_none()
    }

    fn prints(&self, side: Option<Side>, exchange: Option<u64>) -> bool {
        self.direction.is_none_or(|direction| side == Some(direction))
            && self.exchange.is_none_or(|number| exchange == Some(number))
    }

    fn message(&self, message: &Message) -> String {
        if !self.prints(Some(Side::of(message.direction)), message.exchange) || !message.is_content() {
            return String::new();
        }
        let text = content(&message.bytes, message.exchange);
        self.line((message.place.first, message.exchange), Some(message.direction), message.place.time, &text)
    }

    fn record(&self, record: &Record<'_>) -> String {
        let number = (record.number, record.exchange);
        let side = match &record.content {
            Content::Frame(direction, _) | Content::Head(direction, _) => Some(Side::of(*direction)),
            Content::Stderr(_) => Some(Side::Stderr),
            Content::Event { .. } => None,
        };
        if !self.prints(side, record.exchange) {
            return String::new();
        }
        match &record.content {
            Content::Frame(direction, bytes) => {
                self.line(number, Some(*direction), record.time, &content(bytes, record.exchange))
            }
            Content::Head(direction, bytes) => {
                let Head { first, headers } = Head::read(bytes);
                let first = self.look.paint(style::HEADING, &safe(&first));
                let mut text = frame::record_line(self.look, number, Some(*direction), record.time, &first);
                for (name, value) in headers {
                    let name = self.look.paint(style::KEY, &safe(&name));
                    text += &format!("{:17}{name}: {}\n", "", safe(&value));
                }
                text
            }
            Content::Stderr(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                let text = text.strip_suffix('\n').unwrap_or(&text);
                let text = format!("{}  {}", self.look.paint(style::DIM, "stderr"), safe(text));
                frame::record_line(self.look, number, None, record.time, &text)
            }
            Content::Event { name, detail } => {
                let text = format!(
                    "{}  {}",
                    self.look.paint(style::STRONG, name),
                    json::line(&safe(detail), self.look)
                );
                frame::record_line(self.look, number, None, record.time, &text)
            }
        }
    }

    fn line(
        &self,
        number: (u64, Option<u64>),
        direction: Option<Direction>,
        time: Option<std::time::Duration>,
        text: &str,
    ) -> String {
        frame::record_line(self.look, number, direction, time, &json::line(text, self.look))
    }
}

fn content(bytes: &[u8], exchange: Option<u64>) -> String {
    match exchange {
        Some(_) => frame::http_content(bytes),
        None if bytes.starts_with(b"data: ") => frame::http_content(bytes),
        None => frame::stdio_content(bytes),
    }
}
