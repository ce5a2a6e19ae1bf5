//! The clients: a bare pipe, `papertape call`, the MCP Inspector.

use std::{
    env,
    ffi::OsString,
    fs,
    process::{self, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde_json::Value;

use crate::{Places, command, server::Server, tape::Recording};

/// Nothing takes longer, unless it hangs.
const TIMEOUT: Duration = Duration::from_secs(120);

const INSPECTOR: &str = "node_modules/@modelcontextprotocol/inspector";

/// One round of one server.
#[derive(Serialize, Clone, Copy, Default, Debug)]
pub(crate) struct Round {
    /// From spawn to the first answer, over a bare pipe.
    pub(crate) start_ms: f64,
    pub(crate) pipe: Cost,
    pub(crate) papertape: Cost,
    pub(crate) inspector: Option<Cost>,
}

/// What a whole call took, from spawn to exit.
#[derive(Serialize, Clone, Copy, Default, Debug)]
pub(crate) struct Cost {
    pub(crate) wall_ms: f64,
    /// User and system time of client and server together.
    pub(crate) cpu_ms: f64,
}

pub(crate) struct Clients {
    papertape: OsString,
    /// The command, and its version.
    inspector: Option<(Vec<OsString>, String)>,
}

impl Clients {
    pub(crate) fn new(places: &Places, with_inspector: bool) -> Result<Self> {
        let inspector = if with_inspector {
            // What npm makes the command `mcp-inspector`, without npx.
            let launcher = places.tool(&format!("{INSPECTOR}/clients/launcher/build/index.js"))?;
            let words = vec![places.tool("node")?.into(), launcher.into(), "--cli".into()];
            let package = fs::read(places.tool(&format!("{INSPECTOR}/package.json"))?)?;
            let package: Value = serde_json::from_slice(&package)?;
            let node = run(&[places.tool("node")?, "--version".into()])?;
            let version = package["version"].as_str().context("the Inspector has no version")?;
            Some((words, format!("MCP Inspector {version} on Node.js {}", node.trim())))
        } else {
            None
        };
        Ok(Self { papertape: places.papertape.clone().into(), inspector })
    }

    /// Which programs these are.
    pub(crate) fn version(&self) -> Result<String> {
        let papertape = run(&[&self.papertape, &"--version".into()])?;
        let inspector = self.inspector.as_ref().map_or("no Inspector", |(_, version)| version);
        Ok(format!("{}, {inspector}", papertape.trim()))
    }

    /// What papertape and the server say to each other.
    pub(crate) fn record(&self, server: Server, places: &Places) -> Result<Recording> {
        let tape = env::temp_dir().join(format!("call-race-{}.tape", process::id()));
        let words = self.papertape(server, places, &["--tape".into(), tape.clone().into()])?;
        run(&words)?;
        let recording = Recording::read(&fs::read_to_string(&tape)?);
        fs::remove_file(&tape)?;
        recording
    }

    /// One call by every client, each round in another order.
    pub(crate) fn race(
        &self,
        server: Server,
        places: &Places,
        recording: &Recording,
        round: usize,
    ) -> Result<Round> {
        let answer = server.call().answer;
        let mut result = Round::default();
        for turn in 0..3 {
            match (round + turn) % 3 {
                0 => {
                    let mut server = command(&server.words(places)?)?;
                    let watch = watch(format!("{server:?}"));
                    let cpu = children_cpu()?;
                    let times = recording.have(&mut server, answer).context("over a bare pipe")?;
                    drop(watch);
                    result.start_ms = ms(times.first_answer);
                    result.pipe = Cost { wall_ms: ms(times.exit), cpu_ms: ms(children_cpu()? - cpu) };
                }
                1 => {
                    let (printed, cost) = timed(&self.papertape(server, places, &[])?)?;
                    ensure!(printed.trim_end() == answer, "papertape printed {printed}");
                    result.papertape = cost;
                }
                _ => {
                    let Some((inspector, _)) = &self.inspector else { continue };
                    let mut words = inspector.clone();
                    words.extend(server.words(places)?);
                    words.extend(
                        ["--method", "tools/call", "--tool-name", server.call().tool].map(Into::into),
                    );
                    for argument in server.call().arguments {
                        words.extend(["--tool-arg".into(), argument.into()]);
                    }
                    let (printed, cost) = timed(&words)?;
                    let said: Value = serde_json::from_str(&printed)?;
                    ensure!(said["content"][0]["text"] == answer, "the Inspector printed {printed}");
                    result.inspector = Some(cost);
                }
            }
        }
        Ok(result)
    }

    fn papertape(&self, server: Server, places: &Places, options: &[OsString]) -> Result<Vec<OsString>> {
        let mut words = vec![self.papertape.clone(), "call".into(), server.call().tool.into()];
        words.extend(server.call().arguments.iter().map(OsString::from));
        words.extend_from_slice(options);
        words.push("--".into());
        words.extend(server.words(places)?);
        Ok(words)
    }
}

/// What it takes to start and end a process that does nothing.
pub(crate) fn idle(places: &Places) -> Result<f64> {
    Ok(timed(&[places.peer("floor-copy")])?.1.wall_ms)
}

fn run(words: &[impl AsRef<std::ffi::OsStr>]) -> Result<String> {
    Ok(timed(words)?.0)
}

/// Runs a program that must succeed: what it printed, and its cost.
fn timed(words: &[impl AsRef<std::ffi::OsStr>]) -> Result<(String, Cost)> {
    let mut program = command(words)?;
    program.stdin(Stdio::null());
    let watch = watch(format!("{program:?}"));
    let cpu = children_cpu()?;
    let started = Instant::now();
    let output = program.output().with_context(|| format!("{program:?}"))?;
    let wall_ms = ms(started.elapsed());
    let cpu_ms = ms(children_cpu()? - cpu);
    drop(watch);
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program:?} ended with {}:\n{errors}", output.status);
    Ok((String::from_utf8(output.stdout)?, Cost { wall_ms, cpu_ms }))
}

/// User and system time of all child processes that have ended so far, and of theirs.
fn children_cpu() -> Result<Duration> {
    let mut usage = std::mem::MaybeUninit::uninit();
    #[expect(unsafe_code, reason = "std and rustix cannot read it")]
    // SAFETY: the call fills what it is given, and fails only if it was given no such place.
    let usage: libc::rusage = unsafe {
        ensure!(libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) == 0, "getrusage failed");
        usage.assume_init()
    };
    let time = |time: libc::timeval| -> Result<Duration> {
        Ok(Duration::new(time.tv_sec.try_into()?, u32::try_from(time.tv_usec)? * 1000))
    };
    Ok(time(usage.ru_utime)? + time(usage.ru_stime)?)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Ends the race when the sender is still there after `TIMEOUT`.
fn watch(what: String) -> mpsc::Sender<()> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        if receiver.recv_timeout(TIMEOUT) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("{what} hangs");
            process::exit(1);
        }
    });
    sender
}
