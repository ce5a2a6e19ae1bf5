//! Wrong answers: with the wrong id, of the wrong shape, or more than one.

use papertape::{CallOptions, Client, ClientError};
use serde_json::{Value, json};

use super::{
    SHORT, broken, end, fault, fault_in_short, legacy, lives, lives_and_ends, not_opened, open, open_with,
    patient, report, run, says, text, text_of, timed_out,
};

// C-17
#[test]
fn an_answer_to_nobody_is_ignored_and_the_call_times_out() {
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
fn an_id_that_was_turned_into_a_string_or_a_fraction_is_recognised() {
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
fn the_second_of_two_answers_is_ignored() {
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
                // It was answered, however badly: there is nothing to take back.
                assert_eq!(report(&client, "was_cancelled").await, json!([]));
                lives_and_ends(client).await;
            }
        }
    });
}

// C-21
#[test]
fn an_error_without_an_id_fails_nobody_if_it_may_be_anybodys() {
    run(async {
        for mode in ["null-id", "no-id"] {
            nobody_fails(open(&[mode]).await).await;
        }
    });
}

// C-23
#[test]
fn an_answer_that_is_too_long_and_has_its_id_last_fails_nobody_if_it_may_be_anybodys() {
    run(async {
        let options = patient().frame_limit(1_000_000);
        nobody_fails(open_with(&["huge", "3000000", "id-last"], options).await).await;
    });
}

/// Two calls are under way when `fault` is answered with what may belong to either.
async fn nobody_fails(client: Client) {
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
fn an_answer_with_both_result_and_error_fails_the_call_at_once() {
    run(async {
        for options in [patient(), legacy()] {
            let client = open_with(&["both"], options).await;
            let error = fault(&client).await;
            assert!(broken(&error).contains("both `result` and `error`"), "{error}");
            assert_eq!(error.reached(), "the server answered");
            assert!(bytes(&error)["result"].is_object() && bytes(&error)["error"].is_object());
            lives_and_ends(client).await;
        }
    });
}

// C-22
#[test]
fn an_answer_with_neither_result_nor_error_fails_the_call_at_once() {
    run(async {
        for options in [patient(), legacy()] {
            let client = open_with(&["neither"], options).await;
            let error = fault(&client).await;
            // Not that of a request: what was awaited is an answer.
            says(&error, &["broke the protocol", "result", "error"]);
            assert!(broken(&error).contains("neither"), "{error}");
            assert!(bytes(&error)["id"].is_i64());
            lives_and_ends(client).await;
        }
    });
}

// C-22
#[test]
fn an_error_that_is_none_fails_the_call_at_once() {
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
fn an_answer_that_does_not_say_it_is_json_rpc_is_an_answer() {
    run(async {
        let client = open(&["no-version"]).await;
        assert_eq!(text(&client, "fault").await, "fault");
        lives_and_ends(client).await;
    });
}

// C-23, S-54
#[test]
fn an_answer_that_is_too_deep_fails_that_call_only() {
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
fn an_answer_that_is_too_long_fails_that_call_only() {
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
fn an_opening_that_is_too_long_is_told() {
    run(async {
        let error = not_opened(&["well-behaved"], patient().frame_limit(20)).await;
        says(&error, &["opening the conversation", "too large: the limit is 20 bytes"]);
    });
}

// C-23
#[test]
fn an_answer_that_never_ends_fails_that_call_only() {
    run(async {
        for id in [&[][..], &["id-last"]] {
            let client = open_with(&[&["endless"], id].concat(), patient().frame_limit(1_000_000)).await;
            let error = fault(&client).await;
            assert!(broken(&error).contains("too large"), "{error}");
            // It is in the middle of a line, and will be.
            let echo = client.call_with("echo", json!({}), CallOptions::new().timeout(SHORT).longest(SHORT));
            assert_eq!(timed_out(&echo.await.unwrap_err()), SHORT);
            end(client).await;
        }
    });
}
