//! What is wrong with the end of a server.

use crate::code::shutdown::{PT0701, PT0702, PT0703, PT0704, PT0705};
use crate::drive::Drive;
use crate::drive::ending::{Cause, Ending};
use crate::evidence::{Evidence, Stream};
use crate::finding::{Finding, Severity};
use crate::hosts::affected;
use crate::inspect::stderr::error_line;
use crate::inspect::{bytes, count, quote, status, time};

/// What a pipe holds on Linux: a server that writes more to stderr than this waits for a host that does not read it.
pub(super) const PIPE: u64 = 64 * 1024;

/// What is wrong with the end of a server, in all runs.
pub(crate) fn inspect(drive: &Drive) -> Vec<Finding> {
    [ignores_end(drive), ignores_terminate(drive), left(drive), floods(drive), fails(drive)]
        .into_iter()
        .flatten()
        .collect()
}

fn ignores_end(drive: &Drive) -> Option<Finding> {
    let run = drive.runs.iter().filter(|run| run.answered()).find(|run| {
        run.ended.tried == Ending::EndOfInput && matches!(run.ended.cause, Cause::Terminate | Cause::Kill)
    })?;
    let then =
        if run.ended.cause == Cause::Kill { "SIGTERM, too; SIGKILL ended it" } else { "SIGTERM ended it" };
    Some(
        Finding::new(PT0701, format!("the server runs on after the end of its stdin; {then}"))
            .evidence(Evidence::fact(format!(
                "still running {} after stdin was closed",
                time(run.ended.grace)
            )))
            .remedy(
                "exit when a read from stdin returns its end: a host that crashes can say no more than that",
            )
            .affects(affected("PT0701")),
    )
}

fn ignores_terminate(drive: &Drive) -> Option<Finding> {
    let run = drive.runs.iter().filter(|run| run.answered()).find(|run| match run.ended.tried {
        Ending::EndOfInput => run.ended.cause == Cause::Kill,
        Ending::Terminate => matches!(run.ended.cause, Cause::EndOfInput | Cause::Kill),
        Ending::Kill => false,
    })?;
    let ends_otherwise = run.ended.cause == Cause::EndOfInput;
    let severity = if ends_otherwise { Severity::Note } else { Severity::Warning };
    let then = if ends_otherwise { "the end of its stdin ended it" } else { "SIGKILL ended it" };
    Some(
        Finding::new(PT0702, format!("the server ignores SIGTERM; {then}"))
            .severity(severity)
            .evidence(Evidence::fact(format!("still running {} after SIGTERM", time(run.ended.grace))))
            .remedy("do not ignore SIGTERM; a program that is process 1 of a container needs a handler for it, or `docker run --init`")
            .affects(affected("PT0702")),
    )
}

fn left(drive: &Drive) -> Option<Finding> {
    let run = drive.runs.iter().find(|run| !run.ended.left.is_empty() && run.ended.cause != Cause::Kill)?;
    let left = &run.ended.left;
    let message = match left.first() {
        Some(process) if left.len() == 1 => {
            format!("the server exits and leaves a process behind: {}", quote(&process.command))
        }
        _ => format!("the server exits and leaves {} processes behind", left.len()),
    };
    let finding = Finding::new(PT0703, message)
        .remedy("end child processes, and wait for them, before the server exits; replace a shell by `exec` of its last command")
        .affects(affected("PT0703"));
    Some(left.iter().take(10).fold(finding, |finding, process| {
        finding.evidence(Evidence::fact(format!(
            "process {}, group {}: {}",
            process.id,
            process.group,
            quote(&process.command)
        )))
    }))
}

fn floods(drive: &Drive) -> Option<Finding> {
    let run = drive.runs.iter().max_by_key(|run| run.stderr.total).filter(|run| run.stderr.total > PIPE)?;
    let requests = u64::try_from(run.exchanges.len()).unwrap_or(u64::MAX);
    let message = format!(
        "the server wrote {} to stderr in a session of {}",
        count(run.stderr.total, "byte"),
        count(requests, "request")
    );
    let end =
        run.stderr.bytes.iter().position(|byte| *byte == b'\n').map_or(run.stderr.bytes.len(), |at| at + 1);
    Some(
        Finding::new(PT0704, message)
            .evidence(bytes(Stream::Stderr, &run.stderr, 0, end))
            .remedy("log less: a host that does not read stderr stops the server once a pipe is full (64 KiB), and others fill their disks")
            .affects(affected("PT0704")),
    )
}

fn fails(drive: &Drive) -> Option<Finding> {
    let run = drive.opened().find(|run| {
        run.ended.cause == Cause::EndOfInput && run.ended.status.is_some_and(|status| !status.success())
    })?;
    let message = format!("the server ends with {} at the end of its input", status::words(run.ended.status));
    let finding = Finding::new(PT0705, message)
        .remedy("exit with status 0 when stdin ends; nothing has failed then")
        .affects(affected("PT0705"));
    let lines = run.stderr.lines();
    Some(match error_line(&lines) {
        Some(line) => finding.evidence(Evidence::fact(format!("on stderr: {}", quote(line)))),
        None => finding,
    })
}
