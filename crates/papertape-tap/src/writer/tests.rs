//! Disks that are slow or full, late frames, and any order of any chunks.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use papertape::wire::tape::{self, Content, Direction, Entry, HEADER, Record};
use proptest::prelude::{Just, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};

use super::Sink;
use crate::{Parts, Recorder, Source, Stream};

/// A tape in memory, whose disk does what a test tells it.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Disk>>);

#[derive(Default)]
struct Disk {
    /// The tapes that were rotated, and the one that is written.
    tapes: Vec<Vec<u8>>,
    max_size: Option<u64>,
    is_full: bool,
    /// Every write waits for a permit.
    permits: Option<Receiver<()>>,
    /// Told of every write that begins.
    begun: Option<Sender<()>>,
    /// Notified of every write that succeeds.
    written: Arc<Condvar>,
}

impl Sink for Memory {
    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let mut disk = self.0.lock().unwrap();
        let (begun, permits) = (disk.begun.clone(), disk.permits.take());
        drop(disk);
        if let Some(begun) = begun {
            let _ = begun.send(());
        }
        if let Some(permits) = &permits {
            let _ = permits.recv();
        }
        disk = self.0.lock().unwrap();
        disk.permits = permits;
        if disk.is_full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if disk.tapes.is_empty() {
            disk.tapes.push(Vec::new());
        }
        disk.tapes.last_mut().unwrap().extend_from_slice(lines);
        disk.written.notify_all();
        Ok(())
    }

    fn room(&self) -> u64 {
        let disk = self.0.lock().unwrap();
        let size = disk.tapes.last().map_or(0, |tape| tape.len() as u64);
        disk.max_size.map_or(u64::MAX, |most| most.saturating_sub(size))
    }

    fn rotate(&mut self) -> io::Result<PathBuf> {
        let mut disk = self.0.lock().unwrap();
        if disk.is_full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        disk.tapes.push(Vec::new());
        Ok("x.tape.old".into())
    }

    fn name(&self) -> String {
        "x.tape".to_owned()
    }
}

impl Memory {
    fn recorder(&self, memory: usize) -> Recorder {
        let max_size = self.0.lock().unwrap().max_size.unwrap_or(u64::MAX);
        Recorder::with_sink(Box::new(self.clone()), max_size, memory).unwrap()
    }

    /// Waits until so many lines are written.
    fn wait_for_lines(&self, count: usize) {
        let disk = self.0.lock().unwrap();
        let written = Arc::clone(&disk.written);
        let lines = |disk: &Disk| disk.tapes.concat().iter().filter(|&&byte| byte == b'\n').count();
        drop(written.wait_while(disk, |disk| lines(disk) < count).unwrap());
    }

    /// The records of all tapes, whose numbers have no gaps and whose times do not go back.
    fn records(&self) -> Vec<Record<'static>> {
        let text = String::from_utf8(self.0.lock().unwrap().tapes.concat()).unwrap();
        let entries = tape::read(&format!("{HEADER}\n{text}")).unwrap();
        let records: Vec<_> = entries
            .into_iter()
            .filter_map(|entry| match entry {
                Entry::Record(record) => Some(record),
                Entry::Comment(_) => None,
            })
            .collect();
        for (index, record) in records.iter().enumerate() {
            assert_eq!(record.number, index as u64 + 1, "{text}");
        }
        assert!(records.is_sorted_by_key(|record| record.time), "{text}");
        records
    }

    /// The bytes of a stream.
    fn bytes(&self, source: Source) -> Vec<u8> {
        let of_source = |record: Record<'static>| match record.content {
            Content::Frame(Direction::ToServer, bytes) if source.stream == Stream::Client => Some(bytes),
            Content::Frame(Direction::ToClient, bytes) if source.stream == Stream::Server => Some(bytes),
            Content::Stderr(bytes) if source.stream == Stream::Stderr => Some(bytes),
            _ => None,
        };
        let records = self.records().into_iter().filter(|record| record.exchange == source.exchange);
        records.filter_map(of_source).flat_map(|bytes| bytes.into_owned()).collect()
    }

    fn events(&self) -> Vec<(String, Value)> {
        let event = |record: Record<'static>| match record.content {
            Content::Event { name, detail } => {
                Some((name.into_owned(), serde_json::from_str(&detail).unwrap()))
            }
            _ => None,
        };
        self.records().into_iter().filter_map(event).collect()
    }
}

const CLIENT: Source = Source { stream: Stream::Client, exchange: None };

/// A disk that waits for permits, and a sign of every write that begins.
fn slow() -> (Memory, Sender<()>, Receiver<()>) {
    let (permit, permits) = channel();
    let (begun, began) = channel();
    let disk = Disk { permits: Some(permits), begun: Some(begun), ..Disk::default() };
    (Memory(Arc::new(Mutex::new(disk))), permit, began)
}

#[test]
fn a_slow_disk_loses_what_does_not_fit_into_memory_and_says_so() {
    let (disk, permit, began) = slow();
    let recorder = disk.recorder(10_000);
    recorder.bytes(Stream::Client, Parts::Messages, b"1\n");
    recorder.wake();
    // The first write waits now, and all of these are added meanwhile.
    began.recv().unwrap();
    for _ in 0..4 {
        recorder.bytes(Stream::Client, Parts::Messages, &[b'x'; 4000]);
        recorder.bytes(Stream::Server, Parts::Messages, b"{}\n");
        recorder.wake();
    }
    drop(permit);
    recorder.finish().unwrap();
    assert_eq!(disk.bytes(CLIENT), [&b"1\n"[..], &[b'x'; 8000]].concat());
    assert_eq!(disk.bytes(Stream::Server.into()), b"{}\n".repeat(4));
    let lost = json!({"of": "client", "bytes": 8000, "reason": "the disk was too slow"});
    assert_eq!(disk.events(), [("lost".to_owned(), lost), ("end".to_owned(), json!({}))]);
}

#[test]
fn a_disk_that_hangs_is_given_up_with_an_error() {
    let (disk, permit, began) = slow();
    let recorder = disk.recorder(10_000);
    recorder.bytes(Stream::Client, Parts::Messages, b"1\n");
    recorder.wake();
    began.recv().unwrap();
    let error = recorder.finish_within(Duration::ZERO).unwrap_err();
    assert!(error.to_string().contains("the disk hangs"), "{error}");
    drop(permit);
    recorder.finish().unwrap();
    assert_eq!(disk.events(), [("end".to_owned(), json!({}))]);
}

#[test]
fn what_is_late_has_a_time_that_is_not_before_the_last_record() {
    let disk = Memory::default();
    let recorder = disk.recorder(10_000);
    recorder.bytes(Stream::Client, Parts::Messages, b"{\"half\":");
    recorder.bytes(Stream::Server, Parts::Messages, b"1\n");
    recorder.wake();
    // The half line is written when its rest is late.
    disk.wait_for_lines(2);
    recorder.finish().unwrap();
    assert_eq!(disk.records().len(), 3);
}

#[test]
fn a_tape_that_is_continued_has_times_in_order() {
    let disk = Memory(Arc::new(Mutex::new(Disk { max_size: Some(2000), ..Disk::default() })));
    let recorder = disk.recorder(1_000_000);
    for _ in 0..100 {
        recorder.bytes(Stream::Client, Parts::Messages, &[b"x".repeat(100), b"\n".to_vec()].concat());
    }
    recorder.finish().unwrap();
    let events = disk.events();
    assert!(events.iter().filter(|(name, _)| name == "continued").count() > 3, "{events:?}");
    assert_eq!(disk.records().len(), 100 + events.len());
}

#[test]
fn what_comes_after_a_loss_is_recorded_after_it() {
    let (disk, permit, began) = slow();
    let recorder = disk.recorder(1_000);
    recorder.bytes(Stream::Client, Parts::Messages, b"1\n");
    recorder.wake();
    began.recv().unwrap();
    recorder.bytes(Stream::Client, Parts::Messages, &[b'x'; 4000]);
    recorder.wake();
    permit.send(()).unwrap();
    permit.send(()).unwrap();
    // The loss is being written, so that there is room again.
    began.recv().unwrap();
    recorder.bytes(Stream::Client, Parts::Messages, b"2\n");
    drop(permit);
    recorder.finish().unwrap();
    let forms: Vec<String> = disk
        .records()
        .into_iter()
        .map(|record| match record.content {
            Content::Event { name, .. } => name.into_owned(),
            Content::Frame(_, bytes) => String::from_utf8(bytes.into_owned()).unwrap(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(forms, ["1\n", "lost", "2\n", "end"]);
}

#[test]
fn after_a_full_disk_recording_resumes_and_says_what_is_missing() {
    let (begun, began) = channel();
    let disk = Memory(Arc::new(Mutex::new(Disk { begun: Some(begun), ..Disk::default() })));
    let recorder = disk.recorder(10_000);
    recorder.bytes(Stream::Client, Parts::Messages, b"1\n");
    recorder.wake();
    began.recv().unwrap();
    disk.wait_for_lines(1);
    disk.0.lock().unwrap().is_full = true;
    recorder.bytes(Stream::Client, Parts::Messages, b"2\n3\n");
    recorder.wake();
    began.recv().unwrap();
    // It is tried again by itself.
    began.recv().unwrap();
    disk.0.lock().unwrap().is_full = false;
    disk.wait_for_lines(2);
    recorder.bytes(Stream::Client, Parts::Messages, b"4\n");
    recorder.finish().unwrap();
    assert_eq!(disk.bytes(CLIENT), b"1\n4\n");
    let lost =
        json!({"frames": 2, "bytes": 4, "reason": io::Error::from(io::ErrorKind::StorageFull).to_string()});
    assert_eq!(disk.events(), [("lost".to_owned(), lost), ("end".to_owned(), json!({}))]);
}

#[test]
fn half_a_line_is_written_when_the_rest_is_late() {
    let (begun, began) = channel();
    let disk = Memory(Arc::new(Mutex::new(Disk { begun: Some(begun), ..Disk::default() })));
    let recorder = disk.recorder(10_000);
    recorder.bytes(Stream::Client, Parts::Messages, b"{\"half\":");
    recorder.wake();
    // Nothing else comes.
    began.recv().unwrap();
    recorder.bytes(Stream::Client, Parts::Messages, b"1}\n");
    recorder.finish().unwrap();
    let frames: Vec<_> =
        disk.records().iter().filter_map(|r| r.as_frame().map(|(_, bytes)| bytes.to_vec())).collect();
    assert_eq!(frames, [&b"{\"half\":"[..], b"1}\n"]);
}

#[test]
fn heads_and_bodies_have_the_number_of_their_exchange() {
    let disk = Memory::default();
    let recorder = disk.recorder(10_000);
    let source = Source { stream: Stream::Server, exchange: Some(7) };
    recorder.head(source, b"HTTP/1.1 200 OK\r\n\r\n".to_vec());
    recorder.bytes(source, Parts::Events, b"data: 1\n\ndata");
    recorder.bytes(source, Parts::Events, b": 2\n\n");
    recorder.end_of_stream(source);
    recorder.finish().unwrap();
    let records = disk.records();
    assert!(matches!(&records[0].content, Content::Head(Direction::ToClient, _)));
    let exchanges: Vec<_> = records.iter().map(|record| record.exchange).collect();
    assert_eq!(exchanges, [Some(7), Some(7), Some(7), None]);
}

#[test]
fn large_frames_are_written_in_parts() {
    let disk = Memory::default();
    let recorder = disk.recorder(usize::MAX / 2);
    let body = "x\n".repeat(3_000_000);
    let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
    for chunk in frame.as_bytes().chunks(65_536) {
        recorder.bytes(Stream::Client, Parts::Messages, chunk);
    }
    recorder.bytes(Stream::Client, Parts::Messages, b"Content-Length: 2\r\n\r\n{}");
    recorder.finish().unwrap();
    let records = disk.records();
    assert_eq!(disk.bytes(CLIENT), (frame + "Content-Length: 2\r\n\r\n{}").as_bytes());
    assert!((6..10).contains(&records.len()), "{}", records.len());
}

/// What is recorded in one step.
#[derive(Debug, Clone)]
enum Step {
    Bytes(Source, Vec<u8>),
    End(Source),
    Event,
    /// Lets the writer take what there is.
    Wake,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let source = || {
        let stream = prop_oneof![Just(Stream::Client), Just(Stream::Server), Just(Stream::Stderr)];
        (stream, prop::option::of(0..2_u64)).prop_map(|(stream, exchange)| Source { stream, exchange })
    };
    let bytes = prop_oneof![
        any::<Vec<u8>>(),
        "(\\{\\}\r?\n|content-length: [0-9]{1,2}\r\n\r\n|⟦| |data: x\n\n){0,5}".prop_map(String::into_bytes),
    ];
    let step = prop_oneof![
        6 => (source(), bytes).prop_map(|(source, bytes)| Step::Bytes(source, bytes)),
        1 => source().prop_map(Step::End),
        1 => Just(Step::Event),
        2 => Just(Step::Wake),
    ];
    prop::collection::vec(step, 0..30)
}

proptest! {
    #[test]
    fn the_bytes_of_a_source_are_those_that_crossed(steps in steps(), max_size in prop::option::of(2_000..9_000_u64)) {
        let disk = Memory(Arc::new(Mutex::new(Disk { max_size, ..Disk::default() })));
        let recorder = disk.recorder(10_000_000);
        let mut expected: Vec<(Source, Vec<u8>)> = Vec::new();
        for step in steps {
            match step {
                Step::Bytes(source, bytes) => {
                    let parts = if source.exchange.is_some() { Parts::Events } else { Parts::Messages };
                    recorder.bytes(source, parts, &bytes);
                    match expected.iter_mut().find(|(other, _)| *other == source) {
                        Some((_, all)) => all.extend(bytes),
                        None => expected.push((source, bytes)),
                    }
                }
                Step::End(source) => recorder.end_of_stream(source),
                Step::Event => recorder.event("signal", &json!({"name": "SIGINT"})),
                Step::Wake => recorder.wake(),
            }
        }
        recorder.finish().unwrap();
        for (source, bytes) in expected {
            prop_assert_eq!(disk.bytes(source), bytes);
        }
        if let Some(most) = max_size {
            for tape in &disk.0.lock().unwrap().tapes {
                prop_assert!(tape.len() as u64 <= most);
            }
        }
    }
}
