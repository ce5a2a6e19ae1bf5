//! The recorder: takes what crosses, and never makes it wait.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::Builder;
use std::time::Duration;

use serde_json::{Value, json};

use crate::item::{Item, Parts, Source, Stream};
use crate::queue::Queue;
use crate::tape_file::TapeFile;
use crate::writer::{Sink, Writer};

/// The smallest [`RecorderOptions::max_size`].
pub const LEAST_SIZE: u64 = 1_000_000;

/// How long [`Recorder::finish`] waits for a disk that takes nothing.
const FINISH: Duration = Duration::from_secs(10);

/// How long a thread that passes bytes on may rest after each of them, while half of the memory is full.
const MOMENT: Duration = Duration::from_millis(1);

/// The options of a recorder.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecorderOptions {
    /// The size in bytes at which a tape is renamed to `FILE.old` and another one is begun, so that both together have at most twice
    /// this size: 256 MB by default, and at least [`LEAST_SIZE`].
    pub max_size: u64,
    /// How many bytes may wait to be written, in memory: 64 MiB by default. What comes while there are more is not recorded, and a
    /// `lost` event says how much that was.
    pub memory: usize,
}

impl Default for RecorderOptions {
    fn default() -> Self {
        Self { max_size: 256_000_000, memory: 64 * 1024 * 1024 }
    }
}

/// Records streams and events on a tape. Clones record on the same one.
///
/// Nothing here waits for the disk: what is recorded is put into a bounded queue, and written by a thread of its own. If the tape
/// cannot be written, for example because the disk is full, recording resumes when it can be written again, with a `lost` event.
#[derive(Clone)]
pub struct Recorder(Arc<Queue>);

impl Recorder {
    /// A recorder on a new tape, with mode 0600. An existing one is renamed to `FILE.old`.
    ///
    /// # Errors
    /// If the file cannot be created, is a FIFO or a socket, or no thread can be started.
    pub fn create(path: &Path, options: &RecorderOptions) -> io::Result<Self> {
        let max_size = options.max_size.max(LEAST_SIZE);
        Self::with_sink(Box::new(TapeFile::create(path, max_size)?), max_size, options.memory)
    }

    pub(crate) fn with_sink(sink: Box<dyn Sink>, max_size: u64, memory: usize) -> io::Result<Self> {
        let queue = Arc::new(Queue::new(memory));
        let writer = Writer::new(Arc::clone(&queue), sink, max_size);
        Builder::new().name("tape".to_owned()).spawn(|| writer.run())?;
        Ok(Self(queue))
    }

    /// Records bytes of a stream. Call [`wake`](Self::wake) afterwards, when the bytes have been passed on.
    pub fn bytes(&self, source: impl Into<Source>, parts: Parts, bytes: &[u8]) {
        self.0.add(Item::Bytes(source.into(), parts, bytes.to_vec()));
    }

    /// Records the head of an HTTP request or response, with the empty line that ends it.
    pub fn head(&self, source: Source, head: Vec<u8>) {
        self.0.add(Item::Head(source, head));
    }

    /// Records what is held back of a stream that has ended.
    pub fn end_of_stream(&self, source: impl Into<Source>) {
        self.0.add(Item::End(source.into()));
    }

    /// Records an event, with a JSON object, at once.
    pub fn event(&self, name: impl Into<Cow<'static, str>>, detail: &Value) {
        self.0.add(Item::Event(None, name.into(), detail.to_string()));
        self.wake();
    }

    /// Records that an exchange has failed, after what is held back of its streams.
    pub(crate) fn failed(&self, exchange: u64, error: &str) {
        for stream in [Stream::Client, Stream::Server] {
            self.end_of_stream(Source { stream, exchange: Some(exchange) });
        }
        let detail = json!({ "error": error }).to_string();
        self.0.add(Item::Event(Some(exchange), Cow::Borrowed("failed"), detail));
        self.wake();
    }

    /// Has what was recorded written.
    pub fn wake(&self) {
        self.0.wake();
    }

    /// Gives the thread that writes the tape a moment, if it lacks processor time; not if it waits for the disk.
    pub(crate) fn pace(&self) {
        if self.0.is_behind() {
            std::thread::sleep(MOMENT);
        }
    }

    /// Ends the tape: waits until all of it is written. A disk that hangs is given up after 10 s.
    ///
    /// # Errors
    /// If the disk hangs: the rest is not on the tape, nor is the event `end`. A disk that is full is no error here: it is logged,
    /// and there is a `lost` event if that could be written.
    pub fn finish(&self) -> io::Result<()> {
        self.finish_within(FINISH)
    }

    pub(crate) fn finish_within(&self, for_a_step: Duration) -> io::Result<()> {
        self.0.close();
        if self.0.wait_for_end(for_a_step) {
            return Ok(());
        }
        let seconds = for_a_step.as_secs();
        let message = format!("the disk hangs: nothing more could be written for {seconds} s");
        Err(io::Error::new(io::ErrorKind::TimedOut, message))
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}
