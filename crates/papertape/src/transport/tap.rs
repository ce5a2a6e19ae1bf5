//! The tap: every frame, in both directions, passes here and gets its number.

use std::borrow::Cow;
use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::callback::unless_it_panics;
use crate::wire::tape::{self, Content, Direction, Record};

/// Counts frames, records them to a tape, and calls an observer.
#[derive(Debug, Default)]
pub(crate) struct Tap {
    number: u64,
    /// How many HTTP requests there were.
    #[cfg(any(feature = "http-client", feature = "http-server"))]
    exchanges: u64,
    recorder: Option<Recorder>,
    observer: Option<Observer>,
}

/// A frame as it is sent or received, or a part of one that is over the size limit.
#[derive(Debug)]
#[non_exhaustive]
pub struct Frame<'a> {
    /// Its number, counted over both directions.
    pub number: u64,
    /// Its direction.
    pub direction: Direction,
    /// Time since the start of the connection.
    pub time: Duration,
    /// The exact bytes, with the line end or headers.
    pub bytes: &'a [u8],
}

#[derive(Debug)]
struct Recorder {
    path: PathBuf,
    file: BufWriter<File>,
    started: Instant,
    line: String,
}

/// Called with every frame.
pub(crate) type OnFrame = Box<dyn FnMut(&Frame<'_>) + Send>;

struct Observer {
    started: Instant,
    see: OnFrame,
}

/// Creates the file of a tape, readable by its owner only. An existing tape is renamed to `NAME.old`.
///
/// A tape is a regular file: a slow reader of a FIFO or a socket would block the traffic that is recorded. Devices such as
/// `/dev/null` are opened in non-blocking mode.
///
/// # Errors
/// If it cannot be created, or is a FIFO or a socket.
pub fn create_tape(path: &Path) -> io::Result<File> {
    if let Ok(there) = path.metadata() {
        refuse_pipes(&there)?;
        if there.is_file() && there.len() > 0 {
            let mut old = path.as_os_str().to_owned();
            old.push(".old");
            std::fs::rename(path, old)?;
        }
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        // A tape may contain secrets that were passed to tools.
        options.mode(0o600);
        // Opening a FIFO would wait for its reader.
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
    }
    let file = options.open(path).map_err(|error| without_directory(path, error))?;
    let opened = file.metadata()?;
    refuse_pipes(&opened)?;
    #[cfg(unix)]
    if opened.is_file() {
        // An empty file that existed before may be readable by other users.
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    }
    Ok(file)
}

/// The error of a file that cannot be created, where the cause is that it has no directory.
fn without_directory(path: &Path, error: io::Error) -> io::Error {
    match path.parent() {
        Some(parent)
            if error.kind() == io::ErrorKind::NotFound
                && !parent.as_os_str().is_empty()
                && !parent.exists() =>
        {
            let parent = parent.display();
            io::Error::new(
                error.kind(),
                format!("the directory {parent} does not exist: create it with mkdir -p"),
            )
        }
        _ => error,
    }
}

#[cfg(unix)]
fn refuse_pipes(file: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let kind = match file.file_type() {
        kind if kind.is_fifo() => "a FIFO",
        kind if kind.is_socket() => "a socket",
        _ => return Ok(()),
    };
    let remedy = "name a regular file, which `tail -f` can follow";
    Err(io::Error::other(format!("it is {kind}, and a slow reader of it would block the traffic: {remedy}")))
}

#[cfg(not(unix))]
fn refuse_pipes(_: &Metadata) -> io::Result<()> {
    Ok(())
}

impl Tap {
    /// A tap that writes a tape.
    pub(crate) fn recording(path: &Path) -> io::Result<Self> {
        let file = create_tape(path)?;
        let mut file = BufWriter::new(file);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        writeln!(file, "{}\n# papertape {}, unix time {now}", tape::HEADER, env!("CARGO_PKG_VERSION"))?;
        file.flush()?;
        let recorder = Recorder { path: path.to_owned(), file, started: Instant::now(), line: String::new() };
        Ok(Self { recorder: Some(recorder), ..Self::default() })
    }

    /// The same tap, which also calls an observer.
    pub(crate) fn observed_by(mut self, see: Option<OnFrame>) -> Self {
        self.observer = see.map(|see| Observer { started: Instant::now(), see });
        self
    }

    /// The number of the next HTTP request, if there is a tape.
    #[cfg(any(feature = "http-client", feature = "http-server"))]
    pub(crate) fn next_exchange(&mut self) -> Option<u64> {
        self.recorder.as_ref()?;
        self.exchanges += 1;
        Some(self.exchanges)
    }

    /// Records the head of an HTTP request or response.
    #[cfg(any(feature = "http-client", feature = "http-server"))]
    pub(crate) fn head(&mut self, exchange: u64, direction: Direction, head: &[u8]) {
        self.number += 1;
        self.write(Some(exchange), Content::Head(direction, Cow::Borrowed(head)));
    }

    /// Records that an HTTP request has no response.
    #[cfg(feature = "http-client")]
    pub(crate) fn failed(&mut self, exchange: u64, error: &str) {
        self.number += 1;
        let detail = serde_json::json!({ "error": error }).to_string();
        self.write(
            Some(exchange),
            Content::Event { name: Cow::Borrowed("failed"), detail: Cow::Owned(detail) },
        );
    }

    /// Records a frame, or a part of one that is over the size limit: the exact bytes.
    pub(crate) fn frame(&mut self, direction: Direction, bytes: &[u8]) {
        self.frame_of(None, direction, bytes);
    }

    /// The same for a body or an event of an HTTP request.
    pub(crate) fn frame_of(&mut self, exchange: Option<u64>, direction: Direction, bytes: &[u8]) {
        self.number += 1;
        if let Some(Observer { started, see }) = &mut self.observer {
            let frame = Frame { number: self.number, direction, time: started.elapsed(), bytes };
            unless_it_panics("on_frame", || see(&frame));
        }
        self.write(exchange, Content::Frame(direction, Cow::Borrowed(bytes)));
    }

    fn write(&mut self, exchange: Option<u64>, content: Content<'_>) {
        let Some(recorder) = &mut self.recorder else { return };
        recorder.line.clear();
        let time = Some(recorder.started.elapsed());
        Record { number: self.number, exchange, time, content }.write(&mut recorder.line);
        let result = recorder.file.write_all(recorder.line.as_bytes());
        self.or_stop(result);
    }

    /// Flushes the tape to the file, so that a crash loses nothing.
    pub(crate) fn flush(&mut self) {
        let Some(recorder) = &mut self.recorder else { return };
        let result = recorder.file.flush();
        self.or_stop(result);
    }

    /// A write error, such as a full disk, stops the recording and not the traffic.
    fn or_stop(&mut self, result: io::Result<()>) {
        let Err(error) = result else { return };
        if let Some(recorder) = self.recorder.take() {
            let path = recorder.path.display();
            tracing::error!(%error, "cannot write the tape {path}: it is incomplete from frame {} on", self.number);
            // The rest of the buffer cannot be written either, and must not be retried on drop.
            drop(recorder.file.into_parts());
        }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").finish_non_exhaustive()
    }
}
