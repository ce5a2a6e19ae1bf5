//! `papertape shell`: one session with a server, on a terminal and as a script.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::{Deserializer, Value};

use crate::process::run;
use crate::screen::Screen;
use crate::{against, contains, papertape, scratch, text};

/// The prompt of a shell whose target begins with `faulty`'s path, which is longer than a prompt.
const LONG_PROMPT: &str = "..> ";

#[test]
fn a_script_is_run_line_by_line_in_one_session() {
    let script =
        "# three words\nword_count text='one two three'\n\ncall echo text=a\\ b\nping\nexit\necho text=c\n";
    let end = run(&mut papertape(["shell", "text"]), script);
    assert_eq!((text(end.is_clean()), end.log.as_str()), ("3\na b\nthe server responds\n", ""));
    let end = run(&mut against(&["shell"], &["well-behaved"]), "echo text=a\nwas_heard");
    assert_eq!(text(end.is_clean()).matches("tools/call").count(), 2, "{end:?}");
}

#[test]
fn the_first_failure_is_that_of_a_script() {
    let end = run(&mut papertape(["shell", "text"]), "echo\nread x:y\necho text=a\n");
    assert_eq!((end.status.code(), text(&end)), (Some(2), "a\n"), "{end:?}");
    contains(&end.log, &["echo: an argument is missing", "reading the resource"]);
    let end = run(&mut papertape(["shell", "text"]), "read x:y\nlst\n");
    assert_eq!(end.status.code(), Some(1), "{end:?}");
    contains(&end.log, &["there is no tool \"lst\"", "did you mean \"list\"?", "the commands: list, call"]);
}

#[test]
fn a_script_may_have_lines_that_end_in_cr_lf() {
    let end = run(&mut papertape(["shell", "text"]), "# script\r\n\r\necho text=a\r\nping\r\n");
    assert_eq!((text(end.is_clean()), end.log.as_str()), ("a\nthe server responds\n", ""));
}

#[test]
fn a_script_that_cannot_be_read_fails() {
    let end = run(&mut papertape(["shell", "text"]), *b"ping\n\xff\xfe\nping\n");
    assert_eq!((end.status.code(), text(&end)), (Some(2), "the server responds\n"), "{end:?}");
    contains(&end.log, &["papertape: line 2: cannot read stdin: "]);
}

#[test]
fn a_script_has_json_documents() {
    let end = run(&mut papertape(["shell", "text", "--output", "json"]), "echo text=a\nnone\nping\nlist\n");
    let documents: Vec<Value> =
        Deserializer::from_slice(&end.output).into_iter().map(|document| document.unwrap()).collect();
    assert_eq!(documents.len(), 4, "{documents:?}");
    assert_eq!(documents[0]["result"]["content"][0]["text"], "a");
    assert_eq!(documents[1]["error"]["kind"], "usage");
    assert_eq!(documents[3]["server"]["name"], "papertape-text");
    assert_eq!(end.status.code(), Some(2));
    let script = "help\nhelp echo\nreconnect\n# nothing\nexit\n";
    let end = run(&mut papertape(["shell", "text", "--output", "json"]), script);
    let documents = Deserializer::from_slice(&end.output).into_iter();
    let documents: Vec<Value> = documents.map(|document| document.unwrap()).collect();
    let [help, tool, again] = &documents[..] else { panic!("{documents:?}") };
    contains(help["help"].as_str().unwrap(), &["[call] TOOL [NAME=VALUE]..."]);
    assert_eq!((&tool["tool"]["name"], &again["reconnected"]), (&"echo".into(), &"2026-07-28".into()));
}

#[test]
fn a_server_that_died_is_replaced() {
    let script = "fault\necho text=a\nreconnect\necho text=b\n";
    let end = run(&mut against(&["shell"], &["exits-in-call", "3", "no more memory"]), script);
    assert_eq!((end.status.code(), text(&end)), (Some(4), "b\n"), "{end:?}");
    contains(&end.log, &["no more memory", "the session is over: `reconnect` opens another one"]);
}

#[test]
fn help_describes_commands_and_tools() {
    let end =
        run(&mut papertape(["shell", "grammar"]), "help\nhelp conjugate\ncomplete explain_tense tense=pa\n");
    contains(
        text(end.is_clean()),
        &["[call] TOOL [NAME=VALUE]...", "Tab completes", "verb    required", "past simple\n"],
    );
}

#[test]
fn lines_are_edited_completed_and_remembered() {
    let data = scratch("shell_history");
    let start = |arguments: &[&str]| {
        let mut command = papertape(["shell", "grammar"]);
        command.args(arguments).env("XDG_DATA_HOME", &data);
        Screen::start(command)
    };
    let mut screen = start(&[]);
    screen.until("grammar> ").keys("conj\t").until("conjugate ");
    // More than one candidate is listed.
    screen.keys("tense=past\t").until("past_participle").until("grammar> ");
    screen.keys("\\ s\t").until("past\\ simple ").keys("verb=eat person=3sg\r").until("\r\nate\r\n");
    screen.until("grammar> ").keys(" ping\r").until("the server responds");
    let (_, code) = {
        screen.until("grammar> ").keys("\u{4}");
        screen.end()
    };
    assert_eq!(code, Some(0));
    let file = data.join("papertape/shell-history");
    assert_eq!(fs::read_to_string(&file).unwrap(), "conjugate tense=past\\ simple verb=eat person=3sg\n");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // The line before, by the up arrow.
    let mut screen = start(&[]);
    screen.until("grammar> ").keys("\u{1b}[A\r").until("\r\nate\r\n").until("grammar> ").keys("exit\r");
    assert_eq!(screen.end().1, Some(0));
    fs::remove_file(&file).unwrap();
    let mut screen = start(&["--no-history"]);
    screen.until("grammar> ").keys("ping\r").until("the server responds").until("grammar> ").keys("quit\r");
    assert_eq!(screen.end().1, Some(0));
    assert!(!file.exists());
}

#[test]
fn an_interrupt_cancels_the_call_and_not_the_shell() {
    let mut screen = Screen::start(against(&["shell", "--trace"], &["well-behaved"]));
    screen.until(LONG_PROMPT).keys("hang\r").until("tools/call");
    screen.process.signal(Signal::INT);
    screen.until("cancelled\r\n").until(LONG_PROMPT).keys("was_cancelled\r").until("\"text\"");
    // At the prompt, Ctrl-C only discards the line.
    screen.until(LONG_PROMPT).keys("exit\u{3}").until(LONG_PROMPT).keys("echo text=b\r").until("\r\nb\r\n");
    screen.until(LONG_PROMPT).keys("\u{4}");
    assert_eq!(screen.end().1, Some(0));
}

#[test]
fn other_signals_end_the_shell() {
    let mut screen = Screen::start(papertape(["shell", "text"]));
    screen.until("text> ");
    screen.process.signal(Signal::TERM);
    assert_eq!(screen.end().1, Some(143));
}

#[test]
fn forms_are_filled_in_within_the_shell() {
    for kind in ["--legacy", "--modern"] {
        let mut screen = Screen::start(against(&["shell"], &[kind, "books"]));
        screen
            .until(LONG_PROMPT)
            .keys("book\r")
            .until("requests input:")
            .until("seat")
            .until("): ")
            .keys("12A\r");
        screen.until("or n to decline: ").keys("\r").until("12A").until(LONG_PROMPT);
        // Ctrl-C cancels the form.
        screen
            .keys("book\r")
            .until("requests input:")
            .until("): ")
            .keys("\u{3}")
            .until("cancel")
            .until(LONG_PROMPT);
        screen.keys("\u{4}");
        assert_eq!(screen.end().1, Some(0), "{kind}");
    }
}

#[test]
fn changes_are_printed_above_the_line() {
    let mut screen = Screen::start(against(&["shell"], &["--legacy", "changes"]));
    // The line that is being typed is drawn again.
    screen.until(LONG_PROMPT).keys("fault\r").until("has changed\r\n").until(LONG_PROMPT).keys("exit\r");
    assert_eq!(screen.end().1, Some(0));
}

#[test]
fn a_dumb_terminal_gets_no_escape_sequences() {
    let mut command = against(&["shell"], &["--legacy", "changes"]);
    command.env("TERM", "dumb");
    let mut screen = Screen::start_as_it_is(command);
    screen.until(LONG_PROMPT).keys("fault\r").until("has changed\r\n").keys("exit\r");
    let (shown, code) = screen.end();
    assert_eq!(code, Some(0));
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn a_server_that_cannot_be_started_ends_the_shell() {
    let end = run(&mut against(&["shell"], &["exits", "3", "API_KEY not set"]), "ping\n");
    assert_eq!(end.status.code(), Some(3), "{end:?}");
    contains(&end.log, &["API_KEY not set"]);
    let end = run(&mut papertape(["shell", "gramar"]), "");
    contains(&end.log, &["did you mean the bundled server \"grammar\"?"]);
}
