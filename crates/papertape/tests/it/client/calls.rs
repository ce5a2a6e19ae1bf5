//! Calls: timeouts, cancellation, and many at once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use papertape::Client;
use papertape::client::CallOptions;
use papertape::protocol::Reference;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use super::pids::Pids;
use super::{
    SHORT, code, end, fault_in_short, hang, heard, in_time, legacy, lives, lives_and_ends, open, open_with,
    patient, report, run, says, text, text_of, timed_out,
};

// C-06
#[test]
fn a_call_that_times_out_is_cancelled() {
    run(async {
        for options in [patient(), legacy()] {
            let client = open_with(&["well-behaved"], options).await;
            let error = hang(&client).await;
            assert_eq!(timed_out(&error), SHORT);
            assert_eq!(error.operation(), "calling the tool \"hang\"");
            assert_eq!(error.stage(), "the request was sent; no response arrived");
            assert!(error.exit().is_none() && error.bytes().is_none() && error.stderr().is_empty());
            says(&error, &["calling the tool \"hang\"", "did not respond within 0.2 s"]);
            let cancelled = report(&client, "was_cancelled").await;
            assert_eq!(cancelled.as_array().unwrap().len(), 1, "{cancelled}");
            assert_eq!(
                heard(&client).await.iter().filter(|heard| *heard == "notifications/cancelled").count(),
                1
            );
            lives_and_ends(client).await;
        }
    });
}

// C-06
#[test]
fn the_time_of_all_calls_is_an_option_of_the_client() {
    run(async {
        let client = open_with(&["well-behaved"], patient().timeout(SHORT).total_timeout(SHORT)).await;
        assert_eq!(timed_out(&client.call("hang", json!({})).await.unwrap_err()), SHORT);
        assert_eq!(report(&client, "was_cancelled").await.as_array().unwrap().len(), 1);
        end(client).await;
    });
}

// C-06
#[test]
fn a_response_after_cancellation_is_ignored() {
    run(async {
        let client = open(&["late"]).await;
        for _ in 0..3 {
            assert_eq!(timed_out(&fault_in_short(&client).await), SHORT);
            lives(&client).await;
        }
        end(client).await;
    });
}

// C-06
#[test]
fn a_dropped_call_is_cancelled() {
    run(async {
        let client = open(&["well-behaved"]).await;
        let mut calls = JoinSet::new();
        for number in 0..5 {
            let client = client.clone();
            calls.spawn(async move { client.call("slow", json!({"text": number.to_string()})).await });
        }
        // They have been read when this is answered.
        lives(&client).await;
        assert_eq!(report(&client, "was_cancelled").await, json!([]));
        calls.abort_all();
        while calls.join_next().await.is_some() {}
        assert_eq!(report(&client, "was_cancelled").await.as_array().unwrap().len(), 5);
        assert_eq!(text(&client, "release").await, "0");
        end(client).await;
    });
}

// C-06
#[test]
fn a_completed_call_is_not_cancelled() {
    run(async {
        let client = open(&["well-behaved"]).await;
        let slow = client.clone();
        let slow = tokio::spawn(async move { slow.call("slow", json!({"text": "done"})).await });
        lives(&client).await;
        assert_eq!(text(&client, "release").await, "1");
        assert_eq!(text_of(&slow.await.unwrap().unwrap()), "done");
        assert_eq!(report(&client, "was_cancelled").await, json!([]));
        end(client).await;
    });
}

// C-20
#[test]
fn a_thousand_calls_at_once_each_get_their_own_response() {
    run(async {
        for options in [patient(), legacy()] {
            let client = open_with(&["shuffled", "1000"], options).await;
            let mut calls = JoinSet::new();
            for number in 0..1000 {
                let client = client.clone();
                calls.spawn(async move {
                    let asked = number.to_string();
                    let result = client.call("fault", json!({"text": asked})).await.unwrap();
                    assert_eq!(text_of(&result), asked);
                });
            }
            assert_eq!(calls.join_all().await.len(), 1000);
            lives_and_ends(client).await;
        }
    });
}

// C-20
#[test]
fn many_threads_may_call_at_once() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    runtime.block_on(in_time(async {
        let client = open(&["shuffled", "200"]).await;
        let mut calls = JoinSet::new();
        for number in 0..200 {
            let client = client.clone();
            calls.spawn(async move {
                // So large that they do not fit into the pipe together.
                let asked = number.to_string().repeat(1000);
                let result = client.call("fault", json!({"text": asked})).await.unwrap();
                assert!(text_of(&result) == asked);
            });
        }
        assert_eq!(calls.join_all().await.len(), 200);
        lives_and_ends(client).await;
    }));
}

async fn progress_of(
    client: &Client,
    tool: &str,
    options: CallOptions,
) -> (Vec<f64>, Result<String, Duration>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let options = options.on_progress(move |progress| sink.lock().unwrap().push(progress));
    let result = client.call_with(tool, json!({}), options).await;
    let seen = seen.lock().unwrap().iter().map(|progress| progress.progress).collect();
    (seen, result.map(|result| text_of(&result).to_owned()).map_err(|error| timed_out(&error)))
}

// C-24
#[test]
fn progress_without_end_does_not_keep_a_call_alive_for_ever() {
    run(async {
        for options in [patient(), legacy()] {
            let client = open_with(&["progress-forever"], options).await;
            // The maximum is hard, whatever the timeout was.
            let (seen, result) =
                progress_of(&client, "fault", CallOptions::new().total_timeout(SHORT * 5)).await;
            assert_eq!(result, Err(SHORT * 5));
            assert!(!seen.is_empty() && seen.windows(2).all(|pair| pair[0] < pair[1]), "{seen:?}");
            assert_eq!(report(&client, "was_cancelled").await.as_array().unwrap().len(), 1);
            // What still arrives is dropped.
            lives_and_ends(client).await;
        }
    });
}

// C-24
#[test]
fn a_progress_token_is_sent_only_with_a_progress_handler() {
    run(async {
        let tokens = |options: CallOptions| async {
            let frames = Arc::new(Mutex::new(Vec::new()));
            let sink = Arc::clone(&frames);
            let client = open_with(
                &["well-behaved"],
                legacy().on_frame(move |frame| sink.lock().unwrap().push(frame.bytes.to_vec())),
            )
            .await;
            client.call_with("echo", json!({}), options).await.unwrap();
            end(client).await;
            let frames: Vec<Value> =
                frames.lock().unwrap().iter().map(|bytes| serde_json::from_slice(bytes).unwrap()).collect();
            let call = frames.iter().find(|frame| frame["method"] == "tools/call").unwrap();
            call["params"]["_meta"]["progressToken"].clone()
        };
        assert_eq!(tokens(CallOptions::new()).await, Value::Null);
        assert!(tokens(CallOptions::new().on_progress(drop)).await.is_i64());
        // It buys time.
        assert!(tokens(CallOptions::new().timeout(SHORT * 100).total_timeout(SHORT * 1000)).await.is_i64());
    });
}

#[test]
fn invalid_progress_is_dropped() {
    run(async {
        for options in [patient(), legacy()] {
            let client = open_with(&["odd-progress"], options).await;
            let (seen, result) = progress_of(&client, "fault", CallOptions::new()).await;
            assert_eq!(result.as_deref(), Ok("done"));
            // Neither that of other calls, nor an invalid number, nor any after the response.
            assert!(seen.first() == Some(&1.0) && seen.last() == Some(&2.0), "{seen:?}");
            assert!(seen.iter().all(|progress| *progress <= 2.0), "{seen:?}");
            lives_and_ends(client).await;
        }
    });
}

#[test]
fn a_callback_that_panics_hangs_nothing_and_leaves_nothing() {
    run(async {
        let pids = Pids::new();
        let client = open(&["odd-progress", "--pids", pids.path()]).await;
        let options = CallOptions::new().on_progress(|_| panic!("on purpose"));
        // With a result or without.
        drop(client.call_with("fault", json!({}), options).await);
        assert_eq!(client.close().await.unwrap().code(), Some(0));
        pids.are_gone_now(1);
    });
}

#[test]
fn large_arguments_and_results_cross_whole() {
    run(async {
        let client = open(&["well-behaved"]).await;
        let large = "0123456789".repeat(300_000);
        let result = client.call("echo", json!({"text": large})).await.unwrap();
        assert!(text_of(&result) == large);
        lives_and_ends(client).await;
    });
}

#[test]
fn errors_of_every_request_name_the_request() {
    run(async {
        let client = open(&["well-behaved"]).await;
        let error = client.read("file:///a").await.unwrap_err();
        assert_eq!((code(&error), error.operation()), (-32601, "reading the resource \"file:///a\""));
        let error = client.prompt("greet", Map::new()).await.unwrap_err();
        assert_eq!((code(&error), error.operation()), (-32601, "getting the prompt \"greet\""));
        let of = Reference::Prompt { name: "greet".to_owned() };
        let error = client.complete(of, "who", "A", Map::new()).await.unwrap_err();
        assert_eq!((code(&error), error.operation()), (-32601, "completing the argument \"who\""));
        let asked = ["server/discover", "resources/read", "prompts/get", "completion/complete"];
        assert_eq!(heard(&client).await, asked);
        end(client).await;
    });
}

#[test]
fn params_that_are_not_an_object_are_not_sent() {
    run(async {
        let client = open(&["well-behaved"]).await;
        for params in [json!([1]), json!("text"), json!(1), json!(true)] {
            let error = client.request("tools/list", params).await.unwrap_err();
            assert_eq!(error.stage(), "the request was not sent");
            says(&error, &["the request \"tools/list\" failed", "must be an object"]);
        }
        for params in [Value::Null, json!({})] {
            let result = client.request("tools/list", params).await.unwrap();
            assert_eq!(result["tools"].as_array().unwrap().len(), 9);
        }
        let error = client.request("no/such", json!({})).await.unwrap_err();
        assert_eq!(code(&error), -32601);
        assert_eq!(heard(&client).await, ["server/discover", "tools/list", "tools/list", "no/such"]);
        end(client).await;
    });
}
