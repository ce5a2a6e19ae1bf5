//! `papertape tape raw`: the exact bytes of one direction.

use papertape::wire::tape::{Content, Record};

use super::output::{Output, Reader};
use super::source::Source;
use crate::args::{Raw, Side};
use crate::exit::Failure;

pub(crate) fn run(args: &Raw) -> Result<(), Failure> {
    let mut source = Source::open(&args.tape)?;
    let mut output = Output::new();
    while let Some(line) = source.next_line()? {
        let Some(bytes) = line.record().and_then(|record| bytes(record, args)) else { continue };
        if output.write(bytes)? == Reader::Gone {
            return Ok(());
        }
    }
    output.flush()?;
    source.finish()
}

fn bytes<'a>(record: &'a Record<'_>, args: &Raw) -> Option<&'a [u8]> {
    if args.exchange.is_some_and(|exchange| record.exchange != Some(exchange)) {
        return None;
    }
    let (of, bytes) = match &record.content {
        Content::Frame(direction, bytes) => (Side::of(*direction), bytes),
        Content::Head(direction, bytes) if !args.no_heads => (Side::of(*direction), bytes),
        Content::Stderr(bytes) => (Side::Stderr, bytes),
        Content::Head(..) | Content::Event { .. } => return None,
    };
    (of == args.direction).then_some(bytes)
}
