//! A server in the race: its command, its process, and what the kernel knows of it.

use std::{
    fs::{self, File},
    io::{ErrorKind, Read, Write},
    os::fd::OwnedFd,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{OFlags, fcntl_setfl},
    process::{Pid, Signal, kill_process},
};

use crate::load::{Dialect, Load};

/// A server that has not ended a round by then is killed, and the race fails.
const TIMEOUT: Duration = Duration::from_secs(120);

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    /// `papertape serve text`
    Papertape,
    /// rmcp 3.8.0: `stdio_pipes()`, one thread, its router made once
    RmcpBest,
    /// rmcp 3.8.0 as documented: `stdio()`, `#[tokio::main]`
    RmcpDefault,
    /// A bare serde_json loop, one write per read
    FloorSerde,
    /// Copies its input: what the pipes and this program cost
    FloorCopy,
}

impl Contender {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Papertape => "papertape",
            Self::RmcpBest => "rmcp-best",
            Self::RmcpDefault => "rmcp-default",
            Self::FloorSerde => "floor-serde",
            Self::FloorCopy => "floor-copy",
        }
    }

    pub(crate) fn dialect(self) -> Dialect {
        if self == Self::FloorCopy { Dialect::Copy } else { Dialect::Mcp }
    }

    /// The command that starts it. All binaries lie beside this one, in the shared target directory.
    pub(crate) fn command(self, papertape: Option<&Path>) -> Result<Command> {
        let beside = std::env::current_exe()?.with_file_name(self.name());
        let (path, build) = match self {
            Self::Papertape => {
                (papertape.unwrap_or(&beside), "`cargo build --profile dist` in the root workspace")
            }
            _ => (beside.as_path(), "`cargo build --profile dist -p peers` in bench/"),
        };
        ensure!(path.is_file(), "no {} at {}; {build} builds it", self.name(), path.display());
        let mut command = Command::new(path);
        if self == Self::Papertape {
            command.args(["serve", "text"]);
        }
        // The defaults of the server, whatever this shell has set. Its stderr stays visible.
        command.env_remove("RUST_LOG").stdin(Stdio::piped()).stdout(Stdio::piped());
        Ok(command)
    }
}

/// A started server that has answered its first message.
pub(crate) struct Running {
    child: Child,
    input: File,
    output: File,
    load: Load,
    pub(crate) cold_start: Duration,
    _watchdog: mpsc::Sender<()>,
}

/// What a timed part of a round gave.
pub(crate) struct Part {
    calls: u64,
    took: Duration,
    cpu: Duration,
    /// Sorted; empty unless the window was one.
    latencies: Vec<Duration>,
}

impl Running {
    pub(crate) fn start(command: &mut Command, load: Load) -> Result<Self> {
        let started = Instant::now();
        let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
        let input = OwnedFd::from(child.stdin.take().context("stdin")?);
        let output = OwnedFd::from(child.stdout.take().context("stdout")?);
        // Only our end: a full pipe must not stop us from reading, see `pump`.
        fcntl_setfl(&input, OFlags::NONBLOCK)?;
        let watchdog = watch(pid(&child)?);
        let (input, output) = (File::from(input), File::from(output));
        let mut server = Self { child, input, output, load, cold_start: Duration::ZERO, _watchdog: watchdog };

        server.load.queue_opening();
        server.pump()?;
        server.cold_start = started.elapsed();
        server.load.finish_opening()?;
        Ok(server)
    }

    /// Calls the server for `time`, always with `window` calls in flight, and waits for the last answer.
    pub(crate) fn run(&mut self, window: usize, time: Duration) -> Result<Part> {
        let cpu = self.cpu()?;
        let started = Instant::now();
        let mut sent = started;
        let mut calls = 0;
        let mut latencies = Vec::new();
        self.load.queue_calls(window);
        while self.load.in_flight() > 0 {
            let now = self.pump()?;
            let answered = self.load.take_replies()?;
            calls += answered as u64;
            if window == 1 {
                latencies.push(now - sent);
            }
            if now - started < time {
                self.load.queue_calls(answered);
                if window == 1 {
                    sent = Instant::now();
                }
            }
        }
        latencies.sort_unstable();
        Ok(Part { calls, took: started.elapsed(), cpu: self.cpu()? - cpu, latencies })
    }

    /// Writes what is queued and reads until at least one whole line is there. Says when that was.
    ///
    /// With all of the queue in the pipe, this blocks in `read`: no other system call disturbs the measurement.
    /// When the pipe is full it waits for either end, for the server may be waiting for us to read.
    fn pump(&mut self) -> Result<Instant> {
        loop {
            let mut readable = true;
            if !self.load.outgoing().is_empty() {
                match self.input.write(self.load.outgoing()) {
                    Ok(written) => self.load.sent(written),
                    Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                    Err(e) => return Err(e).context("writing to the server"),
                }
            }
            if !self.load.outgoing().is_empty() {
                let mut ends =
                    [PollFd::new(&self.output, PollFlags::IN), PollFd::new(&self.input, PollFlags::OUT)];
                poll(&mut ends, None)?;
                readable = !ends[0].revents().is_empty();
            }
            if readable {
                let read = self.output.read(self.load.space())?;
                let now = Instant::now();
                if read == 0 {
                    bail!("the server closed its output (killed after {TIMEOUT:?}, or see its stderr above)");
                }
                if self.load.received(read) {
                    return Ok(now);
                }
            }
        }
    }

    /// User and system time of all its threads so far, also of those that have ended.
    fn cpu(&self) -> Result<Duration> {
        let mut clock = 0;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        #[expect(
            unsafe_code,
            reason = "std and rustix cannot read another process's CPU clock; /proc counts ticks"
        )]
        // SAFETY: both calls only write to the places given, which live throughout.
        let failed = unsafe {
            libc::clock_getcpuclockid(pid(&self.child)?.as_raw_nonzero().get(), &raw mut clock) != 0
                || libc::clock_gettime(clock, &raw mut time) != 0
        };
        ensure!(!failed, "no CPU clock for the server: has it ended?");
        Ok(Duration::new(time.tv_sec.try_into()?, time.tv_nsec.try_into()?))
    }

    pub(crate) fn peak_rss_mb(&self) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB"));
        Ok(kib.context("no VmHWM in /proc")?.trim().parse::<f64>()? * 1024.0 / 1e6)
    }

    /// Closes its input and waits: a good server ends by itself, with code 0.
    pub(crate) fn stop(mut self) -> Result<()> {
        drop(self.input);
        let mut rest = Vec::new();
        self.output.read_to_end(&mut rest)?;
        ensure!(rest.is_empty(), "unasked: {}", String::from_utf8_lossy(&rest));
        let status = self.child.wait()?;
        ensure!(status.success(), "ended with {status} when its input was closed");
        Ok(())
    }
}

impl Part {
    pub(crate) fn per_second(&self) -> f64 {
        self.calls as f64 / self.took.as_secs_f64()
    }

    pub(crate) fn cpu_us_per_call(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.calls as f64
    }

    /// The latency that a `share` of the calls stayed under, in microseconds.
    pub(crate) fn latency_us(&self, share: f64) -> f64 {
        let rank = (self.latencies.len() as f64 * share) as usize;
        self.latencies.get(rank).map_or(f64::NAN, |latency| latency.as_secs_f64() * 1e6)
    }
}

fn pid(child: &Child) -> Result<Pid> {
    Pid::from_raw(child.id().try_into()?).context("process id 0")
}

/// Kills the process when the sender is still there after `TIMEOUT`.
fn watch(pid: Pid) -> mpsc::Sender<()> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        if receiver.recv_timeout(TIMEOUT) == Err(mpsc::RecvTimeoutError::Timeout) {
            kill_process(pid, Signal::KILL).ok();
        }
    });
    sender
}
