//! On a terminal: colours, progress and elicitation.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Command;

use crate::login::terminal;
use crate::process::Process;
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
fn tool_output_cannot_control_the_terminal() {
    let (screen, _) = on_terminal(&mut papertape(["call", "text", "echo", "text=a\u{1b}[2Jb"]), &[]);
    contains(&screen, &["a⟦1b⟧[2Jb\n"]);
}

#[test]
fn a_form_is_filled_in_on_the_terminal() {
    for kind in ["--legacy", "--modern"] {
        let typed = [("seat", ""), (": ", "12A\n"), ("or n to decline", ""), (": ", "\n")];
        let (screen, code) = on_terminal(&mut against(&["call", "book"], &[kind, "books"]), &typed);
        let asks = screen.lines().find(|line| line.contains("requests input:")).unwrap();
        // The whole command: a program alone may be `python3` or `npx`.
        contains(asks, &["The server ", "faulty", kind, "books"]);
        contains(&screen, &["This will be sent to ", "12A"]);
        assert_eq!(code, Some(0), "{screen}");
    }
}

#[test]
fn yes_sends_a_form() {
    for yes in ["y\n", "yes\n"] {
        let typed = [("seat", ""), (": ", "12A\n"), ("or n to decline", ""), (": ", yes)];
        let (screen, code) = on_terminal(&mut against(&["call", "book"], &["--modern", "books"]), &typed);
        assert!(!screen.contains("unknown field"), "{screen}");
        assert_eq!(code, Some(0), "{screen}");
    }
}

#[test]
fn a_form_can_be_declined_or_cancelled() {
    for (typed, word) in [
        (vec![("seat", ""), (": ", "12A\n"), ("or n to decline", ""), (": ", "n\n")], "decline"),
        (vec![("seat", ""), (": ", "\u{4}")], "cancel"),
    ] {
        let (screen, _) = on_terminal(&mut against(&["call", "book"], &["--modern", "books"]), &typed);
        contains(&screen, &[word]);
    }
}

#[test]
fn a_form_can_be_corrected_before_it_is_sent() {
    let confirm = "or n to decline";
    let typed = [
        ("seat", ""),
        (": ", "12A\n"),
        (confirm, ""),
        (": ", "no such field\n"),
        ("unknown field", ""),
        (confirm, ""),
        (": ", "seat\n"),
        ("seat", ""),
        (": ", "7C\n"),
        (confirm, ""),
        (": ", "\n"),
    ];
    let (screen, code) = on_terminal(&mut against(&["call", "book"], &["--modern", "books"]), &typed);
    assert_eq!(code, Some(0), "{screen}");
    let result = screen.rsplit(confirm).next().unwrap();
    assert!(result.contains("7C") && !result.contains("12A"), "{screen}");
}

#[test]
fn a_field_can_be_corrected_whatever_its_name() {
    let schema =
        serde_json::json!({"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]});
    let params = serde_json::json!({"mode": "form", "message": "How many?", "requestedSchema": schema});
    let mode = ["--legacy", "asks", "elicitation/create", &params.to_string()];
    let confirm = ", or no to decline";
    let typed = [
        ("n (text)", ""),
        (": ", "one\n"),
        (confirm, ""),
        (": ", "n\n"),
        ("n (text)", ""),
        (": ", "two\n"),
        (confirm, ""),
        (": ", "\n"),
    ];
    let mut command = against(&["call", "fault", "--revision", "2025-11-25"], &mode);
    let (screen, _) = on_terminal(command.env("NO_COLOR", "1"), &typed);
    let result = screen.rsplit(confirm).next().unwrap();
    assert!(result.contains("two") && !result.contains("one"), "{screen}");
}

#[test]
fn a_boolean_takes_yes_and_no() {
    let schema = serde_json::json!({"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]});
    let params = serde_json::json!({"mode": "form", "message": "Sure?", "requestedSchema": schema});
    let mode = ["--legacy", "asks", "elicitation/create", &params.to_string()];
    for (typed, value) in [("y", "true"), ("YES", "true"), ("True", "true"), ("n", "false"), ("No", "false")]
    {
        let line = format!("{typed}\n");
        let typed = [
            ("sure (yes or no)", ""),
            (": ", "maybe\n"),
            ("invalid: yes or no", ""),
            (": ", &line),
            ("or n to decline", ""),
            (": ", "\n"),
        ];
        let mut command = against(&["call", "fault", "--revision", "2025-11-25"], &mode);
        let (screen, _) = on_terminal(command.env("NO_COLOR", "1"), &typed);
        contains(&screen, &[&format!("sure: {value}\n")]);
    }
}

#[test]
fn a_value_beyond_the_limits_of_its_field_is_not_sent() {
    let schema = serde_json::json!({
        "type": "object",
        "properties": {"row": {"type": "integer", "minimum": 1, "maximum": 40}},
        "required": ["row"],
    });
    let params = serde_json::json!({"mode": "form", "message": "Where?", "requestedSchema": schema});
    let mode = ["--legacy", "asks", "elicitation/create", &params.to_string()];
    let typed = [
        ("row (integer from 1 to 40)", ""),
        (": ", "300\n"),
        ("invalid: integer from 1 to 40", ""),
        (": ", "7\n"),
        ("or n to decline", ""),
        (": ", "\n"),
    ];
    let mut command = against(&["call", "fault", "--revision", "2025-11-25"], &mode);
    let (screen, _) = on_terminal(command.env("NO_COLOR", "1"), &typed);
    contains(&screen, &["row: 7\n"]);
}

/// Requests a visit to a URL, and returns the response.
fn visiting(url: &str, typed: &[(&str, &str)]) -> String {
    let params = serde_json::json!({"mode": "url", "message": "Sign in.", "url": url, "elicitationId": "e"});
    let params = params.to_string();
    let mode = ["--legacy", "asks", "elicitation/create", &params];
    let mut command = against(&["call", "fault", "--revision", "2025-11-25"], &mode);
    let (screen, code) = on_terminal(command.env("NO_COLOR", "1"), typed);
    assert_eq!(code, Some(0), "{screen}");
    screen
}

#[test]
fn a_url_that_is_not_http_is_declined() {
    for url in ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x"] {
        let screen = visiting(url, &[]);
        let scheme = url.split(':').next().unwrap();
        contains(&screen, &[&format!("warning: a {scheme}: URL"), ": declined", "decline"]);
    }
}

#[test]
fn a_host_is_shown_in_both_forms() {
    let typed = [("or n to decline", ""), (": ", "n\n")];
    let screen = visiting("https://xn--80ak6aa92e.com/", &typed);
    contains(&screen, &["on the host xn--80ak6aa92e.com (аррӏе.com)", "Punycode", "decline"]);
    let screen = visiting("https://bank.example@evil.example/", &typed);
    contains(&screen, &["on the host evil.example\n", "the part before the @ is not the host"]);
    for opened in ["\n", "y\n", "Yes\n"] {
        let screen = visiting("https://example.com/", &[("or n to decline", ""), (": ", opened)]);
        contains(&screen, &["accept"]);
        assert!(!screen.contains("warning:"), "{screen}");
    }
}

#[test]
fn a_json_document_on_a_terminal_is_escaped() {
    const ODD: &str = "\u{9b}31m\u{7f}\u{202e}\u{e0041}\u{61c}\u{180e}\u{fe01}👍🏽❤️";
    let text = format!("text={ODD}");
    let (screen, _) = on_terminal(&mut papertape(["call", "text", "echo", &text, "--output", "json"]), &[]);
    contains(&screen, &["\\u009b31m\\u007f\\u202e\\udb40\\udc41\\u061c\\u180e\\ufe01👍🏽❤️"]);
    let document: serde_json::Value = serde_json::from_str(&screen).unwrap();
    assert_eq!(document["result"]["content"][0]["text"], ODD);
    let (screen, _) = on_terminal(&mut papertape(["call", "text", "echo", &text]), &[]);
    contains(&screen, &["⟦c2 9b⟧31m⟦7f e2 80 ae f3 a0 81 81 d8 9c e1 a0 8e ef b8 81⟧👍🏽❤️\n"]);
}

#[test]
fn progress_is_one_line_that_is_cleared() {
    let (screen, code) = on_terminal(&mut against(&["call", "fault"], &["flood", "progress", "3"]), &[]);
    assert_eq!(code, Some(0), "{screen}");
    contains(&screen, &["\r\u{1b}[2K"]);
}
