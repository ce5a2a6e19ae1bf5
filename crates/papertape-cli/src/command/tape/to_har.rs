//! `papertape tape to-har`: a tape as an HTTP archive.

use std::io::{BufWriter, Write};

use papertape_tape::Har;

use super::output::reader;
use super::source::{cannot_write, create, open_twice};
use crate::args::ToHar;
use crate::exit::Failure;

pub(crate) fn run(args: &ToHar) -> Result<(), Failure> {
    let (mut source, mut tape) = open_twice(&args.tape)?;
    let mut har = Har::new();
    while let Some(line) = source.next_line()? {
        har.push(&line);
    }
    let finished = source.finish();
    if let Err(Failure::Tape(_)) = finished {
        return finished;
    }
    match &args.out {
        Some(path) => {
            let out = BufWriter::new(create(path, &args.tape)?);
            har.write(&mut tape, out, || {}).map_err(|error| cannot_write(path, &error))?;
        }
        None => {
            let mut out = BufWriter::new(std::io::stdout());
            reader(har.write(&mut tape, &mut out, || {}).and_then(|()| out.flush()))?;
            // What is left after an error must not be written on drop.
            drop(out.into_parts());
        }
    }
    finished
}
