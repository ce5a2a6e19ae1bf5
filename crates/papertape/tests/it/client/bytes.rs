//! Correct responses in wrong bytes: what is accepted all the same, and what the error says of the rest.

use std::sync::{Arc, Mutex};

use papertape::client::{ClientOptions, ErrorKind};
use papertape::protocol::Revision;
use papertape::wire::Framing;
use serde_json::{Value, json};

use super::log::Log;
use super::pids::Pids;
use super::{
    ONCE_IT_RUNS, SHORT, code, end, fault, hang, is_closed, legacy, lives, lives_and_ends, not_opened, open,
    open_with, patient, run, says, text, text_of, timed_out,
};

/// Waits for what will not come, but long enough for what will.
fn impatient() -> ClientOptions {
    patient().probe_timeout(SHORT).open_timeout(ONCE_IT_RUNS)
}

// C-02
#[test]
fn garbage_is_skipped_and_logged_within_bounds() {
    run(async {
        for options in [patient(), legacy()] {
            let (log, _guard) = Log::of_this_thread();
            let client = open_with(&["garbage", "50000"], options).await;
            assert_eq!(text(&client, "fault").await, "after the garbage");
            let lines = log.lines();
            assert!(lines.len() <= 100, "{} lines: {:?}", lines.len(), &lines[..5]);
            // The server's judgement: none of it got a response.
            lives_and_ends(client).await;
        }
    });
}

// C-02
#[test]
fn garbage_is_reported_when_a_later_call_fails() {
    run(async {
        let client = open(&["garbage", "3"]).await;
        assert_eq!(text(&client, "fault").await, "after the garbage");
        let error = hang(&client).await;
        // A blank line is not a message.
        says(
            &error,
            &[
                "2 lines to stdout that are not MCP messages",
                "INFO handling request",
                "logs belong on stderr",
            ],
        );
        assert_eq!(error.bytes().unwrap(), b"2026-08-23T10:00:00Z INFO handling request");
        end(client).await;
    });
}

#[test]
fn variations_that_other_hosts_accept_are_accepted() {
    run(async {
        for mode in ["crlf", "bom", "batched", "header-answers"] {
            for options in [patient(), legacy()] {
                let client = open_with(&[mode], options).await;
                assert_eq!(client.server().name, format!("faulty {mode}"));
                lives(&client).await;
                assert_eq!(client.tools().await.unwrap().len(), 9, "{mode}");
                lives_and_ends(client).await;
            }
        }
    });
}

#[test]
fn a_server_that_reads_headers_only_gets_headers() {
    run(async {
        for revision in [Revision::MODERN, Revision::NEWEST_LEGACY] {
            let options = patient().framing(Framing::ContentLength).revision(revision);
            let client = open_with(&["headers-only"], options).await;
            lives(&client).await;
            assert_eq!(client.tools().await.unwrap().len(), 9);
            lives_and_ends(client).await;
        }
        let pids = Pids::new();
        let options = patient().probe_timeout(SHORT).open_timeout(ONCE_IT_RUNS);
        let error = not_opened(&["headers-only", "--pids", pids.path()], options).await;
        assert_eq!(timed_out(&error), ONCE_IT_RUNS);
        pids.are_gone_now(1);
        // A client that reads both framings accepts headers.
        let client = open_with(&["well-behaved"], patient().framing(Framing::ContentLength)).await;
        lives_and_ends(client).await;
    });
}

#[test]
fn unreadable_server_output_is_reported_with_the_cause() {
    run(async {
        tokio::join!(
            multi_line_messages_are_reported(),
            utf_16_output_is_reported(),
            a_server_that_keeps_its_output_back_is_late(),
        );
    });
}

async fn multi_line_messages_are_reported() {
    let pids = Pids::new();
    let error = not_opened(&["pretty", "--pids", pids.path()], impatient()).await;
    assert_eq!(timed_out(&error), ONCE_IT_RUNS);
    says(&error, &["not MCP messages", "JSON over several lines", "a message must be one line"]);
    assert_eq!(error.bytes().unwrap(), b"{");
    pids.are_gone_now(1);
}

async fn utf_16_output_is_reported() {
    let pids = Pids::new();
    let error = not_opened(&["utf-16", "--pids", pids.path()], impatient()).await;
    assert_eq!(timed_out(&error), ONCE_IT_RUNS);
    says(&error, &["not MCP messages", "UTF-16", "MCP is UTF-8"]);
    assert!(error.bytes().unwrap().starts_with(b"\xff\xfe{\0"), "{error:?}");
    pids.are_gone_now(1);
}

async fn a_server_that_keeps_its_output_back_is_late() {
    let pids = Pids::new();
    let error = not_opened(&["unflushed", "--pids", pids.path()], impatient()).await;
    assert_eq!(timed_out(&error), ONCE_IT_RUNS);
    assert_eq!(error.stage(), "the request was sent; no response arrived");
    pids.are_gone_now(1);
}

#[test]
fn text_on_the_line_of_a_message_is_reported() {
    run(async {
        for (how, words) in [
            ("before", &["1 line", "Working ... {", "text precedes a message on the same line"][..]),
            ("after", &["1 line", "not an MCP message", "something follows a message on the same line"]),
            ("twice", &["1 line", "not an MCP message", "something follows a message on the same line"]),
        ] {
            let client = open(&["glued", how]).await;
            let waiting = client.clone();
            let waiting = tokio::spawn(async move { waiting.call("fault", json!({})).await });
            lives(&client).await;
            lives(&client).await;
            // It has come by now.
            let error = hang(&client).await;
            assert_eq!(timed_out(&error), SHORT);
            says(&error, words);
            assert!(String::from_utf8_lossy(error.bytes().unwrap()).contains("\"jsonrpc\""), "{error:?}");
            assert!(!waiting.is_finished());
            waiting.abort();
            lives_and_ends(client).await;
        }
    });
}

#[test]
fn a_last_response_without_a_line_end_counts() {
    run(async {
        let client = open(&["unfinished"]).await;
        assert_eq!(text(&client, "fault").await, "unfinished");
        is_closed(&client.call("echo", json!({})).await.unwrap_err());
        end(client).await;
    });
}

#[test]
fn half_a_response_fails_the_call_and_is_quoted() {
    run(async {
        let client = open(&["cut-off"]).await;
        let error = fault(&client).await;
        is_closed(&error);
        assert_eq!(error.exit().unwrap().code(), Some(3));
        let bytes = error.bytes().unwrap();
        assert!(bytes.starts_with(b"{\"") && !bytes.ends_with(b"}"), "{}", bytes.escape_ascii());
        says(&error, &["exit status 3", "not an MCP message"]);
        assert!(!error.to_string().contains("on the same line"), "nothing was: {error}");
        assert_eq!(client.close().await.unwrap().code(), Some(3));
    });
}

// C-25
#[test]
fn a_server_that_dribbles_is_understood() {
    run(async {
        for options in [patient(), legacy()] {
            let client = open_with(&["dribble"], options).await;
            lives_and_ends(client).await;
        }
    });
}

#[test]
fn a_correct_error_is_handed_on_with_its_data() {
    run(async {
        let client = open(&["error"]).await;
        let error = fault(&client).await;
        assert_eq!(code(&error), -32000);
        let ErrorKind::Rpc(rpc) = error.kind() else { panic!("{error:?}") };
        assert_eq!(rpc.data, Some(json!({"free": 0})));
        says(&error, &["calling the tool \"fault\"", "the disk is full", "-32000"]);
        lives_and_ends(client).await;
    });
}

#[test]
fn every_frame_is_shown_both_ways_and_in_order() {
    run(async {
        let frames = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&frames);
        let options = patient().on_frame(move |frame| {
            sink.lock().unwrap().push((frame.number, frame.direction, frame.bytes.to_vec()));
        });
        let client = open_with(&["banner"], options).await;
        let result = client.call("echo", json!({"text": "seen"})).await.unwrap();
        assert_eq!(text_of(&result), "seen");
        end(client).await;
        let frames = frames.lock().unwrap();
        let numbers: Vec<u64> = frames.iter().map(|(number, ..)| *number).collect();
        assert_eq!(numbers, (1..=u64::try_from(frames.len()).unwrap()).collect::<Vec<_>>());
        let words: Vec<String> = frames
            .iter()
            .map(|(_, direction, bytes)| {
                let message: Value = serde_json::from_slice(bytes).unwrap_or_default();
                let what = message["method"].as_str().unwrap_or(if message.is_null() { "?" } else { "!" });
                format!("{direction:?} {what}")
            })
            .collect();
        // The banner may come before the probe.
        let mut sorted = words.clone();
        sorted.sort();
        assert_eq!(
            sorted,
            [
                "ToClient !",
                "ToClient !",
                "ToClient ?",
                "ToClient ?",
                "ToClient ?",
                "ToClient ?",
                "ToServer server/discover",
                "ToServer tools/call",
            ]
        );
        assert_eq!(words.last().unwrap(), "ToClient !");
    });
}
