//! Servers that write something else than messages to stdout: this client skips it, hosts may not.

use crate::process::run;
use crate::{contains, document, papertape, text};

/// The server `text`, after a line on stdout.
fn starting(arguments: &[&str]) -> std::process::Command {
    let mut command = papertape(arguments.iter().copied());
    command.args(["--", "sh", "-c", "echo 'Starting...'; exec \"$0\" serve text"]);
    command.arg(env!("CARGO_BIN_EXE_papertape"));
    command
}

const WARNING: &str = "papertape: warning: hosts may reject the server: it wrote 1 line to stdout that is not an MCP \
    message, the first is \"Starting...\": logs belong on stderr\n";

#[test]
fn stray_output_of_a_server_is_a_warning() {
    for arguments in [&["list"][..], &["call", "word_count", "text=one two"]] {
        let end = run(&mut starting(arguments), "");
        assert_eq!(end.is_clean().log, WARNING, "{arguments:?}");
    }
    let end = run(&mut starting(&["shell"]), "word_count text='one two'\nword_count text=one\n");
    assert_eq!((text(end.is_clean()), end.log.as_str()), ("2\n1\n", WARNING));
}

#[test]
fn stray_output_is_among_the_problems_of_a_list() {
    let end = run(&mut starting(&["list", "--output", "json"]), "");
    let problems = &document(end.is_clean())["problems"];
    assert_eq!(problems[0]["in"], "stdout");
    contains(problems[0]["problem"].as_str().unwrap(), &["1 line to stdout", "\"Starting...\""]);
}
