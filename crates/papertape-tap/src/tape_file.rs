//! The file of a tape: whole lines only, up to a size.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use papertape::wire::tape::HEADER;

use crate::writer::Sink;

/// What is left for the events that explain a tape.
const RESERVE: u64 = 1024;

/// A tape that is written.
pub(crate) struct TapeFile {
    path: PathBuf,
    file: File,
    /// What was written of it, in whole lines.
    size: u64,
    max_size: u64,
    /// Devices such as `/dev/null` have no size.
    is_regular: bool,
    /// It may end with a part of a line.
    is_torn: bool,
}

impl TapeFile {
    pub(crate) fn create(path: &Path, max_size: u64) -> io::Result<Self> {
        let file = papertape::tape::create(path)?;
        let is_regular = file.metadata()?.is_file();
        Ok(Self { path: path.to_owned(), file, size: 0, max_size, is_regular, is_torn: false })
    }

    /// Removes what was written of a line.
    fn mend(&mut self) -> io::Result<()> {
        if self.is_regular {
            self.file.set_len(self.size)?;
            self.file.seek(SeekFrom::Start(self.size))?;
        }
        self.is_torn = false;
        Ok(())
    }
}

impl Sink for TapeFile {
    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.is_torn {
            self.mend()?;
        }
        let header = if self.size == 0 { header() } else { String::new() };
        let written = self.file.write_all(header.as_bytes()).and_then(|()| self.file.write_all(lines));
        if let Err(error) = written {
            self.is_torn = true;
            // What there was of a line is removed at once if that is possible, because a reader would take it for the last one.
            drop(self.mend());
            return Err(error);
        }
        self.size += (header.len() + lines.len()) as u64;
        Ok(())
    }

    fn room(&self) -> u64 {
        if self.is_regular { self.max_size.saturating_sub(self.size + RESERVE) } else { u64::MAX }
    }

    fn rotate(&mut self) -> io::Result<PathBuf> {
        *self = Self::create(&self.path, self.max_size)?;
        let mut old = self.path.clone().into_os_string();
        old.push(".old");
        Ok(PathBuf::from(old))
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

fn header() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    format!("{HEADER}\n# papertape {}, unix time {now}\n", env!("CARGO_PKG_VERSION"))
}
