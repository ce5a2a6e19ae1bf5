//! The thread that writes a tape: items to frames, frames to records, records to lines.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use papertape::wire::tape::{Content, Direction, Record};
use serde_json::json;

use crate::frames::Frames;
use crate::item::{Item, Parts, Source, Stream};
use crate::queue::{Queue, Taken};

/// How long the rest of a frame is waited for.
const LATE: Duration = Duration::from_millis(500);

/// How often a tape is tried that could not be written.
const RETRY: Duration = Duration::from_millis(250);

/// The most that is held back of a frame. With many streams at once, it is the smaller one.
const MOST_HELD: usize = 1024 * 1024;
const MOST_HELD_OF_MANY: usize = 64 * 1024;
const MANY: usize = 16;

/// The part of a tape that a frame may take, as a divisor: escaped, a byte takes up to five.
const FRAMES_PER_TAPE: u64 = 16;

/// How much text is written at once.
const BATCH: usize = 256 * 1024;

/// Where lines are written to.
pub(crate) trait Sink: Send {
    /// Appends whole lines; or nothing, if it fails.
    fn append(&mut self, lines: &[u8]) -> io::Result<()>;
    /// How many bytes may be appended before it has to be rotated.
    fn room(&self) -> u64;
    /// Begins again. The path of the file that has what was written before.
    fn rotate(&mut self) -> io::Result<PathBuf>;
    /// For messages.
    fn name(&self) -> String;
}

/// The state of the thread.
pub(crate) struct Writer {
    queue: Arc<Queue>,
    sink: Box<dyn Sink>,
    started: Instant,
    /// The time of the last record: times never go back.
    last: Duration,
    most_held: usize,
    streams: HashMap<Source, Frames>,
    /// The number of the last record.
    number: u64,
    batch: Batch,
    outage: Option<Outage>,
    /// It was logged that the tape cannot be written, and nothing but `lost` events has been written since.
    is_outage_logged: bool,
    needs_rotation: bool,
}

/// Lines that are not written yet.
#[derive(Default)]
struct Batch {
    text: String,
    /// The number of the last record before it.
    number: u64,
    frames: u64,
    bytes: u64,
    /// It will not be written, because the tape could not be written a moment ago.
    is_dropped: bool,
}

/// The tape cannot be written.
struct Outage {
    frames: u64,
    bytes: u64,
    reason: String,
    retry: Instant,
}

impl Writer {
    pub(crate) fn new(queue: Arc<Queue>, sink: Box<dyn Sink>, max_size: u64) -> Self {
        let part = usize::try_from(max_size / FRAMES_PER_TAPE).unwrap_or(usize::MAX);
        Self {
            queue,
            sink,
            started: Instant::now(),
            last: Duration::ZERO,
            most_held: MOST_HELD.min(part),
            streams: HashMap::new(),
            number: 0,
            batch: Batch::default(),
            outage: None,
            is_outage_logged: false,
            needs_rotation: false,
        }
    }

    /// Writes until the queue is closed.
    pub(crate) fn run(mut self) {
        while let Taken::Items(items) = self.queue.take(self.deadline()) {
            for (time, item) in items {
                self.queue.release(&item);
                self.item(time, &item);
            }
            self.flush_late();
            if self.outage.as_ref().is_some_and(|outage| outage.retry <= Instant::now()) {
                self.begin_batch(Instant::now());
            }
            self.write_batch();
        }
        let now = Instant::now();
        for (source, mut frames) in std::mem::take(&mut self.streams) {
            frames.flush(|bytes| self.frame(now, source, bytes));
        }
        if let Some(outage) = &mut self.outage {
            outage.retry = now;
        }
        self.event(now, None, "end", "{}");
        self.write_batch();
        self.queue.end();
    }

    /// When there is something to do, even if nothing comes.
    fn deadline(&self) -> Option<Instant> {
        let late =
            self.streams.values().filter(|frames| frames.is_holding()).map(|frames| frames.since + LATE);
        late.chain(self.outage.as_ref().map(|outage| outage.retry)).min()
    }

    fn item(&mut self, time: Instant, item: &Item) {
        match item {
            Item::Bytes(source, parts, bytes) => self.push(time, *source, *parts, bytes),
            Item::Head(source, head) => {
                let direction = direction(source.stream);
                self.record(time, source.exchange, Content::Head(direction, Cow::Borrowed(head)), head.len());
            }
            Item::Lost(source, bytes) => {
                self.flush(time, *source);
                if let Some(frames) = self.streams.get_mut(source) {
                    frames.forget();
                }
                if *bytes > 0 {
                    let detail = json!({"of": source.stream.name(), "bytes": bytes, "reason": "the disk was too slow"});
                    self.event(time, source.exchange, "lost", &detail.to_string());
                }
            }
            Item::End(source) => {
                self.flush(time, *source);
                self.streams.remove(source);
            }
            Item::Event(exchange, name, detail) => self.event(time, *exchange, name, detail),
        }
    }

    fn push(&mut self, time: Instant, source: Source, parts: Parts, bytes: &[u8]) {
        let most = if self.streams.len() > MANY { MOST_HELD_OF_MANY } else { MOST_HELD };
        let most = most.min(self.most_held);
        let mut frames = self.streams.remove(&source).unwrap_or_else(|| Frames::new(parts, time));
        frames.since = time;
        frames.push(bytes, most, |frame| self.frame(time, source, frame));
        self.streams.insert(source, frames);
    }

    fn flush(&mut self, time: Instant, source: Source) {
        if let Some(mut frames) = self.streams.remove(&source) {
            frames.flush(|bytes| self.frame(time, source, bytes));
            self.streams.insert(source, frames);
        }
    }

    /// Writes what has waited for the rest of its frame.
    fn flush_late(&mut self) {
        let now = Instant::now();
        let is_late = |frames: &Frames| frames.since + LATE <= now;
        let late: Vec<(Source, Instant)> = self
            .streams
            .iter()
            .filter(|(_, frames)| frames.is_holding() && is_late(frames))
            .map(|(source, frames)| (*source, frames.since))
            .collect();
        for (source, since) in late {
            self.flush(since, source);
        }
        if self.streams.len() > MANY {
            // The end of a stream may have been lost.
            self.streams.retain(|_, frames| !(frames.is_between_frames() && is_late(frames)));
        }
    }

    fn frame(&mut self, time: Instant, source: Source, bytes: &[u8]) {
        let content = match source.stream {
            Stream::Stderr => Content::Stderr(Cow::Borrowed(bytes)),
            stream => Content::Frame(direction(stream), Cow::Borrowed(bytes)),
        };
        self.record(time, source.exchange, content, bytes.len());
    }

    fn event(&mut self, time: Instant, exchange: Option<u64>, name: &str, detail: &str) {
        let content = Content::Event { name: Cow::Borrowed(name), detail: Cow::Borrowed(detail) };
        self.record(time, exchange, content, 0);
    }

    fn record(&mut self, time: Instant, exchange: Option<u64>, content: Content<'_>, length: usize) {
        self.begin_batch(time);
        let (end, number) = (self.batch.text.len(), self.number);
        self.append(time, exchange, content.clone());
        if self.batch.text.len() as u64 > self.sink.room() && !self.batch.is_dropped && !self.needs_rotation {
            self.batch.text.truncate(end);
            self.number = number;
            self.write_batch();
            self.needs_rotation = true;
            self.begin_batch(time);
            self.append(time, exchange, content);
        }
        self.batch.frames += 1;
        self.batch.bytes += length as u64;
        if self.batch.text.len() > BATCH {
            self.write_batch();
        }
    }

    fn append(&mut self, time: Instant, exchange: Option<u64>, content: Content<'_>) {
        self.number += 1;
        // What was late, and what is said about the tape itself, may have waited while other records were written.
        self.last = self.last.max(time.saturating_duration_since(self.started));
        Record { number: self.number, exchange, time: Some(self.last), content }.write(&mut self.batch.text);
    }

    fn append_event(&mut self, time: Instant, name: &str, detail: &str) {
        let content = Content::Event { name: Cow::Borrowed(name), detail: Cow::Borrowed(detail) };
        self.append(time, None, content);
    }

    /// Unless a batch has begun, begins one with what must be said before a record with this time.
    fn begin_batch(&mut self, time: Instant) {
        if !self.batch.text.is_empty() {
            return;
        }
        let now = Instant::now();
        let is_dropped = self.outage.as_ref().is_some_and(|outage| outage.retry > now);
        let text = std::mem::take(&mut self.batch.text);
        self.batch = Batch { text, number: self.number, is_dropped, ..Batch::default() };
        if is_dropped {
            return;
        }
        if self.needs_rotation {
            match self.sink.rotate() {
                Ok(old) => {
                    self.needs_rotation = false;
                    let old = old.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    self.append_event(time, "continued", &json!({ "file": old }).to_string());
                }
                Err(error) => {
                    self.failed(&error);
                    self.batch.is_dropped = true;
                    return;
                }
            }
        }
        if let Some(Outage { frames, bytes, reason, .. }) = &self.outage {
            let detail = json!({"frames": frames, "bytes": bytes, "reason": reason}).to_string();
            self.append_event(time, "lost", &detail);
        }
    }

    fn write_batch(&mut self) {
        if self.batch.text.is_empty() {
            return;
        }
        let written = if self.batch.is_dropped {
            Ok(false)
        } else {
            self.queue.set_on_disk(true);
            let written = self.sink.append(self.batch.text.as_bytes());
            self.queue.set_on_disk(false);
            written.map(|()| true)
        };
        match written {
            Ok(true) => {
                self.outage = None;
                // On a disk that is full, there may be room for a `lost` event and no more.
                if self.batch.frames > 0 && std::mem::take(&mut self.is_outage_logged) {
                    tracing::warn!("the tape {} can be written again", self.sink.name());
                }
            }
            Ok(false) => self.count_as_lost(),
            Err(error) => {
                self.failed(&error);
                self.count_as_lost();
            }
        }
        self.batch.text.clear();
        // A very large frame takes its memory with it.
        self.batch.text.shrink_to(4 * BATCH);
    }

    fn failed(&mut self, error: &io::Error) {
        let retry = Instant::now() + RETRY;
        match &mut self.outage {
            Some(outage) => outage.retry = retry,
            None => {
                if !std::mem::replace(&mut self.is_outage_logged, true) {
                    tracing::error!(
                        %error,
                        "cannot write the tape {}: it is tried again, and the traffic goes on without it", self.sink.name()
                    );
                }
                self.outage = Some(Outage { frames: 0, bytes: 0, reason: error.to_string(), retry });
            }
        }
    }

    fn count_as_lost(&mut self) {
        self.number = self.batch.number;
        if let Some(outage) = &mut self.outage {
            outage.frames += self.batch.frames;
            outage.bytes += self.batch.bytes;
        }
    }
}

fn direction(stream: Stream) -> Direction {
    if stream == Stream::Client { Direction::ToServer } else { Direction::ToClient }
}

#[cfg(test)]
mod tests;
