//! What a server has beside the features of MCP: methods, notifications and extensions of its own, fallbacks, background work;
//! and what handlers know of a request.

mod background;
mod context;
mod fallbacks;
mod methods;
mod notifications;
mod template_lists;

use papertape::Server;
use serde_json::{Value, json};

use crate::peer::{LEGACY, MODERN, Peer, request};

/// All revisions, oldest first.
fn revisions() -> impl Iterator<Item = &'static str> {
    LEGACY.into_iter().chain([MODERN])
}

fn server() -> Server {
    Server::new("custom", "1")
}

/// The one message that comes back.
async fn one(peer: &mut Peer, line: String) -> Value {
    let mut all = peer.line(line).await;
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// The response to a request in some revision.
async fn ask(peer: &mut Peer, revision: &str, method: &str, params: Value) -> Value {
    one(peer, request(revision, "7", method, params)).await
}

fn notification(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}
