//! Opening a session with `initialize`, and its utilities.

use serde_json::json;

use crate::wire::{LEGACY, Wire, everyone};

#[test]
fn server_initialize() {
    for revision in LEGACY {
        let mut wire = Wire::start(revision, json!({}));
        let opened = wire.handshake(revision);
        assert_eq!(opened["protocolVersion"], revision);
        assert_eq!(opened["serverInfo"], json!({"name": "papertape-conformance", "version": "1.0.0"}));
        let mut offered = json!({
            "tools": {"listChanged": true},
            "prompts": {"listChanged": true},
            "resources": {"subscribe": true, "listChanged": true},
            "logging": {},
        });
        if revision >= "2025-03-26" {
            offered["completions"] = json!({});
        }
        assert_eq!(opened["capabilities"], offered, "{revision}");
        wire.end();
    }
}

#[test]
fn an_unknown_version_negotiates_the_newest_session_based_revision() {
    let mut wire = Wire::start(LEGACY[3], json!({}));
    assert_eq!(wire.handshake("1999-12-31")["protocolVersion"], LEGACY[3]);
    wire.end();
}

#[test]
fn logging_set_level() {
    for revision in LEGACY {
        let mut wire = Wire::open(revision);
        assert_eq!(wire.result("logging/setLevel", json!({"level": "info"})), json!({}));
        wire.end();
    }
}

#[test]
fn ping() {
    for revision in LEGACY {
        let mut wire = Wire::open(revision);
        assert_eq!(wire.result("ping", json!({})), json!({}));
        wire.end();
    }
}

/// On HTTP the suite opens three streams; here three requests are under way in one.
#[test]
fn server_sse_multiple_streams() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        let asked: Vec<u64> = (0..3).map(|_| wire.begin("tools/list", json!({}))).collect();
        let mut answered: Vec<u64> = (0..3).map(|_| wire.next()["id"].as_u64().unwrap()).collect();
        answered.sort_unstable();
        assert_eq!(answered, asked);
        wire.end();
    }
}
