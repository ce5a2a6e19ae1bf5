//! A tape that is read: its lines, and what is said about those that cannot be read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use papertape::wire::tape::{Content, Entry};
use papertape_tape::{LONGEST, Line, ReadProblem, Reader};

use crate::exit::{Failure, note};
use crate::print::Look;
use crate::progress_line::ProgressLine;

/// How many lines are named that cannot be read.
const MOST_NAMED: u64 = 10;

/// When progress is shown, and how often.
const SHOWN_AFTER: Duration = Duration::from_secs(1);
const SHOWN_EVERY: Duration = Duration::from_millis(200);

/// How many lines are read between two looks at the clock.
const LINES: u64 = 1024;

/// A tape.
pub(super) struct Source {
    name: String,
    reader: Reader<Box<dyn BufRead>>,
    size: Option<u64>,
    lines: u64,
    broken: u64,
    lost: (u64, u64),
    /// There was an event `start`, and no `end` after it.
    open: bool,
    began: Instant,
    shown: Instant,
    progress: Option<(ProgressLine, Look)>,
}

/// A tape that can be read twice.
pub(super) trait Rereadable: Read + Seek {}

impl<T: Read + Seek> Rereadable for T {}

/// The tape named `-`.
pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn name(path: &Path) -> String {
    if is_stdin(path) { "the tape on stdin".to_owned() } else { path.display().to_string() }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::Tape(format!("cannot read {}: {error}", name(path)))
}

/// Opens a file that may be a tape.
pub(in crate::command) fn open_file(path: &Path) -> Result<File, Failure> {
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    match file.metadata() {
        Ok(metadata) if metadata.is_dir() => Err(Failure::Tape(format!(
            "cannot read {}: it is a directory; name a tape in it",
            path.display()
        ))),
        _ => Ok(file),
    }
}

/// Opens a tape that is read twice. Stdin, and what is not a regular file, is kept in memory.
pub(super) fn open_twice(path: &Path) -> Result<(Source, Box<dyn Rereadable>), Failure> {
    let input: Box<dyn Read> =
        if is_stdin(path) { Box::new(io::stdin()) } else { Box::new(open_file(path)?) };
    if !is_stdin(path) && path.is_file() {
        return Ok((Source::open(path)?, Box::new(open_file(path)?)));
    }
    let mut bytes = Vec::new();
    let most = LONGEST as u64;
    let read = input.take(most + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    if read as u64 > most {
        return Err(Failure::Tape(format!(
            "{} is longer than {most} bytes, and is read twice: write it to a file first",
            name(path)
        )));
    }
    let source = Source::new(path, Box::new(Cursor::new(bytes.clone())), Some(read as u64));
    Ok((source, Box::new(Cursor::new(bytes))))
}

impl Source {
    /// Opens a tape that is read once.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        if is_stdin(path) {
            return Ok(Self::new(path, Box::new(BufReader::with_capacity(64 * 1024, io::stdin())), None));
        }
        let file = open_file(path)?;
        let size = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
        Ok(Self::new(path, Box::new(BufReader::with_capacity(64 * 1024, file)), size))
    }

    fn new(path: &Path, input: Box<dyn BufRead>, size: Option<u64>) -> Self {
        let now = Instant::now();
        Self {
            name: name(path),
            reader: Reader::new(input),
            size,
            lines: 0,
            broken: 0,
            lost: (0, 0),
            open: false,
            began: now,
            shown: now,
            progress: None,
        }
    }

    /// The next line. Those that cannot be read are named on stderr, and skipped.
    pub(super) fn next_line(&mut self) -> Result<Option<Line>, Failure> {
        loop {
            self.lines += 1;
            if self.lines.is_multiple_of(LINES) {
                self.show_progress();
            }
            match self.reader.next() {
                None => return Ok(None),
                Some(Ok(line)) => {
                    self.take_event(&line);
                    return Ok(Some(line));
                }
                Some(Err(error)) => match error.problem {
                    ReadProblem::NotATape => {
                        return Err(Failure::Tape(format!("{} is not a tape: {}", self.name, error.problem)));
                    }
                    ReadProblem::Io(error) => {
                        return Err(Failure::Tape(format!("cannot read {}: {error}", self.name)));
                    }
                    _ => {
                        self.broken += 1;
                        if self.broken <= MOST_NAMED {
                            note(&format!("{}: {error}; the line is skipped", self.name));
                        }
                    }
                },
            }
        }
    }

    /// Says what is wrong with the tape as a whole, when its end has been reached and the output is written.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        self.progress = None;
        if let Some(problem) = self.reader.not_begun() {
            return Err(Failure::Tape(format!("{} {problem}", self.name)));
        }
        if let Some(offset) = self.reader.cut() {
            let size = self.size.filter(|size| *size > offset);
            let bytes = size.map_or_else(String::new, |size| format!(" {}", size - offset));
            note(&format!(
                "{} is cut, or still being written: its last line, from byte {offset} on, has no end and was left out{}",
                self.name,
                if bytes.is_empty() { String::new() } else { format!(" ({} bytes)", bytes.trim()) }
            ));
        }
        if let (frames, bytes @ 1..) | (frames @ 1.., bytes) = self.lost {
            note(&format!(
                "{frames} frames, {bytes} bytes, were lost in recording and are not on {}",
                self.name
            ));
        }
        match self.broken {
            0 => Ok(()),
            broken => {
                if broken > MOST_NAMED {
                    note(&format!("{}: {} more lines were skipped", self.name, broken - MOST_NAMED));
                }
                let message = format!("{}: {broken} lines cannot be read", self.name);
                Err(Failure::Reported(Box::new(Failure::Tape(message))))
            }
        }
    }

    /// Says that the recording has not ended, if only that is wrong with its end.
    pub(super) fn note_open(&self) {
        if self.open && self.reader.cut().is_none() {
            note(&format!("{} has no `end` event: it was cut, or is still being written", self.name));
        }
    }

    /// The event `lost` says what is not on the tape, `start` and `end` where it begins and ends.
    fn take_event(&mut self, line: &Line) {
        let Entry::Record(record) = &line.entry else { return };
        let Content::Event { name, detail } = &record.content else { return };
        match &**name {
            "start" => self.open = true,
            "end" => self.open = false,
            _ => {}
        }
        if name != "lost" {
            return;
        }
        let detail: serde_json::Value = serde_json::from_str(detail).unwrap_or_default();
        let number =
            |member: &str| detail.get(member).and_then(serde_json::Value::as_u64).unwrap_or_default();
        self.lost.0 = self.lost.0.saturating_add(number("frames"));
        self.lost.1 = self.lost.1.saturating_add(number("bytes"));
    }

    fn show_progress(&mut self) {
        let now = Instant::now();
        if now.duration_since(self.began) < SHOWN_AFTER || now.duration_since(self.shown) < SHOWN_EVERY {
            return;
        }
        self.shown = now;
        let (line, look) = self.progress.get_or_insert_with(|| (ProgressLine::default(), Look::of_stderr()));
        // Output on the same terminal shows how far it is.
        if !look.redraws() || Look::of_stdout().terminal {
            return;
        }
        let at = self.reader.offset() / (1024 * 1024);
        let text = match self.size {
            Some(size) if size > 0 => {
                format!(
                    "reading {}: {} % of {} MiB",
                    self.name,
                    self.reader.offset() * 100 / size,
                    size / (1024 * 1024)
                )
            }
            _ => format!("reading {}: {at} MiB", self.name),
        };
        line.write(*look)(&text);
    }
}

/// A tape that grows: its lines, also of the file that takes its name when it is rotated.
pub(super) struct Followed {
    path: PathBuf,
    file: File,
    source: Source,
}

/// How often a tape is looked at that has not grown.
const POLL: Duration = Duration::from_millis(100);

impl Followed {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        if is_stdin(path) {
            return Err(Failure::usage("--follow needs a file; stdin is read to its end without it"));
        }
        let file = open_file(path)?;
        let reader = file.try_clone().map_err(|error| unreadable(path, &error))?;
        let source = Source::new(path, Box::new(BufReader::with_capacity(64 * 1024, reader)), None);
        Ok(Self { path: path.to_owned(), file, source })
    }

    /// The next line, without waiting.
    pub(super) fn next_line(&mut self) -> Result<Option<Line>, Failure> {
        self.source.next_line()
    }

    /// Waits a little, and goes to the new file if the tape was rotated. The lines of the old one have been read.
    pub(super) fn wait(&mut self) -> Result<(), Failure> {
        std::thread::sleep(POLL);
        if self.is_replaced() {
            // What was written between the last look and the rotation.
            if self.source.reader.offset() < self.file.metadata().map_or(0, |metadata| metadata.len())
                && self.source.reader.cut().is_none()
            {
                return Ok(());
            }
            *self = Self::open(&self.path)?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<(), Failure> {
        self.source.finish()
    }

    /// Whether the name leads to another file now, or the file has been emptied.
    fn is_replaced(&mut self) -> bool {
        use std::os::unix::fs::MetadataExt;
        let (Ok(here), Ok(there)) = (self.file.metadata(), self.path.metadata()) else { return false };
        let is_other = (here.dev(), here.ino()) != (there.dev(), there.ino());
        is_other && there.len() > 0 || here.len() < self.source.reader.offset()
    }
}

/// A file is written as a whole or fails.
pub(super) fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::Output(format!("cannot write {}: {error}", path.display()))
}

/// The file of an output, readable by its owner only.
pub(super) fn create(path: &Path, input: &Path) -> Result<File, Failure> {
    let is_same = |a: &Path, b: &Path| match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    };
    if is_same(path, input) {
        return Err(Failure::usage(format!(
            "--out {} is the tape that is read: name another file",
            path.display()
        )));
    }
    papertape::tape::create(path).map_err(|error| cannot_write(path, &error))
}
