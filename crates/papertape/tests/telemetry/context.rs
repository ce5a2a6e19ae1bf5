//! What is in `_meta`, and what becomes of it.

use std::sync::{Arc, Mutex};

use opentelemetry::trace::TraceId;
use papertape::client::ClientOptions;
use papertape::protocol::Revision;
use papertape::server::Tool;
use papertape::wire::tape::Direction;
use papertape::{Client, Cx, Server, http, memory};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::collector::{Trace, assert_child, attributes, trace, trace_id};

const TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn server() -> Server {
    let tool = Tool::new("trace").input_schema(json!({"type": "object"}));
    Server::new("context", "1.0.0").raw_tool(tool, |_: Value, cx: Cx| async move {
        Ok(cx.trace().map_or("none".to_owned(), |trace| trace.traceparent.clone()))
    })
}

/// A client, and the requests that it sends.
async fn taped(revision: Revision) -> (Client, Arc<Mutex<Vec<Value>>>) {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let frames = Arc::clone(&sent);
    let options = ClientOptions::new().revision(revision).on_frame(move |frame| {
        if frame.direction == Direction::ToServer {
            frames.lock().unwrap().extend(serde_json::from_slice::<Value>(frame.bytes));
        }
    });
    (memory::connect_with(server(), options).await.unwrap(), sent)
}

fn meta_of_last(sent: &Mutex<Vec<Value>>) -> Value {
    sent.lock().unwrap().iter().rev().find(|frame| frame["method"] == "tools/call").unwrap()["params"]["_meta"]
        .clone()
}

#[test]
fn what_the_caller_has_put_there_is_left_alone() {
    trace(0, async {
        let (client, sent) = taped(Revision::MODERN).await;
        let params = json!({"name": "trace", "arguments": {}, "_meta": {"traceparent": TRACEPARENT}});
        let result = client.request("tools/call", params).await.unwrap();
        assert_eq!(result["content"][0]["text"], TRACEPARENT);
        assert_eq!(meta_of_last(&sent)["traceparent"], TRACEPARENT);
        client.close().await;
    });
}

#[test]
fn each_revision_gets_what_it_allows() {
    for revision in Revision::ALL {
        trace(0, async {
            let (client, sent) = taped(revision).await;
            client.call("trace", json!({})).await.unwrap();
            let traceparent = meta_of_last(&sent)["traceparent"].clone();
            if revision < Revision::V2025_06_18 {
                assert_eq!(traceparent, Value::Null);
            } else {
                let id = trace_id().to_string();
                assert!(traceparent.as_str().unwrap().contains(&id), "{revision}: {traceparent}");
            }
            // What the negotiation has not settled yet does not have it.
            let opening = sent.lock().unwrap()[0].clone();
            let is_traced = opening["params"]["_meta"]["traceparent"].is_string();
            assert_eq!(is_traced, !revision.opens_with_handshake(), "{opening}");
            client.close().await;
        });
    }
}

/// Sends one request over HTTP.
async fn post(address: std::net::SocketAddr, header: &str, meta: &str) -> String {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"trace","arguments":{{}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}{meta}}}}}}}"#
    );
    send(address, &format!("Mcp-Method: tools/call\r\nMcp-Name: trace\r\n{header}"), &body).await
}

async fn send(address: std::net::SocketAddr, headers: &str, body: &str) -> String {
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n{headers}\
         Connection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all((head + body).as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response
}

#[test]
fn the_body_comes_before_the_http_header() {
    trace(0, async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(http::serve(listener, server()));
        let of = |id: u8| format!("00-{id:032x}-00f067aa0ba902b7-01");
        let header = format!("traceparent: {}\r\n", of(0xa1));
        let meta = format!(r#","traceparent":"{}""#, of(0xb2));
        let response = post(address, &header, "").await;
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        Trace::wait(TraceId::from(0xa1u128), 1).await;
        post(address, &header, &meta).await;
        Trace::wait(TraceId::from(0xb2u128), 1).await;
        // What is not a trace context is none.
        let response = post(address, "traceparent: 00-0-0-0\r\n", r#","traceparent":"\ud83d""#).await;
        assert!(response.starts_with("HTTP/1.1 "), "{response}");
    });
}

#[test]
fn a_notification_with_a_handler_has_a_span() {
    const METHOD: &str = "notifications/com.example/note";
    trace(0, async {
        let server = Server::new("notified", "1.0.0").notification(METHOD, async |_: Value, _: Cx| {
            tracing::info_span!("inner").in_scope(|| ());
            Ok(())
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(http::serve(listener, server));
        let id = 0xc3u128;
        let meta = format!(r#"{{"traceparent":"00-{id:032x}-00f067aa0ba902b7-01"}}"#);
        let body = format!(r#"{{"jsonrpc":"2.0","method":"{METHOD}","params":{{"_meta":{meta}}}}}"#);
        let response = send(address, &format!("Mcp-Method: {METHOD}\r\n"), &body).await;
        assert!(response.starts_with("HTTP/1.1 202"), "{response}");
        let trace = Trace::wait(TraceId::from(id), 2).await;
        let span = trace.server(METHOD);
        assert!(span.parent_span_is_remote);
        assert_child(trace.0.iter().find(|span| span.name == "inner").unwrap(), span);
        let attributes = attributes(span);
        assert_eq!(attributes["mcp.method.name"], METHOD);
        assert!(!attributes.contains_key("jsonrpc.request.id") && !attributes.contains_key("error.type"));
    });
}
