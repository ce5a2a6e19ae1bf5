//! `papertape tape grep`: where a regular expression matches.

use std::borrow::Cow;
use std::ops::Range;
use std::time::Duration;

use fancy_regex::Regex;
use papertape::wire::tape::{Content, Direction, Record, escaped};
use papertape_tape::{Joiner, Message};

use super::output::{Output, Reader};
use super::source::Source;
use crate::args::{Grep, Side};
use crate::exit::Failure;
use crate::print::text::safe;
use crate::print::{Look, frame, style};

/// How many characters before and after a match are printed.
const AROUND: usize = 60;

pub(crate) fn run(args: &Grep) -> Result<(), Failure> {
    let mut search =
        Search { args, regex: regex(args)?, look: Look::of_stdout(), output: Output::new(), found: 0 };
    let mut source = Source::open(&args.tape)?;
    let mut joiner = Joiner::new();
    let mut reader = Reader::Reads;
    while let Some(line) = source.next_line()? {
        let Some(record) = line.record() else { continue };
        joiner.push(line.offset, record);
        reader = search.record(record)?;
        while reader == Reader::Reads
            && let Some(message) = joiner.next_message()
        {
            reader = search.message(&message)?;
        }
        if reader == Reader::Gone {
            return Ok(());
        }
    }
    joiner.finish();
    while reader == Reader::Reads
        && let Some(message) = joiner.next_message()
    {
        reader = search.message(&message)?;
    }
    if args.count {
        search.output.write(format!("{}\n", search.found))?;
    }
    search.output.flush()?;
    source.finish()?;
    if search.found > 0 { Ok(()) } else { Err(Failure::Negative) }
}

fn regex(args: &Grep) -> Result<Regex, Failure> {
    let pattern =
        if args.fixed { fancy_regex::escape(&args.pattern) } else { Cow::Borrowed(args.pattern.as_str()) };
    let pattern = if args.ignore_case { Cow::Owned(format!("(?i){pattern}")) } else { pattern };
    Regex::new(&pattern).map_err(|error| {
        let pattern = &args.pattern;
        Failure::usage(format!(
            "\"{pattern}\" is not a regular expression: {error}\n  --fixed searches for it as a text"
        ))
    })
}

struct Search<'a> {
    args: &'a Grep,
    regex: Regex,
    look: Look,
    output: Output,
    found: u64,
}

/// What is searched, and what is printed before it.
struct Text<'a> {
    text: Cow<'a, str>,
    number: (u64, Option<u64>),
    direction: Option<Direction>,
    time: Option<Duration>,
}

impl Search<'_> {
    /// Everything but frames, which are searched as messages.
    fn record(&mut self, record: &Record<'_>) -> Result<Reader, Failure> {
        let (text, side, direction) = match &record.content {
            Content::Frame(..) => return Ok(Reader::Reads),
            Content::Head(direction, bytes) => {
                (String::from_utf8_lossy(bytes), Some(Side::of(*direction)), Some(*direction))
            }
            Content::Stderr(bytes) => (String::from_utf8_lossy(bytes), Some(Side::Stderr), None),
            Content::Event { name, detail } => (Cow::Owned(format!("{name} {detail}")), None, None),
        };
        let number = (record.number, record.exchange);
        self.search(side, &Text { text, number, direction, time: record.time })
    }

    fn message(&mut self, message: &Message) -> Result<Reader, Failure> {
        let number = (message.place.first, message.exchange);
        let direction = Some(message.direction);
        let text = Text { text: message.text(), number, direction, time: message.place.time };
        self.search(Some(Side::of(message.direction)), &text)
    }

    fn search(&mut self, side: Option<Side>, text: &Text<'_>) -> Result<Reader, Failure> {
        if self.args.direction.is_some_and(|direction| side != Some(direction)) {
            return Ok(Reader::Reads);
        }
        let too_many = |_| {
            let number = text.number.0;
            Failure::usage(format!("the pattern takes too many steps at number {number}: make it simpler"))
        };
        let mut matches = self.regex.find_iter(&*text.text);
        let Some(first) = matches.next() else { return Ok(Reader::Reads) };
        let first = first.map_err(too_many)?.range();
        self.found += 1;
        if self.args.count {
            return Ok(Reader::Reads);
        }
        // The others are counted, as far as they can be found.
        let others = matches.map_while(Result::ok).count();
        let line = self.line(text, first, others);
        self.output.write(line)
    }

    fn line(&self, text: &Text<'_>, found: Range<usize>, others: usize) -> String {
        let all = &text.text;
        let (before, after) = (all.get(..found.start), all.get(found.end..));
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        let found = self.look.paint(style::WRONG, &escaped(all.get(found).unwrap_or_default().as_bytes()));
        let mut shown = if self.args.whole {
            let after = after.trim_end_matches(['\r', '\n']);
            format!("{}{found}{}", escaped(before.as_bytes()), escaped(after.as_bytes()))
        } else {
            // The line of the match, as much of it as fits.
            let before = before.rsplit('\n').next().unwrap_or_default();
            let after = after.split(['\r', '\n']).next().unwrap_or_default();
            let (near_before, near_after) = (last(before), first(after));
            let cut = |near: &str, all: &str| if near.len() < all.len() { "…" } else { "" };
            let (start, end) = (cut(near_before, before), cut(near_after, after));
            format!("{start}{}{found}{}{end}", safe(near_before), safe(near_after))
        };
        if others > 0 {
            shown += &self.look.paint(style::DIM, &format!("  (+{others})"));
        }
        frame::record_line(self.look, text.number, text.direction, text.time, &shown)
    }
}

/// The last characters of a text.
fn last(text: &str) -> &str {
    let start = text.char_indices().rev().nth(AROUND - 1).map_or(0, |(at, _)| at);
    text.get(start..).unwrap_or(text)
}

/// The first characters of a text.
fn first(text: &str) -> &str {
    let end = text.char_indices().nth(AROUND).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}
