//! What tests need of the system beside files: calls that fail, a record of calls, mounts of their own.
//!
//! A test that cannot have it fails and says what to do: it must not pass without running.

use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::PTracer;

/// What says to this binary that it has mounts of its own.
const OWN_MOUNTS: &str = "PAPERTAPE_OWN_MOUNTS";

/// Whether this process has mounts of its own. If not, the test has just been run in one that has: with a user
/// namespace, which needs no rights, or as root without one.
pub(crate) fn has_own_mounts(test: &str) -> bool {
    if std::env::var_os(OWN_MOUNTS).is_some() {
        return true;
    }
    let mut refused = String::new();
    for flags in ["-Urm", "-m"] {
        let mut probe = Command::new("unshare");
        probe.args([flags, "mount", "-t", "tmpfs", "tmpfs"]).arg(std::env::temp_dir());
        match probe.output() {
            Ok(probed) if probed.status.success() => {
                let mut command = Command::new("unshare");
                command.arg(flags).arg(std::env::current_exe().unwrap()).args([
                    "--exact",
                    test,
                    "--nocapture",
                ]);
                let ran = command.env(OWN_MOUNTS, "1").output().unwrap();
                let said = [ran.stdout, ran.stderr].concat();
                let said = String::from_utf8_lossy(&said);
                assert!(ran.status.success() && said.contains("1 passed"), "with mounts of its own:\n{said}");
                return false;
            }
            Ok(probed) => refused += &String::from_utf8_lossy(&probed.stderr),
            Err(error) => refused += &format!("unshare: {error}\n"),
        }
    }
    panic!(
        "this test fills a small disk of its own, and may not mount one: run it as root, or where every user may have \
         user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0; in a \
         container, --security-opt seccomp=unconfined)\n{refused}"
    );
}

/// A small disk of its own.
pub(crate) struct SmallDisk<'a>(pub(crate) &'a Path);

impl<'a> SmallDisk<'a> {
    pub(crate) fn mount(path: &'a Path) -> Self {
        std::fs::create_dir_all(path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(path);
        assert!(mount.status().unwrap().success());
        Self(path)
    }

    /// Fills it, but for so many bytes.
    pub(crate) fn fill_but(&self, free: usize) {
        let filler = self.0.join("filler");
        let mut room = 1024 * 1024;
        while std::fs::write(&filler, vec![1; room]).is_err() {
            room -= 4096;
        }
        std::fs::write(&filler, vec![1; room.saturating_sub(free)]).unwrap();
    }

    /// Makes room again.
    pub(crate) fn empty(&self) {
        std::fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        Command::new("umount").arg(self.0).status().unwrap();
    }
}

/// A system call, as strace prints it.
#[derive(Debug)]
pub(crate) struct Call {
    thread: u32,
    pub(crate) name: String,
    /// What stands between the name's bracket and the end of the line.
    pub(crate) text: String,
    /// The lines of the log in which it begins and ends.
    pub(crate) lines: (usize, usize),
}

/// A process that strace has watched.
#[derive(Debug)]
pub(crate) struct Traced {
    pub(crate) success: bool,
    /// What it said after it had begun.
    pub(crate) stdout: Vec<String>,
    pub(crate) stderr: String,
    /// In the order in which they ended.
    pub(crate) calls: Vec<Call>,
}

impl Traced {
    /// How many calls were made to fail.
    pub(crate) fn injected(&self) -> usize {
        self.calls.iter().filter(|call| call.text.contains("(INJECTED)")).count()
    }

    /// Which calls are about something in this directory: the first, the second of their kind in their thread.
    pub(crate) fn numbers(&self, folder: &Path) -> BTreeSet<u32> {
        self.numbers_of(|call| call.text.contains(folder.to_str().unwrap()))
    }

    /// The same for calls that are chosen.
    pub(crate) fn numbers_of(&self, chosen: impl Fn(&Call) -> bool) -> BTreeSet<u32> {
        let mut counts: HashMap<(u32, &str), u32> = HashMap::new();
        let mut numbers = BTreeSet::new();
        let mut calls: Vec<&Call> = self.calls.iter().collect();
        calls.sort_by_key(|call| call.lines.0);
        for call in calls {
            let count = counts.entry((call.thread, &call.name)).or_default();
            *count += 1;
            if chosen(call) {
                numbers.insert(*count);
            }
        }
        numbers
    }
}

/// What says to a process that strace will watch it.
const WATCHED: &str = "PAPERTAPE_WATCHED";

/// For a process that may be watched: waits until strace is there, so that nothing is counted that it did before.
#[expect(clippy::print_stdout, reason = "the parent process waits for it")]
pub(crate) fn wait_for_strace() {
    if std::env::var_os(WATCHED).is_some() {
        // Some systems let only parents watch; others do not support the option.
        rustix::process::set_ptracer(PTracer::Any).unwrap_or_default();
        println!("\nready");
        // Begun before, ended after: this too may fail.
        std::io::stdin().read_line(&mut String::new()).unwrap_or_default();
    }
}

/// Runs a command that waits for strace.
pub(crate) fn traced(command: &mut Command, options: &[&str], log: &Path) -> Traced {
    let how = "run ./test, which gets it, or install the package strace";
    command
        .env(WATCHED, "1")
        .env("RAYON_NUM_THREADS", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(stdout.any(|line| line == "ready"), "it does not wait for strace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-p", &child.id().to_string(), "-o"]).arg(log).args(options);
    let strace = strace.stdin(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut strace = strace.unwrap_or_else(|error| {
        child.kill().unwrap();
        panic!("this test needs strace, which does not start ({error}): {how}")
    });
    let mut said = BufReader::new(strace.stderr.take().unwrap()).lines().map(Result::unwrap);
    let first = said.next().unwrap_or_default();
    if !first.contains(" attached") {
        child.kill().unwrap();
        panic!("this test needs strace, which may not watch here: in a container, allow ptrace\n{first}");
    }
    drop(child.stdin.take());
    let stdout: Vec<String> = stdout.collect();
    let ended = child.wait_with_output().unwrap();
    said.for_each(drop);
    strace.wait().unwrap();
    Traced {
        success: ended.status.success(),
        stdout,
        stderr: String::from_utf8_lossy(&ended.stderr).into_owned(),
        calls: calls(&std::fs::read_to_string(log).unwrap()),
    }
}

/// A log's lines to calls: what another thread interrupts stands in two lines.
fn calls(log: &str) -> Vec<Call> {
    let mut begun: HashMap<u32, Call> = HashMap::new();
    let mut calls = Vec::new();
    for (line, number) in log.lines().zip(0..) {
        let (thread, line) = line.split_once(' ').unwrap();
        let (thread, line) = (thread.parse().unwrap(), line.trim_start());
        if let Some(line) = line.strip_prefix("<... ") {
            let (_, rest) = line.split_once(" resumed>").unwrap();
            // What had begun before it was watched has no beginning.
            let Some(mut call) = begun.remove(&thread) else { continue };
            call.text += rest;
            call.lines.1 = number;
            calls.push(call);
        } else if let Some((name, text)) = line.split_once('(').filter(|_| !line.starts_with(['+', '-'])) {
            let call = Call { thread, name: name.to_owned(), text: text.to_owned(), lines: (number, number) };
            match call.text.strip_suffix(" <unfinished ...>") {
                Some(text) => begun.insert(thread, Call { text: text.to_owned(), ..call }).map_or((), drop),
                None => calls.push(call),
            }
        }
    }
    calls
}
