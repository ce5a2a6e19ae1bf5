//! One trace across several clients and servers.

use papertape::client::ClientOptions;
use papertape::protocol::Revision;
use papertape::server::Tool;
use papertape::{Client, Server, ToolError, http, memory};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::collector::{Trace, assert_child, attributes, trace};

fn inner() -> Server {
    let tool = Tool::new("inner").input_schema(json!({"type": "object"}));
    Server::new("inner", "1.0.0").raw_tool(tool, |_: Value, _| async { Ok("done") })
}

/// A server whose handler calls another one.
fn outer(inner: Client) -> Server {
    let tool = Tool::new("outer").input_schema(json!({"type": "object"}));
    Server::new("outer", "1.0.0").raw_tool(tool, move |_: Value, _| {
        let inner = inner.clone();
        async move {
            let result = inner.call("inner", json!({})).await.map_err(ToolError::internal)?;
            Ok::<_, ToolError>(format!("{} blocks", result.content.len()))
        }
    })
}

#[track_caller]
fn assert_nested(trace: &Trace) {
    let test = trace.0.iter().find(|span| span.name == "test").unwrap();
    assert_child(trace.client("tools/call outer"), test);
    assert_child(trace.server("tools/call outer"), trace.client("tools/call outer"));
    assert_child(trace.client("tools/call inner"), trace.server("tools/call outer"));
    assert_child(trace.server("tools/call inner"), trace.client("tools/call inner"));
}

#[test]
fn in_memory() {
    for (revision, opening) in [(Revision::MODERN, 4), (Revision::V2025_11_25, 2), (Revision::V2025_06_18, 2)]
    {
        let options = || ClientOptions::new().revision(revision);
        // The server's span of `initialize` is in a trace of its own.
        let trace = trace(4 + opening, async {
            let inner = memory::connect_with(inner(), options()).await.unwrap();
            let client = memory::connect_with(outer(inner.clone()), options()).await.unwrap();
            assert!(!client.call("outer", json!({})).await.unwrap().is_error);
            client.close().await;
            inner.close().await;
        });
        assert_nested(&trace);
    }
}

async fn on_http(server: Server, revision: Revision) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    // A trace that comes in over HTTP is not that of the process that started the server.
    tokio::spawn(http::serve(listener, server));
    http::connect_with(http::Endpoint::new(url), ClientOptions::new().revision(revision)).await.unwrap()
}

#[test]
fn over_http() {
    for (revision, opening) in [(Revision::MODERN, 4), (Revision::V2025_11_25, 2)] {
        let trace = trace(4 + opening, async {
            let inner = on_http(inner(), revision).await;
            let client = on_http(outer(inner.clone()), revision).await;
            assert!(!client.call("outer", json!({})).await.unwrap().is_error);
            client.close().await;
            inner.close().await;
        });
        assert_nested(&trace);
        let (sent, served) = (trace.client("tools/call outer"), trace.server("tools/call outer"));
        for span in [sent, served] {
            assert_eq!(attributes(span)["network.transport"], "tcp");
            assert_eq!(attributes(span)["network.protocol.name"], "http");
        }
        assert_eq!(attributes(sent)["server.address"], "127.0.0.1");
        let session = attributes(served).get("mcp.session.id").cloned();
        // A digest: the id itself gives access to the session.
        assert_eq!(session.map(|id| id.len()), revision.opens_with_handshake().then_some(32));
    }
}

#[test]
fn older_revisions_do_not_have_it() {
    let trace = trace(2, async {
        let options = ClientOptions::new().revision(Revision::V2025_03_26);
        let client = memory::connect_with(inner(), options).await.unwrap();
        client.call("inner", json!({})).await.unwrap();
        client.close().await;
    });
    let names = trace.names();
    assert!(!names.iter().any(|name| name.starts_with("Server")), "{names:?}");
}
