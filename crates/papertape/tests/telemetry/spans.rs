//! Names, kinds, attributes and status of spans.

use std::future::pending;
use std::time::Duration;

use opentelemetry::trace::Status;
use papertape::client::{CallOptions, ClientOptions};
use papertape::protocol::{PromptMessage, RawJson, Revision};
use papertape::server::{Resource, Tool};
use papertape::{Cx, Server, ToolError, memory};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::collector::{assert_child, assert_failed, attributes, trace};

/// Notified by the tool that never ends and says that it has begun.
static BEGAN: Notify = Notify::const_new();

fn server() -> Server {
    let tool = |name: &str| Tool::new(name).input_schema(json!({"type": "object"}));
    Server::new("shown", "1.0.0")
        .raw_tool(tool("fine"), |_: Value, _| async {
            tracing::info_span!("inner").in_scope(|| ());
            Ok("fine")
        })
        .raw_tool(tool("later"), |_: Value, _| async {
            tokio::task::yield_now().await;
            tracing::info_span!("inner").in_scope(|| ());
            Ok("later")
        })
        .raw_tool(tool("wrong"), |_: Value, _| async { Err::<String, _>(ToolError::failed("no")) })
        .raw_tool(tool("refusing"), |_: Value, _| async { Err::<String, _>(ToolError::internal("secret")) })
        .raw_tool(tool("endless"), |_: Value, _| async {
            pending::<()>().await;
            Ok("never")
        })
        .raw_tool(tool("announced"), |_: Value, _| async {
            BEGAN.notify_one();
            pending::<()>().await;
            Ok("never")
        })
        .resource(Resource::new("note://1").name("one"), |_| async { Ok("first") })
        .prompt("greet", |_: (), _| async { Ok(vec![PromptMessage::user("Hello")]) })
}

#[test]
fn a_call_has_a_span_on_either_side() {
    let trace = trace(5, async {
        let client = memory::connect(server()).await.unwrap();
        assert!(!client.call("fine", json!({})).await.unwrap().is_error);
        client.close().await;
    });
    let (sent, served) = (trace.client("tools/call fine"), trace.server("tools/call fine"));
    assert_child(served, sent);
    assert!(served.parent_span_is_remote);
    assert_child(trace.0.iter().find(|span| span.name == "inner").unwrap(), served);
    for span in [sent, served] {
        let attributes = attributes(span);
        let is = |name: &str, value: &str| assert_eq!(attributes[name], value, "{attributes:?}");
        is("mcp.method.name", "tools/call");
        is("gen_ai.tool.name", "fine");
        is("gen_ai.operation.name", "execute_tool");
        is("mcp.protocol.version", "2026-07-28");
        is("jsonrpc.request.id", "2");
        assert!(!attributes.contains_key("error.type") && !attributes.contains_key("network.transport"));
        assert_eq!(span.status, Status::Unset);
    }
    assert_child(trace.server("server/discover"), trace.client("server/discover"));
    assert_child(trace.client("server/discover"), trace.0.iter().find(|span| span.name == "test").unwrap());
}

#[test]
fn what_runs_on_stays_in_its_span() {
    let trace = trace(5, async {
        let client = memory::connect(server()).await.unwrap();
        client.call("later", json!({})).await.unwrap();
        client.close().await;
    });
    assert_child(trace.0.iter().find(|span| span.name == "inner").unwrap(), trace.server("tools/call later"));
}

#[test]
fn errors_are_told_apart() {
    let trace = trace(12, async {
        let client = memory::connect(server()).await.unwrap();
        assert!(client.call("wrong", json!({})).await.unwrap().is_error);
        assert!(client.call("refusing", json!({})).await.is_err());
        assert!(client.call("no such tool", json!({})).await.is_err());
        assert!(client.request("no/such", json!({})).await.is_err());
        assert!(client.read("note://2").await.is_err());
        client.close().await;
    });
    for span in [trace.client("tools/call wrong"), trace.server("tools/call wrong")] {
        assert_failed(span, "tool_error", None, "");
    }
    for span in [trace.client("tools/call refusing"), trace.server("tools/call refusing")] {
        assert_failed(span, "-32603", Some("-32603"), "internal error");
    }
    for span in [trace.client("no/such"), trace.server("no/such")] {
        assert_failed(span, "-32601", Some("-32601"), "no/such");
    }
    for span in [trace.client("resources/read"), trace.server("resources/read")] {
        assert_failed(span, "-32602", Some("-32602"), "note://2");
    }
    // A peer can make up any number of names of tools.
    assert_failed(trace.client("tools/call no such tool"), "-32602", Some("-32602"), "no such tool");
    let served = trace.server("tools/call");
    assert_failed(served, "-32602", Some("-32602"), "no such tool");
    assert!(!attributes(served).contains_key("gen_ai.tool.name"));
}

#[test]
fn a_call_that_times_out_has_failed() {
    let trace = trace(3, async {
        let client = memory::connect(server()).await.unwrap();
        let options = CallOptions::new().timeout(Duration::from_millis(10));
        assert!(client.call_with("endless", json!({}), options).await.is_err());
        client.close().await;
    });
    assert_failed(trace.client("tools/call endless"), "timeout", None, "");
}

#[test]
fn a_dropped_call_is_cancelled_on_both_sides() {
    let trace = trace(4, async {
        let client = memory::connect(server()).await.unwrap();
        tokio::select! {
            _ = client.call("announced", json!({})) => unreachable!("it never ends"),
            () = BEGAN.notified() => {}
        }
        client.close().await;
    });
    for span in [trace.client("tools/call announced"), trace.server("tools/call announced")] {
        assert_failed(span, "cancelled", None, "");
    }
}

#[test]
fn resources_and_prompts_are_named() {
    let trace = trace(5, async {
        let options = ClientOptions::new().revision(Revision::V2025_11_25);
        let client = memory::connect_with(server(), options).await.unwrap();
        client.read("note://1").await.unwrap();
        client.prompt("greet", Map::new()).await.unwrap();
        client.close().await;
    });
    for span in [trace.client("resources/read"), trace.server("resources/read")] {
        let attributes = attributes(span);
        assert_eq!(attributes["mcp.resource.uri"], "note://1");
        assert_eq!(attributes["mcp.protocol.version"], "2025-11-25");
    }
    for span in [trace.client("prompts/get greet"), trace.server("prompts/get greet")] {
        let attributes = attributes(span);
        assert_eq!(attributes["gen_ai.prompt.name"], "greet");
        assert!(!attributes.contains_key("gen_ai.operation.name"));
    }
    // `initialize` is sent before it is known what the revision allows in `_meta`.
    assert!(trace.names().contains(&"Client initialize".to_owned()), "{:?}", trace.names());
}

#[test]
fn a_fallback_is_named_as_it_was_called() {
    let trace = trace(5, async {
        let server = Server::new("fallback", "1.0.0")
            .fallback_tool(async |name: String, _: RawJson, _: Cx| {
                Ok::<_, ToolError>(format!("this is {name}"))
            })
            .fallback_method(async |_: String, _: RawJson, _: Cx| Ok::<_, ToolError>(json!({})));
        let client = memory::connect(server).await.unwrap();
        assert!(!client.call("any", json!({})).await.unwrap().is_error);
        client.request("com.example/any", json!({})).await.unwrap();
        client.close().await;
    });
    assert_eq!(attributes(trace.server("tools/call any"))["gen_ai.tool.name"], "any");
    assert_child(trace.server("com.example/any"), trace.client("com.example/any"));
}
