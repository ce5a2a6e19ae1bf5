//! `papertape tape to-jsonl`: a JSON object for each record.

use papertape_tape::JsonLines;

use super::output::{Output, Reader};
use super::source::Source;
use crate::args::ToJsonl;
use crate::exit::Failure;

pub(crate) fn run(args: &ToJsonl) -> Result<(), Failure> {
    let mut source = Source::open(&args.tape)?;
    let mut output = Output::new();
    let mut lines = JsonLines::new();
    while let Some(line) = source.next_line()? {
        let Some(record) = line.record() else { continue };
        if output.write(lines.line(line.offset, record))? == Reader::Gone {
            return Ok(());
        }
    }
    output.flush()?;
    source.finish()
}
