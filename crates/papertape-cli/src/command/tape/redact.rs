//! `papertape tape redact`: a copy without secrets.

use std::io::{BufWriter, Write};

use papertape::wire::tape::HEADER;
use papertape_tape::{Counts, Redactor};

use super::output::{Output, Reader};
use super::source::{Source, cannot_write, create};
use crate::args::Redact;
use crate::exit::{Failure, note};

/// So much is written at once.
const CHUNK: usize = 64 * 1024;

pub(crate) fn run(args: &Redact) -> Result<(), Failure> {
    let mut redactor = Redactor::new();
    for pattern in &args.also {
        redactor = redactor.also(pattern).map_err(|error| {
            Failure::usage(format!("--also \"{pattern}\" is not a regular expression: {error}"))
        })?;
    }
    let mut source = Source::open(&args.tape)?;
    // A file that is not a tape leaves no output.
    let mut line = source.next_line()?;
    let mut copy = format!(
        "{HEADER}\n# A copy without secrets, made by papertape {}: marks such as [redacted cookie] stand in their place.\n",
        env!("CARGO_PKG_VERSION")
    );
    if line.is_none() {
        return source.finish();
    }
    let mut out = Out::create(args)?;
    while let Some(next) = line {
        redactor.push(next, &mut copy);
        if copy.len() > CHUNK {
            if out.write(&copy)? == Reader::Gone {
                return Ok(());
            }
            copy.clear();
        }
        line = source.next_line()?;
    }
    redactor.finish(&mut copy);
    out.write(&copy)?;
    out.flush()?;
    note(&summary(redactor.counts()));
    source.finish()
}

/// "3 secrets were replaced: 2 cookie, 1 password".
fn summary(counts: &Counts) -> String {
    let kinds: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    match counts.total() {
        0 => "no secrets were found: read the copy before you share it".to_owned(),
        1 => format!("1 secret was replaced: {}", kinds.join(", ")),
        total => format!("{total} secrets were replaced: {}", kinds.join(", ")),
    }
}

enum Out<'a> {
    Stdout(Output),
    File(&'a std::path::Path, BufWriter<std::fs::File>),
}

impl<'a> Out<'a> {
    fn create(args: &'a Redact) -> Result<Self, Failure> {
        Ok(match &args.out {
            Some(path) => Self::File(path, BufWriter::new(create(path, &args.tape)?)),
            None => Self::Stdout(Output::new()),
        })
    }

    fn write(&mut self, text: &str) -> Result<Reader, Failure> {
        match self {
            Self::Stdout(output) => output.write(text),
            Self::File(path, file) => {
                file.write_all(text.as_bytes()).map_err(|error| cannot_write(path, &error))?;
                Ok(Reader::Reads)
            }
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        match self {
            Self::Stdout(output) => output.flush().map(|_| ()),
            Self::File(path, file) => file.flush().map_err(|error| cannot_write(path, &error)),
        }
    }
}
