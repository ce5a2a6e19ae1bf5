//! Servers that end too early, too late or not at all, and what is reported.

use std::error::Error;
use std::io;

use papertape::client::{CallOptions, ClientError, ErrorKind};
use papertape::stdio::{ServerCommand, connect, connect_with};
use serde_json::json;

use super::pids::{Left, Pids, left, until};
use super::{
    SHORT, end, fault, faulty, hang, is_closed, legacy, lives, lives_and_ends, not_opened, open, patient,
    run, says, text, timed_out,
};
use crate::own_process::alone;

/// The end of stderr that an error may carry.
const TAIL: usize = 64 * 1024;

// C-03
#[test]
fn a_program_that_cannot_be_started_is_named_with_the_reason() {
    run(async {
        let not_started = |error: ClientError, words: &[&str]| {
            let ErrorKind::NotStarted(cause) = error.kind() else { panic!("{error:?}") };
            assert_eq!(error.stage(), "not started");
            assert!(error.source().is_some());
            says(&error, words);
            cause.kind()
        };
        let error = connect(ServerCommand::new("/no/such/server")).await.unwrap_err();
        assert_eq!(not_started(error, &["/no/such/server", "is it installed"]), io::ErrorKind::NotFound);
        let error = connect(ServerCommand::new("no-such-server")).await.unwrap_err();
        assert_eq!(not_started(error, &["no-such-server", "PATH"]), io::ErrorKind::NotFound);
        let error = connect(ServerCommand::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")))
            .await
            .unwrap_err();
        assert_eq!(not_started(error, &["Cargo.toml", "is it executable"]), io::ErrorKind::PermissionDenied);
        let error = connect(ServerCommand::new(env!("CARGO_MANIFEST_DIR"))).await.unwrap_err();
        assert_eq!(not_started(error, &["is it executable"]), io::ErrorKind::PermissionDenied);
        let command = faulty(&["well-behaved"]).cwd("/no/such/folder");
        let error = connect_with(command, patient()).await.unwrap_err();
        assert_eq!(
            not_started(error, &["the working directory /no/such/folder does not exist"]),
            io::ErrorKind::NotFound
        );
    });
}

// C-03
#[test]
fn an_immediate_exit_is_reported_with_exit_code_and_stderr() {
    run(async {
        for exit in [0, 1, 2, 127] {
            let pids = Pids::new();
            let code = exit.to_string();
            let error =
                not_opened(&["exits", &code, "no key: set KEY", "--pids", pids.path()], patient()).await;
            is_closed(&error);
            assert_eq!(error.exit().unwrap().code(), Some(exit), "{error:?}");
            assert_eq!(error.stderr(), "no key: set KEY\n");
            says(
                &error,
                &[
                    "the server process exited",
                    &format!("(exit status {exit}) before it responded"),
                    "no key: set KEY",
                ],
            );
            // Once with the probe, once with a handshake.
            pids.are_gone_now(2);
        }
        let pids = Pids::new();
        let error = not_opened(&["exits", "5", "--pids", pids.path()], legacy()).await;
        assert_eq!(error.exit().unwrap().code(), Some(5));
        assert!(error.operation().contains("initialize"));
        pids.are_gone_now(1);
    });
}

// C-03, C-08
#[test]
fn the_end_of_long_stderr_is_kept() {
    run(async {
        let error = not_opened(&["exits", "1", "the last word", "1000000"], legacy()).await;
        assert_eq!(error.exit().unwrap().code(), Some(1));
        let tail = error.stderr();
        assert!(tail.ends_with("the last word\n"), "{:?}", tail.get(tail.len().saturating_sub(200)..));
        assert!(tail.len() <= TAIL && tail.len() > TAIL / 2, "{}", tail.len());
        assert!(tail.contains("a line of no importance"));
        says(&error, &["the last word"]);
    });
}

// C-04
#[test]
fn an_exit_during_calls_fails_them_with_exit_code_and_stderr() {
    run(async {
        let pids = Pids::new();
        let client = open(&["exits-in-call", "--pids", pids.path()]).await;
        let other = client.clone();
        let waiting = tokio::spawn(async move { other.call("slow", json!({})).await });
        // Answered after `slow` was read.
        lives(&client).await;
        let errors = [fault(&client).await, waiting.await.unwrap().unwrap_err()];
        for (error, tool) in errors.iter().zip(["fault", "slow"]) {
            is_closed(error);
            assert_eq!(error.operation(), format!("calling the tool \"{tool}\""));
            assert_eq!(error.stage(), "the request was sent; no response arrived");
            assert_eq!(error.exit().unwrap().code(), Some(3), "{error:?}");
            assert_eq!(error.stderr(), "fatal: no configuration found\n");
            says(error, &["exit status 3", "stderr: fatal: no configuration found"]);
        }
        let error = fault(&client).await;
        is_closed(&error);
        assert_eq!(error.stage(), "the request was not sent");
        assert_eq!(error.exit().unwrap().code(), Some(3));
        assert_eq!(client.close().await.unwrap().code(), Some(3));
        pids.are_gone_now(1);
    });
}

// C-05
#[test]
fn a_server_that_closes_its_output_fails_the_call_and_is_ended() {
    run(async {
        let pids = Pids::new();
        let client = open(&["closes-output", "--pids", pids.path()]).await;
        let error = fault(&client).await;
        is_closed(&error);
        let error = fault(&client).await;
        is_closed(&error);
        end(client).await;
        pids.are_gone_now(1);
    });
}

// C-07
#[test]
fn a_server_that_fills_stderr_before_it_reads_is_connected_to() {
    run(async {
        let client = open(&["noisy-start"]).await;
        lives(&client).await;
        let error = hang(&client).await;
        assert_eq!(timed_out(&error), SHORT);
        assert_eq!(error.stderr().len(), TAIL);
        says(&error, &["stderr: "]);
        end(client).await;
    });
}

// C-08
#[test]
fn an_endless_stderr_line_delays_no_call_and_its_end_is_kept() {
    run(async {
        let client = open(&["noisy-call"]).await;
        assert_eq!(text(&client, "fault").await, "said on stderr");
        let error = hang(&client).await;
        assert!(error.stderr() == "e".repeat(TAIL), "{}", error.stderr().len());
        says(&error, &["eeee"]);
        assert!(error.to_string().len() < 400, "{error}");
        lives_and_ends(client).await;
    });
}

// C-12
#[test]
fn child_processes_end_with_their_server() {
    run(async {
        let pids = Pids::new();
        let client = open(&["grandchild", "--pids", pids.path()]).await;
        lives(&client).await;
        end(client).await;
        pids.are_gone_now(2);
    });
}

// C-12, C-04
#[test]
fn a_process_that_inherited_the_pipes_delays_nothing() {
    run(async {
        let pids = Pids::new();
        let client = open(&["grandchild", "in-call", "--pids", pids.path()]).await;
        let error = fault(&client).await;
        is_closed(&error);
        assert_eq!(error.exit().unwrap().code(), Some(3), "{error:?}");
        assert_eq!(client.close().await.unwrap().code(), Some(3));
        pids.are_gone_now(2);
    });
}

// C-12, C-13
#[test]
fn child_processes_of_an_exited_server_end_while_the_client_runs() {
    const NAME: &str = "client::server_exit::child_processes_of_an_exited_server_end_while_the_client_runs";
    // Once all of a group has ended, its number may become another's: nothing may be left that would signal it.
    alone(NAME, || {
        run(async {
            let children = || std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
            let pids = Pids::new();
            let client = open(&["grandchild", "in-call", "--pids", pids.path()]).await;
            is_closed(&fault(&client).await);
            pids.are_gone(2).await;
            until("the end of the watchdog", || children().is_empty()).await;
            assert_eq!(client.close().await.unwrap().code(), Some(3));
        });
    });
}

// C-12, C-03
#[test]
fn a_process_that_inherited_the_pipes_ends_when_opening_fails() {
    run(async {
        let pids = Pids::new();
        let error = not_opened(&["grandchild", "at-once", "--pids", pids.path()], patient()).await;
        is_closed(&error);
        assert_eq!(error.exit().unwrap().code(), Some(1));
        pids.are_gone_now(4);
    });
}

// C-12
#[test]
fn a_process_that_has_left_the_group_does_not_hold_up_the_end() {
    run(async {
        let pids = Pids::new();
        let client = open(&["grandchild", "at-end", "apart", "--pids", pids.path()]).await;
        lives(&client).await;
        end(client).await;
        let [server, apart] = pids.all()[..] else { panic!("{:?}", pids.all()) };
        assert_eq!(left(server), Left::Nothing);
        // A process that left the group is not ours to end.
        assert_eq!(left(apart), Left::Running);
    });
}

// C-26
#[test]
fn a_request_to_a_closed_stdin_is_reported_as_not_sent() {
    // A process that another test is just starting may for a moment hold the pipe open.
    alone("client::server_exit::a_request_to_a_closed_stdin_is_reported_as_not_sent", || {
        run(async {
            let client = open(&["closes-input"]).await;
            assert_eq!(text(&client, "fault").await, "reading no more");
            for _ in 0..2 {
                let short = CallOptions::new().timeout(SHORT).total_timeout(SHORT);
                let error = client.call_with("echo", json!({}), short).await.unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::TimedOut(_) | ErrorKind::Closed), "{error:?}");
                assert!(!error.stage().contains("was sent"), "{error:?}");
            }
        });
    });
}
