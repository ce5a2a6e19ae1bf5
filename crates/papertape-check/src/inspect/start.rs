//! What is wrong with the start of a server.

use std::time::Duration;

use papertape::stdio::ServerCommand;

use crate::code::behaviour::PT0610;
use crate::code::start::{PT0203, PT0204, PT0205, PT0206, PT0208, PT0209};
use crate::drive::Drive;
use crate::drive::ending::Cause;
use crate::drive::run::{Opening, Run};
use crate::drive::silence::Silence;
use crate::evidence::{Evidence, Stream};
use crate::finding::{Finding, Severity};
use crate::hosts::{self, Affected, affected};
use crate::inspect::results::LONGEST;
use crate::inspect::stderr::{error_line, missing_variable};
use crate::inspect::{bytes, count, quote, status, stdout_bytes, time};
use crate::stdio::scan::Kind;
use crate::stdio::session::NoResponse;

/// How many bytes of stderr are shown.
const SHOWN: usize = 800;

/// How many bytes of a flood are shown.
const FLOOD_SHOWN: usize = 60;

/// What is wrong with the start of a server, and with requests that are not answered, in all runs.
pub(crate) fn inspect(command: &ServerCommand, drive: &Drive) -> Vec<Finding> {
    let Some(first) = drive.runs.first() else { return Vec::new() };
    let answered = drive.runs.iter().any(Run::answered);
    // What answers in `Content-Length` framing has a finding of its own.
    let framed = |run: &Run| matches!(run.opening, Opening::Headers(_)) && run.answered();
    let unopened = drive.opened().next().is_none() && !drive.runs.iter().any(framed);
    let mut findings = Vec::new();
    let exited = first.failure == Some(NoResponse::Exited)
        || first.silence.as_ref().is_some_and(|silence| !silence.alive);
    if !answered && exited {
        findings.push(exits(command, first));
    } else if let (true, None, Some(silence)) = (unopened, first.first_response(), &first.silence) {
        findings.extend(silent(first, silence));
    }
    findings.extend(slow(first));
    findings.extend(drive.opened().find_map(exits_in_session));
    findings.extend(drive.opened().find_map(unanswered));
    findings
}

/// A server that exits before it answers.
fn exits(command: &ServerCommand, run: &Run) -> Finding {
    let lines = run.stderr.lines();
    let is_set = |name: &str| {
        std::env::var_os(name).is_some() || command.environment().iter().any(|(set, _)| set == name)
    };
    let variable = missing_variable(&lines, is_set);
    let cause = match (variable, error_line(&lines)) {
        (Some(variable), Some(line)) => {
            format!(": the environment variable {variable} is not set, and it says {}", quote(line))
        }
        (Some(variable), None) => format!(": the environment variable {variable} is not set"),
        (None, Some(line)) => format!("; on stderr it says {}", quote(line)),
        (None, None) => match error_line(&run.stdout.lines()) {
            Some(line) => format!("; on stdout it says {}", quote(line)),
            None => ", and wrote nothing to stdout or stderr".to_owned(),
        },
    };
    let message = format!(
        "the server exits with {} after {}, before it answers `initialize`{cause}",
        status::words(run.ended.status),
        time(run.ended.time)
    );
    let by_itself = run.ended.status.is_some_and(|status| status.success());
    let remedy = match variable {
        Some(variable) => format!("set {variable}: hosts pass on few variables, so add it to `env` in their configuration"),
        None if by_itself => {
            "check the command: the program may need an argument that makes it serve on stdio, and must run until its stdin ends".to_owned()
        }
        None if run.stderr.total == 0 && run.stdout.total == 0 => {
            "run the command in a shell, or in a debugger, to see why it ends".to_owned()
        }
        None => "correct what it says, and run the command in a shell to see all of it".to_owned(),
    };
    let mut finding = Finding::new(PT0203, message).remedy(remedy).affects(affected("PT0203"));
    if let [only] = lines.as_slice()
        && finding.message.contains(&quote(only))
    {
        finding = finding.evidence(Evidence::fact("nothing else on stderr"));
    } else if !run.stderr.bytes.is_empty() {
        let from = run.stderr.bytes.len().saturating_sub(SHOWN);
        // Not the rest of a line.
        let cut = run.stderr.bytes.get(from..).filter(|_| from > 0);
        let line = cut.and_then(|shown| memchr::memchr(b'\n', shown)).map_or(from, |at| from + at + 1);
        finding = finding.evidence(bytes(Stream::Stderr, &run.stderr, line, run.stderr.bytes.len()));
    }
    if !run.stdout.bytes.is_empty() {
        finding = finding.evidence(stdout_bytes(&run.stdout, 0, run.stdout.bytes.len()));
    }
    match variable {
        Some(variable) => finding.subject(format!("variable {variable}")),
        None => finding,
    }
}

/// A server that runs and never answers.
fn silent(run: &Run, silence: &Silence) -> Option<Finding> {
    let waited = time(silence.waited);
    if let Some(rate) = silence.flood() {
        return Some(floods(run, silence, rate));
    }
    if let [port, rest @ ..] = silence.ports.as_slice() {
        let others = rest.iter().map(|port| format!(" and {port}")).collect::<String>();
        return Some(
            Finding::new(PT0205, format!("the server listens on TCP port {port}{others}, and answers nothing on stdio"))
                .evidence(Evidence::fact(format!("alive after {waited}, {}", input_read(silence))))
                .remedy(format!(
                    "start it for stdio (often `--transport stdio` or `--stdio`), or configure hosts with its URL, perhaps http://127.0.0.1:{port}/mcp"
                ))
                .affects(affected("PT0205")),
        );
    }
    // These have findings of their own.
    let garbled = run.pieces.iter().any(|piece| {
        let bytes = run.stdout.bytes.get(piece.start..piece.end).unwrap_or_default();
        matches!(piece.kind, Kind::Text(_)) && memchr::memmem::find(bytes, b"\"jsonrpc\"").is_some()
    });
    if garbled {
        return None;
    }
    let (message, remedy) = if run.failure == Some(NoResponse::OutputEnded) {
        (
            "the server closes its stdout before it answers, and runs on".to_owned(),
            "keep stdout open until stdin ends; if the server puts itself into the background, start it in the foreground",
        )
    } else if silence.unread.is_some_and(|unread| unread > 0) {
        let what = if silence.cpu >= 50 {
            format!("and uses {} % of a CPU", silence.cpu)
        } else {
            "and is idle".to_owned()
        };
        (
            format!(
                "the server never reads its stdin: it is alive after {waited}, has read {}, {what}",
                read_of(silence)
            ),
            "read stdin from the start; if it waits for something else first (a lock, a network, a prompt on a terminal), do that later",
        )
    } else if silence.cpu >= 50 {
        (
            format!(
                "the server reads `initialize` and never answers it: after {waited} it uses {} % of a CPU",
                silence.cpu
            ),
            "find the loop that it is in: a debugger or `perf top` shows it",
        )
    } else {
        (
            format!(
                "the server reads `initialize` and never answers it: after {waited} it is alive and idle"
            ),
            "check that this command serves MCP on stdio, and that it answers `initialize` before anything that may block",
        )
    };
    let mut finding = Finding::new(PT0204, message)
        .evidence(Evidence::fact(format!(
            "{}; {} of CPU time in all, {} % of a CPU now",
            input_read(silence),
            time(silence.cpu_time),
            silence.cpu
        )))
        .remedy(remedy)
        .affects(affected("PT0204"));
    if run.stdout.total == 0 {
        finding = finding.evidence(Evidence::fact("nothing on stdout"));
    }
    let lines = run.stderr.lines();
    if let Some(line) = lines.iter().rev().find(|line| !line.trim().is_empty()) {
        finding = finding.evidence(Evidence::fact(format!("last on stderr: {}", quote(line))));
    }
    Some(finding)
}

/// A server that does not stop writing.
fn floods(run: &Run, silence: &Silence, rate: u64) -> Finding {
    let lines = if memchr::memchr(b'\n', &run.stdout.bytes).is_some() { "" } else { ", without a line end" };
    let begin = run.stdout.bytes.len().min(FLOOD_SHOWN);
    let message = format!(
        "the server floods stdout: {} in {}, {} per second{lines}, and no response to `initialize` among them; they begin with {}",
        size(run.stdout.total),
        time(run.ended.time),
        size(rate),
        quote(&String::from_utf8_lossy(run.stdout.bytes.get(..begin).unwrap_or_default()))
    );
    Finding::new(PT0204, message)
        .evidence(stdout_bytes(&run.stdout, 0, begin))
        .evidence(Evidence::fact(input_read(silence)))
        .remedy("find the loop that writes; write nothing but responses to stdout, each on a line of its own, and all else to stderr")
        .affects(affected("PT0204"))
}

/// "412 bytes", "3.1 MB".
fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "it is rounded anyway")]
    let number = bytes as f64;
    match bytes {
        0..=999 => count(bytes, "byte"),
        1000..=999_999 => format!("{:.1} kB", number / 1e3),
        1_000_000..=999_999_999 => format!("{:.1} MB", number / 1e6),
        _ => format!("{:.1} GB", number / 1e9),
    }
}

fn read_of(silence: &Silence) -> String {
    let read = silence.sent.saturating_sub(silence.unread.unwrap_or_default());
    format!("{read} of {}", count(silence.sent, "byte"))
}

fn input_read(silence: &Silence) -> String {
    match silence.unread {
        Some(_) => format!("{} of stdin read", read_of(silence)),
        None => format!("{} sent to stdin", count(silence.sent, "byte")),
    }
}

/// A first response that comes later than hosts wait for it.
fn slow(run: &Run) -> Option<Finding> {
    let (exchange, response) = run.first_response().filter(|_| !run.flushed_at_end())?;
    let took = exchange.sent + response.elapsed;
    // Nothing could be opened if it was not waited for.
    let waited = run.silence.as_ref().filter(|_| run.answered_late().is_some()).map(|silence| silence.waited);
    let first_byte = run.stdout.first().map(|first| format!("first byte on stdout after {}", time(first)));
    let too_late: Vec<Affected> =
        hosts::timeouts().iter().filter(|host| took > host.within()).map(hosts::Timeout::affected).collect();
    // Half of the shortest time is near enough to matter on a slower machine.
    let near =
        hosts::timeouts().iter().map(hosts::Timeout::within).min().is_some_and(|within| took * 2 > within);
    if too_late.is_empty() && !near && waited.is_none() {
        return None;
    }
    let breaks = waited.is_some() || !too_late.is_empty();
    let severity = if breaks { Severity::Breaks } else { Severity::Note };
    let late = waited.map_or(String::new(), |waited| {
        format!(", and this check waits {} for it, so that no more could be tried", time(waited))
    });
    let finding = Finding::new(PT0206, format!("the first response comes {} after the start{late}", time(took)))
        .severity(severity)
        .remedy(
            "answer `initialize` first, and load the rest after it; install packages once, so that `npx` or `uvx` need not download them at \
             each start; `--timeout` makes this check wait longer",
        )
        .affects(too_late);
    Some(match first_byte {
        Some(fact) => finding.evidence(Evidence::fact(fact)),
        None => finding,
    })
}

/// A server that exits while a session is open.
fn exits_in_session(run: &Run) -> Option<Finding> {
    if run.failure != Some(NoResponse::Exited) || run.ended.cause != Cause::Itself {
        return None;
    }
    let method = run
        .exchanges
        .iter()
        .rev()
        .find(|exchange| exchange.response.is_none())
        .map(|exchange| exchange.method.as_str());
    let at = method.map_or(String::new(), |method| format!(" instead of answering `{method}`"));
    let message =
        format!("the server exits with {}{at}{}", status::words(run.ended.status), in_revision(run));
    let finding = Finding::new(PT0208, message)
        .remedy("answer with an error what cannot be done, and run until stdin ends")
        .affects(affected("PT0208"));
    let lines = run.stderr.lines();
    Some(match error_line(&lines) {
        Some(line) => finding.evidence(Evidence::fact(format!("on stderr: {}", quote(line)))),
        None => finding.evidence(Evidence::fact("nothing on stderr")),
    })
}

/// A request that has no response although the server lives.
fn unanswered(run: &Run) -> Option<Finding> {
    let why = match run.failure? {
        NoResponse::Timeout => "",
        NoResponse::OutputEnded => ": its stdout has ended",
        NoResponse::NotSent(_) => ": it does not read its stdin any more",
        NoResponse::Exited => return None,
    };
    let exchange = run.exchanges.iter().rev().find(|exchange| exchange.response.is_none())?;
    if let Some((_, length)) = run.stdout.cut_line() {
        // The response may be in what was not kept.
        return (length > LONGEST).then(|| {
            let message = format!(
                "at `{}`, the server writes {length} bytes on one line, which is more than SDKs accept as one message",
                exchange.method
            );
            Finding::new(PT0610, message)
                .severity(Severity::Breaks)
                .remedy("list less, or in pages: a result with `nextCursor` has another page after it")
                .affects(affected("PT0610"))
        });
    }
    let waited = run.ended.time.saturating_sub(exchange.sent).saturating_sub(run.ended.took);
    let message = format!("`{}` is never answered{}{why}", exchange.method, in_revision(run));
    Some(
        Finding::new(PT0209, message)
            .evidence(Evidence::fact(format!(
                "no response within {}",
                time(waited.max(Duration::from_millis(1)))
            )))
            .remedy("answer every request, with an error if there is no result")
            .affects(affected("PT0209")),
    )
}

fn in_revision(run: &Run) -> String {
    match run.opening {
        Opening::Older(revision) => format!(" (in revision {revision})"),
        Opening::Modern => format!(" (in revision {})", crate::drive::MODERN),
        Opening::Legacy(_) | Opening::Headers(_) => String::new(),
    }
}
