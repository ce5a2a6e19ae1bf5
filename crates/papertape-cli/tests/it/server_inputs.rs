//! `${input:ID}` in a file of servers: values from options, and from the user on a terminal.

use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;
use serde_json::json;

use crate::process::run;
use crate::screen::Screen;
use crate::{contains, papertape, scratch};

/// A directory with a server that writes its inputs to stderr and exits.
fn folder(test: &str) -> PathBuf {
    let folder = scratch(test);
    let file = json!({
        "inputs": [
            {"type": "promptString", "id": "api-key", "description": "Key of the API", "password": true},
            {"type": "pickString", "id": "region", "options": ["eu", "us"], "default": "eu"},
        ],
        "servers": {
            "tools": {
                "command": "sh",
                "args": ["-c", "printf 'key %s in %s' \"$KEY\" \"$1\" >&2; exit 7", "sh", "${input:region}"],
                "env": {"KEY": "${input:api-key}"},
            },
            "plain": {"command": "true"},
        },
    });
    std::fs::write(folder.join(".mcp.json"), file.to_string()).unwrap();
    folder
}

fn within(test: &str, words: &[&str]) -> Command {
    let mut command = papertape(words.iter().copied());
    command.current_dir(folder(test));
    command
}

#[test]
fn inputs_have_values_from_options() {
    let test = "inputs_options";
    let end = run(&mut within(test, &["list", "tools", "--input", "api-key=a=b"]), "");
    assert_eq!(end.status.code(), Some(3), "{end:?}");
    contains(&end.log, &["key a=b in eu"]);
    let mut command = within(test, &["list", "tools", "--input-file", "values", "--input", "region=us"]);
    std::fs::write(
        command.get_current_dir().unwrap().join("values"),
        "api-key='c d' # mine\nother=x\nregion=eu\n",
    )
    .unwrap();
    contains(&run(&mut command, "").log, &["key c d in us"]);
}

#[test]
fn an_input_without_a_value_is_named_with_the_way_out() {
    for (words, problems) in [
        (
            &["list", "tools"][..],
            &[
                "the server \"tools\" of .mcp.json needs the input \"api-key\" (Key of the API)",
                "--input api-key=VALUE",
                "--input-file FILE",
            ][..],
        ),
        (&["list", "tools", "--input", "api-key=a", "--input", "region=mars"], &["must be one of: eu, us"]),
        (&["list", "tools", "--input", "apikey=a"], &["no input \"apikey\"", "did you mean \"api-key\"?"]),
        (&["list", "plain", "--input", "x=a"], &["no input \"x\"", "its inputs: it has none"]),
        (
            &["list", "grammar", "--input", "x=a"],
            &["--input is for servers of a file, and grammar is not one"],
        ),
        (&["list", "--input", "x=a", "--", "true"], &["--input is for servers that are given by name"]),
        (&["list", "tools", "--input-file", "none"], &["--input-file none: cannot read the file"]),
    ] {
        let end = run(&mut within("inputs_missing", words), "");
        assert_eq!(end.status.code(), Some(2), "{words:?} {end:?}");
        contains(&end.log, problems);
    }
}

#[test]
fn inputs_are_asked_for_on_a_terminal_and_passwords_are_not_shown() {
    let mut screen = Screen::start(within("inputs_terminal", &["list", "tools"]));
    screen.until("The server tools of .mcp.json needs:").until("Input (region; one of: eu, us; Enter: eu): ");
    screen.keys("mars\r").until("invalid: not one of these").until("eu): ").keys("us\r");
    screen.until("Key of the API (api-key; not shown): ").keys("sesame\r").until("in us");
    let (shown, code) = screen.end();
    assert_eq!(code, Some(3), "{shown}");
    // The server has shown it, and the terminal has not.
    let prompt = shown.split("not shown): ").nth(1).unwrap();
    assert!(prompt.starts_with('\n') && prompt.contains("key sesame in us"), "{shown}");
}

#[test]
fn a_prompt_for_an_input_can_be_interrupted() {
    let mut screen = Screen::start(within("inputs_interrupted", &["list", "tools", "--input", "region=us"]));
    screen.until("not shown): ");
    screen.process.signal(Signal::INT);
    assert_eq!(screen.end().1, Some(130));
    let mut screen = Screen::start(within("inputs_interrupted", &["list", "tools", "--input", "region=us"]));
    screen.until("not shown): ").keys("\u{4}").until("needs the input \"api-key\"");
    assert_eq!(screen.end().1, Some(2));
}
