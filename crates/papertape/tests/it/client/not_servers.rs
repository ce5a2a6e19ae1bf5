//! Programs that are not servers, and servers that write to the terminal.

use std::time::Duration;

use papertape::client::{ClientError, ClientOptions, ErrorKind};
use papertape::protocol::Content;
use papertape::stdio::{ServerCommand, connect_with};
use serde_json::json;

use super::{
    SHORT, end, fault, is_closed, legacy, lives, lives_and_ends, not_opened, open, patient, run, says,
    timed_out,
};

/// Long enough for what a program says at once.
const WHILE: Duration = Duration::from_secs(2);

fn shell(script: &str) -> ServerCommand {
    ServerCommand::new("sh").args(["-c", script])
}

async fn no_server(command: ServerCommand, options: ClientOptions) -> ClientError {
    connect_with(command, options).await.unwrap_err()
}

fn impatient() -> ClientOptions {
    patient().probe_timeout(SHORT).open_timeout(WHILE)
}

// C-03
#[test]
fn programs_that_are_not_servers_do_not_open() {
    run(async {
        for program in ["true", "false"] {
            let error = no_server(ServerCommand::new(program), patient()).await;
            is_closed(&error);
            assert_eq!(error.exit().unwrap().success(), program == "true");
        }
        // It echoes its input.
        let error = no_server(ServerCommand::new("cat"), patient()).await;
        says(&error, &["initialize", "it echoes its input"]);
        assert!(matches!(error.kind(), ErrorKind::Protocol(_)), "{error:?}");
    });
}

// C-15
#[test]
fn endless_programs_are_terminated_and_their_stderr_is_reported() {
    run(async {
        let (silent, lines, bytes) = tokio::join!(
            no_server(ServerCommand::new("sleep").args(["3600"]), impatient()),
            no_server(ServerCommand::new("yes"), impatient()),
            no_server(ServerCommand::new("cat").args(["/dev/zero"]), impatient().frame_limit(100_000)),
        );
        assert_eq!(timed_out(&silent), WHILE);
        assert_eq!(silent.bytes(), None);
        assert_eq!(timed_out(&lines), WHILE);
        assert_eq!(lines.bytes(), Some(&b"y"[..]));
        says(&lines, &["lines to stdout that are not MCP messages", "\"y\"", "logs belong on stderr"]);
        assert!(bytes.bytes().is_some_and(|bytes| bytes.len() <= 4096), "{bytes:?}");
        says(&bytes, &["`initialize` failed"]);
    });
}

// C-15
#[test]
fn a_prompt_without_a_line_end_is_reported() {
    run(async {
        let error = no_server(shell("printf 'Password: '; exec sleep 3600"), impatient()).await;
        assert_eq!(timed_out(&error), WHILE);
        assert_eq!(error.bytes(), Some(&b"Password: "[..]));
        says(&error, &["Password: "]);
    });
}

// C-09
#[test]
fn a_server_that_floods_does_not_starve_the_others() {
    // All on one thread.
    run(async {
        let flood = tokio::spawn(no_server(ServerCommand::new("yes"), patient()));
        let client = open(&["well-behaved"]).await;
        for _ in 0..5 {
            lives(&client).await;
        }
        flood.abort();
        end(client).await;
    });
}

#[test]
fn a_server_has_the_environment_and_the_folder_it_was_given() {
    run(async {
        let folder = env!("CARGO_TARGET_TMPDIR");
        let command = shell("echo \"$KEY in $PWD\" >&2; exit 4").env("KEY", "a value").cwd(folder);
        let error = no_server(command, legacy()).await;
        assert_eq!(error.exit().unwrap().code(), Some(4));
        assert_eq!(error.stderr(), format!("a value in {folder}\n"));
    });
}

// C-08
#[test]
fn binary_stderr_is_kept_within_the_bound() {
    run(async {
        let script = "head -c 200000 /dev/zero | tr '\\0' '\\377' >&2; exit 1";
        let error = no_server(shell(script), legacy()).await;
        assert!(error.stderr().len() <= 64 * 1024, "{}", error.stderr().len());
        assert!(error.stderr().ends_with('\u{fffd}'));
    });
}

#[test]
fn server_messages_cannot_control_the_terminal() {
    run(async {
        let error = not_opened(&["exits", "1", "\u{1b}[2J\u{1b}[31mred\u{7}\rover"], legacy()).await;
        says(&error, &["red"]);
        let error = not_opened(&["probe-unsupported", "\u{1b}[31m"], patient()).await;
        says(&error, &["no common revision", "[31m"]);
        let error = not_opened(&["initialize-version", "\u{1b}[31m\n"], patient()).await;
        says(&error, &["no common revision", "[31m"]);

        let client = open(&["odd-error", "{\"code\":-1,\"message\":\"two\\nlines \\u001b[31m\"}"]).await;
        let error = fault(&client).await;
        says(&error, &["two", "lines", "(-1)"]);
        let ErrorKind::Rpc(rpc) = error.kind() else { panic!("{error:?}") };
        assert_eq!(rpc.message, "two\nlines \u{1b}[31m", "the error itself has what came");
        lives_and_ends(client).await;

        let client = open(&["odd-results"]).await;
        let result = client.call("content_strange_type", json!({})).await.unwrap();
        assert!(
            matches!(&result.content[..], [Content::Unknown(block)] if block.kind().starts_with('\u{1b}'))
        );
        lives_and_ends(client).await;
    });
}

#[test]
fn long_server_messages_are_quoted_in_part() {
    run(async {
        let long = "word ".repeat(20_000);
        let client = open(&["odd-error", &json!({"code": -1, "message": long}).to_string()]).await;
        let error = fault(&client).await;
        says(&error, &["word word"]);
        let ErrorKind::Rpc(rpc) = error.kind() else { panic!("{error:?}") };
        assert_eq!(rpc.message, long);
        end(client).await;
    });
}
