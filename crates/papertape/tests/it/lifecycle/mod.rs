//! Opening, cancelling, progress and subscriptions: rows M-01 to M-14, M-20 and M-21 of the catalogue.

mod cancelling;
mod opening;
mod progress;
mod subscriptions;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::fixture;
use crate::peer::{LEGACY, MODERN, Peer, call, request, run, words};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// Sends lines to a fixture server in which `revision` is in use (or nothing yet), and returns the answers.
async fn ask(revision: &str, lines: &[&str]) -> Vec<u8> {
    let mut peer = if revision.is_empty() {
        Peer::connect(fixture::server())
    } else {
        Peer::open(fixture::server(), revision).await
    };
    let answers = peer.send(lines.iter().map(|line| format!("{line}\n")).collect::<String>()).await;
    // The sentinel: whatever came before, the server serves.
    let sentinel = call(MODERN, "\"sentinel\"", "echo", &json!({"text": "x"}));
    assert_eq!(words(&peer.send(sentinel + "\n").await), "R(\"sentinel\")", "{lines:?}");
    answers
}

fn check(revision: &str, lines: &[&str], expected: &str) {
    let answers = run(ask(revision, lines));
    assert_eq!(words(&answers), expected, "{revision}: {lines:?}");
}

fn check_legacy(lines: &[&str], expected: &str) {
    for revision in LEGACY {
        check(revision, lines, expected);
    }
}

fn listen(id: &str, notifications: &Value) -> String {
    request(MODERN, id, "subscriptions/listen", json!({"notifications": notifications})) + "\n"
}
