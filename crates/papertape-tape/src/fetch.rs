//! The bytes of a message whose place is known.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use papertape::wire::tape::{Content, Direction, Record};

use crate::{Joiner, Message, Place, Reader};

impl Place {
    /// Reads the exact bytes of the message at this place from its tape.
    ///
    /// # Errors
    /// If the tape cannot be read there, or is not the one that the place was taken from.
    pub fn read<T: Read + Seek>(
        &self,
        tape: &mut T,
        direction: Direction,
        exchange: Option<u64>,
    ) -> io::Result<Vec<u8>> {
        tape.seek(SeekFrom::Start(self.offset))?;
        // The first record is longer than the message, or is not all of it.
        let room = usize::try_from(self.size).unwrap_or(usize::MAX).saturating_add(256).min(64 * 1024);
        self.read_from(BufReader::with_capacity(room, tape), direction, exchange)
    }

    /// The same as a message.
    ///
    /// # Errors
    /// As [`Place::read`].
    pub fn read_message<T: Read + Seek>(
        &self,
        tape: &mut T,
        direction: Direction,
        exchange: Option<u64>,
    ) -> io::Result<Message> {
        let bytes = self.read(tape, direction, exchange)?;
        let mut record = Record::frame(self.first, direction, self.time, &bytes);
        record.exchange = exchange;
        let mut joiner = Joiner::new();
        joiner.push(self.offset, &record);
        joiner.finish();
        let message = std::iter::from_fn(|| joiner.next_message()).find(Message::is_content);
        let message =
            message.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no message is there"))?;
        Ok(Message { place: *self, ..message })
    }

    fn read_from(
        &self,
        tape: impl BufRead,
        direction: Direction,
        exchange: Option<u64>,
    ) -> io::Result<Vec<u8>> {
        let wanted = usize::try_from(self.size).map_err(io::Error::other)?;
        let mut skipped = usize::try_from(self.within).map_err(io::Error::other)?;
        let mut bytes = Vec::new();
        for line in Reader::resume(tape, self.offset, 1) {
            let line =
                line.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.problem.to_string()))?;
            let Some(record) = line.record() else { continue };
            if record.exchange != exchange {
                continue;
            }
            let Content::Frame(of, frame) = &record.content else { continue };
            if *of != direction {
                continue;
            }
            bytes.extend_from_slice(frame.get(skipped..).unwrap_or_default());
            skipped = 0;
            if bytes.len() >= wanted {
                bytes.truncate(wanted);
                return Ok(bytes);
            }
        }
        Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the tape ends inside the message"))
    }
}
