//! One client against all others: how many requests and streams of it are served at once.

use papertape::http::{ConnectionLimits, Options};
use serde_json::json;

use crate::connection::Wire;
use crate::fixture::Site;
use crate::request::Request;

fn listen() -> Request {
    Request::modern(7, "subscriptions/listen", &json!({"notifications": {"toolsListChanged": true}}))
}

async fn elsewhere(site: &Site) -> Wire {
    Wire::connect_from([127, 0, 0, 2], site.address).await
}

#[tokio::test]
async fn requests_per_client_are_limited() {
    let options = Options::new().requests_per_client(4).metrics().health().legacy_sse();
    let mut site = Site::with(options, |server| server).await;
    let session = site.session("2025-11-25").await;
    let mut open = Vec::new();
    let old = Request::new("GET", "/sse").header("Accept", "text/event-stream");
    let call = session.call(1, "wait", &json!({"name": "x"}));
    for request in [listen(), session.get(), old, call] {
        let mut wire = site.connect().await;
        assert_eq!(wire.begin(&request).await.status, 200, "{request:?}");
        open.push(wire);
    }
    site.began("x").await;
    let mut wire = site.connect().await;
    for request in [listen(), session.get(), Request::call(7, "echo", &json!({}))] {
        let refused = wire.ask(&request).await;
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{request:?}");
        assert!(refused.json()["error"]["message"].as_str().unwrap().contains("limit"));
    }
    // Other clients and the health check are served.
    let mut other = elsewhere(&site).await;
    assert_eq!(other.ask(&Request::call(7, "echo", &json!({"text": "x"}))).await.status, 200);
    assert_eq!(other.begin(&listen()).await.status, 200);
    assert_eq!(wire.ask(&Request::new("GET", "/healthz")).await.status, 200);
    // Whatever ends makes room: a closed stream, and a completed call.
    open.remove(0).reset();
    site.until("papertape_streams", 4).await;
    site.assert_well().await;
    site.release(1);
    let mut call = open.remove(2);
    while call.message().await.is_some() {}
    for _ in 0..2 {
        let mut wire = site.connect().await;
        assert_eq!(wire.begin(&listen()).await.status, 200);
        open.push(wire);
    }
    assert_eq!(site.ask(&listen()).await.status, 503);
    // Deleting a session is not limited.
    assert_eq!(site.ask(&session.delete()).await.status, 204);
}

// Half of the connections by default.
#[tokio::test]
async fn one_client_leaves_half_of_the_connections_to_others() {
    let limits = ConnectionLimits::new().connections(10);
    let site = Site::with(Options::new().connections(limits), |server| server).await;
    let mut open = Vec::new();
    for _ in 0..5 {
        let mut wire = site.connect().await;
        assert_eq!(wire.begin(&listen()).await.status, 200);
        open.push(wire);
    }
    assert_eq!(site.ask(&listen()).await.status, 503);
    for _ in 0..5 {
        let mut wire = elsewhere(&site).await;
        assert_eq!(wire.begin(&listen()).await.status, 200);
        open.push(wire);
    }
}
