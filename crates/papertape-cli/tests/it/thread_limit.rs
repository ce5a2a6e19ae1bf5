//! Where threads cannot be started: an error with a remedy, not a panic or a hang.

use std::io::Write;

use crate::process::{OPEN, Process};
use crate::unprivileged::UnprivilegedUser;

#[test]
fn too_few_threads_are_an_error_with_a_remedy() {
    let anyone = UnprivilegedUser::new();
    let folder = anyone.folder().to_str().unwrap();
    for arguments in [
        &["serve", "text"][..],
        &["serve", "text", "--http", "127.0.0.1:0"],
        &["index", folder, "--out", "/nowhere"],
    ] {
        for most in 1..=4 {
            let mut server = Process::start(&mut anyone.limited(most, arguments));
            drop(server.input.take());
            let end = server.wait();
            assert_eq!(end.status.code(), Some(3), "{arguments:?} with {most}: {end:?}");
            let reported = end.log.contains("cannot start a thread") && end.log.contains("ulimit -u");
            assert!(reported && !end.log.contains("panicked"), "{arguments:?} with {most}: {end:?}");
        }
    }
}

// With any number of threads it serves, or reports why it does not.
#[test]
fn a_server_with_few_threads_serves_or_reports_why_not() {
    let anyone = UnprivilegedUser::new();
    let mut served = 0;
    for most in 5..=16 {
        // Other threads of this user are in the way of those of an unprivileged one.
        let mut server = Process::start(&mut anyone.limited(most, &["serve", "text"]));
        // It may have ended before it reads.
        drop(server.input.take().unwrap().write_all(OPEN.as_bytes()));
        let end = server.wait();
        assert!(!end.log.contains("panicked"), "{most}: {end:?}");
        match end.status.code() {
            Some(0) => {
                assert_eq!(end.messages()[0]["id"], "open", "{most}: {end:?}");
                served += 1;
            }
            Some(3) => assert!(end.log.contains("ulimit -u"), "{most}: {end:?}"),
            _ => panic!("{most}: {end:?}"),
        }
    }
    assert!(served > 0 || !rustix::process::geteuid().is_root());
}
