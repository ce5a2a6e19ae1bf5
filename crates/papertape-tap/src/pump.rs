//! One direction: bytes are read, put into the recorder's queue, and written, unchanged and at once.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::Builder;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionread;
use serde_json::json;
use tokio::sync::oneshot;

use crate::item::{Parts, Stream};
use crate::recorder::Recorder;

/// How much is read at once: what a pipe holds.
const READ_SIZE: usize = 64 * 1024;

/// A pipe that can be written to has room for this much.
const PIPE_ROOM: usize = 4096;

/// A thread that passes one stream on.
pub(crate) struct Pump {
    ended: oneshot::Receiver<()>,
    is_reading: Arc<AtomicBool>,
    from: Weak<File>,
}

impl Pump {
    /// Starts the thread. At the end of either file both are closed.
    pub(crate) fn start(stream: Stream, from: File, to: File, recorder: &Recorder) -> io::Result<Self> {
        let (end, ended) = oneshot::channel();
        let (is_reading, from) = (Arc::new(AtomicBool::new(true)), Arc::new(from));
        let pump = Self { ended, is_reading: Arc::clone(&is_reading), from: Arc::downgrade(&from) };
        let recorder = recorder.clone();
        Builder::new().name(stream.name().to_owned()).spawn(move || {
            pass(stream, &from, &to, &recorder, &is_reading);
            drop((from, to));
            let _ = end.send(());
        })?;
        Ok(pump)
    }

    /// Waits until one of the two files has ended.
    pub(crate) async fn ended(&mut self) {
        if !self.ended.is_terminated() {
            let _ = (&mut self.ended).await;
        }
    }

    /// Whether nothing is there that it could pass on.
    pub(crate) fn is_idle(&self) -> bool {
        let Some(from) = self.from.upgrade() else { return true };
        self.is_reading.load(Ordering::SeqCst) && ioctl_fionread(&*from).map_or(true, |unread| unread == 0)
    }
}

fn pass(stream: Stream, mut from: &File, to: &File, recorder: &Recorder, is_reading: &AtomicBool) {
    let parts = if stream == Stream::Stderr { Parts::Lines } else { Parts::Messages };
    let mut buffer = vec![0; READ_SIZE];
    let event = loop {
        is_reading.store(true, Ordering::SeqCst);
        let read = from.read(&mut buffer);
        is_reading.store(false, Ordering::SeqCst);
        let bytes = match read {
            Ok(count) => buffer.get(..count).unwrap_or_default(),
            Err(error) if is_transient(&error, from, PollFlags::IN) => continue,
            Err(_) => &[],
        };
        if bytes.is_empty() {
            break "eof";
        }
        // It is in the queue before it is written, so that a response never stands before its request on the tape. The thread that
        // writes the tape is woken afterwards, unless that could take a while.
        recorder.bytes(stream, parts, bytes);
        let is_quick = bytes.len() <= PIPE_ROOM && is_ready(to, PollFlags::OUT, true);
        if !is_quick {
            recorder.wake();
        }
        if write_all(to, bytes).is_err() {
            break "closed";
        }
        if is_quick {
            recorder.wake();
        }
        recorder.pace();
    };
    recorder.end_of_stream(stream);
    recorder.event(event, &json!({ "of": stream.name() }));
}

fn write_all(mut to: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match to.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(error) if is_transient(&error, to, PollFlags::OUT) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether to try again. A file descriptor that another process has set to `O_NONBLOCK` is waited for.
fn is_transient(error: &io::Error, file: &File, flags: PollFlags) -> bool {
    match error.kind() {
        io::ErrorKind::Interrupted => true,
        io::ErrorKind::WouldBlock => {
            is_ready(file, flags, false);
            true
        }
        _ => false,
    }
}

/// Waits until a file can be read or written, or only looks whether it can.
fn is_ready(file: &File, flags: PollFlags, at_once: bool) -> bool {
    let none = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::from_borrowed_fd(file.as_fd(), flags)], at_once.then_some(&none))
        .is_ok_and(|ready| ready > 0)
}
