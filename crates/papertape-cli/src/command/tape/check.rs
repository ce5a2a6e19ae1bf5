//! `papertape tape check`: what a recording proves about its server.

use std::time::Duration;

use papertape::wire::tape::{Content, Direction, Record};
use papertape_check::{CheckedServer, RecordedSession, check_recording};
use papertape_tape::{Form, Joiner, Message};
use serde_json::Value;

use super::source::Source;
use crate::args::{CheckTape, ReportFormat};
use crate::exit::Failure;
use crate::print::{self, Look, check_report};

/// How many processes of a tape are checked.
const MOST_SESSIONS: usize = 50;

pub(crate) fn run(args: &CheckTape) -> Result<(), Failure> {
    let mut source = Source::open(&args.tape)?;
    let mut sessions = Sessions::default();
    while let Some(line) = source.next_line()? {
        if let Some(record) = line.record() {
            sessions.push(line.offset, record);
        }
    }
    let finished = source.finish();
    if let Err(Failure::Tape(_)) = finished {
        return finished;
    }
    let path = args.tape.display().to_string();
    let server = CheckedServer {
        name: sessions.name.clone().unwrap_or_else(|| format!("the server of {path}")),
        file: path,
        http: sessions.http == Some(true),
    };
    let report = check_recording(sessions.finish(finished.is_ok()));
    match args.output {
        ReportFormat::Text => print::out(check_report::as_text(&report, &server, Look::of_stdout()))?,
        ReportFormat::Json => print::document(&report.json(&server))?,
        ReportFormat::Sarif => print::document(&report.sarif(&server))?,
        ReportFormat::Junit => print::out(report.junit(&server))?,
    }
    finished?;
    if report.breaks() { Err(Failure::Unhealthy) } else { Ok(()) }
}

/// The sessions of a tape: one for each process, or one for all of HTTP.
#[derive(Default)]
struct Sessions {
    joiner: Joiner,
    done: Vec<RecordedSession>,
    current: Option<RecordedSession>,
    /// Whether the server of the current session is known to write no more, and those of the sessions that are done.
    gone: bool,
    all_gone: Vec<bool>,
    /// Whether the recording has ended, and has all frames.
    ended: bool,
    lost: bool,
    /// Known from the first frame on.
    http: Option<bool>,
    name: Option<String>,
}

impl Sessions {
    fn push(&mut self, offset: u64, record: &Record<'_>) {
        let time = record.time.unwrap_or_default();
        self.joiner.push(offset, record);
        let messages: Vec<Message> = std::iter::from_fn(|| self.joiner.next_message()).collect();
        match &record.content {
            Content::Event { name, detail } if record.exchange.is_none() => {
                self.event(name, detail, record.time.unwrap_or_default());
            }
            Content::Stderr(bytes) => self.session().stderr(bytes, time),
            Content::Frame(direction, bytes) => {
                let is_http = |message: &Message| {
                    message.exchange.is_some() || matches!(message.form, Form::Body | Form::Event)
                };
                let of_record = || record.exchange.is_some() || messages.iter().any(is_http);
                let http = *self.http.get_or_insert_with(of_record);
                if !http && *direction == Direction::ToClient {
                    self.session().output(bytes, None, time);
                }
            }
            Content::Head(..) | Content::Event { .. } => {}
        }
        for message in messages.iter().filter(|message| message.is_content()) {
            self.message(message, time);
        }
    }

    fn message(&mut self, message: &Message, time: Duration) {
        let http = self.http == Some(true);
        match message.direction {
            Direction::ToServer => {
                let start = message.bytes.get(..8).unwrap_or_default();
                if message.form == Form::Frame && start.eq_ignore_ascii_case(b"content-") {
                    self.session().with_headers();
                }
                self.session().request(message.body(), message.exchange, time);
            }
            // Bodies that are not JSON, such as error pages, are no messages of the server.
            Direction::ToClient if http && message.payload().is_ok() => {
                let line = [message.body(), b"\n"].concat();
                self.session().output(&line, message.exchange, time);
            }
            Direction::ToClient => {}
        }
    }

    fn event(&mut self, name: &str, detail: &str, time: Duration) {
        let detail: Value = serde_json::from_str(detail).unwrap_or_default();
        match name {
            "start" => {
                let command = detail.get("command").and_then(Value::as_array);
                let words = command.into_iter().flatten().filter_map(Value::as_str);
                let command = shell_words::join(words);
                let url = detail.get("url").and_then(Value::as_str).map(str::to_owned);
                self.http = self.http.or(url.is_some().then_some(true));
                self.name = url.or((!command.is_empty()).then_some(command)).or(self.name.take());
                if self.http != Some(true) && self.done.len() < MOST_SESSIONS {
                    let gone = std::mem::take(&mut self.gone);
                    if let Some(session) = self.current.take() {
                        self.done.push(session);
                        self.all_gone.push(gone);
                    }
                }
            }
            "eof" if detail.get("of").is_some_and(|of| of == "server") => {
                self.session().end();
                self.gone = true;
            }
            "eof" if detail.get("of").is_some_and(|of| of == "client") => self.session().client_left(time),
            "signal" => self.session().client_left(time),
            "exit" => self.gone = true,
            "lost" => self.lost = true,
            "end" => self.ended = true,
            _ => {}
        }
    }

    fn session(&mut self) -> &mut RecordedSession {
        let http = self.http == Some(true);
        self.current.get_or_insert_with(
            || {
                if http { RecordedSession::http() } else { RecordedSession::stdio() }
            },
        )
    }

    /// All sessions; whether all lines of the tape were read.
    fn finish(mut self, all: bool) -> Vec<RecordedSession> {
        self.done.extend(self.current);
        self.all_gone.push(self.gone);
        // Only what is complete proves that something is missing.
        if all && self.ended && !self.lost {
            for (session, gone) in self.done.iter_mut().zip(self.all_gone) {
                if gone {
                    session.complete();
                }
            }
        }
        self.done
    }
}
