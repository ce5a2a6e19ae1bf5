//! `papertape shell TARGET`: one session with a server, and commands that are typed in it.

mod completer;
mod history;
mod input;
mod instruction;
mod session;
mod subscriptions;

use std::io::{self, IsTerminal};
use std::sync::Arc;

use papertape::protocol::LogLevel;
use tokio::runtime::Handle;

use crate::args::Shell;
use crate::connect::{Connection, until_signal};
use crate::directories;
use crate::exit::Failure;
use crate::print::{self, Look, Printing, style};
use crate::server_log::ServerLog;
use crate::signals::{SIGINT, Signals};
use crate::target;
use crate::terminal_mode::TerminalMode;
use completer::{Completer, Known};
use history::HistoryFile;
use input::{Input, Line};
use instruction::Instruction;
use session::Session;

pub(crate) fn run(args: &Shell) -> Result<(), Failure> {
    let words = args.target.iter().cloned().collect();
    let (target, _) = target::split(words, args.connect.command.clone(), &args.connect.from_file)?;
    let interactive = io::stdin().is_terminal();
    let _terminal = TerminalMode::save();
    until_signal(async |signals| {
        let known = Arc::<Known>::default();
        let input = match interactive {
            true => {
                let history = (!args.no_history)
                    .then(|| Some(HistoryFile::new(directories::data()?.join("shell-history"))));
                let completer = Completer::new(Arc::clone(&known), Handle::current());
                Input::of_terminal(completer, history.flatten())?
            }
            false => Input::of_stdin()?,
        };
        let server_log = ServerLog::new(Some(LogLevel::Warning));
        let connection = Connection::new(&args.connect, &target, input.values(), server_log);
        let printing = Printing::of(&args.connect, &args.save);
        let mut session = tokio::select! {
            opened = Session::open(&connection, printing, known) => opened?,
            number = signals.next() => return Err(Failure::Signal(number)),
        };
        let result = match interactive {
            true => {
                print::err(&session.greeting());
                interact(&mut session, &input, signals).await
            }
            false => run_script(&mut session, &input, signals).await,
        };
        tokio::select! {
            () = session.close() => result,
            number = signals.next() => Err(Failure::Signal(number)),
        }
    })
}

/// Commands from the terminal, until it ends. A failure has been printed, and is not that of the shell.
async fn interact(session: &mut Session<'_>, input: &Input, signals: &mut Signals) -> Result<(), Failure> {
    let prompt = session.prompt();
    loop {
        let line = tokio::select! {
            line = input.command(&prompt) => line,
            number = signals.next() => return Err(Failure::Signal(number)),
        };
        let lines = match line {
            Line::Text(lines) => lines,
            Line::Interrupted => continue,
            Line::End => return Ok(()),
            Line::Failed(problem) => return Err(Failure::usage(problem)),
        };
        // Text that is pasted may be several lines.
        for line in lines.lines() {
            match execute(session, line, signals).await {
                Ok(Next::Line) => {}
                Ok(Next::Exit) => return Ok(()),
                // The request was cancelled as it was dropped.
                Err(Failure::Signal(SIGINT)) => {
                    print::err(&format!("{}\n", Look::of_stderr().paint(style::DIM, "cancelled")));
                    break;
                }
                Err(failure @ Failure::Signal(_)) => return Err(failure),
                Err(failure) => session.show(&failure, None),
            }
        }
    }
}

/// Commands from stdin, line by line. The first failure is the result, after all commands.
async fn run_script(session: &mut Session<'_>, input: &Input, signals: &mut Signals) -> Result<(), Failure> {
    let mut first = None;
    for number_of_line in 1.. {
        let line = tokio::select! {
            line = input.command("") => line,
            number = signals.next() => return Err(Failure::Signal(number)),
        };
        let line = match line {
            Line::Text(line) => line,
            Line::Failed(problem) => {
                let failure = Failure::usage(problem);
                session.show(&failure, Some(number_of_line));
                first.get_or_insert(failure);
                break;
            }
            Line::Interrupted | Line::End => break,
        };
        match execute(session, &line, signals).await {
            Ok(Next::Line) => {}
            Ok(Next::Exit) => break,
            Err(failure @ Failure::Signal(_)) => return Err(failure),
            Err(failure) => {
                session.show(&failure, Some(number_of_line));
                first.get_or_insert(failure);
            }
        }
    }
    first.map_or(Ok(()), |failure| Err(Failure::Reported(failure.into())))
}

/// What follows a command.
enum Next {
    Line,
    Exit,
}

/// Executes a line, until a signal.
async fn execute(session: &mut Session<'_>, line: &str, signals: &mut Signals) -> Result<Next, Failure> {
    let instruction = match Instruction::parse(line).map_err(Failure::usage)? {
        None => return Ok(Next::Line),
        Some(Instruction::Exit) => return Ok(Next::Exit),
        Some(instruction) => instruction,
    };
    tokio::select! {
        // As for one command: a response that has arrived is read first.
        biased;
        result = session.execute(instruction) => result.map(|()| Next::Line),
        number = signals.next() => Err(Failure::Signal(number)),
    }
}
