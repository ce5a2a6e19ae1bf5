//! Several servers as one: names, merged lists, and failures of one that do not affect the others.

mod config;
mod names;
mod resources;

use papertape::client::{Clients, ErrorKind, ServerFailure};
use papertape::protocol::CallToolResult;
use papertape::server::Tool;
use papertape::{Client, Cx, Server, memory};
use serde_json::{Value, json};

/// A tool that returns a text.
fn tool(server: Server, name: &str, text: &'static str) -> Server {
    let tool = Tool::new(name).input_schema(json!({"type": "object"}));
    server.raw_tool(tool, move |_: Value, _: Cx| async move { Ok(text) })
}

async fn connect(server: Server) -> Client {
    memory::connect(server).await.unwrap()
}

/// A client of a server with tools that return their own names.
async fn with_tools(names: &[&'static str]) -> Client {
    let server = names.iter().fold(Server::new("tools", "1"), |server, name| tool(server, name, name));
    connect(server).await
}

fn text(result: &CallToolResult) -> &str {
    crate::client::text_of(result)
}

async fn call(clients: &Clients, tool: &str) -> String {
    text(&clients.call(tool, json!({})).await.unwrap()).to_owned()
}

/// Why a tool cannot be called.
async fn refused(clients: &Clients, tool: &str) -> String {
    let error = clients.call(tool, json!({})).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NotFound(_) | ErrorKind::NotConnected(_)), "{error:?}");
    error.to_string()
}

fn names(failures: &[ServerFailure]) -> Vec<&str> {
    failures.iter().map(|failure| failure.server.as_str()).collect()
}
