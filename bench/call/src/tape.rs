//! A session recorded with `papertape --tape`, replayed over a bare pipe.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// What is said, and how many lines are waited for before more is said.
pub(crate) struct Recording {
    turns: Vec<(Vec<u8>, usize)>,
}

/// When, after the start of the process.
pub(crate) struct Times {
    pub(crate) first_answer: Duration,
    pub(crate) exit: Duration,
}

impl Recording {
    /// Reads a tape of lines: `NUMBER DIRECTION SECONDS line BYTES` each.
    pub(crate) fn read(tape: &str) -> Result<Self> {
        let mut turns: Vec<(Vec<u8>, usize)> = Vec::new();
        for line in tape.lines().skip(1).filter(|line| !line.starts_with('#')) {
            let parts: Vec<&str> = line.splitn(5, ' ').collect();
            let &[_, direction, _, "line", bytes] = parts.as_slice() else {
                bail!("not a frame that can be had again: {line}")
            };
            match (direction, turns.last_mut()) {
                (">", _) if bytes.contains('⟦') => bail!("not all of this is text: {line}"),
                (">", Some((said, 0))) => said.extend(format!("{bytes}\n").into_bytes()),
                (">", _) => turns.push((format!("{bytes}\n").into_bytes(), 0)),
                ("<", Some((_, answers))) => *answers += 1,
                _ => bail!("the server may not speak first: {line}"),
            }
        }
        ensure!(turns.last().is_some_and(|(_, answers)| *answers > 0), "nothing was answered on the tape");
        Ok(Self { turns })
    }

    /// Starts the server, says all that is to be said, closes its input and waits for its end.
    pub(crate) fn have(&self, server: &mut Command, answer: &str) -> Result<Times> {
        server.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut line = Vec::with_capacity(1 << 16);
        let mut first_answer = None;

        let started = Instant::now();
        let mut child = server.spawn().with_context(|| format!("{server:?}"))?;
        let mut input = child.stdin.take().context("stdin")?;
        let mut output = BufReader::with_capacity(1 << 16, child.stdout.take().context("stdout")?);
        for (said, answers) in &self.turns {
            input.write_all(said).context("writing to the server")?;
            for _ in 0..*answers {
                line.clear();
                let read = output.read_until(b'\n', &mut line)?;
                ensure!(read > 0, "the server closed its output");
                first_answer.get_or_insert_with(|| started.elapsed());
            }
        }
        drop(input);
        let status = child.wait()?;
        let exit = started.elapsed();

        ensure!(status.success(), "the server ended with {status} when its input was closed");
        let last: Value = serde_json::from_slice(&line)?;
        ensure!(last["result"]["content"][0]["text"] == *answer, "wrong answer: {last}");
        Ok(Times { first_answer: first_answer.context("no answer")?, exit })
    }
}
