//! Notifications outside requests: the GET stream of legacy clients, and subscriptions of modern ones.

use papertape::http::Options;
use serde_json::{Value, json};

use crate::fixture::Site;
use crate::request::Request;

fn add_tool(site: &Site, name: &str) {
    let tool = papertape::server::Tool::new(name).input_schema(json!({"type": "object"}));
    site.tools.add_raw(tool, |_: Value, _| async { Ok("new") }).unwrap();
}

#[tokio::test]
async fn legacy_clients_get_notifications_on_the_get_stream() {
    let site = Site::start().await;
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = site.session(revision).await;
        let mut stream = site.connect().await;
        let head = stream.begin(&session.get()).await;
        assert!(head.status == 200 && head.is_stream(), "{head:?}");
        add_tool(&site, revision);
        assert_eq!(stream.message().await.unwrap()["method"], "notifications/tools/list_changed");
        let subscribe = session.request(1, "resources/subscribe", &json!({"uri": "note:one"}));
        assert_eq!(site.ask(&subscribe).await.json()["id"], 1);
        site.resources.updated("note:two");
        site.resources.updated("note:one");
        let updated = stream.message().await.unwrap();
        assert_eq!(updated["method"], "notifications/resources/updated");
        assert_eq!(updated["params"]["uri"], "note:one");
        let unsubscribe = session.request(2, "resources/unsubscribe", &json!({"uri": "note:one"}));
        assert_eq!(site.ask(&unsubscribe).await.status, 200);
        site.resources.updated("note:one");
        add_tool(&site, &format!("{revision} again"));
        assert_eq!(stream.message().await.unwrap()["method"], "notifications/tools/list_changed");
    }
}

#[tokio::test]
async fn a_resumed_stream_replays_missed_notifications() {
    let site = Site::start().await;
    let session = site.session("2025-11-25").await;
    let mut stream = site.connect().await;
    stream.begin(&session.get()).await;
    add_tool(&site, "a");
    let _begin = stream.event().await.unwrap();
    let event = stream.event().await.unwrap();
    assert_eq!(event.json()["method"], "notifications/tools/list_changed");
    stream.reset();
    add_tool(&site, "b");
    let mut stream = site.connect().await;
    assert_eq!(stream.begin(&session.resume(&event.id.unwrap())).await.status, 200);
    assert_eq!(stream.message().await.unwrap()["method"], "notifications/tools/list_changed");
    drop(stream);
    // Without `Last-Event-ID` a stream has only new notifications.
    let mut stream = site.connect().await;
    assert_eq!(stream.begin(&session.get()).await.status, 200);
    add_tool(&site, "c");
    assert_eq!(stream.message().await.unwrap()["method"], "notifications/tools/list_changed");
}

// H-26: a client may have several streams open; each message goes to one of them, the newest, and to the one before it when
// that has gone.
#[tokio::test]
async fn each_message_goes_to_one_of_several_streams() {
    let site = Site::with(Options::new().metrics(), |server| server).await;
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = site.session(revision).await;
        let mut streams = Vec::new();
        for _ in 0..3 {
            let mut wire = site.connect().await;
            assert_eq!(wire.begin(&session.get()).await.status, 200);
            streams.push(wire);
        }
        for left in (0..3).rev() {
            add_tool(&site, &format!("{revision} {left}"));
            let mut newest = streams.pop().unwrap();
            assert_eq!(newest.message().await.unwrap()["method"], "notifications/tools/list_changed");
            newest.reset();
            site.until("papertape_streams", left).await;
        }
    }
}

#[tokio::test]
async fn streams_per_session_are_limited() {
    let site = Site::with(Options::new().metrics(), |server| server).await;
    let session = site.session("2025-11-25").await;
    let mut streams = Vec::new();
    for _ in 0..20 {
        let mut wire = site.connect().await;
        assert_eq!(wire.begin(&session.get()).await.status, 200);
        streams.push(wire);
    }
    site.until("papertape_streams", 8).await;
    assert_eq!(streams.remove(0).message().await, None, "the oldest has ended");
    add_tool(&site, "new");
    assert!(streams.pop().unwrap().message().await.is_some());
    assert_eq!(site.ask(&session.delete()).await.status, 204);
    for mut wire in streams {
        assert_eq!(wire.message().await, None, "the session has ended");
    }
}

// A server that was started again with the same state key goes on with the session. The earlier stream and its
// messages are lost, but the client can open a new one.
#[tokio::test]
async fn a_get_stream_of_another_process_is_reopened() {
    let with =
        || Site::with(Options::new(), |server| server.state_key([1; 32], std::time::Duration::from_secs(60)));
    let (before, after) = (with().await, with().await);
    let session = before.session("2025-11-25").await;
    let mut stream = before.connect().await;
    stream.begin(&session.get()).await;
    let last = stream.event().await.unwrap().id.unwrap();
    for stale in [last.clone(), format!("{last}9")] {
        let mut stream = after.connect().await;
        assert_eq!(stream.begin(&session.resume(&stale)).await.status, 200);
        // The changes in between are unknown, so everything may have changed.
        let mut lists = Vec::new();
        for _ in 0..2 {
            lists.push(stream.message().await.unwrap()["method"].as_str().unwrap().to_owned());
        }
        lists.sort();
        assert_eq!(lists, ["notifications/resources/list_changed", "notifications/tools/list_changed"]);
        add_tool(&after, &stale);
        assert_eq!(stream.message().await.unwrap()["method"], "notifications/tools/list_changed");
    }
}

#[tokio::test]
async fn notifications_stay_within_their_session() {
    let site = Site::start().await;
    let (one, two) = (site.session("2025-11-25").await, site.session("2025-11-25").await);
    let mut streams = Vec::new();
    for session in [&one, &two] {
        let mut stream = site.connect().await;
        stream.begin(&session.get()).await;
        streams.push(stream);
    }
    let subscribe = one.request(1, "resources/subscribe", &json!({"uri": "note:one"}));
    assert_eq!(site.ask(&subscribe).await.status, 200);
    site.resources.updated("note:one");
    add_tool(&site, "a");
    let first: Vec<_> =
        [streams[0].message().await, streams[0].message().await].into_iter().flatten().collect();
    assert!(first.iter().any(|message| message["method"] == "notifications/resources/updated"), "{first:?}");
    assert_eq!(streams[1].message().await.unwrap()["method"], "notifications/tools/list_changed");
    add_tool(&site, "b");
    assert_eq!(streams[1].message().await.unwrap()["method"], "notifications/tools/list_changed");
}

fn listen(id: u64) -> Request {
    let wanted = json!({"toolsListChanged": true, "resourceSubscriptions": ["note:one"]});
    Request::modern(id, "subscriptions/listen", &json!({"notifications": wanted}))
}

#[tokio::test]
async fn modern_clients_get_notifications_of_their_filter() {
    let site = Site::start().await;
    let mut wires = Vec::new();
    // Decision 7: the same id, each in its own exchange.
    for _ in 0..20 {
        let mut wire = site.connect().await;
        let head = wire.begin(&listen(1)).await;
        assert!(head.is_stream());
        let first = wire.event().await.unwrap();
        assert_eq!(first.id, None);
        assert_eq!(first.json()["method"], "notifications/subscriptions/acknowledged");
        wires.push(wire);
    }
    add_tool(&site, "a");
    site.resources.updated("note:one");
    for wire in &mut wires {
        let mut methods = [wire.message().await.unwrap(), wire.message().await.unwrap()]
            .map(|message| message["method"].as_str().unwrap().to_owned());
        methods.sort();
        assert_eq!(methods, ["notifications/resources/updated", "notifications/tools/list_changed"]);
    }
    // A subscriber that leaves is removed, and the others are not affected.
    for wire in wires.drain(..10) {
        wire.reset();
    }
    add_tool(&site, "b");
    for wire in &mut wires {
        assert_eq!(wire.message().await.unwrap()["method"], "notifications/tools/list_changed");
    }
}

// There may be many sessions whose clients have gone, and each could hold as much.
#[tokio::test]
async fn little_is_kept_for_a_session_that_no_connection_reads() {
    let mut notifier = None;
    let site = Site::with(Options::new(), |server| {
        notifier = Some(server.notifier());
        server
    })
    .await;
    let session = site.session("2025-11-25").await;
    // Its session is known from its first request on.
    assert_eq!(site.ask(&session.request(1, "ping", &json!({}))).await.status, 200);
    let notifier = notifier.unwrap();
    let notify = |n: u64| {
        let text = "x".repeat(1_000);
        notifier.notify("notifications/vendor/news", json!({"n": n, "text": text})).unwrap();
    };
    (0..1_000).for_each(notify);
    for _ in 0..2 {
        let mut stream = site.connect().await;
        assert_eq!(stream.begin(&session.get()).await.status, 200);
        notify(9_999);
        let mut kept = 0;
        while stream.message().await.unwrap()["params"]["n"] != 9_999 {
            kept += 1;
        }
        assert!(kept <= 16, "{kept} KiB are kept for a client that may never come back");
    }
}
