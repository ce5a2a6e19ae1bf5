//! Golden tapes: what a client sends, and byte for byte what must come back.
//!
//! `tests/tapes/server/REVISION/*.tape`. `UPDATE=1 cargo test` rewrites what comes back; read the difference before you
//! commit it. A comment `#! advance MS` lets time pass.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use papertape::wire::frame::Decoder;
use papertape::wire::tape::{self, Direction, Entry};

use crate::fixture;
use crate::peer::{Peer, run};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tapes/server")
}

#[test]
fn every_tape_plays_as_written() {
    let mut played = 0;
    let mut different = Vec::new();
    for revision in fs::read_dir(folder()).unwrap() {
        for tape in fs::read_dir(revision.unwrap().path()).unwrap() {
            let path = tape.unwrap().path();
            let written = fs::read_to_string(&path).unwrap();
            let entries = tape::read(&written).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let now = run(play(entries));
            played += 1;
            if now == written {
                continue;
            }
            if std::env::var_os("UPDATE").is_some() {
                fs::write(&path, now).unwrap();
            } else {
                different.push(format!("{}:\n{}", path.display(), first_difference(&written, &now)));
            }
        }
    }
    assert!(played >= 20, "only {played} tapes were found");
    assert!(different.is_empty(), "{}\n(UPDATE=1 rewrites)", different.join("\n"));
}

fn first_difference(written: &str, now: &str) -> String {
    let mut lines = written.lines().map(Some).chain([None]).zip(now.lines().map(Some).chain([None]));
    let different = lines.find(|(written, now)| written != now).unwrap_or_default();
    format!("  written: {}\n  now:     {}", different.0.unwrap_or("(end)"), different.1.unwrap_or("(end)"))
}

/// Plays the client's side of a tape and writes down what happened.
async fn play(entries: Vec<Entry>) -> String {
    let mut now = Now { text: format!("{}\n", tape::HEADER), number: 0, decoder: Decoder::new(1 << 30) };
    let mut peer = Peer::connect(fixture::server());
    for entry in entries {
        match entry {
            Entry::Comment(comment) => {
                now.text.push_str(&comment);
                now.text.push('\n');
                if let Some(time) = comment.strip_prefix("#! advance ") {
                    tokio::time::advance(Duration::from_millis(time.parse().unwrap())).await;
                    now.answers(&peer.settle().await);
                }
            }
            Entry::Frame(frame) if frame.direction == Direction::ToServer => {
                now.frame(Direction::ToServer, &frame.bytes);
                now.answers(&peer.send(&frame.bytes).await);
            }
            Entry::Frame(_) => {}
        }
    }
    now.answers(&peer.end().await);
    now.text
}

struct Now {
    text: String,
    number: u64,
    decoder: Decoder,
}

impl Now {
    fn frame(&mut self, direction: Direction, bytes: &[u8]) {
        self.number += 1;
        tape::write(&mut self.text, self.number, direction, None, bytes);
    }

    fn answers(&mut self, bytes: &[u8]) {
        self.decoder.push(bytes);
        let mut frames = Vec::new();
        while let Some(piece) = self.decoder.next_piece() {
            frames.push(piece.raw.to_vec());
        }
        for frame in frames {
            self.frame(Direction::ToClient, &frame);
        }
    }
}
