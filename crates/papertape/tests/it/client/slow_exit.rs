//! Servers that do not end by themselves: each takes seconds to end, so that all are waited for together.

use std::os::unix::process::ExitStatusExt;

use papertape::client::CallOptions;
use papertape::stdio::{ServerCommand, connect_with};
use serde_json::json;

use super::pids::Pids;
use super::{ONCE_IT_RUNS, SHORT, lives, open, patient, run, text, timed_out};

#[test]
fn servers_that_do_not_end_by_themselves_are_ended() {
    run(async {
        tokio::join!(
            a_server_that_ignores_the_end_of_its_input_gets_sigterm(),
            a_server_that_ignores_sigterm_is_killed(),
            child_processes_end_when_the_server_is_killed(),
            a_server_that_stops_reading_fails_calls_at_their_timeout(),
            dropping_the_client_ends_a_server_that_ignores_sigterm(),
            closing_is_not_undone_by_dropping_it_half_way(),
            a_process_group_that_ignores_sigterm_is_killed(),
            a_server_that_has_been_stopped_is_ended_too(),
        );
    });
}

fn shell(script: &str) -> ServerCommand {
    ServerCommand::new("sh").args(["-c", script])
}

// C-10
async fn a_server_that_ignores_the_end_of_its_input_gets_sigterm() {
    let pids = Pids::new();
    let client = open(&["ignores-end", "--pids", pids.path()]).await;
    lives(&client).await;
    assert_eq!(client.close().await.unwrap().signal(), Some(15));
    pids.are_gone_now(1);
}

// C-11
async fn a_server_that_ignores_sigterm_is_killed() {
    let pids = Pids::new();
    let client = open(&["ignores-term", "--pids", pids.path()]).await;
    lives(&client).await;
    assert_eq!(client.close().await.unwrap().signal(), Some(9));
    pids.are_gone_now(1);
}

// C-12
async fn child_processes_end_when_the_server_is_killed() {
    let pids = Pids::new();
    let client = open(&["grandchild", "never", "--pids", pids.path()]).await;
    lives(&client).await;
    assert_eq!(client.close().await.unwrap().signal(), Some(15));
    pids.are_gone_now(2);
}

// C-26
async fn a_server_that_stops_reading_fails_calls_at_their_timeout() {
    let pids = Pids::new();
    let client = open(&["deaf", "--pids", pids.path()]).await;
    assert_eq!(text(&client, "fault").await, "reading no more");
    let short = || CallOptions::new().timeout(SHORT).total_timeout(SHORT);
    let (large, small) = tokio::join!(
        client.call_with("echo", json!({"text": "x".repeat(10_000_000)}), short()),
        client.call_with("echo", json!({"text": "x"}), short()),
    );
    let after = client.call_with("echo", json!({"text": "y"}), short()).await;
    for error in [large, small, after].map(Result::unwrap_err) {
        assert_eq!(timed_out(&error), SHORT);
        assert!(error.stage().contains("the server does not read its input"), "{}", error.stage());
    }
    // What was dropped is forgotten.
    drop(tokio::time::timeout(SHORT, client.call("echo", json!({}))).await);
    assert_eq!(client.close().await.unwrap().signal(), Some(15));
    pids.are_gone_now(1);
}

// C-14, C-11
async fn dropping_the_client_ends_a_server_that_ignores_sigterm() {
    let pids = Pids::new();
    drop(open(&["ignores-term", "--pids", pids.path()]).await);
    pids.are_gone(1).await;
}

// C-14
async fn closing_is_not_undone_by_dropping_it_half_way() {
    let pids = Pids::new();
    let client = open(&["ignores-end", "--pids", pids.path()]).await;
    assert!(tokio::time::timeout(SHORT, client.close()).await.is_err());
    pids.are_gone(1).await;
}

// C-11, C-15
async fn a_process_group_that_ignores_sigterm_is_killed() {
    let pids = Pids::new();
    let script = "trap '' TERM; sleep 3600 & echo $! >> \"$PIDS\"; echo $$ >> \"$PIDS\"; wait";
    let options = patient().probe_timeout(SHORT).open_timeout(ONCE_IT_RUNS);
    let error = connect_with(shell(script).env("PIDS", pids.path()), options).await.unwrap_err();
    assert_eq!(timed_out(&error), ONCE_IT_RUNS);
    pids.are_gone_now(2);
}

// C-15
async fn a_server_that_has_been_stopped_is_ended_too() {
    let pids = Pids::new();
    let options = patient().probe_timeout(SHORT).open_timeout(ONCE_IT_RUNS);
    let command = shell("echo $$ >> \"$PIDS\"; kill -STOP $$").env("PIDS", pids.path());
    assert_eq!(timed_out(&connect_with(command, options).await.unwrap_err()), ONCE_IT_RUNS);
    pids.are_gone_now(1);
}
