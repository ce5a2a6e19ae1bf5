//! What is wrong with the bytes on stdout.

use crate::banner::{self, Banner};
use crate::code::Code;
use crate::code::stdout::{
    PT0101, PT0102, PT0103, PT0104, PT0105, PT0106, PT0107, PT0108, PT0109, PT0110, PT0111, PT0112, PT0113,
    PT0114, PT0115, PT0116,
};
use crate::drive::Drive;
use crate::drive::ending::Cause;
use crate::drive::run::{Opening, Run};
use crate::evidence::{Evidence, Stream};
use crate::finding::Finding;
use crate::hosts::affected;
use crate::inspect::shutdown::PIPE;
use crate::inspect::{bytes, count, quote, stdout_bytes, time};
use crate::stdio::recording::plain;
use crate::stdio::scan::{Kind, LineEnd, Message, Piece, Place};
use crate::stdio::scan_refused;

/// How many places of each fault are shown.
const SHOWN: usize = 3;

/// Lines are compared with banners up to this length.
const LONGEST_BANNER: usize = 1000;

/// What is wrong with the bytes on stdout, in all runs.
pub(crate) fn inspect(drive: &Drive) -> Vec<Finding> {
    let mut faults: Vec<Fault> = Vec::new();
    for (number, run) in drive.runs.iter().enumerate() {
        collect(&mut faults, number, run);
    }
    let has = |code: Code| faults.iter().any(|fault| fault.code == code);
    // Empty lines belong to the text. What a program that is no server prints is shown with its end.
    let (text, serves) = (has(PT0101), drive.runs.iter().any(serves));
    faults.retain(|fault| !(fault.code == PT0112 && text || fault.code == PT0101 && !serves));
    let mut findings: Vec<Finding> = faults.into_iter().map(Fault::into_finding).collect();
    findings.extend(unflushed(drive));
    findings.extend(awaits_headers(drive));
    findings.extend(stderr(drive));
    findings
}

/// Whether it has answered, or runs and could. One that exits may do so before the first request is written, or after.
fn serves(run: &Run) -> bool {
    run.answered() || run.silence.as_ref().is_some_and(|silence| silence.alive)
}

fn collect(faults: &mut Vec<Fault>, number: usize, run: &Run) {
    let (mut messages, mut last) = (0, None);
    for (at, piece) in run.pieces.iter().enumerate() {
        messages += usize::from(matches!(piece.kind, Kind::Message(_)));
        let found = faults_of(run, piece, run.pieces.get(at + 1), last);
        last = found.iter().find_map(|(_, banner)| *banner);
        for (code, banner) in found {
            let known = faults.iter().position(|fault| fault.code == code && fault.banner == banner);
            let at = known.unwrap_or(faults.len());
            if known.is_none() {
                let first = first(run, piece, messages == 0);
                faults.push(Fault { code, banner, first, number, evidence: Vec::new(), times: 0 });
            }
            let Some(fault) = faults.get_mut(at) else { continue };
            fault.times += 1;
            if fault.number == number && fault.evidence.len() < SHOWN {
                let (start, end) = shown(code, run, piece);
                fault.evidence.push(stdout_bytes(&run.stdout, start, end));
            }
        }
    }
}

/// The part of a piece that proves a fault.
fn shown(code: Code, run: &Run, piece: &Piece) -> (usize, usize) {
    const AROUND: usize = 40;
    let bytes = run.stdout.bytes.get(piece.start..piece.end).unwrap_or_default();
    match code {
        // What is, or is not, at its end.
        PT0106 | PT0111 => (piece.end.saturating_sub(AROUND).max(piece.start), piece.end),
        PT0110 => {
            let valid = std::str::from_utf8(bytes).err().map_or(0, |error| error.valid_up_to());
            let at = piece.start.saturating_add(valid);
            (at.saturating_sub(AROUND).max(piece.start), at.saturating_add(AROUND).min(piece.end))
        }
        PT0113 => {
            let at = [&b"NaN"[..], b"Infinity"]
                .iter()
                .find_map(|word| memchr::memmem::find(bytes, word))
                .unwrap_or(0);
            (piece.start.saturating_add(at.saturating_sub(AROUND)), piece.end)
        }
        _ => (piece.start, piece.end),
    }
}

/// A fault, and where it was seen.
struct Fault {
    code: Code,
    banner: Option<&'static Banner>,
    /// The first place, in words.
    first: First,
    /// The number of its run.
    number: usize,
    evidence: Vec<Evidence>,
    times: u64,
}

struct First {
    text: String,
    place: String,
}

fn first(run: &Run, piece: &Piece, before_all: bool) -> First {
    let bytes = run.stdout.bytes.get(piece.start..piece.end).unwrap_or_default();
    let seen = run
        .stdout
        .time_of(piece.start)
        .map(|seen| format!(", {} after the start", time(seen)))
        .unwrap_or_default();
    let order = if before_all { ", before its first message" } else { "" };
    First {
        text: String::from_utf8_lossy(bytes).into_owned(),
        place: format!("at byte {}{seen}{order}", piece.start),
    }
}

/// What is wrong with a piece. `last` is the banner before it, which an indented line goes on with.
fn faults_of(
    run: &Run,
    piece: &Piece,
    next: Option<&Piece>,
    last: Option<&'static Banner>,
) -> Vec<(Code, Option<&'static Banner>)> {
    let bytes = run.stdout.bytes.get(piece.start..piece.end).unwrap_or_default();
    match &piece.kind {
        Kind::Message(message) => faults_of_message(run, message, next),
        Kind::Json => vec![(PT0101, banner_of(bytes))],
        // The process was killed.
        Kind::Text(_) if next.is_none() && !bytes.ends_with(b"\n") && was_ended(run) => Vec::new(),
        Kind::Text(_) if looks_like_message(bytes) => vec![(PT0113, None)],
        Kind::Text(Place::OwnLine) => {
            let goes_on = if bytes.starts_with(b" ") || bytes.starts_with(b"\t") { last } else { None };
            vec![(PT0101, banner_of(bytes).or(goes_on))]
        }
        Kind::Text(Place::Before | Place::After) => vec![(PT0102, banner_of(bytes))],
        Kind::Headers if matches!(run.opening, Opening::Headers(_)) => Vec::new(),
        Kind::Headers => vec![(PT0103, None)],
        Kind::Mark if bytes.len() == 3 => vec![(PT0108, None)],
        Kind::Mark => vec![(PT0109, None)],
        Kind::Blank => vec![(PT0112, None)],
        Kind::Unread => Vec::new(),
    }
}

fn faults_of_message(
    run: &Run,
    message: &Message,
    next: Option<&Piece>,
) -> Vec<(Code, Option<&'static Banner>)> {
    let joined =
        message.end == LineEnd::Other && next.is_some_and(|next| matches!(next.kind, Kind::Message(_)));
    let last = next.is_none_or(|next| next.kind == Kind::Unread);
    let cut = last && (run.stdout.is_cut() || run.stdout.ended.is_none());
    let checks = [
        (message.pretty, PT0105),
        (!message.framed && !cut && (message.end == LineEnd::Missing || joined), PT0106),
        (message.utf16, PT0109),
        (message.invalid, PT0110),
        (message.end == LineEnd::CrLf, PT0111),
        (message.not_a_number, PT0113),
        (message.batch, PT0114),
        (message.refused.is_some(), PT0116),
    ];
    checks.into_iter().filter(|(found, _)| *found).map(|(_, code)| (code, None)).collect()
}

/// Whether the last line on stdout may have been longer, had the process not been ended.
fn was_ended(run: &Run) -> bool {
    matches!(run.ended.cause, Cause::Terminate | Cause::Kill)
}

/// Whether text is meant as a message, but cannot be read as one.
fn looks_like_message(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().first() == Some(&b'{') && memchr::memmem::find(bytes, b"\"jsonrpc\"").is_some()
}

fn banner_of(bytes: &[u8]) -> Option<&'static Banner> {
    banner::of_line(&plain(&String::from_utf8_lossy(bytes.get(..LONGEST_BANNER).unwrap_or(bytes))))
}

impl Fault {
    fn into_finding(self) -> Finding {
        let First { text, place } = &self.first;
        let what = match self.banner {
            Some(banner) => format!("{} ", banner.name),
            None => String::new(),
        };
        let escapes = if text.contains('\u{1b}') { ", with escape sequences of a terminal" } else { "" };
        let shown = if plain(text).trim().is_empty() { String::new() } else { format!(": {}", quote(text)) };
        let message = match self.code {
            PT0101 if what.is_empty() => {
                format!("a line on stdout is not a message{escapes} ({place}){shown}")
            }
            PT0101 => format!("{what}is on stdout ({place}){shown}"),
            PT0102 if what.is_empty() => {
                format!("text shares a line with a message{escapes} ({place}){shown}")
            }
            PT0102 => format!("{what}shares a line with a message ({place}){shown}"),
            PT0103 => format!("messages on stdout have Content-Length headers, as in LSP ({place})"),
            PT0105 => {
                format!("a message on stdout takes several lines ({place}); MCP has one message on each line")
            }
            PT0106 => format!("a message on stdout has no line end after it ({place})"),
            PT0108 => format!("a byte order mark is on stdout ({place})"),
            PT0109 => format!("stdout is UTF-16 ({place}); MCP is UTF-8"),
            PT0110 => format!("a message on stdout is not valid UTF-8 ({place})"),
            PT0111 => "lines on stdout end with CR LF, which is harmless".to_owned(),
            PT0112 => format!("stdout has empty lines ({place})"),
            PT0113 => format!("a message on stdout is not valid JSON ({place}): {}", why_invalid(text)),
            PT0116 => {
                let why = scan_refused::read(text.trim().as_bytes());
                let what = why.map_or("what some parsers refuse", |(_, why)| why.words());
                format!("a message on stdout has {what} ({place})")
            }
            _ => format!("stdout has an array of messages ({place}); only revision 2025-03-26 has batches"),
        };
        let mut finding =
            Finding::new(self.code, message).remedy(self.remedy()).affects(affected(self.code.name()));
        if self.times > 1 {
            finding = finding.evidence(Evidence::fact(format!("seen {} times in all runs", self.times)));
        }
        self.evidence.into_iter().fold(finding, |finding, evidence| {
            let bytes_matter = [PT0106, PT0108, PT0109, PT0110, PT0111, PT0112].contains(&finding.code);
            finding.evidence(if bytes_matter { evidence.in_hex() } else { evidence })
        })
    }

    fn remedy(&self) -> &str {
        match (self.code, self.banner) {
            (_, Some(banner)) => &banner.remedy,
            (PT0101 | PT0102, None) => {
                "write logs and banners to stderr: `console.error`, `print(.., file=sys.stderr)`, `eprintln!`; if a library prints it, \
                 look for its setting"
            }
            (PT0103, _) => "write each message as one line of JSON and a line feed, without headers",
            (PT0105, _) => "serialise messages without indentation, so that each is one line",
            (PT0106, _) => "write a line feed after each message",
            (PT0108, _) => "write UTF-8 without a byte order mark",
            (PT0109, _) => {
                "write UTF-8: in PowerShell, `[Console]::OutputEncoding = [Text.UTF8Encoding]::new($false)`"
            }
            (PT0110, _) => "encode messages as UTF-8, or escape what is not ASCII",
            (PT0111, _) => "nothing has to be done; a line feed alone is enough",
            (PT0112, _) => "write nothing but messages to stdout",
            (PT0113, _) => {
                "serialise messages with a JSON library; write `null` in place of NaN and Infinity"
            }
            (PT0116, _) => {
                "cut text between characters, not in the middle of a surrogate pair; limit numbers, and the depth of values"
            }
            _ => "write each message on a line of its own",
        }
    }
}

/// What is not JSON in a message.
fn why_invalid(text: &str) -> String {
    if text.contains("NaN") || text.contains("Infinity") {
        return "it has `NaN` or `Infinity`".to_owned();
    }
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Err(error) if error.is_eof() => "it ends in the middle".to_owned(),
        Err(error) => error.to_string(),
        Ok(_) => "something is wrong with its bytes".to_owned(),
    }
}

/// Responses that arrive only once stdin is closed.
fn unflushed(drive: &Drive) -> Option<Finding> {
    let run = drive.runs.first().filter(|run| run.flushed_at_end())?;
    let response = run.exchanges.first()?.response.as_ref()?;
    let silence = run.silence.as_ref()?;
    let start = usize::try_from(response.offset).ok()?;
    let end = start.saturating_add(usize::try_from(response.length).ok()?);
    let message = format!(
        "the server flushes its stdout only when it ends: nothing came in {}, and the response came when stdin was closed",
        time(silence.waited)
    );
    Some(
        Finding::new(PT0107, message)
            .evidence(stdout_bytes(&run.stdout, start, end))
            .remedy("flush stdout after each message: `print(.., flush=True)` or `python -u`, `fflush(stdout)`, `out.flush()`")
            .affects(affected("PT0107")),
    )
}

/// A server that answers only in `Content-Length` framing.
fn awaits_headers(drive: &Drive) -> Option<Finding> {
    let run = drive.runs.iter().find(|run| matches!(run.opening, Opening::Headers(_)) && run.answered())?;
    let silence = drive.runs.first()?.silence.as_ref()?;
    let message = format!(
        "the server waits for Content-Length headers, as in LSP: it did not answer a line in {}, and answered the same request with a header",
        time(silence.waited)
    );
    let headers = run.pieces.first();
    let finding = Finding::new(PT0104, message)
        .remedy("read one message from each line, and write each message as one line of JSON")
        .affects(affected("PT0104"));
    Some(match headers {
        Some(piece) => finding.evidence(stdout_bytes(&run.stdout, piece.start, piece.end)),
        None => finding,
    })
}

/// Says that text on stderr is harmless, unless there is too much of it.
fn stderr(drive: &Drive) -> Option<Finding> {
    let run = drive.opened().find(|run| run.ended.stderr_before > 0)?;
    let length = usize::try_from(run.ended.stderr_before).ok().filter(|_| run.stderr.total <= PIPE)?;
    let text = run.stderr.bytes.get(..length)?;
    let lines: Vec<String> = String::from_utf8_lossy(text).lines().map(plain).collect();
    let line = lines.iter().find(|line| !line.trim().is_empty())?;
    let banner = lines.iter().take(20).find_map(|line| banner::of_line(line));
    let what = banner.map_or(String::new(), |banner| format!(", among it {}", banner.name));
    let end = memchr::memchr(b'\n', text).map_or(length, |at| at + 1);
    let message = format!(
        "text on stderr is harmless ({}{what}): {}",
        count(run.ended.stderr_before, "byte"),
        quote(line)
    );
    Some(
        Finding::new(PT0115, message)
            .evidence(bytes(Stream::Stderr, &run.stderr, 0, end))
            .remedy("nothing: stderr is the place for it"),
    )
}
