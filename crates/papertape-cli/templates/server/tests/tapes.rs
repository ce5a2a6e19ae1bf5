//! Sessions with the program, byte for byte: what a host sends, and what must come back.
//!
//! A tape is a text file in `tests/tapes`. `UPDATE=1 cargo test` rewrites what comes back; read the difference before you
//! commit it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use papertape::wire::tape::{self, Direction, Entry, Record};

#[test]
fn every_tape_plays_as_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tapes");
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let written = fs::read_to_string(&path).unwrap();
        let now = play(tape::read(&written).unwrap());
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, now).unwrap();
        } else {
            assert_eq!(now, written, "{} (UPDATE=1 rewrites it)", path.display());
        }
    }
}

/// Sends what a tape has for the server, and reads a line wherever it has one for the client.
fn play(entries: Vec<Entry>) -> String {
    let mut server = Command::new(env!("CARGO_BIN_EXE_{{name}}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap());
    let mut now = format!("{}\n", tape::HEADER);
    for entry in entries {
        match entry {
            Entry::Comment(text) => now += &format!("{text}\n"),
            Entry::Record(record) => {
                let (direction, bytes) = record.as_frame().expect("the tape has frames only");
                let mut bytes = bytes.to_vec();
                match direction {
                    Direction::ToServer => input.write_all(&bytes).unwrap(),
                    Direction::ToClient => {
                        bytes.clear();
                        output.read_until(b'\n', &mut bytes).unwrap();
                    }
                }
                Record::frame(record.number, direction, None, &bytes).write(&mut now);
            }
        }
    }
    // The server exits when its input ends, and has nothing more to say.
    drop(input);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    assert!(server.wait().unwrap().success());
    now
}
