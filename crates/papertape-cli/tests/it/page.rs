//! `papertape page`: what it refuses, and that it ends with its server.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::process::{End, run};
use crate::{contains, papertape, scratch};

fn refused<'a>(arguments: impl IntoIterator<Item = &'a str>) -> String {
    let End { status, log, .. } = run(&mut papertape(["page", "--no-open"].into_iter().chain(arguments)), "");
    assert_eq!(status.code(), Some(2), "{log}");
    log
}

#[test]
fn only_loopback_is_listened_on() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:8080"] {
        contains(&refused(["--http", address, "grammar"]), &["not a loopback address", "ssh -L"]);
    }
}

#[test]
fn a_tape_that_is_not_there_is_no_server() {
    contains(&refused(["nowhere.tape"]), &["nowhere.tape: there is no such tape", "--tape FILE"]);
    contains(&refused(["nowhere", "--live"]), &["nowhere: there is no such tape"]);
    contains(&refused(["--live", "--", "./server"]), &["--live is for tapes"]);
    contains(&refused(["--trace", "grammar"]), &["--trace prints frames"]);
}

#[test]
fn options_of_servers_do_not_apply_to_a_tape() {
    let tape = scratch("page-options").join("a.tape");
    std::fs::write(&tape, "papertape 1\n").unwrap();
    let tape = tape.to_str().unwrap();
    contains(&refused([tape, "--env", "A=b"]), &["--env is for servers"]);
    contains(&refused([tape, "--tape", "b.tape"]), &["--tape records a server"]);
}

#[test]
fn a_signal_ends_it_and_the_tape_is_complete() {
    let tape = scratch("page-signal").join("session.tape");
    let mut command = papertape(["page", "--no-open", "grammar", "--tape", tape.to_str().unwrap()]);
    let mut page = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(page.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    assert_eq!(url.trim_end().split_once("/#token=").unwrap().1.len(), 64, "{url}");
    // The server is asked what it is.
    while !std::fs::read_to_string(&tape).is_ok_and(|tape| tape.contains(" < ")) {
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_child(&page);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert!(page.wait().unwrap().success());
    let recorded = std::fs::read_to_string(&tape).unwrap();
    let last = recorded.lines().last().unwrap();
    assert!(last.ends_with(" end {}"), "{recorded}");
}
