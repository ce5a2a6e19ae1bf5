//! Where threads cannot be started: an error with a way out, not a panic or a process that hangs.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{OPEN, Process};

/// The binary where every user can run it: limits do not hold for root, so that another user is needed.
struct Anyone(PathBuf);

impl Anyone {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("papertape-threads-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_papertape"), folder.join("papertape")).unwrap();
        Self(folder)
    }

    /// The binary as a user who has so many processes and threads, and no more.
    fn limited(&self, most: u32, arguments: &[&str]) -> Command {
        let mut command = Command::new("prlimit");
        command.arg(format!("--nproc={most}")).arg(self.0.join("papertape")).args(arguments);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).current_dir(&self.0);
        if rustix::process::geteuid().is_root() {
            // No other process has this one.
            let user = 1_000_000 + std::process::id();
            command.uid(user).gid(user);
        }
        command
    }
}

impl Drop for Anyone {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
fn too_few_threads_are_an_error_with_a_way_out() {
    let anyone = Anyone::new();
    let folder: &Path = &anyone.0;
    let folder = folder.to_str().unwrap();
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
            let told = end.log.contains("cannot start a thread") && end.log.contains("ulimit -u");
            assert!(told && !end.log.contains("panicked"), "{arguments:?} with {most}: {end:?}");
        }
    }
}

// However many there may be: it serves, or says why it does not.
#[test]
fn a_server_with_few_threads_serves_or_says_why_not() {
    let anyone = Anyone::new();
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
