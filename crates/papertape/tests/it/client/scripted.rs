//! Small faults that are easier to play by a few lines in memory than by a process.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use papertape::Client;
use papertape::client::{CallOptions, ClientError, ClientOptions};
use papertape::protocol::{ElicitResult, Revision};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, split};

use super::{broken, text_of, timed_out};
use crate::peer::run;

/// Connects to a server that answers each message with the lines that a function makes of it.
pub(crate) async fn connect<M: Display + Send>(
    options: ClientOptions,
    mut answer: impl FnMut(&Value) -> Vec<M> + Send + 'static,
) -> Result<Client, ClientError> {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, mut writer) = split(theirs);
    tokio::spawn(async move {
        let mut lines = BufReader::new(reader).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            for message in answer(&serde_json::from_str(&line).unwrap()) {
                if writer.write_all(format!("{message}\n").as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    });
    let (reader, writer) = split(ours);
    papertape::streams::connect_with(reader, writer, options).await
}

fn legacy() -> ClientOptions {
    ClientOptions::new().revision(Revision::NEWEST_LEGACY)
}

pub(crate) fn result(message: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
}

pub(crate) fn opened(message: &Value) -> Value {
    result(
        message,
        &json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": true}}}),
    )
}

pub(super) fn text(message: &Value, text: &str) -> Value {
    result(message, &json!({"content": [{"type": "text", "text": text}]}))
}

#[test]
fn output_schemas_are_forgotten_when_the_tools_have_changed() {
    run(async {
        let client = connect(legacy(), |message| match message["method"].as_str() {
            Some("initialize") => vec![opened(message)],
            Some("tools/list") => {
                let schema = json!({"type": "object"});
                let tools = json!([{"name": "t", "inputSchema": schema, "outputSchema": schema}]);
                vec![result(message, &json!({"tools": tools}))]
            }
            Some("tools/call") => vec![text(message, "without structure")],
            Some("ping") => vec![
                json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}),
                result(message, &json!({})),
            ],
            _ => vec![],
        })
        .await
        .unwrap();
        client.call("t", json!({})).await.unwrap();
        for _ in 0..2 {
            client.tools().await.unwrap();
            broken(&client.call("t", json!({})).await.unwrap_err());
            client.ping().await.unwrap();
            // It may have another schema by now, or none.
            client.call("t", json!({})).await.unwrap();
        }
        client.close().await;
    });
}

#[test]
fn a_response_before_its_request_is_not_matched() {
    run(async {
        let client = connect(legacy(), |message| match message["method"].as_str() {
            // Ids count up, so the next ones can be guessed.
            Some("initialize") => {
                let early = (2..5).map(|id| text(&json!({"id": id}), "too early"));
                [opened(message)].into_iter().chain(early).collect()
            }
            Some("tools/call") => vec![text(message, "in time")],
            _ => vec![],
        })
        .await
        .unwrap();
        for _ in 0..3 {
            assert_eq!(text_of(&client.call("t", json!({})).await.unwrap()), "in time");
        }
        client.close().await;
    });
}

#[test]
fn a_server_cannot_cancel_requests_of_the_client() {
    run(async {
        let client = connect(legacy(), |message| match message["method"].as_str() {
            Some("initialize") => vec![opened(message)],
            Some("tools/call") => {
                let params = json!({"requestId": message["id"]});
                let cancelled =
                    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
                vec![cancelled, text(message, "answered")]
            }
            _ => vec![],
        })
        .await
        .unwrap();
        assert_eq!(text_of(&client.call("t", json!({})).await.unwrap()), "answered");
        client.close().await;
    });
}

#[test]
fn duplicate_and_excess_server_requests_are_rejected() {
    run(async {
        let (asked, refused) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&asked);
        let options = legacy().on_form(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            std::future::pending::<ElicitResult>()
        });
        let count = Arc::clone(&refused);
        let client = connect(options, move |message| match message["method"].as_str() {
            Some("initialize") => vec![opened(message)],
            Some("tools/call") => {
                let ids = (0..200).map(|id| json!(id)).chain([json!(0), json!(0)]);
                let params = json!({"message": "m", "requestedSchema": {}});
                let form =
                    |id| json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params});
                ids.map(form).chain([text(message, "asked")]).collect()
            }
            Some(_) => vec![],
            None => {
                assert_eq!(message["error"]["code"], -32600, "{message}");
                count.fetch_add(1, Ordering::Relaxed);
                vec![]
            }
        })
        .await
        .unwrap();
        assert_eq!(text_of(&client.call("t", json!({})).await.unwrap()), "asked");
        // Time is paused: this fires when everybody waits.
        let options = CallOptions::new().timeout(std::time::Duration::from_millis(1));
        client.call_with("none", json!({}), options).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        let (asked, refused) = (asked.load(Ordering::Relaxed), refused.load(Ordering::Relaxed));
        assert_eq!(asked, 100, "{refused} refused");
        assert_eq!(refused, 102 + 202);
        client.close().await;
    });
}

#[test]
fn an_invalid_member_of_a_discover_result_is_ignored() {
    run(async {
        let client = connect(legacy(), |message| match message["method"].as_str() {
            Some("initialize") => vec![result(
                message,
                &json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": 5, "prompts": {"listChanged": true}, "logging": []},
                    "serverInfo": {"name": "odd", "version": 2},
                    "instructions": ["none"],
                }),
            )],
            _ => vec![],
        })
        .await
        .unwrap();
        assert_eq!(client.revision(), Revision::NEWEST_LEGACY);
        assert_eq!((&*client.server().name, &*client.server().version), ("odd", ""));
        assert!(client.capabilities().tools.is_none());
        assert!(client.capabilities().prompts.as_ref().unwrap().list_changed);
        assert_eq!(client.instructions(), None);
        client.close().await;
    });
}

#[test]
fn a_sparse_discover_result_is_accepted() {
    run(async {
        for odd in [
            json!({}),
            json!({"_meta": null, "capabilities": null, "instructions": null}),
            json!({"_meta": {"io.modelcontextprotocol/serverInfo": 5}, "capabilities": []}),
            json!({"_meta": 5, "capabilities": {"tools": {}}}),
        ] {
            let about = odd.clone();
            let client = connect(ClientOptions::new(), move |message| match message["method"].as_str() {
                Some("server/discover") => {
                    let mut discovered = about.clone();
                    discovered["supportedVersions"] = json!(["2099-01-01", "2026-07-28", "2025-11-25"]);
                    vec![result(message, &discovered)]
                }
                Some("tools/call") => vec![text(message, "called")],
                _ => vec![json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}})],
            })
            .await
            .unwrap_or_else(|error| panic!("{odd}: {error}"));
            assert_eq!(client.revision(), Revision::MODERN, "{odd}");
            assert_eq!(client.server().name, "", "{odd}");
            assert_eq!(text_of(&client.call("t", json!({})).await.unwrap()), "called");
            client.close().await;
        }
    });
}

/// A server whose every page of resources is the same, with another cursor.
async fn endless(page: Value) -> Client {
    let (page, mut number) = (page.to_string(), 0);
    connect(legacy(), move |message| match message["method"].as_str() {
        Some("initialize") => vec![opened(message).to_string()],
        Some("resources/list") => {
            number += 1;
            let result = format!("{{\"resources\":{page},\"nextCursor\":\"{number}\"}}");
            vec![format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", message["id"])]
        }
        _ => vec![],
    })
    .await
    .unwrap()
}

// C-27, M-18
#[test]
fn a_list_with_ever_more_members_ends_after_a_hundred_thousand() {
    run(async {
        let client = endless(json!(vec![json!({"uri": "file:///a", "name": "a"}); 50_000])).await;
        let resources = client.resources().await.unwrap();
        assert_eq!(resources.len(), 100_000);
        let problem = resources.last().unwrap().problems.last().unwrap();
        assert!(problem.contains("the list is too long: it was read up to page 2"), "{problem}");
        client.close().await;
    });
}

// C-27, M-18
#[test]
fn a_list_with_ever_more_bytes_ends_after_64_mib() {
    run(async {
        let large = "x".repeat(15 << 20);
        let client = endless(json!([{"uri": "file:///a", "name": "a", "description": large}])).await;
        let resources = client.resources().await.unwrap();
        assert_eq!(resources.len(), 5);
        let problem = resources.last().unwrap().problems.last().unwrap();
        assert!(problem.contains("the list is too long: it was read up to page 5"), "{problem}");
        client.close().await;
    });
}

#[test]
fn responses_in_one_batch_are_all_matched() {
    run(async {
        let mut kept = Vec::new();
        let client = connect(legacy(), move |message| match message["method"].as_str() {
            Some("initialize") => vec![opened(message)],
            Some("tools/call") => {
                kept.push(text(message, message["params"]["name"].as_str().unwrap()));
                if kept.len() < 3 { vec![] } else { vec![json!(std::mem::take(&mut kept))] }
            }
            _ => vec![],
        })
        .await
        .unwrap();
        let (a, b, c) = tokio::join!(
            client.call("a", json!({})),
            client.call("b", json!({})),
            client.call("c", json!({})),
        );
        assert_eq!([a, b, c].map(|result| text_of(&result.unwrap()).to_owned()), ["a", "b", "c"]);
        client.close().await;
    });
}

#[test]
fn an_invalid_server_request_gets_no_response() {
    run(async {
        let answered = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&answered);
        let client = connect(legacy(), move |message| match message["method"].as_str() {
            Some("initialize") => vec![opened(message)],
            Some("tools/call") => vec![
                json!({"jsonrpc": "2.0", "id": null, "method": "ping"}),
                json!({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}),
                json!({"jsonrpc": "2.0", "id": [7], "method": "ping"}),
                json!({"jsonrpc": "1.0", "id": 7, "method": "ping"}),
                json!({"jsonrpc": "2.0", "id": 7, "method": 5}),
                json!({"jsonrpc": "2.0", "method": "no/such/notification", "params": [1]}),
                json!([]),
                json!([1, 2]),
            ],
            Some(_) => vec![],
            None => {
                count.fetch_add(1, Ordering::Relaxed);
                vec![]
            }
        })
        .await
        .unwrap();
        timed_out(&client.call("t", json!({})).await.unwrap_err());
        assert_eq!(answered.load(Ordering::Relaxed), 0);
        client.close().await;
    });
}

#[test]
fn a_callback_that_panics_does_not_end_the_session() {
    fn fail() {
        // Quietly: the hook would print it.
        std::panic::resume_unwind(Box::new("on purpose"))
    }
    run(async {
        let options = legacy().on_log(|_| fail()).on_notification(|_, _| fail());
        let client = connect(options, |message| match message["method"].as_str() {
            Some("initialize") => vec![opened(message)],
            Some("tools/call") => {
                let notify = |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
                let token = &message["params"]["_meta"]["progressToken"];
                vec![
                    notify("notifications/message", json!({"level": "info", "data": "x"})),
                    notify("notifications/example", json!({})),
                    notify("notifications/progress", json!({"progressToken": token, "progress": 1})),
                    text(message, "done"),
                ]
            }
            _ => vec![],
        })
        .await
        .unwrap();
        for _ in 0..2 {
            let options = CallOptions::new().on_progress(|_| fail());
            let result = client.call_with("t", json!({}), options).await.unwrap();
            assert_eq!(text_of(&result), "done");
        }
        client.close().await;
    });
}
