//! Reads a tape to its end, and then what is appended, in a thread of its own.

use std::fs::File;
use std::io::{self, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use papertape::wire::tape::{Content, Entry};
use papertape_tape::{Line, ReadProblem, Reader};

use crate::segments::FromOffset;
use crate::sync::write;
use crate::tape::{State, Tape};

/// How often a file is looked at that others write.
const BETWEEN: Duration = Duration::from_millis(100);
/// How many lines, and how many bytes of them, are added at once.
const BATCH: usize = 512;
const BATCH_BYTES: u64 = 4 * 1024 * 1024;

/// What is read.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) file: File,
    /// Where the file is, if another one may take its place.
    pub(crate) path: Option<PathBuf>,
    /// Whether more may be appended.
    pub(crate) live: bool,
}

/// Starts the thread.
pub(crate) fn start(tape: &Arc<Tape>, source: Source) -> io::Result<()> {
    let followed = Arc::clone(tape);
    let thread = std::thread::Builder::new()
        .name("papertape-page-reader".to_owned())
        .spawn(move || Follower::new(followed, source).run())?;
    tape.set_follower(thread.thread().clone());
    Ok(())
}

struct Follower {
    tape: Arc<Tape>,
    path: Option<PathBuf>,
    live: bool,
    file: Arc<File>,
    /// Where the file begins, counted over all files of the tape.
    base: u64,
    reader: Reader<BufReader<FromOffset>>,
}

impl Follower {
    fn new(tape: Arc<Tape>, Source { file, path, live }: Source) -> Self {
        let file = Arc::new(file);
        tape.segments.add(0, Arc::clone(&file));
        let reader = reader(&file);
        Self { tape, path, live, file, base: 0, reader }
    }

    fn run(mut self) {
        while !self.tape.is_stopped() {
            match self.read_batch() {
                Batch::Some => self.tape.changed(),
                Batch::Failed => return self.end(true),
                Batch::None if !self.live => return self.end(false),
                Batch::None => {
                    if self.tape.state() != State::Live {
                        self.tape.set_state(State::Live);
                    }
                    match self.replaced() {
                        Some(file) => self.go_on_with(file),
                        None => std::thread::park_timeout(BETWEEN),
                    }
                }
            }
        }
    }

    /// Adds the next lines.
    fn read_batch(&mut self) -> Batch {
        let begin = self.reader.offset();
        let (mut lines, mut failed) = (Vec::new(), false);
        while lines.len() < BATCH && self.reader.offset() - begin < BATCH_BYTES {
            match self.reader.next() {
                Some(Ok(line)) => lines.push(line),
                Some(Err(error)) => {
                    self.tape.set_problem(match error.problem {
                        ReadProblem::NotATape => format!("this is not a tape: {}", error.problem),
                        _ => format!("the tape is damaged: {error}; the rest of it is shown"),
                    });
                    failed = matches!(error.problem, ReadProblem::NotATape | ReadProblem::Io(_));
                    if failed {
                        break;
                    }
                }
                None => break,
            }
        }
        let any = self.reader.offset() > begin;
        let mut index = write(&self.tape.index);
        for Line { offset, entry, .. } in lines {
            match entry {
                Entry::Record(record) => index.push(self.base + offset, &record),
                Entry::Comment(text) => index.comment(&text),
            }
        }
        match (failed, any) {
            (true, _) => Batch::Failed,
            (false, true) => Batch::Some,
            (false, false) => Batch::None,
        }
    }

    fn end(&self, failed: bool) {
        let mut index = write(&self.tape.index);
        let state = if failed {
            State::Failed
        } else if self.reader.cut().is_some() {
            State::Cut
        } else if index.recording.has_ended() || index.recording.events().is_empty() {
            State::Complete
        } else {
            State::Open
        };
        index.finish(state == State::Complete);
        drop(index);
        self.tape.set_state(state);
    }

    /// The file that has taken the place of this one, which was renamed: the recorder rotates, or another one has begun.
    fn replaced(&self) -> Option<File> {
        let path = self.path.as_deref()?;
        let (there, own) = (path.metadata().ok()?, self.file.metadata().ok()?);
        ((there.dev(), there.ino()) != (own.dev(), own.ino()) && there.len() > 0)
            .then(|| File::open(path).ok())?
    }

    fn go_on_with(&mut self, file: File) {
        // What was written to the old file in the meantime.
        while let Batch::Some = self.read_batch() {}
        self.file = Arc::new(file);
        if continues(&self.file) {
            self.base += self.reader.offset();
        } else {
            self.tape.begin_again();
            self.base = 0;
        }
        self.tape.segments.add(self.base, Arc::clone(&self.file));
        self.reader = reader(&self.file);
        self.tape.changed();
    }
}

enum Batch {
    Some,
    None,
    /// Nothing more can be read.
    Failed,
}

fn reader(file: &Arc<File>) -> Reader<BufReader<FromOffset>> {
    Reader::new(BufReader::with_capacity(64 * 1024, FromOffset::of_file(Arc::clone(file))))
}

/// Whether a file goes on with the tape that was there before.
fn continues(file: &Arc<File>) -> bool {
    let first = reader(file).filter_map(Result::ok).find_map(|line| match line.entry {
        Entry::Record(record) => Some(record),
        Entry::Comment(_) => None,
    });
    first.is_some_and(|record| matches!(record.content, Content::Event { name, .. } if name == "continued"))
}

/// Opens a tape of the command line.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
    }
    Ok(file)
}
