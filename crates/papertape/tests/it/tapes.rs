//! Golden tapes: what a client sends, and byte for byte what must come back.
//!
//! `tests/tapes/server/REVISION/*.tape`. `UPDATE=1 cargo test` rewrites what comes back; read the difference before you
//! commit it. Comments are stage directions:
//!
//! - `#! everything`, `#! skills`: the server is the one that offers everything, or skills; on the first line
//! - `#! advance MS`: time passes
//! - `#! updated URI`, `#! change`: a resource changes, every list changes
//!
//! What no two runs have in common is written as STATE, TASK, TIME and NAME; in what the client sends, they stand for what came
//! last.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use papertape::wire::frame::Decoder;
use papertape::wire::tape::{self, Direction, Entry, Record};

use crate::fixture;
use crate::peer::{Peer, run};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tapes/server")
}

#[test]
fn every_tape_plays_as_written() {
    play_all(false);
}

/// Middleware that only hands on changes nothing of what the client gets, invalid arguments included.
#[test]
fn every_tape_plays_as_written_with_middleware() {
    play_all(true);
}

fn play_all(with_middleware: bool) {
    let mut played = 0;
    let mut different = Vec::new();
    for revision in fs::read_dir(folder()).unwrap() {
        for tape in fs::read_dir(revision.unwrap().path()).unwrap() {
            let path = tape.unwrap().path();
            let written = fs::read_to_string(&path).unwrap();
            let entries = tape::read(&written).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let now = run(play(entries, with_middleware));
            played += 1;
            if now == written {
                continue;
            }
            if std::env::var_os("UPDATE").is_some() && !with_middleware {
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
async fn play(entries: Vec<Entry>, with_middleware: bool) -> String {
    let mut now = Now {
        text: format!("{}\n", tape::HEADER),
        number: 0,
        decoder: Decoder::new(1 << 30),
        chance: Chance::default(),
    };
    let first = match entries.first() {
        Some(Entry::Comment(first)) => first.as_str(),
        _ => "",
    };
    let everything = first == "#! everything";
    let mut server = match first {
        "#! everything" => crate::full_server::server(),
        "#! skills" => crate::skills::server(),
        _ => fixture::server(),
    };
    // Only a handle can change what a server offers.
    let handles = everything.then(|| (server.tools(), server.resources(), server.prompts()));
    if with_middleware {
        server = server.middleware(|mut request, next| {
            // They count as changed, and are read again.
            let _ = request.arguments_mut();
            next.run(request)
        });
    }
    let mut peer = Peer::connect(server);
    for entry in entries {
        match entry {
            Entry::Comment(comment) => {
                now.text.push_str(&comment);
                now.text.push('\n');
                if let Some(time) = comment.strip_prefix("#! advance ") {
                    tokio::time::advance(Duration::from_millis(time.parse().unwrap())).await;
                }
                if let (Some(uri), Some((_, resources, _))) = (comment.strip_prefix("#! updated "), &handles)
                {
                    resources.updated(uri);
                }
                if let ("#! change", Some((tools, resources, prompts))) = (comment.as_str(), &handles) {
                    assert!(
                        tools.remove("chat") && resources.remove("note:one") && prompts.remove("picture")
                    );
                }
                if comment.starts_with("#! ") {
                    now.answers(&peer.settle().await);
                }
            }
            Entry::Record(record) => {
                if let Some((Direction::ToServer, bytes)) = record.as_frame() {
                    now.frame(Direction::ToServer, bytes);
                    let bytes = now.chance.put_in(bytes);
                    now.answers(&peer.send(&bytes).await);
                }
            }
        }
    }
    now.answers(&peer.end().await);
    now.text
}

/// What no two runs have in common, by the name it has on the tape.
#[derive(Default)]
struct Chance(Vec<(&'static str, String)>);

impl Chance {
    const MEMBERS: [(&'static str, &'static str); 5] = [
        ("requestState", "STATE"),
        ("taskId", "TASK"),
        ("createdAt", "TIME"),
        ("lastUpdatedAt", "TIME"),
        ("elicitationId", "NAME"),
    ];

    /// What the client would send.
    fn put_in(&self, bytes: &[u8]) -> Vec<u8> {
        let Ok(mut text) = String::from_utf8(bytes.to_vec()) else { return bytes.to_vec() };
        for (name, value) in &self.0 {
            text = text.replace(&format!("\"{name}\""), &format!("\"{value}\""));
        }
        text.into_bytes()
    }

    /// What goes on the tape.
    fn take_out(&mut self, bytes: &[u8]) -> Vec<u8> {
        let Ok(mut text) = String::from_utf8(bytes.to_vec()) else { return bytes.to_vec() };
        for (member, name) in Self::MEMBERS {
            let start = format!("\"{member}\":\"");
            let Some((before, rest)) = text.split_once(&start) else { continue };
            let Some((value, after)) = rest.split_once('"') else { continue };
            self.0.retain(|(old, _)| *old != name);
            self.0.push((name, value.to_owned()));
            text = format!("{before}{start}{name}\"{after}");
        }
        // It may stand elsewhere too.
        for (name, value) in self.0.iter().filter(|(_, value)| !value.is_empty()) {
            text = text.replace(&format!("\"{value}\""), &format!("\"{name}\""));
        }
        text.into_bytes()
    }
}

struct Now {
    text: String,
    number: u64,
    decoder: Decoder,
    chance: Chance,
}

impl Now {
    fn frame(&mut self, direction: Direction, bytes: &[u8]) {
        self.number += 1;
        Record::frame(self.number, direction, None, bytes).write(&mut self.text);
    }

    fn answers(&mut self, bytes: &[u8]) {
        self.decoder.push(bytes);
        let mut frames = Vec::new();
        while let Some(piece) = self.decoder.next_piece() {
            frames.push(piece.raw.to_vec());
        }
        for frame in frames {
            let frame = self.chance.take_out(&frame);
            self.frame(Direction::ToClient, &frame);
        }
    }
}
