//! The lines of the shell: typed in an editor on a terminal, or read from stdin.

use std::io::{BufRead, stdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;

use anyhow::Context;
use rustyline::config::BellStyle;
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{Behavior, ColorMode, CompletionType, Config, Editor};
use tokio::sync::oneshot;

use super::completer::Completer;
use super::history::HistoryFile;
use crate::elicitation::ReadLine;
use crate::print::{self, Look, above_line};
use crate::{exit, runtime};

/// The longest list of candidates that is shown without asking.
const MOST_SHOWN: usize = 100;

/// A line, or why there is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the end of stdin.
    End,
    /// Nothing more can be read, and why.
    Failed(String),
}

/// A request to the thread that reads lines.
struct Request {
    prompt: String,
    /// A command, and not a value for a form of the server.
    is_command: bool,
    reply: oneshot::Sender<Line>,
}

/// Where lines come from. They are read by a thread of its own: reading blocks.
pub(super) struct Input {
    requests: Sender<Request>,
    /// Whether a command is waited for, so that no call is running.
    waiting: Arc<AtomicBool>,
}

impl Input {
    /// The terminal.
    pub(super) fn of_terminal(completer: Completer, history: Option<HistoryFile>) -> anyhow::Result<Self> {
        // The prompt goes to the terminal, also if stdout is a file.
        let behavior = if Look::of_stdout().terminal { Behavior::Stdio } else { Behavior::PreferTerm };
        let colours = if Look::of_stderr().colour { ColorMode::Enabled } else { ColorMode::Disabled };
        let config = Config::builder()
            .behavior(behavior)
            .color_mode(colours)
            .bell_style(BellStyle::None)
            .completion_type(CompletionType::List)
            .completion_show_all_if_ambiguous(true)
            .completion_prompt_limit(MOST_SHOWN)
            .history_ignore_space(true)
            .build();
        let memory = MemHistory::with_config(&config);
        let mut editor = Editor::with_history(config, memory).context("cannot use the terminal")?;
        editor.set_helper(Some(completer));
        if let Some(history) = &history {
            load(&mut editor, history);
        }
        Self::start(move |requests| edit(editor, history.as_ref(), requests))
    }

    /// The lines of stdin.
    pub(super) fn of_stdin() -> anyhow::Result<Self> {
        Self::start(|requests| {
            for request in requests {
                let mut line = String::new();
                let read = stdin().lock().read_line(&mut line);
                let line = match read {
                    // Lines may end in CR LF.
                    Ok(1..) => Line::Text(line.trim_end_matches(['\r', '\n']).to_owned()),
                    Ok(0) => Line::End,
                    Err(error) => Line::Failed(format!("cannot read stdin: {error}")),
                };
                // The command may have been interrupted.
                drop(request.reply.send(line));
            }
        })
    }

    fn start(read: impl FnOnce(Receiver<Request>) + Send + 'static) -> anyhow::Result<Self> {
        let (requests, received) = channel();
        Builder::new().name("input".to_owned()).spawn(|| read(received)).context(runtime::NO_THREAD)?;
        Ok(Self { requests, waiting: Arc::default() })
    }

    /// The next command.
    pub(super) async fn command(&self, prompt: &str) -> Line {
        self.waiting.store(true, Ordering::SeqCst);
        let (reply, line) = oneshot::channel();
        let request = Request { prompt: prompt.to_owned(), is_command: true, reply };
        // Without the thread there are no more lines.
        let line = match self.requests.send(request) {
            Ok(()) => line.await.unwrap_or(Line::End),
            Err(_) => Line::End,
        };
        self.waiting.store(false, Ordering::SeqCst);
        line
    }

    /// The values for forms of the server, while a call is running.
    pub(super) fn values(&self) -> ReadLine {
        let (requests, waiting) = (self.requests.clone(), Arc::clone(&self.waiting));
        Arc::new(move |prompt| {
            if waiting.load(Ordering::SeqCst) {
                print::err("  no call is running, so the request was cancelled\n");
                return None;
            }
            let (reply, line) = oneshot::channel();
            requests.send(Request { prompt: format!("{prompt}: "), is_command: false, reply }).ok()?;
            match line.blocking_recv() {
                Ok(Line::Text(text)) => Some(text),
                Ok(Line::Interrupted | Line::End | Line::Failed(_)) | Err(_) => None,
            }
        })
    }
}

type LineEditor = Editor<Completer, MemHistory>;

fn load(editor: &mut LineEditor, history: &HistoryFile) {
    match history.load() {
        Ok(lines) => {
            for line in lines {
                // A line that the history does not take is only missing there.
                drop(editor.add_history_entry(line));
            }
        }
        Err(error) => exit::note(&format!("warning: the history cannot be read: {error}")),
    }
}

fn edit(mut editor: LineEditor, history: Option<&HistoryFile>, requests: Receiver<Request>) {
    for Request { prompt, is_command, reply } in requests {
        if let Some(completer) = editor.helper_mut() {
            completer.set_active(is_command);
        }
        above_line::begin(&prompt);
        let line = editor.readline(prompt.as_str());
        above_line::end();
        let line = match line {
            Ok(text) => {
                if is_command {
                    remember(&mut editor, history, &text);
                }
                Line::Text(text)
            }
            Err(ReadlineError::Interrupted) => Line::Interrupted,
            Err(ReadlineError::Eof) => Line::End,
            Err(error) => Line::Failed(format!("cannot read from the terminal: {error}")),
        };
        drop(reply.send(line));
    }
}

fn remember(editor: &mut LineEditor, history: Option<&HistoryFile>, line: &str) {
    // `false` for one that repeats the line before, or begins with a space.
    let is_new = editor.add_history_entry(line).unwrap_or_default();
    if let Some(history) = history.filter(|_| is_new)
        && let Err(error) = history.append(line)
    {
        tracing::debug!("the history cannot be written: {error}");
    }
}
