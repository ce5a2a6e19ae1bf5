//! Servers that end too early, too late or not at all, and what is told of it.

use std::error::Error;
use std::io;

use papertape::stdio::{spawn, spawn_with};
use papertape::{CallOptions, ClientError, ErrorKind};
use serde_json::json;

use super::pids::{Left, Pids, left, until};
use super::{
    SHORT, end, fault, faulty, hang, is_closed, legacy, lives, lives_and_ends, not_opened, open, patient,
    run, says, text, timed_out,
};
use crate::alone::alone;

/// The end of stderr that an error may carry.
const TAIL: usize = 64 * 1024;

// C-03
#[test]
fn a_program_that_cannot_be_started_is_named_with_the_reason() {
    run(async {
        let not_started = |error: ClientError, words: &[&str]| {
            let ErrorKind::NotStarted(cause) = error.kind() else { panic!("{error:?}") };
            assert_eq!(error.reached(), "nothing was started");
            assert!(error.source().is_some());
            says(&error, words);
            cause.kind()
        };
        let none: [&str; 0] = [];
        let error = spawn("/no/such/server", none).await.unwrap_err();
        assert_eq!(not_started(error, &["/no/such/server", "is it installed"]), io::ErrorKind::NotFound);
        let error = spawn("no-such-server", none).await.unwrap_err();
        assert_eq!(not_started(error, &["no-such-server", "PATH"]), io::ErrorKind::NotFound);
        let error = spawn(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), none).await.unwrap_err();
        assert_eq!(not_started(error, &["Cargo.toml", "may it be run"]), io::ErrorKind::PermissionDenied);
        let error = spawn(env!("CARGO_MANIFEST_DIR"), none).await.unwrap_err();
        assert_eq!(not_started(error, &["may it be run"]), io::ErrorKind::PermissionDenied);
        let command = faulty(&["well-behaved"]).cwd("/no/such/folder");
        let error = spawn_with(command, patient()).await.unwrap_err();
        assert_eq!(not_started(error, &["there is no folder /no/such/folder"]), io::ErrorKind::NotFound);
    });
}

// C-03
#[test]
fn a_server_that_exits_at_once_is_told_with_its_exit_code_and_last_words() {
    run(async {
        for exit in [0, 1, 2, 127] {
            let pids = Pids::new();
            let code = exit.to_string();
            let error =
                not_opened(&["exits", &code, "no key: set KEY", "--pids", pids.path()], patient()).await;
            is_closed(&error);
            assert_eq!(error.exit().unwrap().code(), Some(exit), "{error:?}");
            assert_eq!(error.stderr(), "no key: set KEY\n");
            says(&error, &["has gone", &format!("exit status {exit}"), "no key: set KEY"]);
            // Once when it was asked what it speaks, once with a handshake.
            pids.are_gone_now(2);
        }
        let pids = Pids::new();
        let error = not_opened(&["exits", "5", "--pids", pids.path()], legacy()).await;
        assert_eq!(error.exit().unwrap().code(), Some(5));
        assert!(error.doing().contains("initialize"));
        pids.are_gone_now(1);
    });
}

// C-03, C-08
#[test]
fn of_very_long_last_words_the_end_is_kept() {
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
fn a_server_that_exits_in_a_call_fails_all_calls_with_its_exit_code_and_last_words() {
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
            assert_eq!(error.doing(), format!("calling the tool \"{tool}\""));
            assert_eq!(error.reached(), "the request was sent; no answer came");
            assert_eq!(error.exit().unwrap().code(), Some(3), "{error:?}");
            assert_eq!(error.stderr(), "fatal: no configuration found\n");
            says(error, &["exit status 3", "its last words on stderr: fatal: no configuration found"]);
        }
        let error = fault(&client).await;
        is_closed(&error);
        assert_eq!(error.reached(), "the request was not sent");
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
        says(&error, &["its last words on stderr: "]);
        end(client).await;
    });
}

// C-08
#[test]
fn an_endless_line_on_stderr_holds_no_call_up_and_its_end_is_kept() {
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
fn what_a_server_has_started_ends_with_it() {
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
fn a_process_that_holds_the_pipes_of_a_dead_server_holds_nothing_up() {
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
fn what_a_dead_server_has_left_ends_while_its_client_lives_on() {
    const NAME: &str = "client::ending::what_a_dead_server_has_left_ends_while_its_client_lives_on";
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
fn a_process_that_holds_the_pipes_of_a_server_that_never_opened_is_ended() {
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
        // Whoever leaves the group wants to live on; it is not ours to end.
        assert_eq!(left(apart), Left::Running);
    });
}

// C-26
#[test]
fn a_server_that_closes_its_input_is_not_said_to_have_been_sent_anything() {
    // A process that another test is just starting may for a moment hold the pipe open.
    alone("client::ending::a_server_that_closes_its_input_is_not_said_to_have_been_sent_anything", || {
        run(async {
            let client = open(&["closes-input"]).await;
            assert_eq!(text(&client, "fault").await, "reading no more");
            for _ in 0..2 {
                let short = CallOptions::new().timeout(SHORT).longest(SHORT);
                let error = client.call_with("echo", json!({}), short).await.unwrap_err();
                assert!(matches!(error.kind(), ErrorKind::TimedOut(_) | ErrorKind::Closed), "{error:?}");
                assert!(!error.reached().contains("was sent"), "{error:?}");
            }
        });
    });
}
