//! The client and a server of our own in one process. Time is paused, so it passes at once when all wait.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use papertape::client::{CallOptions, Change, ClientOptions, ErrorKind, SubscriptionFilter};
use papertape::protocol::{Content, ElicitResult, Reference, Revision};
use papertape::server::{
    CompletionRequest, Form, Next, Principal, Prompt, Request, Resource, ResourceTemplate, Tool,
};
use papertape::{Cx, Server, memory};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

use super::log::Log;
use super::{SHORT, code, in_time, is_closed, says, text_of, timed_out};
use crate::fixture;
use crate::peer::{run, run_threads};

#[test]
fn every_revision_can_be_negotiated() {
    run(async {
        for revision in Revision::ALL {
            let client = memory::connect_with(fixture::server(), ClientOptions::new().revision(revision))
                .await
                .unwrap();
            assert_eq!(client.revision(), revision);
            assert_eq!(client.server().name, "fixture");
            assert_eq!(client.instructions(), Some("Call anything."));
            client.ping().await.unwrap();
            let tools = client.tools().await.unwrap();
            assert!(tools.iter().all(|tool| tool.problems.is_empty()), "{tools:?}");
            assert!(tools.iter().any(|tool| tool.item.name == "echo"));
            let result = client.call("echo", json!({"text": "é"})).await.unwrap();
            assert_eq!(text_of(&result), "é");
            let sum = client.call("add", json!({"a": 1, "b": 2})).await.unwrap();
            assert_eq!(sum.structured_content.is_some(), revision >= Revision::V2025_06_18);
            assert!(client.call("parse", json!({"text": "x"})).await.unwrap().is_error);
            assert_eq!(code(&client.call("no such tool", json!({})).await.unwrap_err()), -32602);
            assert!(client.call("panic", json!({})).await.is_err());
            assert_eq!(code(&client.request("no/such", json!({})).await.unwrap_err()), -32601);
            assert!(client.request("tools/list", Value::Null).await.unwrap()["tools"].is_array());
            // It is not a process.
            assert_eq!(client.close().await, None);
        }
    });
}

#[test]
fn the_newest_revision_is_negotiated_by_default() {
    run(async {
        let client = memory::connect(fixture::server()).await.unwrap();
        assert_eq!(client.revision(), Revision::MODERN);
        let media = client.call("media", json!({})).await.unwrap();
        assert_eq!(media.content.len(), 6);
        assert!(matches!(&media.content[1], Content::Image(image) if image.mime_type == "image/png"));
        let list = client.call("list", json!({})).await.unwrap().structured_content.unwrap();
        assert_eq!(list, json!([1, 2, 3]));
        assert_eq!(client.close().await, None);
    });
}

#[test]
fn invalid_arguments_are_reported_per_revision() {
    run(async {
        for revision in Revision::ALL {
            let client = memory::connect_with(fixture::server(), ClientOptions::new().revision(revision))
                .await
                .unwrap();
            let result = client.call("add", json!({"a": "one", "b": 2})).await;
            if revision.invalid_arguments_are_results() {
                assert!(result.unwrap().is_error);
            } else {
                assert_eq!(code(&result.unwrap_err()), -32602);
            }
            client.close().await;
        }
    });
}

// C-24
#[test]
fn progress_buys_time_up_to_the_longest() {
    run(async {
        for revision in [Revision::NEWEST_LEGACY, Revision::MODERN] {
            let client = memory::connect_with(fixture::server(), ClientOptions::new().revision(revision))
                .await
                .unwrap();
            let short = Duration::from_millis(150);
            let began = Instant::now();
            // Twenty steps of 100 ms, each in time.
            let options = CallOptions::new().timeout(short).total_timeout(Duration::from_secs(60));
            let result = client.call_with("work", json!({"steps": 20}), options).await.unwrap();
            assert_eq!(text_of(&result), "did 20 steps");
            assert!(began.elapsed() >= Duration::from_secs(2));

            // The same without a word of progress within the time.
            let options = CallOptions::new().timeout(short).total_timeout(Duration::from_secs(60));
            let error = client.call_with("wait", json!({}), options).await.unwrap_err();
            assert_eq!(timed_out(&error), short);

            // Ever more progress does not help beyond the longest.
            let began = Instant::now();
            let options = CallOptions::new().timeout(short).total_timeout(Duration::from_secs(3));
            let error = client.call_with("work", json!({"steps": 1000}), options).await.unwrap_err();
            assert_eq!(timed_out(&error), Duration::from_secs(3));
            assert!(began.elapsed() < Duration::from_millis(3100), "{:?}", began.elapsed());

            // Without a longest of its own, the timeout is the longest.
            let began = Instant::now();
            let error =
                client.call_with("work", json!({"steps": 1000}), CallOptions::new()).await.unwrap_err();
            assert_eq!(timed_out(&error), Duration::from_secs(60));
            assert!(began.elapsed() < Duration::from_secs(61));
            client.close().await;
        }
    });
}

#[test]
fn a_call_may_take_for_ever_or_no_time_at_all() {
    run(async {
        let forever = Duration::MAX;
        let options = ClientOptions::new()
            .probe_timeout(forever)
            .open_timeout(forever)
            .timeout(forever)
            .total_timeout(forever);
        let client = memory::connect_with(fixture::server(), options).await.unwrap();
        let result = client.call("work", json!({"steps": 1000})).await.unwrap();
        assert_eq!(text_of(&result), "did 1000 steps");
        assert!(!client.tools().await.unwrap().is_empty());
        let changes = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
        assert_eq!(*changes.acknowledged(), SubscriptionFilter::new().tools());
        let options = CallOptions::new().timeout(Duration::ZERO).total_timeout(Duration::ZERO);
        let error = client.call_with("wait", json!({}), options).await.unwrap_err();
        assert_eq!(timed_out(&error), Duration::ZERO);
        client.ping().await.unwrap();
        client.close().await;
    });
}

#[test]
fn progress_has_its_message() {
    run(async {
        let client = memory::connect(fixture::server()).await.unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        let options = CallOptions::new().on_progress(move |progress| sink.lock().unwrap().push(progress));
        client.call_with("work", json!({"steps": 3}), options).await.unwrap();
        client.close().await;
        let seen = seen.lock().unwrap();
        let steps: Vec<_> =
            seen.iter().map(|step| (step.progress, step.total, step.message.as_deref())).collect();
        let working = Some("working");
        assert_eq!(steps, [(1.0, Some(3.0), working), (2.0, Some(3.0), working), (3.0, Some(3.0), working)]);
    });
}

#[test]
fn progress_that_comes_too_soon_is_sent_when_the_interval_is_over() {
    run(async {
        let work = |_: (), cx: Cx| async move {
            cx.progress(1, 3, "phase 1");
            tokio::time::sleep(Duration::from_millis(5)).await;
            cx.progress(2, 3, "phase 2");
            cx.progress(2.5, 3, "phase 2, second half");
            tokio::time::sleep(Duration::from_secs(2)).await;
            cx.progress(2.6, None, "nearly");
            cx.progress(2.7, None, "too late");
            Ok("")
        };
        let threads = |_: (), cx: Cx| async move {
            // Waited for here, so that the paused clock stands still.
            let thread = std::thread::spawn(move || {
                cx.progress(1, 3, "phase 1");
                cx.progress(2, 3, "phase 2");
                cx
            });
            let _cx = thread.join();
            tokio::time::sleep(Duration::from_secs(2)).await;
            Ok("")
        };
        let server = Server::new("s", "1").tool("work", work).tool("threads", threads);
        let client = memory::connect(server).await.unwrap();
        for (tool, expected) in [
            ("work", &[(1.0, "phase 1"), (2.5, "phase 2, second half"), (2.6, "nearly")][..]),
            ("threads", &[(1.0, "phase 1"), (2.0, "phase 2")]),
        ] {
            let seen = Arc::new(Mutex::new(Vec::new()));
            let sink = Arc::clone(&seen);
            let options = CallOptions::new().on_progress(move |progress| sink.lock().unwrap().push(progress));
            client.call_with(tool, json!({}), options).await.unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
            let seen = seen.lock().unwrap();
            let steps: Vec<_> =
                seen.iter().map(|step| (step.progress, step.message.as_deref().unwrap())).collect();
            assert_eq!(steps, expected, "{tool}");
        }
        client.close().await;
    });
}

#[derive(Deserialize, JsonSchema)]
struct Sum {
    file: String,
}

#[test]
fn a_client_in_memory_can_be_a_principal() {
    run(async {
        for revision in [Revision::V2024_11_05, Revision::NEWEST_LEGACY, Revision::MODERN] {
            let whoami = |_: (), cx: Cx| async move {
                Ok(cx.principal().map_or("none".to_owned(), |principal| principal.name.clone()))
            };
            let own = |so_far: CompletionRequest| async move {
                assert_eq!(so_far.cx().map(Cx::principal), Some(so_far.principal()));
                Ok(vec![so_far.principal().map_or("none".to_owned(), |principal| principal.name.clone())])
            };
            let server = || {
                Server::new("s", "1")
                    .tool("whoami", whoami)
                    .tool(Tool::new("write").scopes(["notes:write"]), whoami)
                    .tool("admin_reset", whoami)
                    .prompt(Prompt::new("sum").complete("file", own), |sum: Sum, _| async { Ok(sum.file) })
                    .visible(|item, principal| {
                        !item.name.starts_with("admin_") || principal.is_some_and(|who| who.name == "root")
                    })
            };
            let options = || ClientOptions::new().revision(revision);
            let ada = Principal::new("ada").scope("notes:read");
            let ada = memory::connect_as(server(), ada, options()).await.unwrap();
            assert_eq!(ada.call("whoami", json!({})).await.unwrap().text(), "ada");
            let error = ada.call("write", json!({})).await.unwrap_err().to_string();
            assert!(error.contains("notes:write"), "{error}");
            assert_eq!(ada.tools().await.unwrap().len(), 2);
            let root = Principal::new("root").scope("notes:write");
            let root = memory::connect_as(server(), root, options()).await.unwrap();
            assert_eq!(root.call("write", json!({})).await.unwrap().text(), "root");
            assert_eq!(root.tools().await.unwrap().len(), 3);
            let none = memory::connect_with(server(), options()).await.unwrap();
            for (client, name) in [(ada, "ada"), (root, "root"), (none, "none")] {
                if revision != Revision::V2024_11_05 {
                    let of = Reference::Prompt { name: "sum".to_owned() };
                    let completion = client.complete(of, "file", "", Map::new()).await.unwrap();
                    assert_eq!(completion.values, [name]);
                }
                client.close().await;
            }
        }
    });
}

#[derive(Deserialize)]
struct Row {
    owner: String,
}

/// docs/authentication.md, "Show each principal its own lists"
#[test]
fn a_principal_sees_only_its_own_resources_of_a_template() {
    run(async {
        let mut server = Server::new("rows", "1");
        let resources = server.resources();
        let template = ResourceTemplate::new("rows:///{owner}").list(|_| async {
            Ok(["ada", "bob"].map(|owner| Resource::new(format!("rows:///{owner}"))).into())
        });
        let service = server
            .resource_template(template, |row: Row, _| async { Ok(row.owner) })
            .visible(|item, who| {
                item.kind != "resource"
                    || who.is_some_and(|who| item.name.strip_prefix("rows:///") == Some(&who.name))
            })
            .build()
            .unwrap();
        let bob = Principal::new("bob");
        let bob = memory::connect_as(service, bob, ClientOptions::new()).await.unwrap();
        let listed = bob.resources().await.unwrap();
        assert_eq!(listed.iter().map(|row| &*row.item.uri).collect::<Vec<_>>(), ["rows:///bob"]);
        assert_eq!(code(&bob.read("rows:///ada").await.unwrap_err()), -32602);
        let filter = SubscriptionFilter::new().resource("rows:///ada").resource("rows:///bob");
        let mut changes = bob.listen(filter).await.unwrap();
        resources.updated("rows:///ada");
        resources.updated("rows:///bob");
        assert_eq!(changes.next().await.unwrap(), Some(Change::Resource("rows:///bob".to_owned())));
        bob.close().await;
    });
}

#[test]
fn the_log_names_the_principal_whose_request_is_refused() {
    run(async {
        let server =
            Server::new("s", "1").tool(Tool::new("write").scopes(["write"]), async |(), _| Ok("done"));
        let ada = memory::connect_as(server, Principal::new("ada"), ClientOptions::new()).await.unwrap();
        let (log, _guard) = Log::of_this_thread();
        assert!(ada.call("write", json!({})).await.is_err());
        let lines = log.lines();
        assert!(lines.iter().any(|line| line.contains("principal=\"ada\"")), "{lines:?}");
        ada.close().await;
    });
}

#[derive(Deserialize, JsonSchema)]
struct Seat {
    row: u8,
}

/// docs/middleware.md, "Limit the rate"
#[test]
fn a_call_that_asks_its_user_is_counted_once_if_unfinished_ones_are_given_back() {
    run(async {
        for revision in [Revision::NEWEST_LEGACY, Revision::MODERN] {
            let taken = Arc::new(Mutex::new(0));
            let count = Arc::clone(&taken);
            let book = |_: (), cx: Cx| async move {
                let seat = cx.ask("seat", Form::<Seat>::new("Which row?"))?.accepted().map(|seat| seat.row);
                Ok(format!("{seat:?}"))
            };
            let server =
                Server::new("s", "1").tool("book", book).middleware(move |request: Request, next: Next| {
                    let count = Arc::clone(&count);
                    async move {
                        *count.lock().unwrap() += 1;
                        let outcome = next.run(request).await?;
                        if outcome.is_input_required() {
                            *count.lock().unwrap() -= 1;
                        }
                        Ok(outcome)
                    }
                });
            let options = ClientOptions::new().revision(revision);
            let options = options.on_form(|_| async { ElicitResult::accept([("row", json!(7))]) });
            let client = memory::connect_with(server, options).await.unwrap();
            assert_eq!(client.call("book", json!({})).await.unwrap().text(), "Some(7)");
            assert_eq!(*taken.lock().unwrap(), 1, "{revision}");
            client.close().await;
        }
    });
}

#[test]
fn tools_added_and_removed_at_run_time_are_notified_and_listed() {
    run(async {
        for revision in [Revision::V2024_11_05, Revision::NEWEST_LEGACY, Revision::MODERN] {
            let client = memory::connect_with(fixture::server(), ClientOptions::new().revision(revision))
                .await
                .unwrap();
            let mut changes = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
            assert_eq!(*changes.acknowledged(), SubscriptionFilter::new().tools());
            let count = client.tools().await.unwrap().len();
            for (word, grown) in [("added", 1), ("removed", 0)] {
                assert_eq!(text_of(&client.call("grow", json!({})).await.unwrap()), word);
                assert_eq!(changes.next().await.unwrap(), Some(Change::Tools));
                assert_eq!(client.tools().await.unwrap().len(), count + grown);
            }
            client.close().await;
            assert_eq!(changes.next().await.unwrap(), None);
        }
    });
}

#[test]
fn the_server_validates_its_own_output() {
    run(async {
        let client = memory::connect(fixture::server()).await.unwrap();
        client.tools().await.unwrap();
        let error = client.call("liar", json!({})).await.unwrap_err();
        assert_eq!(code(&error), -32603);
        client.close().await;
    });
}

#[test]
fn a_server_that_cannot_serve_does_not_open() {
    run(async {
        let bad = Tool::new("bad").input_schema(json!({"type": "objekt"}));
        let server = Server::new("bad", "1").raw_tool(bad, async |_: Value, _| Ok("never"));
        let error = memory::connect(server).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotStarted(_)), "{error:?}");
        says(&error, &["starting the server", "\"bad\"", "input schema", "objekt"]);
    });
}

#[test]
fn calls_in_flight_fail_when_the_client_is_closed() {
    run(async {
        let client = memory::connect(fixture::server()).await.unwrap();
        let waiting = client.clone();
        let waiting = tokio::spawn(async move { waiting.call("wait", json!({})).await });
        client.ping().await.unwrap();
        let other = client.clone();
        client.close().await;
        let error = waiting.await.unwrap().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Closed | ErrorKind::Rpc(_)), "{error:?}");
        is_closed(&other.ping().await.unwrap_err());
        assert!(other.close().await.is_none());
    });
}

#[test]
fn a_thousand_calls_at_once_are_not_mixed_up() {
    run(async {
        let client = memory::connect(fixture::server()).await.unwrap();
        let mut calls = tokio::task::JoinSet::new();
        for number in 0..1000 {
            let client = client.clone();
            calls.spawn(async move {
                let asked = number.to_string();
                assert_eq!(text_of(&client.call("echo", json!({"text": asked})).await.unwrap()), asked);
            });
        }
        assert_eq!(calls.join_all().await.len(), 1000);
        client.close().await;
    });
}

#[test]
fn a_stream_that_is_not_an_mcp_server_does_not_open() {
    run(async {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        let (reader, writer) = tokio::io::split(ours);
        let web = async {
            let page = b"HTTP/1.1 400 Bad Request\r\n\r\n";
            theirs.write_all(page).await.unwrap();
            std::future::pending::<()>().await;
        };
        let opening = papertape::streams::connect_with(reader, writer, ClientOptions::new());
        let error = tokio::select! {
            () = web => unreachable!(),
            opened = opening => opened.unwrap_err(),
        };
        assert_eq!(timed_out(&error), Duration::from_secs(30));
        assert!(error.to_string().contains("HTTP/1.1 400 Bad Request"), "{error}");

        let (ours, theirs) = tokio::io::duplex(1024);
        drop(theirs);
        let (reader, writer) = tokio::io::split(ours);
        is_closed(&papertape::streams::connect_with(reader, writer, ClientOptions::new()).await.unwrap_err());
    });
}

#[test]
fn a_peer_that_floods_can_be_left() {
    // On threads of its own, so that there is always more to read.
    run_threads(in_time(async {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(ours);
        let (mut read, mut write) = tokio::io::split(theirs);
        tokio::spawn(async move {
            // The answer to `initialize`, then lines as fast as they are read, until the input ends.
            let mut request = [0; 4096];
            assert!(read.read(&mut request).await.unwrap() > 0);
            let opened = json!({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25"}});
            write.write_all(format!("{opened}\n").as_bytes()).await.unwrap();
            let input =
                tokio::spawn(
                    async move { while read.read(&mut request).await.is_ok_and(|count| count > 0) {} },
                );
            let lines = format!("{}\n", "y".repeat(63)).repeat(1024);
            while !input.is_finished() && write.write_all(lines.as_bytes()).await.is_ok() {}
        });
        let options = ClientOptions::new().revision(Revision::NEWEST_LEGACY);
        let client = papertape::streams::connect_with(reader, writer, options).await.unwrap();
        let error = client.call_with("any", json!({}), CallOptions::new().timeout(SHORT)).await;
        timed_out(&error.unwrap_err());
        assert_eq!(client.close().await, None);
    }));
}

#[test]
fn invalid_headers_end_the_session_and_are_reported() {
    run(async {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        let (reader, writer) = tokio::io::split(ours);
        theirs.write_all(b"Content-Length: many\r\n\r\n{}").await.unwrap();
        let error = papertape::streams::connect_with(reader, writer, ClientOptions::new()).await.unwrap_err();
        says(&error, &["Content-Length"]);
        assert!(error.bytes().unwrap().starts_with(b"Content-Length: many"), "{error:?}");
    });
}

#[test]
fn a_log_line_between_headers_ends_the_session_and_is_reported() {
    run(async {
        let (ours, mut theirs) = tokio::io::duplex(4096);
        let (reader, writer) = tokio::io::split(ours);
        tokio::spawn(async move {
            let mut request = [0; 4096];
            drop(theirs.read(&mut request).await);
            let body =
                json!({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25"}}).to_string();
            let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
            theirs.write_all(frame.as_bytes()).await.unwrap();
            while !String::from_utf8_lossy(&request).contains("tools/call") {
                drop(theirs.read(&mut request).await);
            }
            theirs.write_all(b"INFO the tool was called\r\n\r\n").await.unwrap();
            std::future::pending::<()>().await;
        });
        let options = ClientOptions::new().revision(Revision::NEWEST_LEGACY);
        let client = papertape::streams::connect_with(reader, writer, options).await.unwrap();
        let error = client.call("any", json!({})).await.unwrap_err();
        says(&error, &["Content-Length"]);
        assert!(error.bytes().unwrap().starts_with(b"INFO the tool"), "{error:?}");
        // From here on the start of the next message is unknown.
        assert!(client.call("any", json!({})).await.is_err());
        client.close().await;
    });
}

#[test]
fn a_tape_has_every_frame_of_both_directions() {
    run(async {
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("client-{}.tape", std::process::id()));
        let client = memory::connect_with(fixture::server(), ClientOptions::new().tape(&path)).await.unwrap();
        client.call("echo", json!({"text": "on tape"})).await.unwrap();
        client.close().await;
        let tape = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let frames: Vec<&str> = tape.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(frames.iter().filter(|frame| frame.contains("on tape")).count(), 2, "{tape}");
        assert_eq!(frames.iter().filter(|frame| frame.contains("server/discover")).count(), 1, "{tape}");

        let error =
            memory::connect_with(fixture::server(), ClientOptions::new().tape("/no/such/folder/tape"))
                .await
                .unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Tape(_)), "{error:?}");
        assert!(error.to_string().contains("/no/such/folder/tape"), "{error}");
    });
}
