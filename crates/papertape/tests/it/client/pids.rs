//! Which processes a server has started, and whether they are still there.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::TIMEOUT;

/// A file into which `faulty --pids` writes the id of each process.
pub(super) struct Pids(PathBuf);

/// What is left of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    Nothing,
    /// It has ended, but its parent has not asked how.
    Zombie,
    Running,
}

impl Pids {
    pub(super) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("pids-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        drop(fs::remove_file(&path));
        Self(path)
    }

    /// For the command line.
    pub(super) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// The ids so far.
    pub(super) fn all(&self) -> Vec<Pid> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(|line| Pid::from_raw(line.parse().unwrap()).unwrap()).collect()
    }

    /// Waits until there are so many.
    pub(super) async fn wait_for(&self, count: usize) -> Vec<Pid> {
        until(&format!("{count} processes"), || self.all().len() >= count).await;
        self.all()
    }

    /// Waits until none of them runs. Our own child must have been reaped too; those of others are for others to reap.
    #[track_caller]
    pub(super) fn are_gone(&self, started: usize) -> impl Future<Output = ()> {
        let pids = self.all();
        assert_eq!(pids.len(), started, "{pids:?}");
        async move {
            for pid in pids {
                until(&format!("the end of {pid:?}"), || is_gone(pid)).await;
            }
        }
    }

    /// None of them runs, at this moment.
    #[track_caller]
    pub(super) fn are_gone_now(&self, started: usize) {
        let pids = self.all();
        assert_eq!(pids.len(), started, "{pids:?}");
        for pid in pids {
            assert!(is_gone(pid), "{pid:?}: {:?}", left(pid));
        }
    }
}

impl Drop for Pids {
    fn drop(&mut self) {
        // A test that has failed leaves nothing behind either.
        for pid in self.all().into_iter().filter(|pid| left(*pid) == Left::Running) {
            let _ = kill_process(pid, Signal::KILL);
        }
        drop(fs::remove_file(&self.0));
    }
}

fn is_gone(pid: Pid) -> bool {
    match left(pid) {
        Left::Nothing => true,
        Left::Zombie => parent(pid) != Some(rustix::process::getpid()),
        Left::Running => false,
    }
}

pub(super) fn left(pid: Pid) -> Left {
    match stat(pid).first().map(String::as_str) {
        None => Left::Nothing,
        Some("Z" | "X") => Left::Zombie,
        Some(_) => Left::Running,
    }
}

fn parent(pid: Pid) -> Option<Pid> {
    Pid::from_raw(stat(pid).get(1)?.parse().ok()?)
}

/// The fields of `/proc/PID/stat` from the state on.
fn stat(pid: Pid) -> Vec<String> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    fields.split_whitespace().map(str::to_owned).collect()
}

/// Waits for a condition that cannot be subscribed to.
pub(super) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < TIMEOUT, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
