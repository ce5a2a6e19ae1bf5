//! `papertape tape diff`: how two recordings of a session differ.

use std::path::Path;

use papertape::wire::tape::Direction;
use papertape_tape::{Difference, Mismatch, Outcome, Recorded, Recording, Volatile, compare};
use serde_json::{Value, json};

use super::source::{Rereadable, is_stdin, open_twice};
use crate::args::{Diff, Output};
use crate::exit::Failure;
use crate::print::text::{counted, safe};
use crate::print::{self, Look, style};

/// So many characters of a value are printed as text.
const LONGEST_VALUE: usize = 300;

pub(crate) fn run(args: &Diff) -> Result<(), Failure> {
    if is_stdin(&args.old) && is_stdin(&args.new) {
        return Err(Failure::usage("both tapes are stdin: name a file for one of them"));
    }
    let mut volatile = if args.strict { Volatile::nothing() } else { Volatile::new() };
    for rule in &args.ignore {
        volatile = volatile.ignore(rule).map_err(|error| Failure::usage(format!("--ignore: {error}")))?;
    }
    let (mut old, old_result) = read(&args.old)?;
    let (mut new, new_result) = read(&args.new)?;
    let mut found = Vec::new();
    let look = Look::of_stdout();
    let mut count = 0;
    let result: Result<(), Failure> = compare(&mut old, &mut new, &volatile, |mismatch| {
        count += 1;
        match args.output {
            Output::Text => print::out(text(&mismatch, look))?,
            Output::Json => found.push(value(&mismatch)),
        }
        Ok(())
    });
    result.map_err(|failure| match failure {
        // Reading fails as writing does; what was printed could be printed.
        Failure::Output(message) => {
            Failure::Tape(message.replace("cannot write to stdout", "cannot read a tape again"))
        }
        other => other,
    })?;
    match args.output {
        Output::Json => print::document(&json!({"differences": found}))?,
        Output::Text if count == 0 => {
            let calls = old.recording.calls().len();
            print::out(format!("no difference in {}\n", counted(calls, "request")))?;
        }
        Output::Text => {}
    }
    old_result?;
    new_result?;
    if count > 0 { Err(Failure::Negative) } else { Ok(()) }
}

type Read = (Recorded<Box<dyn Rereadable>>, Result<(), Failure>);

/// Reads a tape; lines of it that cannot be read are reported when the rest has been compared.
fn read(path: &Path) -> Result<Read, Failure> {
    let (mut source, tape) = open_twice(path)?;
    let mut recording = Recording::new();
    while let Some(line) = source.next_line()? {
        if let Some(record) = line.record() {
            recording.push(line.offset, record);
        }
    }
    recording.finish();
    match source.finish() {
        Err(failure @ Failure::Tape(_)) => Err(failure),
        result => Ok((Recorded { recording, tape }, result)),
    }
}

/// `tools/call add (→ 3 | → 5)`, and a line for each difference.
fn text(mismatch: &Mismatch, look: Look) -> String {
    let arrow = match mismatch.direction {
        Direction::ToServer => "→",
        Direction::ToClient => "←",
    };
    let name = mismatch.name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
    let title = look.paint(style::HEADING, &safe(&format!("{}{name}", mismatch.method)));
    let mut text = match (mismatch.old, mismatch.new) {
        (Some(old), Some(new)) => format!("{title} ({arrow} {old} | {arrow} {new})\n"),
        (Some(old), None) => format!("{title} ({arrow} {old}): only in the old tape\n"),
        (None, new) => format!("{title} ({arrow} {}): only in the new tape\n", new.unwrap_or_default()),
    };
    if let Some((old, new)) = mismatch.outcomes {
        text += &format!("  outcome: {} -> {}\n", outcome(old), outcome(new));
    }
    for difference in &mismatch.differences {
        text += &line(difference, look);
    }
    text
}

fn line(difference: &Difference, look: Look) -> String {
    let pointer = if difference.pointer.is_empty() { "/" } else { &difference.pointer };
    let label = difference.label.as_deref().map(|label| format!(" ({label})")).unwrap_or_default();
    let at = look.paint(style::KEY, &safe(&format!("{pointer}{label}")));
    let old = |value: &Value| look.paint(style::WRONG, &shortened(value));
    let new = |value: &Value| look.paint(style::STRING, &shortened(value));
    match (&difference.old, &difference.new) {
        (Some(before), Some(after)) => format!("  {at}: {} -> {}\n", old(before), new(after)),
        (Some(before), None) => format!("  {at}: {} is missing\n", old(before)),
        (None, Some(after)) => format!("  {at}: {} is new\n", new(after)),
        (None, None) => format!("  {at}: the order differs\n"),
    }
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    let end = text.char_indices().nth(LONGEST_VALUE).map(|(at, _)| at);
    match end.and_then(|end| text.get(..end)) {
        Some(short) => format!("{}…", safe(short)),
        None => safe(&text),
    }
}

fn outcome(outcome: Outcome) -> String {
    match outcome {
        Outcome::None => "no response".to_owned(),
        Outcome::Ok => "a result".to_owned(),
        Outcome::ToolError => "a result with isError".to_owned(),
        Outcome::Error(code) => format!("error {code}"),
        Outcome::Invalid => "an invalid response".to_owned(),
        Outcome::Cancelled => "cancelled".to_owned(),
    }
}

fn value(mismatch: &Mismatch) -> Value {
    let changes: Vec<Value> = mismatch
        .differences
        .iter()
        .map(|difference| {
            let mut change = json!({"pointer": difference.pointer});
            if let Some(members) = change.as_object_mut() {
                members.extend(difference.label.clone().map(|label| ("label".to_owned(), label.into())));
                members.extend(difference.old.clone().map(|old| ("old".to_owned(), old)));
                members.extend(difference.new.clone().map(|new| ("new".to_owned(), new)));
            }
            change
        })
        .collect();
    json!({
        "direction": match mismatch.direction {
            Direction::ToServer => "to-server",
            Direction::ToClient => "to-client",
        },
        "method": &*mismatch.method,
        "name": mismatch.name.as_deref(),
        "old": mismatch.old,
        "new": mismatch.new,
        "outcomes": mismatch.outcomes.map(|(old, new)| json!({"old": outcome(old), "new": outcome(new)})),
        "changes": changes,
    })
}
