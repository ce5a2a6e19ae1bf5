//! Invalid responses: with a wrong id, of a wrong shape, or more than one.

use papertape::Client;
use papertape::client::{CallOptions, ClientError};
use serde_json::{Value, json};

use super::{
    SHORT, broken, end, fault, fault_in_short, legacy, lives, lives_and_ends, not_opened, open, open_with,
    patient, report, run, says, text, text_of, timed_out,
};

// C-17
#[test]
fn a_response_to_no_request_is_ignored_and_the_call_times_out() {
    run(async {
        for options in [patient(), legacy()] {
            let client = open_with(&["wrong-id"], options).await;
            assert_eq!(timed_out(&fault_in_short(&client).await), SHORT);
            assert_eq!(report(&client, "was_cancelled").await.as_array().unwrap().len(), 1);
            lives_and_ends(client).await;
        }
    });
}

// C-18
#[test]
fn an_id_returned_as_string_or_float_is_matched() {
    run(async {
        for mode in ["string-id", "fraction-id"] {
            for options in [patient(), legacy()] {
                let client = open_with(&[mode], options).await;
                assert_eq!(text(&client, "fault").await, "fault");
                lives_and_ends(client).await;
            }
        }
    });
}

// C-19
#[test]
fn a_duplicate_response_is_ignored() {
    run(async {
        for options in [patient(), legacy()] {
            let client = open_with(&["twice"], options).await;
            for _ in 0..3 {
                assert_eq!(text(&client, "fault").await, "first");
                lives(&client).await;
            }
            end(client).await;
        }
    });
}

// C-21
#[test]
fn an_error_without_an_id_fails_the_only_call_there_is() {
    run(async {
        for mode in ["null-id", "no-id"] {
            for options in [patient(), legacy()] {
                let client = open_with(&[mode], options).await;
                let error = fault(&client).await;
                assert!(broken(&error).contains("without the id"), "{error}");
                says(&error, &["calling the tool \"fault\"", "the disk is full"]);
                assert!(bytes(&error)["error"].is_object(), "{error:?}");
                // There was a response, however invalid: there is nothing to cancel.
                assert_eq!(report(&client, "was_cancelled").await, json!([]));
                lives_and_ends(client).await;
            }
        }
    });
}

// C-21
#[test]
fn an_error_without_an_id_is_not_matched_among_several_calls() {
    run(async {
        for mode in ["null-id", "no-id"] {
            no_call_fails(open(&[mode]).await).await;
        }
    });
}

// C-23
#[test]
fn an_oversized_response_with_its_id_last_is_not_matched_to_a_call() {
    run(async {
        let options = patient().frame_limit(1_000_000);
        no_call_fails(open_with(&["huge", "3000000", "id-last"], options).await).await;
    });
}

/// Two calls are under way when `fault` is answered with what may belong to either.
async fn no_call_fails(client: Client) {
    let call = |tool: &'static str| {
        let client = client.clone();
        tokio::spawn(async move { client.call(tool, json!({"text": "done"})).await })
    };
    let slow = call("slow");
    lives(&client).await;
    let fault = call("fault");
    // What is answered after `fault` comes after its answer.
    lives(&client).await;
    lives(&client).await;
    assert!(!fault.is_finished() && !slow.is_finished());
    assert_eq!(text(&client, "release").await, "1");
    assert_eq!(text_of(&slow.await.unwrap().unwrap()), "done");
    fault.abort();
    assert!(fault.await.unwrap_err().is_cancelled());
    assert_eq!(report(&client, "was_cancelled").await.as_array().unwrap().len(), 1);
    lives_and_ends(client).await;
}

/// The bytes that the error is about.
#[track_caller]
fn bytes(error: &ClientError) -> Value {
    serde_json::from_slice(error.bytes().unwrap()).unwrap()
}

// C-22
#[test]
fn a_response_with_both_result_and_error_fails_the_call() {
    run(async {
        for options in [patient(), legacy()] {
            let client = open_with(&["both"], options).await;
            let error = fault(&client).await;
            assert!(broken(&error).contains("both `result` and `error`"), "{error}");
            assert_eq!(error.stage(), "the response arrived");
            assert!(bytes(&error)["result"].is_object() && bytes(&error)["error"].is_object());
            lives_and_ends(client).await;
        }
    });
}

// C-22
#[test]
fn a_response_with_neither_result_nor_error_fails_the_call() {
    run(async {
        for options in [patient(), legacy()] {
            let client = open_with(&["neither"], options).await;
            let error = fault(&client).await;
            // Not that of a request: a response was expected.
            says(&error, &["violated the protocol", "result", "error"]);
            assert!(broken(&error).contains("neither"), "{error}");
            assert!(bytes(&error)["id"].is_i64());
            lives_and_ends(client).await;
        }
    });
}

// C-22
#[test]
fn an_invalid_error_fails_the_call() {
    run(async {
        for odd in ["\"no\"", "null", "[]", "{}", "5", "{\"code\":\"x\"}", "{\"code\":1.5,\"message\":\"m\"}"]
        {
            let client = open(&["odd-error", odd]).await;
            let error = fault(&client).await;
            assert!(broken(&error).contains("`error`"), "{odd}: {error}");
            assert_eq!(bytes(&error)["error"], serde_json::from_str::<Value>(odd).unwrap());
            lives_and_ends(client).await;
        }
    });
}

// C-22
#[test]
fn a_response_without_jsonrpc_is_accepted() {
    run(async {
        let client = open(&["no-version"]).await;
        assert_eq!(text(&client, "fault").await, "fault");
        lives_and_ends(client).await;
    });
}

// C-23, S-54
#[test]
fn a_response_that_is_too_deep_fails_that_call_only() {
    run(async {
        for id in [&[][..], &["id-last"]] {
            for options in [patient(), legacy()] {
                let words = [&["deep", "100000"], id].concat();
                let client = open_with(&words, options).await;
                let error = fault(&client).await;
                assert!(broken(&error).contains("nested deeper than"), "{error}");
                assert!(error.bytes().unwrap().len() <= 4096);
                lives_and_ends(client).await;
            }
            // What a parser can bear is read, or refused by the same words.
            for (depth, is_read) in [("100", true), ("1000", false)] {
                let client = open(&[&["deep", depth], id].concat()).await;
                let result = client.call("fault", json!({})).await;
                assert_eq!(result.is_ok(), is_read, "{depth}: {result:?}");
                lives_and_ends(client).await;
            }
        }
    });
}

// C-23
#[test]
fn a_response_that_is_too_long_fails_that_call_only() {
    run(async {
        for id in [&[][..], &["id-last"]] {
            let client =
                open_with(&[&["huge", "3000000"], id].concat(), patient().frame_limit(1_000_000)).await;
            let error = fault(&client).await;
            assert!(broken(&error).contains("too large: the limit is 1000000 bytes"), "{error}");
            assert_eq!(error.bytes().unwrap().len(), 4096);
            says(&error, &["calling the tool \"fault\"", "too large"]);
            lives_and_ends(client).await;

            // One that is just short enough is not.
            let client =
                open_with(&[&["huge", "900000"], id].concat(), patient().frame_limit(1_000_000)).await;
            assert_eq!(text(&client, "fault").await.len(), 900_000);
            end(client).await;
        }
    });
}

// C-23
#[test]
fn an_opening_timeout_is_reported() {
    run(async {
        let error = not_opened(&["well-behaved"], patient().frame_limit(20)).await;
        says(&error, &["`initialize` failed", "too large: the limit is 20 bytes"]);
    });
}

// C-23
#[test]
fn a_response_that_never_ends_fails_that_call_only() {
    run(async {
        for id in [&[][..], &["id-last"]] {
            let client = open_with(&[&["endless"], id].concat(), patient().frame_limit(1_000_000)).await;
            let error = fault(&client).await;
            assert!(broken(&error).contains("too large"), "{error}");
            // It is in the middle of a line, and will be.
            let echo =
                client.call_with("echo", json!({}), CallOptions::new().timeout(SHORT).total_timeout(SHORT));
            assert_eq!(timed_out(&echo.await.unwrap_err()), SHORT);
            end(client).await;
        }
    });
}
