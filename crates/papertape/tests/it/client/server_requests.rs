//! Servers that request input during a call, in stateless and session-based revisions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use papertape::client::{ClientOptions, ErrorKind};
use papertape::protocol::{ElicitResult, Role, Root, SamplingResult};
use papertape::wire::RpcError;
use serde_json::{Map, Value, json};

use super::{
    SHORT, broken, code, end, fault, fault_in_short, heard, in_time, legacy, lives_and_ends, open, open_with,
    patient, report, run, says, text, text_of, timed_out,
};

/// Gives the seat 12A to every form.
fn seated(options: ClientOptions) -> ClientOptions {
    options.on_form(|form| async move {
        assert_eq!(form.message, "Which seat?");
        assert_eq!(form.requested_schema["required"], json!(["seat"]));
        ElicitResult::accept(Map::from_iter([("seat".to_owned(), json!("12A"))]))
    })
}

/// Handles every kind of server request.
fn helpful(options: ClientOptions) -> ClientOptions {
    seated(options)
        .on_sampling(|question| async move {
            assert_eq!((question.messages.len(), question.max_tokens), (1, 20));
            let content = json!({"type": "text", "text": "Ada"});
            Ok(SamplingResult::new(Role::Assistant, content, "m"))
        })
        .roots(vec![Root::new("file:///home/ada")])
}

async fn book(options: ClientOptions) -> (papertape::Client, Result<Value, papertape::client::ClientError>) {
    let client = open_with(&["books"], options).await;
    let booked = client.call("book", json!({"day": "fri", "text": "é\u{0}\n"})).await;
    let booked = booked.map(|result| serde_json::from_str(text_of(&result)).unwrap_or_default());
    (client, booked)
}

#[test]
fn the_same_handlers_serve_every_revision() {
    run(async {
        for options in [patient(), legacy()] {
            let (client, booked) = book(helpful(options)).await;
            let booked = booked.unwrap();
            assert_eq!(booked["seat"], json!({"action": "accept", "content": {"seat": "12A"}}));
            assert_eq!(booked["who"]["content"]["text"], "Ada");
            assert_eq!(booked["who"]["role"], "assistant");
            assert_eq!(booked["where"], json!({"roots": [{"uri": "file:///home/ada"}]}));
            if client.revision().opens_with_handshake() {
                assert_eq!(booked["ping"], json!({}));
            } else {
                // Each round repeated the call as it was, with the state as it came.
                assert_eq!(booked["problems"], json!([]));
                assert_eq!(
                    heard(&client).await,
                    ["server/discover", "tools/call", "tools/call", "tools/call"]
                );
            }
            lives_and_ends(client).await;
        }
    });
}

#[test]
fn only_capabilities_with_a_handler_are_declared() {
    run(async {
        for options in [patient(), legacy()] {
            let (client, booked) = book(seated(options)).await;
            let booked = booked.unwrap();
            assert_eq!(booked["seat"]["content"]["seat"], "12A");
            assert!(booked.get("who").is_none() && booked.get("where").is_none(), "{booked}");
            lives_and_ends(client).await;
        }
        let (client, booked) = book(patient()).await;
        let error = booked.unwrap_err();
        assert_eq!(code(&error), -32021);
        says(&error, &["this needs elicitation"]);
        lives_and_ends(client).await;

        let client = open_with(&["books"], legacy()).await;
        assert!(client.call("book", json!({})).await.unwrap().is_error);
        lives_and_ends(client).await;
    });
}

#[test]
fn decline_and_cancel_are_responses() {
    run(async {
        for options in [patient(), legacy()] {
            let (client, booked) = book(options.on_form(|_| async { ElicitResult::decline() })).await;
            assert_eq!(booked.unwrap()["seat"], json!({"action": "decline"}));
            lives_and_ends(client).await;
        }
        let (client, booked) = book(patient().on_form(|_| async { ElicitResult::cancel() })).await;
        assert_eq!(booked.unwrap()["seat"], json!({"action": "cancel"}));
        lives_and_ends(client).await;
    });
}

#[test]
fn a_sampling_error_is_sent_to_legacy_servers() {
    run(async {
        let refusing = |options| {
            seated(options).on_sampling(|_| async { Err(RpcError::new(-1, "the user rejected it")) })
        };
        let (client, booked) = book(refusing(legacy())).await;
        assert_eq!(booked.unwrap()["who"]["error"], json!({"code": -1, "message": "the user rejected it"}));
        lives_and_ends(client).await;

        // A modern server gets no error; the call is not repeated.
        let (client, booked) = book(refusing(patient())).await;
        let error = booked.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Refused(_)), "{error:?}");
        says(&error, &["sampling/createMessage", "the user rejected it"]);
        assert_eq!(heard(&client).await, ["server/discover", "tools/call", "tools/call"]);
        lives_and_ends(client).await;
    });
}

#[test]
fn a_request_state_without_input_requests_is_retried() {
    run(async {
        for rounds in ["1", "10"] {
            let client = open(&["state-only", rounds]).await;
            let result = client.call("fault", json!({"text": "the same"})).await.unwrap();
            assert_eq!(text_of(&result), "the same");
            lives_and_ends(client).await;
        }
    });
}

// M-16
#[test]
fn input_rounds_end_after_ten() {
    run(async {
        for how in ["form", "state"] {
            let forms = Arc::new(AtomicUsize::new(0));
            let asked = Arc::clone(&forms);
            let options = patient().on_form(move |_| {
                asked.fetch_add(1, Ordering::Relaxed);
                async { ElicitResult::decline() }
            });
            let client = open_with(&["asks-forever", how], options).await;
            let error = fault(&client).await;
            assert!(broken(&error).contains("more than 10 times"), "{error}");
            let calls = heard(&client).await.iter().filter(|method| *method == "tools/call").count();
            assert_eq!(calls, 11, "the call, and ten more");
            // The handler is not called for what will not be sent.
            assert_eq!(forms.load(Ordering::Relaxed), if how == "form" { 10 } else { 0 });
            lives_and_ends(client).await;
        }
    });
}

#[test]
fn an_invalid_input_request_fails_the_call() {
    run(async {
        for (kind, words) in [
            ("nothing", "the result is `input_required`, but has neither `inputRequests` nor `requestState`"),
            ("null", "the result is `input_required`, but has neither `inputRequests` nor `requestState`"),
            ("array", "the result is invalid: "),
            ("number", "the result is invalid: "),
        ] {
            let client = open_with(&["asks-oddly", kind], helpful(patient())).await;
            let error = fault(&client).await;
            assert!(broken(&error).starts_with(words), "{kind}: {error}");
            let bytes: Value = serde_json::from_slice(error.bytes().unwrap()).unwrap();
            assert_eq!(bytes["resultType"], "input_required");
            assert_eq!(heard(&client).await, ["server/discover", "tools/call"], "{kind}");
            lives_and_ends(client).await;
        }
        let client = open_with(&["asks-oddly", "unknown"], helpful(patient())).await;
        let error = fault(&client).await;
        assert!(matches!(error.kind(), ErrorKind::Refused(_)), "{error:?}");
        says(&error, &["input that this client does not provide", "files/delete"]);
        assert_eq!(heard(&client).await, ["server/discover", "tools/call"]);
        lives_and_ends(client).await;
    });
}

/// The response of a legacy client.
async fn answer(options: ClientOptions, method: &str, params: &str, id: &str) -> Value {
    let client = open_with(&["asks", method, params, id], options).await;
    let mut answers = report(&client, "fault").await;
    lives_and_ends(client).await;
    answers[0].take()
}

#[test]
fn every_legacy_server_request_gets_a_response() {
    run(async {
        let asks = |method, params| answer(helpful(legacy()), method, params, "\"ask-1\"");
        assert_eq!(asks("ping", "{}").await, json!({"result": {}}));
        assert_eq!(asks("roots/list", "{}").await["result"]["roots"][0]["uri"], "file:///home/ada");
        for method in ["files/delete", "tools/list", "initialize", ""] {
            assert_eq!(asks(method, "{}").await["error"]["code"], -32601, "{method}");
        }
        for (method, params) in [
            ("elicitation/create", "{}"),
            ("elicitation/create", "{\"message\":5,\"requestedSchema\":{}}"),
            ("elicitation/create", "{\"mode\":\"hologram\",\"message\":\"m\"}"),
            ("elicitation/create", "{\"mode\":\"url\",\"message\":\"m\",\"url\":\"https://example.com\"}"),
            ("sampling/createMessage", "{}"),
        ] {
            assert_eq!(asks(method, params).await["error"]["code"], -32602, "{method} {params}");
        }
        // These capabilities were not declared.
        let bare = |method, params| answer(legacy(), method, params, "7");
        assert_eq!(bare("ping", "{}").await, json!({"result": {}}));
        for method in ["sampling/createMessage", "roots/list"] {
            assert_eq!(bare(method, "{}").await["error"]["code"], -32601, "{method}");
        }
        assert!(bare("elicitation/create", "{}").await["error"]["code"].is_i64());
    });
}

#[test]
fn url_mode_elicitation_reaches_its_handler() {
    run(async {
        let options = legacy().on_url(|page| async move {
            assert_eq!((&*page.message, &*page.url), ("Sign in", "https://example.com/in"));
            ElicitResult::visit()
        });
        let params = json!({"mode": "url", "message": "Sign in", "url": "https://example.com/in", "elicitationId": "e1"});
        let answered = answer(options, "elicitation/create", &params.to_string(), "5").await;
        assert_eq!(answered, json!({"result": {"action": "accept"}}));
    });
}

#[test]
fn the_id_of_a_server_request_is_returned_unchanged() {
    run(async {
        for id in ["\"\"", "0", "-7", "\"é\\n\"", "9007199254740993"] {
            assert_eq!(answer(legacy(), "ping", "{}", id).await, json!({"result": {}}), "{id}");
        }
    });
}

#[test]
fn requests_of_a_modern_server_get_no_response() {
    run(async {
        for method in ["ping", "elicitation/create", "sampling/createMessage", "roots/list", "no/such"] {
            let client = open_with(&["asks", method], helpful(patient())).await;
            assert_eq!(text(&client, "fault").await, "asked");
            assert_eq!(report(&client, "was_answered").await, json!([]));
            lives_and_ends(client).await;
        }
    });
}

#[test]
fn server_requests_during_the_handshake_get_a_response() {
    run(async {
        for (method, right) in [("ping", "result"), ("roots/list", "result"), ("no/such", "error")] {
            for options in [patient(), legacy()] {
                let client = open_with(&["asks-early", method], helpful(options)).await;
                let answers = report(&client, "was_answered").await;
                assert_eq!(answers.as_array().unwrap().len(), 1, "{method}: {answers}");
                assert!(answers[0].get(right).is_some(), "{method}: {answers}");
                lives_and_ends(client).await;
            }
        }
    });
}

#[test]
fn a_cancelled_elicitation_gets_no_response_and_drops_its_handler() {
    /// Signals that it was dropped.
    struct Guard(Arc<AtomicUsize>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    run(async {
        let (began, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counts = (Arc::clone(&began), Arc::clone(&dropped));
        let options = legacy().on_form(move |_| {
            counts.0.fetch_add(1, Ordering::Relaxed);
            let guard = Guard(Arc::clone(&counts.1));
            async move {
                std::future::pending::<()>().await;
                drop(guard);
                ElicitResult::cancel()
            }
        });
        let client = open_with(&["asks-and-cancels"], options).await;
        assert_eq!(text(&client, "fault").await, "never mind");
        assert_eq!(report(&client, "was_answered").await, json!([]));
        // If it had begun, it has ended.
        assert_eq!(began.load(Ordering::Relaxed), dropped.load(Ordering::Relaxed));
        lives_and_ends(client).await;
    });
}

#[test]
fn a_panicking_handler_is_an_error_response() {
    run(async {
        let panics = || {
            legacy().on_form(|_| async {
                if true {
                    panic!("on purpose");
                }
                ElicitResult::cancel()
            })
        };
        let params = json!({"message": "m", "requestedSchema": {}}).to_string();
        let answered = answer(panics(), "elicitation/create", &params, "5").await;
        assert_eq!(answered["error"]["code"], -32603, "{answered}");
    });
}

#[test]
fn thousands_of_pings_at_once_all_get_a_response() {
    run(async {
        let client = open_with(&["asks-flood", "5000"], legacy()).await;
        assert_eq!(text(&client, "fault").await, "5000");
        lives_and_ends(client).await;
    });
}

#[test]
fn a_flood_of_server_requests_ends_at_the_timeout() {
    run(async {
        // More answers than the pipe and the client hold together, for a server that reads none of them.
        let client = open_with(&["asks-flood", "100000"], legacy()).await;
        let error = fault_in_short(&client).await;
        assert_eq!(timed_out(&error), SHORT);
    });
}

#[test]
fn an_unanswered_elicitation_times_out() {
    run(async {
        for options in [patient(), legacy()] {
            let never = options.handler_timeout(SHORT).on_form(|_| std::future::pending::<ElicitResult>());
            let client = open_with(&["books"], never).await;
            if client.revision().opens_with_handshake() {
                // The server receives a timeout and continues without.
                let booked = client.call("book", json!({})).await.unwrap();
                assert!(
                    format!("{booked:?}")
                        .contains("the client's handler `on_form` did not return within 0.2 s"),
                    "{booked:?}"
                );
                in_time(client.close()).await;
            } else {
                let error = client.call("book", json!({})).await.unwrap_err();
                assert!(
                    matches!(error.kind(), ErrorKind::HandlerFailed(what) if what.contains("within 0.2 s")),
                    "{error}"
                );
                end(client).await;
            }
        }
    });
}
