//! The transcript of the demo: every frame with an explanation, on the screen and on one tape.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use papertape::tape::Frame;
use papertape::wire::tape::{self, Direction, Record, escaped};

use crate::print::text::{counted, grouped, paragraphs};
use crate::print::{self, Look, frame, json, style};
use crate::sync::lock;

/// The column where the bytes begin: after arrow, number and time.
const COLUMN: usize = 15;

/// A frame of more bytes than this is shown in part.
const MOST_BYTES: usize = 1000;
/// How much of it: this many first lines, and the last line.
const FIRST_LINES: usize = 4;

/// Shared between the script and the sessions.
#[derive(Debug, Clone)]
pub(crate) struct Transcript(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    look: Look,
    tape: Option<File>,
    started: Instant,
    frames: usize,
    bytes: usize,
    /// The explanations of the next frames in each direction.
    to_server: VecDeque<&'static str>,
    to_client: VecDeque<&'static str>,
    /// The direction of the last frame.
    last: Option<Direction>,
    /// The first error in writing to the screen or the tape.
    failed: Option<io::Error>,
}

impl Transcript {
    pub(crate) fn new(look: Look, tape: Option<&Path>) -> io::Result<Self> {
        let tape = tape.map(open).transpose()?;
        Ok(Self(Arc::new(Mutex::new(State {
            look,
            tape,
            started: Instant::now(),
            frames: 0,
            bytes: 0,
            to_server: VecDeque::new(),
            to_client: VecDeque::new(),
            last: None,
            failed: None,
        }))))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }

    /// The explanations of the next frames to the server, and of the next ones from it.
    pub(crate) fn expect(&self, to_server: &[&'static str], to_client: &[&'static str]) {
        let mut state = self.state();
        state.to_server.extend(to_server);
        state.to_client.extend(to_client);
    }

    /// A heading, on the screen and on the tape.
    pub(crate) fn chapter(&self, name: &str, about: &str) {
        let mut state = self.state();
        let look = state.look;
        state.last = None;
        let rule = "─".repeat(look.width.saturating_sub(name.len() + about.len() + 6));
        let text = format!(
            "\n{} {} {about} {}\n\n",
            look.paint(style::DIM, "──"),
            look.paint(style::HEADING, name),
            look.paint(style::DIM, &rule)
        );
        state.show(&text);
        state.record(&format!("#\n# {name} {about}\n"));
    }

    /// Text on the screen.
    pub(crate) fn say(&self, text: &str) {
        self.state().show(text);
    }

    /// A frame that was sent or received.
    pub(crate) fn frame(&self, frame: &Frame<'_>) {
        self.state().frame(frame.direction, frame.bytes);
    }

    /// "17 frames, 9,120 bytes, 0.031 s", at the end.
    pub(crate) fn finish(&self) -> io::Result<String> {
        let mut state = self.state();
        match state.failed.take() {
            Some(error) => Err(error),
            None => Ok(format!(
                "{}, {}, {:.3} seconds",
                counted(state.frames, "frame"),
                counted(state.bytes, "byte"),
                state.started.elapsed().as_secs_f64()
            )),
        }
    }
}

impl State {
    fn frame(&mut self, direction: Direction, bytes: &[u8]) {
        self.frames += 1;
        self.bytes += bytes.len();
        let (number, time) = (self.frames as u64, self.started.elapsed());
        let words = match direction {
            Direction::ToServer => self.to_server.pop_front(),
            Direction::ToClient => self.to_client.pop_front(),
        }
        .unwrap_or_default();

        let arrow = frame::arrow(self.look, number, direction);
        let seconds = self.look.paint(style::DIM, &frame::seconds(time));
        let words_there = paragraphs(words, self.look.width, &" ".repeat(COLUMN));
        // A blank line between a response and the next request.
        let gap = if self.last == Some(Direction::ToClient) && direction == Direction::ToServer {
            "\n"
        } else {
            ""
        };
        self.last = Some(direction);
        let text = format!("{gap}{arrow} {seconds}  {}\n{}", words_there.trim(), picture(bytes, self.look));
        self.show(&text);

        let mut line = format!("# {words}\n");
        Record::frame(number, direction, Some(time), bytes).write(&mut line);
        self.record(&line);
    }

    fn show(&mut self, text: &str) {
        let result = print::out(text);
        self.note(result);
    }

    fn record(&mut self, text: &str) {
        if let Some(tape) = &mut self.tape {
            let result = tape.write_all(text.as_bytes());
            self.note(result);
        }
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failed.get_or_insert(error);
        }
    }
}

/// The bytes of a frame in a column: the header on a line of its own, a long body in part.
fn picture(bytes: &[u8], look: Look) -> String {
    let (header, body) = match bytes.windows(4).position(|window| window == b"\r\n\r\n") {
        Some(end) if bytes.starts_with(b"Content-") => bytes.split_at(end + 4),
        _ => (&b""[..], bytes.strip_suffix(b"\n").unwrap_or(bytes)),
    };
    let (header, body) = (escaped(header), escaped(body));
    // The last column stays free: some terminals make a new line of it.
    let width = look.width.saturating_sub(COLUMN + 1);
    let mut lines = Vec::new();
    if !header.is_empty() {
        lines.extend(json::lines(&header, look, width));
    }
    let mut body_lines = json::lines(&body, look, width);
    if body.len() > MOST_BYTES && body_lines.len() > FIRST_LINES + 2 {
        let last = body_lines.pop();
        let plain = json::lines(&body, Look { colour: false, ..look }, width);
        let hidden = plain.get(FIRST_LINES..plain.len() - 1).unwrap_or_default();
        let count: usize = hidden.iter().map(|line| line.len().saturating_sub(1)).sum();
        body_lines.truncate(FIRST_LINES);
        let (count, all) = (grouped(count), grouped(bytes.len()));
        let note = format!(" ⋯ {count} of {all} bytes are not shown; --tape FILE records them ⋯");
        body_lines.push(look.paint(style::DIM, &note));
        body_lines.extend(last);
    }
    lines.extend(body_lines);
    let indent = " ".repeat(COLUMN);
    lines.iter().map(|line| format!("{indent}{}\n", line.trim_end())).collect()
}

fn open(path: &Path) -> io::Result<File> {
    let mut file = papertape::tape::create(path)?;
    writeln!(file, "{}\n# papertape {} demo", tape::HEADER, env!("CARGO_PKG_VERSION"))?;
    Ok(file)
}
