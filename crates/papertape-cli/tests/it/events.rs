//! Events of the system that tests wait for, up to ten minutes: a machine may be busy.

use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

const LONGEST: Timespec = Timespec { tv_sec: 600, tv_nsec: 0 };

fn wait(fd: impl AsFd) {
    assert_eq!(poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&LONGEST)).unwrap(), 1, "it never happens");
}

/// Waits until a file that grows contains a text.
pub(crate) fn wait_for_text(path: &Path, text: &str) {
    let changes = inotify::init(CreateFlags::CLOEXEC).unwrap();
    inotify::add_watch(&changes, path, WatchFlags::MODIFY).unwrap();
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut events = inotify::Reader::new(&changes, &mut buffer);
    while !fs::read_to_string(path).unwrap().contains(text) {
        wait(&changes);
        events.next().unwrap();
    }
}

/// Waits for the end of a process that is not our child.
pub(crate) fn wait_for_exit(pid: Pid) {
    // If it has ended already there is nothing to wait for.
    if let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) {
        wait(process);
    }
}
