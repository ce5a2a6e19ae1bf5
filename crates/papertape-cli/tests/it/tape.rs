//! `--tape FILE`: every byte that crossed, both ways, and nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use papertape::wire::tape::{self, Direction, Entry};
use proptest::prelude::{ProptestConfig, Strategy, any, prop, prop_assert, prop_oneof, proptest};
use rustix::process::Signal;

use crate::process::{End, OPEN, Process, ping, run};
use crate::{contains, papertape, scratch, shell};

/// The bytes of a tape: to the server, and to the client.
fn read(path: &Path) -> (Vec<u8>, Vec<u8>) {
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    let mut last = 0;
    for entry in tape::read(&fs::read_to_string(path).unwrap()).unwrap() {
        let Entry::Record(record) = entry else { continue };
        assert_eq!(record.number, last + 1, "frames are counted over both directions");
        last = record.number;
        match record.as_frame() {
            Some((Direction::ToServer, bytes)) => sent.extend(bytes),
            Some((Direction::ToClient, bytes)) => received.extend(bytes),
            None => {}
        }
    }
    (sent, received)
}

fn record(tape: &Path, input: &[u8]) -> End {
    let end = run(papertape(["serve", "text", "--tape"]).arg(tape), input);
    end.is_clean();
    end
}

/// Both sides of the tape are what crossed.
#[track_caller]
fn check(test: &str, input: &[u8]) {
    let path = scratch(test).join("session.tape");
    let end = record(&path, input);
    let (sent, received) = read(&path);
    assert!(sent == input, "{} bytes were sent, {} are on the tape", input.len(), sent.len());
    assert!(
        received == end.output,
        "{} bytes came back, {} are on the tape",
        end.output.len(),
        received.len()
    );
}

#[test]
fn a_tape_has_every_line() {
    check("tape_lines", (OPEN.to_owned() + &ping(1) + "\n  \n" + &ping(2)).as_bytes());
}

#[test]
fn a_tape_has_odd_bytes_as_they_were() {
    let mut input = b"\xEF\xBB\xBF".to_vec();
    input.extend(OPEN.as_bytes());
    input.extend(ping(1).replace('\n', "\r\n").as_bytes());
    input.extend(
        b"\xFF\xFE invalid \x80\xC0\n\x00\x1B[31m\n\xE2\x9F\xA6 a bracket of the tape \xE2\x9F\xA7 \n",
    );
    input.extend(b"{\"half\": \"a message without an end, and \xE2\x9F");
    check("tape_odd", &input);
}

#[test]
fn a_tape_has_frames_with_headers() {
    let body = r#"{"jsonrpc":"2.0","id":"é","method":"ping"}"#;
    let headed = |header: &str| format!("{header}: {}\r\n\r\n{body}", body.len());
    let input = [
        headed("Content-Length"),
        headed("content-length"),
        headed("Content-Type: application/vscode-jsonrpc\r\nCONTENT-LENGTH"),
        format!("\n\n{}", headed("Content-Length")),
        "Content-Length: 0\r\n\r\n".to_owned(),
        "Content-Length: 100\r\n\r\n{".to_owned(),
    ];
    check("tape_headers", input.concat().as_bytes());
    // What comes after invalid headers is not read, or at least gets no response.
    check("tape_broken_headers", b"Content-Length: many\r\n\r\n{}");
}

#[test]
fn a_tape_has_frames_that_are_too_long_to_be_held() {
    let mut long = vec![b'x'; 17 * 1024 * 1024];
    long.extend(b"\xFF\r\n");
    long.extend(ping(1).as_bytes());
    check("tape_long_line", &long);
    let mut headed = format!("Content-Length: {}\r\n\r\n", 17 * 1024 * 1024).into_bytes();
    headed.extend(vec![b'x'; 17 * 1024 * 1024]);
    headed.extend(format!("Content-Length: {}\r\n\r\n{}", ping(1).len(), ping(1)).as_bytes());
    check("tape_long_frame", &headed);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_tape_has_any_bytes_and_every_response_is_a_message(input in prop::collection::vec(pieces(), 0..12)) {
        let input = input.concat();
        let path = scratch("tape_any").join("session.tape");
        let end = record(&path, &input);
        let (sent, received) = read(&path);
        prop_assert!(received == end.output);
        if end.output.starts_with(b"Content-") {
            // After broken headers nothing more is read.
            prop_assert!(input.starts_with(&sent));
        } else {
            prop_assert!(sent == input);
            drop(end.messages());
        }
    }
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<Vec<u8>>(),
        any::<String>().prop_map(String::into_bytes),
        (0..3usize).prop_map(|id| ping(id).into_bytes()),
        (0..40usize).prop_map(|length| format!("Content-Length: {length}\r\n\r\n").into_bytes()),
        prop::sample::select(vec!["\n", "\r\n", "{", "[]\n", "\"\\ud800\"\n", OPEN])
            .prop_map(|text| text.as_bytes().to_vec()),
    ]
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_tape_is_for_its_owner_only() {
    let path = scratch("tape_mode").join("session.tape");
    record(&path, ping(1).as_bytes());
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn a_tape_over_a_world_readable_file_is_private_too() {
    let folder = scratch("tape_mode_old");
    for (name, content) in [("old", "old"), ("empty", "")] {
        let path = folder.join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        record(&path, ping(1).as_bytes());
        assert_eq!(mode(&path), 0o600, "{name}");
    }
}

#[test]
fn the_tape_before_is_kept() {
    let folder = scratch("tape_old");
    let (new, old) = (folder.join("session.tape"), folder.join("session.tape.old"));
    record(&new, ping(1).as_bytes());
    assert!(!old.exists());
    record(&new, ping(2).as_bytes());
    assert_eq!((read(&new).0, read(&old).0), (ping(2).into_bytes(), ping(1).into_bytes()));
    record(&new, ping(3).as_bytes());
    assert_eq!((read(&new).0, read(&old).0), (ping(3).into_bytes(), ping(2).into_bytes()));
    assert_eq!(fs::read_dir(folder).unwrap().count(), 2);
}

#[test]
fn a_tape_that_cannot_be_written_is_a_clear_error() {
    let folder = scratch("tape_error");
    let missing =
        format!("the directory {} does not exist: create it with mkdir -p", folder.join("no/such").display());
    for (path, problem) in [
        (folder.join("no/such/folder"), missing.as_str()),
        (folder.clone(), "Is a directory"),
        (Path::new("/dev/full").to_owned(), "No space left on device"),
    ] {
        let end = run(papertape(["serve", "text", "--tape"]).arg(&path), ping(1));
        assert_eq!((end.status.code(), &end.output[..]), (Some(3), &b""[..]), "{end:?}");
        let right =
            format!("papertape: cannot serve text: cannot write the tape {}: {problem}", path.display());
        assert!(end.log.starts_with(&right) && end.log.lines().count() == 1, "{}", end.log);
    }
}

#[test]
fn a_tape_is_not_stdin_or_stdout() {
    let folder = scratch("tape_dash");
    for words in [
        &["list", "text", "--tape", "-"][..],
        &["call", "text", "echo", "--tape", "-"],
        &["serve", "text", "--tape", "-"],
        &["demo", "--tape", "-"],
        &["tap", "--tape", "-", "--", "cat"],
        &["install", "cursor", "x", "--tap", "--tape", "-"],
        &["replay", "-"],
    ] {
        let end = run(papertape(words.iter().copied()).current_dir(&folder), ping(1));
        assert_eq!((end.status.code(), &end.output[..]), (Some(2), &b""[..]), "{words:?} {end:?}");
        contains(&end.log, &["the tape is a file here", "./-"]);
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    let end = run(papertape(["serve", "text", "--tape", "./-"]).current_dir(&folder), ping(1));
    assert_eq!(end.status.code(), Some(0), "{end:?}");
    assert_eq!(read(&folder.join("-")).0, ping(1).into_bytes());
}

#[test]
fn a_killed_server_leaves_a_tape() {
    let path = scratch("tape_killed").join("session.tape");
    let mut server = Process::start(papertape(["serve", "text", "--tape"]).arg(&path));
    for id in 1..=3 {
        server.send(ping(id));
        assert_eq!(server.message()["id"], id);
    }
    server.signal(Signal::KILL);
    assert_eq!(server.wait().status.code(), None);
    let (sent, received) = read(&path);
    assert_eq!(String::from_utf8(sent).unwrap(), ping(1) + &ping(2) + &ping(3));
    // The last response may have been on its way to the tape.
    assert!(received.iter().filter(|&&b| b == b'\n').count() >= 2);
}

#[test]
fn a_full_disk_stops_the_recording_and_not_the_traffic() {
    let path = scratch("tape_full").join("session.tape");
    let mut command = papertape(["serve", "text", "--tape"]);
    // A file may have 8 blocks; the signal for more is ignored, so that it is an error like that of a full disk.
    let mut command = shell(r#"ulimit -f 8; trap "" XFSZ; exec "$@""#, command.arg(&path));
    let end = run(&mut command, (1..=1_000).map(ping).collect::<String>());
    assert_eq!((end.status.code(), end.messages().len()), (Some(0), 1_000), "{end:?}");
    assert_eq!(end.log.matches("ERROR").count(), 1, "{}", end.log);
    assert!(end.log.contains("incomplete from frame") && end.log.contains("session.tape"), "{}", end.log);
    assert!((1..=8 * 1024).contains(&fs::metadata(path).unwrap().len()));
}

#[test]
fn a_fifo_is_refused_at_once() {
    let folder = scratch("tape_fifo");
    let (fifo, link) = (folder.join("fifo"), folder.join("link"));
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    std::os::unix::fs::symlink(&fifo, &link).unwrap();
    for path in [&fifo, &link] {
        let end = run(papertape(["serve", "text", "--tape"]).arg(path), ping(1));
        assert_eq!(end.status.code(), Some(3), "{end:?}");
        assert!(end.log.contains("it is a FIFO") && end.log.contains("tail -f"), "{}", end.log);
        let end = run(papertape(["call", "text", "echo", "text=x", "--tape"]).arg(path), "");
        assert_eq!(end.status.code(), Some(3), "{end:?}");
        assert!(end.log.contains("it is a FIFO"), "{}", end.log);
        let end = run(papertape(["demo", "--tape"]).arg(path), "");
        assert!(!end.status.success() && end.log.contains("it is a FIFO"), "{end:?}");
    }
    // A device that takes everything is fine.
    record(Path::new("/dev/null"), ping(1).as_bytes());
}

#[test]
fn a_tape_hides_nothing_from_its_reader() {
    let path = scratch("tape_hidden").join("session.tape");
    let hidden = "\u{e0041}\u{61c}\u{180e}\u{200b}\u{fe01}\u{9b}";
    let input = ping(1).replace("ping", &format!("p{hidden}ing"));
    let end = record(&path, input.as_bytes());
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains(|c| hidden.contains(c)), "{text}");
    assert!(text.contains("p⟦f3 a0 81 81 d8 9c e1 a0 8e e2 80 8b ef b8 81 c2 9b⟧ing"), "{text}");
    assert_eq!(read(&path), (input.into_bytes(), end.output));
}
