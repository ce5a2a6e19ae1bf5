//! A server on HTTP: its process, where it is, and what the kernel knows of it.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use rustix::{
    param::clock_ticks_per_second,
    process::{Pid, Signal, kill_process},
};

/// How long a server may take to say where it is, and to end.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A server that runs until this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Process {
    /// Starts a server and waits until it says on stderr where it is: every server does, in words of its own.
    ///
    /// # Errors
    /// If it does not.
    pub fn start(command: &mut Command) -> Result<Self> {
        command.env_remove("RUST_LOG").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
        let stderr = BufReader::new(child.stderr.take().context("stderr")?);
        let (say, said) = mpsc::channel();
        thread::spawn(move || {
            // To the end, or the server would block when the pipe is full.
            for line in stderr.lines().map_while(Result::ok) {
                match address(&line) {
                    Some(address) => drop(say.send(address)),
                    None if line.starts_with("INFO") || line.starts_with("StreamableHTTP") => {}
                    None => eprintln!("{line}"),
                }
            }
        });
        match said.recv_timeout(TIMEOUT) {
            Ok(address) => Ok(Self { child, address }),
            Err(_) => {
                child.kill().ok();
                child.wait().ok();
                Err(anyhow::anyhow!("{command:?} does not say where it is"))
            }
        }
    }

    fn proc(&self, file: &str) -> Result<String> {
        Ok(fs::read_to_string(format!("/proc/{}/{file}", self.child.id()))?)
    }

    /// User and system time of all threads so far, in ticks of the kernel's (usually 10 ms).
    ///
    /// # Errors
    /// If the server has ended.
    pub fn cpu(&self) -> Result<Duration> {
        let stat = self.proc("stat")?;
        // The name of the program may hold anything, but what comes after its closing parenthesis cannot.
        let after = stat.rsplit_once(')').context("/proc/PID/stat")?.1;
        let ticks: Vec<u64> = after.split_whitespace().skip(11).take(2).flat_map(str::parse).collect();
        ensure!(ticks.len() == 2, "/proc/PID/stat has no times");
        Ok(Duration::from_secs_f64(ticks.iter().sum::<u64>() as f64 / clock_ticks_per_second() as f64))
    }

    /// Memory that is in RAM now, in bytes.
    ///
    /// # Errors
    /// If the server has ended.
    pub fn rss(&self) -> Result<u64> {
        let status = self.proc("status")?;
        let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB"));
        Ok(kib.context("no VmRSS in /proc")?.trim().parse::<u64>()? * 1024)
    }

    /// How many descriptors are open.
    ///
    /// # Errors
    /// If the server has ended.
    pub fn descriptors(&self) -> Result<usize> {
        Ok(fs::read_dir(format!("/proc/{}/fd", self.child.id()))?.count())
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// If the server has ended.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let pid = Pid::from_raw(self.child.id().try_into()?).context("process id 0")?;
        Ok(kill_process(pid, signal)?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn address(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("http://")?;
    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ':')).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}
