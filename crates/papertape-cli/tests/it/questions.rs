//! On a terminal: colours, progress, and a server's questions to the person who sits there.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Command;

use crate::process::Process;
use crate::streams::terminal;
use crate::{against, contains, papertape};

/// Runs a command on a terminal, types some lines, and gives the screen and the exit code.
fn on_terminal(command: &mut Command, typed: &[(&str, &str)]) -> (String, Option<i32>) {
    let (mut ours, theirs) = terminal();
    command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap()).stderr(theirs);
    let process = Process::start_as_it_is(command);
    // With the command go our copies of the program's end; without them the screen has an end.
    *command = Command::new("true");
    let mut screen = String::new();
    for (question, answer) in typed {
        read_until(&mut ours, &mut screen, question);
        ours.write_all(answer.as_bytes()).unwrap();
    }
    read_until(&mut ours, &mut screen, "\u{0}");
    (screen.replace("\r\n", "\n"), process.wait().status.code())
}

/// Reads the screen until it ends with some words, or ends.
fn read_until(terminal: &mut File, screen: &mut String, words: &str) {
    let start = screen.len();
    let mut bytes = Vec::new();
    let mut byte = [0];
    // A terminal without a program is an error rather than an end.
    while terminal.read(&mut byte).is_ok_and(|count| count > 0) {
        bytes.extend(byte);
        if bytes.ends_with(words.as_bytes()) {
            break;
        }
    }
    screen.truncate(start);
    screen.push_str(&String::from_utf8_lossy(&bytes));
}

#[test]
fn a_terminal_gets_colours_unless_it_wants_none() {
    let (screen, code) = on_terminal(&mut papertape(["list", "text"]), &[]);
    assert_eq!(code, Some(0));
    contains(&screen, &["\u{1b}[1m\u{1b}[36mecho\u{1b}[0m"]);
    let (screen, _) = on_terminal(papertape(["list", "text"]).env("NO_COLOR", "1"), &[]);
    assert!(!screen.contains('\u{1b}'), "{screen:?}");
    let (screen, _) = on_terminal(papertape(["list", "text"]).env("TERM", "dumb"), &[]);
    assert!(!screen.contains('\u{1b}'), "{screen:?}");
}

#[test]
fn a_terminal_does_not_obey_what_a_tool_says() {
    let (screen, _) = on_terminal(&mut papertape(["call", "text", "echo", "text=a\u{1b}[2Jb"]), &[]);
    contains(&screen, &["a⟦1b⟧[2Jb\n"]);
}

#[test]
fn a_form_is_filled_in_on_the_terminal() {
    for era in ["--legacy", "--modern"] {
        let typed = [("seat", ""), (": ", "12A\n"), ("n to send nothing", ""), (": ", "\n")];
        let (screen, code) = on_terminal(&mut against(&["call", "book"], &[era, "books"]), &typed);
        contains(&screen, &["The server asks:", "12A"]);
        assert_eq!(code, Some(0), "{screen}");
    }
}

#[test]
fn a_form_can_be_declined_and_left() {
    for (typed, word) in [
        (vec![("seat", ""), (": ", "12A\n"), ("n to send nothing", ""), (": ", "n\n")], "decline"),
        (vec![("seat", ""), (": ", "\u{4}")], "cancel"),
    ] {
        let (screen, _) = on_terminal(&mut against(&["call", "book"], &["--modern", "books"]), &typed);
        contains(&screen, &[word]);
    }
}

#[test]
fn progress_is_one_line_that_goes() {
    let (screen, code) = on_terminal(&mut against(&["call", "fault"], &["flood", "progress", "3"]), &[]);
    assert_eq!(code, Some(0), "{screen}");
    contains(&screen, &["\r\u{1b}[2K"]);
}
