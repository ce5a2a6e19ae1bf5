//! One measurement in a process of its own, so that its memory is its own; its figures are lines on its stdout.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::time::{ClockId, clock_gettime};

/// Figures by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Figures(BTreeMap<String, f64>);

impl Figures {
    pub(crate) fn set(&mut self, name: &str, value: f64) {
        self.0.insert(name.to_owned(), value);
    }

    /// In milliseconds.
    pub(crate) fn time(&mut self, name: &str, time: Duration) {
        self.set(name, time.as_secs_f64() * 1_000.0);
    }

    #[expect(clippy::cast_precision_loss, reason = "bytes are shown in megabytes")]
    pub(crate) fn bytes(&mut self, name: &str, bytes: u64) {
        self.set(name, bytes as f64);
    }

    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// The median and the 99th of a hundred of the times by the clock on the wall, and the mean of the CPU's time.
    pub(crate) fn spread(&mut self, name: &str, spent: &[Spent]) {
        let mut times: Vec<Duration> = spent.iter().map(|spent| spent.wall).collect();
        times.sort_unstable();
        let cpu: Duration = spent.iter().map(|spent| spent.cpu).sum();
        self.time(&format!("{name} CPU"), cpu / u32::try_from(spent.len()).unwrap_or(u32::MAX).max(1));
        for (part, of) in [("p50", 50), ("p99", 99)] {
            if let Some(time) = times.get((times.len() * of / 100).min(times.len().saturating_sub(1))) {
                self.time(&format!("{name} {part}"), *time);
            }
        }
    }

    /// For the parent.
    pub(crate) fn print(&self) -> Result<()> {
        let mut out = std::io::stdout().lock();
        for (name, value) in &self.0 {
            writeln!(out, "{name}={value}")?;
        }
        Ok(())
    }

    pub(crate) fn read(text: &str) -> Self {
        let pairs = text.lines().filter_map(|line| {
            let (name, value) = line.rsplit_once('=')?;
            Some((name.to_owned(), value.parse().ok()?))
        });
        Self(pairs.collect())
    }
}

/// How large it is and where its files are.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Setting {
    /// How many chunks
    #[arg(long)]
    pub(crate) chunks: usize,
    /// How many numbers a vector has
    #[arg(long)]
    pub(crate) dimension: usize,
    /// How many queries are asked
    #[arg(long)]
    pub(crate) queries: usize,
    /// Where files go
    #[arg(long)]
    pub(crate) dir: PathBuf,
}

impl Setting {
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

/// Runs a step in a process of its own.
pub(crate) fn run(step: &str, setting: &Setting) -> Result<Figures> {
    let output = Command::new(std::env::current_exe()?)
        .args(["step", step])
        .args(["--chunks", &setting.chunks.to_string()])
        .args(["--dimension", &setting.dimension.to_string()])
        .args(["--queries", &setting.queries.to_string()])
        .arg("--dir")
        .arg(&setting.dir)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start a step")?;
    ensure!(output.status.success(), "the step {step} failed: {}", output.status);
    Ok(Figures::read(&String::from_utf8_lossy(&output.stdout)))
}

/// What something took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spent {
    /// By the clock on the wall.
    pub(crate) wall: Duration,
    /// By all threads of this process: the same however busy the machine is.
    pub(crate) cpu: Duration,
}

/// Measures from now on.
#[derive(Debug)]
pub(crate) struct Watch {
    wall: Instant,
    cpu: Duration,
}

impl Watch {
    pub(crate) fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu() }
    }

    pub(crate) fn stop(&self) -> Spent {
        Spent { wall: self.wall.elapsed(), cpu: cpu().saturating_sub(self.cpu) }
    }
}

fn cpu() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    let (seconds, nanoseconds) = (u64::try_from(now.tv_sec), u32::try_from(now.tv_nsec));
    Duration::new(seconds.unwrap_or_default(), nanoseconds.unwrap_or_default())
}

/// The bytes of all files below a directory, or of a file.
pub(crate) fn size(path: &Path) -> u64 {
    let Ok(about) = path.symlink_metadata() else { return 0 };
    if !about.is_dir() {
        return about.len();
    }
    let Ok(entries) = path.read_dir() else { return 0 };
    entries.flatten().map(|entry| size(&entry.path())).sum()
}
