//! The files of a tape, one after the other: a recorder that rotates begins another one.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, RwLock};

use papertape::wire::tape::{Content, Record};
use papertape_tape::{Place, Reader};

use crate::sync::{read, write};

/// Open files; offsets are counted over all of them.
#[derive(Debug, Default)]
pub(crate) struct Segments(RwLock<Vec<Segment>>);

#[derive(Debug, Clone)]
struct Segment {
    /// Where the file begins.
    base: u64,
    file: Arc<File>,
}

impl Segments {
    /// Adds a file that begins at `base`, which is where the file before it ends.
    pub(crate) fn add(&self, base: u64, file: Arc<File>) {
        write(&self.0).push(Segment { base, file });
    }

    pub(crate) fn clear(&self) {
        write(&self.0).clear();
    }

    /// A reader from an offset on, to the end of the last file.
    pub(crate) fn reader(&self, offset: u64) -> BufReader<FromOffset> {
        BufReader::with_capacity(32 * 1024, FromOffset { segments: read(&self.0).clone(), offset })
    }

    /// The bytes of a message: from `within` its first record to its last one.
    pub(crate) fn bytes(&self, place: &Place, of: impl Fn(&Record<'_>) -> bool) -> io::Result<Vec<u8>> {
        let mut bytes: Vec<u8> = Vec::new();
        let end = usize::try_from(place.within.saturating_add(place.size)).unwrap_or(usize::MAX);
        for line in Reader::resume(self.reader(place.offset), place.offset, 1) {
            // The first line of a file is none of these.
            let Ok(line) = line else { continue };
            let Some(record) = line.record() else { continue };
            if record.number > place.last {
                break;
            }
            if record.number < place.first || !of(record) {
                continue;
            }
            if let Some(more) = content(record) {
                bytes.extend_from_slice(more);
            }
            if record.number == place.last {
                break;
            }
        }
        if bytes.is_empty() && place.size > 0 {
            return Err(io::Error::other("the file has changed"));
        }
        if place.size > 0 {
            bytes.truncate(end);
            bytes.drain(..usize::try_from(place.within).unwrap_or(usize::MAX).min(bytes.len()));
        }
        Ok(bytes)
    }
}

/// The bytes of a record; of an event, its JSON.
pub(crate) fn content<'a>(record: &'a Record<'_>) -> Option<&'a [u8]> {
    Some(match &record.content {
        Content::Frame(_, bytes) | Content::Head(_, bytes) | Content::Stderr(bytes) => bytes,
        Content::Event { detail, .. } => detail.as_bytes(),
    })
}

/// Reads without a position of the file, which several readers share.
#[derive(Debug)]
pub(crate) struct FromOffset {
    segments: Vec<Segment>,
    offset: u64,
}

impl FromOffset {
    pub(crate) fn of_file(file: Arc<File>) -> Self {
        Self { segments: vec![Segment { base: 0, file }], offset: 0 }
    }
}

impl Read for FromOffset {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let at = self.segments.iter().rposition(|segment| segment.base <= self.offset);
        let Some(Segment { base, file }) = at.and_then(|at| self.segments.get(at)) else { return Ok(0) };
        // Not beyond the beginning of the next file.
        let next = at.and_then(|at| self.segments.get(at + 1)).map_or(u64::MAX, |next| next.base);
        let room = usize::try_from(next - self.offset).unwrap_or(usize::MAX).min(buffer.len());
        let taken = file.read_at(buffer.get_mut(..room).unwrap_or_default(), self.offset - base)?;
        self.offset += taken as u64;
        Ok(taken)
    }
}
