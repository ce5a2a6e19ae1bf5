//! Right answers in wrong bytes: what is understood all the same, and what the error says of the rest.

use std::sync::{Arc, Mutex};

use papertape::protocol::Revision;
use papertape::wire::Framing;
use papertape::{ClientOptions, ErrorKind};
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
fn garbage_is_skipped_and_never_answered_and_does_not_fill_the_log() {
    run(async {
        for options in [patient(), legacy()] {
            let (log, _guard) = Log::of_this_thread();
            let client = open_with(&["garbage", "50000"], options).await;
            assert_eq!(text(&client, "fault").await, "after the garbage");
            let lines = log.lines();
            assert!(lines.len() <= 100, "{} lines: {:?}", lines.len(), &lines[..5]);
            // The server's judgement: nothing of it was answered.
            lives_and_ends(client).await;
        }
    });
}

// C-02
#[test]
fn garbage_is_told_when_a_call_fails_after_it() {
    run(async {
        let client = open(&["garbage", "3"]).await;
        assert_eq!(text(&client, "fault").await, "after the garbage");
        let error = hang(&client).await;
        // A blank line is none.
        says(
            &error,
            &["2 lines to stdout that are no MCP message", "INFO handling request", "logs belong on stderr"],
        );
        assert_eq!(error.bytes().unwrap(), b"2026-08-23T10:00:00Z INFO handling request");
        end(client).await;
    });
}

#[test]
fn what_other_hosts_understand_is_understood() {
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
fn a_server_that_reads_headers_only_is_spoken_to_with_headers() {
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
        // Nobody minds headers who reads both.
        let client = open_with(&["well-behaved"], patient().framing(Framing::ContentLength)).await;
        lives_and_ends(client).await;
    });
}

#[test]
fn servers_that_cannot_be_understood_are_told_why() {
    run(async {
        tokio::join!(
            a_server_whose_messages_take_several_lines_is_told_so(),
            a_server_that_writes_utf_16_is_told_so(),
            a_server_that_keeps_its_output_back_is_late(),
        );
    });
}

async fn a_server_whose_messages_take_several_lines_is_told_so() {
    let pids = Pids::new();
    let error = not_opened(&["pretty", "--pids", pids.path()], impatient()).await;
    assert_eq!(timed_out(&error), ONCE_IT_RUNS);
    says(&error, &["no MCP message", "JSON over several lines", "a message must be one line"]);
    assert_eq!(error.bytes().unwrap(), b"{");
    pids.are_gone_now(1);
}

async fn a_server_that_writes_utf_16_is_told_so() {
    let pids = Pids::new();
    let error = not_opened(&["utf-16", "--pids", pids.path()], impatient()).await;
    assert_eq!(timed_out(&error), ONCE_IT_RUNS);
    says(&error, &["no MCP message", "UTF-16", "MCP is UTF-8"]);
    assert!(error.bytes().unwrap().starts_with(b"\xff\xfe{\0"), "{error:?}");
    pids.are_gone_now(1);
}

async fn a_server_that_keeps_its_output_back_is_late() {
    let pids = Pids::new();
    let error = not_opened(&["unflushed", "--pids", pids.path()], impatient()).await;
    assert_eq!(timed_out(&error), ONCE_IT_RUNS);
    assert_eq!(error.reached(), "the request was sent; no answer came");
    pids.are_gone_now(1);
}

#[test]
fn text_that_is_glued_to_an_answer_is_told() {
    run(async {
        for (how, words) in [
            ("before", &["1 line", "Working ... {", "text is glued to the front of a message"][..]),
            ("after", &["1 line", "no MCP message", "glued"]),
            ("twice", &["1 line", "no MCP message", "glued"]),
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
fn a_last_answer_without_a_line_end_counts() {
    run(async {
        let client = open(&["unfinished"]).await;
        assert_eq!(text(&client, "fault").await, "unfinished");
        is_closed(&client.call("echo", json!({})).await.unwrap_err());
        end(client).await;
    });
}

#[test]
fn half_an_answer_is_none_and_is_shown() {
    run(async {
        let client = open(&["cut-off"]).await;
        let error = fault(&client).await;
        is_closed(&error);
        assert_eq!(error.exit().unwrap().code(), Some(3));
        let bytes = error.bytes().unwrap();
        assert!(bytes.starts_with(b"{\"") && !bytes.ends_with(b"}"), "{}", bytes.escape_ascii());
        says(&error, &["exit status 3", "no MCP message"]);
        assert!(!error.to_string().contains("glued"), "nothing was: {error}");
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
        // The banner may come before the question.
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
