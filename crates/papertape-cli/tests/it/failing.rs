//! Servers that fail: the text, the JSON and the exit code.

use serde_json::{Value, json};

use crate::process::{End, run};
use crate::{against, contains, document, papertape, text};

/// Code, words on stderr, nothing on stdout.
#[track_caller]
fn fails(mut command: std::process::Command, code: i32, words: &[&str]) -> End {
    let end = run(&mut command, "");
    assert_eq!((end.status.code(), text(&end)), (Some(code), ""), "{end:?}");
    contains(&end.log, words);
    end
}

#[test]
fn a_server_that_cannot_be_started_is_exit_code_3() {
    let missing = papertape(["list", "no-such-program --flag"]);
    fails(missing, 3, &["papertape: starting the server", "no-such-program", "is it installed"]);
    fails(
        papertape(["list", "grammer"]),
        3,
        &["on the PATH? did you mean the bundled server \"grammar\"?\n"],
    );
    fails(papertape(["list", "/"]), 2, &["/ is a directory, not a program"]);
    fails(papertape(["list", "--", "/"]), 3, &["starting the server", "is it a program"]);
    fails(
        papertape(["list", "text", "--cwd", "/no/such"]),
        3,
        &["the working directory /no/such does not exist"],
    );
    fails(papertape(["list", "text", "--tape", "/no/such/tape"]), 3, &["/no/such/tape"]);
}

#[test]
fn a_failed_handshake_is_exit_code_3_with_stderr() {
    let end =
        fails(against(&["list"], &["exits", "7", "no such token"]), 3, &["(exit status 7)", "no such token"]);
    // It is reported once.
    assert_eq!(end.log.matches("no such token").count(), 1, "{end:?}");
    let script = "for i in $(seq 30); do echo line $i >&2; done; exit 5";
    let end = fails(
        papertape(["list", "--", "sh", "-c", script]),
        3,
        &["(exit status 5)", "  the last 20 lines of its stderr:\n  | line 11\n", "  | line 30\n"],
    );
    assert!(!end.log.contains("| line 10\n"), "{end:?}");
    fails(
        against(&["list", "--probe", "0.1", "--timeout", "0.3"], &["never-opens"]),
        3,
        &["did not respond within 0.3 s (limit: --timeout)", "last step: "],
    );
    fails(against(&["list"], &["initialize-version"]), 3, &["the server supports 1999-01-01"]);
    fails(
        against(&["list", "--revision", "2024-11-05"], &["--modern", "well-behaved"]),
        3,
        &["papertape: `initialize` failed"],
    );
}

#[test]
fn the_error_line_of_stderr_is_reported_and_all_with_trace() {
    let script = "echo 'Error: no token' >&2; for i in $(seq 30); do echo \"    at line $i\" >&2; done; \
        echo 'Node.js v22.23.3' >&2; exit 1";
    let expected = "stderr: Error: no token\n";
    let end = fails(
        papertape(["list", "--", "sh", "-c", script]),
        3,
        &[expected, "the last 20 lines of its stderr"],
    );
    assert!(!end.log.contains("| Error: no token"), "{end:?}");
    fails(
        papertape(["list", "--trace", "--", "sh", "-c", script]),
        3,
        &[expected, "stderr  Error: no token\nstderr      at line 1\n", "stderr  Node.js v22.23.3\n"],
    );
}

#[test]
fn a_failure_after_the_handshake_is_exit_code_4() {
    fails(
        against(&["call", "fault"], &["exits-in-call", "3", "out of paper"]),
        4,
        &[
            "calling the tool \"fault\" failed: the server process exited (exit status 3) before it responded",
            "out of paper",
        ],
    );
    fails(
        against(&["call", "fault", "--timeout", "2"], &["wrong-id"]),
        4,
        &["did not respond within 2 s", "last step: the request was sent; no response arrived"],
    );
    fails(
        against(&["call", "fault"], &["both"]),
        4,
        &[
            "both `result` and `error`",
            "  the bytes: {\"jsonrpc\":\"2.0\",\"id\":3,\"error\":",
            "last step: the response arrived",
        ],
    );
    fails(against(&["call", "fault"], &["huge", "20000000"]), 4, &["too large", " more bytes\n"]);
}

#[test]
fn server_text_cannot_control_the_terminal() {
    let script = "printf 'a\\033[2Jb\\n\\033]0;title\\007\\n' >&2; printf '\\033[31m\\n'; exit 1";
    let end = fails(papertape(["list", "--", "sh", "-c", script]), 3, &["| a⟦1b⟧[2Jb", "⟦1b⟧]0;title⟦07⟧"]);
    assert!(!end.log.contains('\u{1b}'), "{end:?}");
}

/// The error document on stdout, and nothing on stderr.
#[track_caller]
fn error(mut command: std::process::Command, code: i32) -> Value {
    let end = run(&mut command, "");
    assert_eq!((end.status.code(), end.log.as_str()), (Some(code), ""), "{end:?}");
    document(&end)["error"].clone()
}

#[test]
fn errors_are_a_json_document_with_output_json() {
    let command = papertape(["call", "grammar", "conjugat", "--output", "json"]);
    let usage = error(command, 2);
    assert_eq!(usage["kind"], "usage");
    contains(usage["message"].as_str().unwrap(), &["did you mean \"conjugate\"?"]);

    let not_started = error(papertape(["list", "no-such-program", "--output", "json"]), 3);
    assert_eq!(not_started["kind"], "not_started");

    let closed =
        error(against(&["call", "fault", "--output", "json"], &["exits-in-call", "3", "last words"]), 4);
    assert_eq!(
        (&closed["kind"], &closed["exit"], &closed["stderr"]),
        (&json!("closed"), &json!(3), &json!("last words\n"))
    );

    let words = ["call", "fault", "--output", "json", "--timeout", "2"];
    assert_eq!(error(against(&words, &["wrong-id"]), 4)["kind"], "timed_out");

    let protocol = error(against(&["call", "fault", "--output", "json"], &["both"]), 4);
    assert_eq!(protocol["kind"], "protocol");
    contains(protocol["bytes"].as_str().unwrap(), &["the disk is full"]);

    let words = ["list", "--output", "json", "--revision", "2026-07-28"];
    assert_eq!(error(against(&words, &["--legacy", "well-behaved"]), 3)["kind"], "unsupported");
}

#[test]
fn the_server_gets_the_given_environment_and_working_directory() {
    let folder = crate::scratch("environment");
    let script = format!("printf '%s in %s\\n' \"$TOKEN\" \"$PWD\" >&2; exec '{}' exits", crate::faulty());
    let mut command = papertape(["list", "--env", "TOKEN=a=b", "--env", "OTHER=", "--cwd"]);
    command.arg(&folder).args(["--", "sh", "-c", &script]);
    fails(command, 3, &[&format!("| a=b in {}", folder.display())]);
}

#[test]
fn an_environment_file_is_read() {
    let folder = crate::scratch("environment_file");
    let path = folder.join("variables");
    std::fs::write(&path, "# keys\nexport PT_A=\"a b\"\nPT_B='$x' # y\nPT_C=file\n").unwrap();
    let script = "echo \"$PT_A|$PT_B|$PT_C\" >&2; exit 5";
    let mut command = papertape(["list", "--env", "PT_C=option", "--env-file"]);
    command.arg(&path).args(["--", "sh", "-c", script]);
    fails(command, 3, &["a b|$x|option"]);
    std::fs::write(&path, "PT_A=1\nsecret\n").unwrap();
    let mut command = papertape(["list", "text", "--env-file"]);
    command.arg(&path);
    let end = fails(command, 2, &["variables: line 2: write KEY=VALUE"]);
    assert!(!end.log.contains("secret"), "{end:?}");
}

#[test]
fn roots_are_offered_to_the_server() {
    let folder = crate::scratch("my roots");
    let mode = ["--legacy", "asks", "roots/list", "{}"];
    let end = run(&mut against(&["call", "fault", "--trace", "--root", folder.to_str().unwrap()], &mode), "");
    let uri = format!("file://{}", folder.canonicalize().unwrap().display()).replace(' ', "%20");
    contains(&end.log, &[&format!(r#"{{"roots":[{{"uri":"{uri}","name":"my roots"}}]}}"#), r#""roots":{"#]);
    let end = run(&mut against(&["call", "fault", "--trace"], &mode), "");
    assert!(!end.log.contains(r#""roots":"#), "{end:?}");
}
