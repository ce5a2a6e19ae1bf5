//! Resumable streams: missed events are replayed once, and only to their own client.

use papertape::http::Options;
use serde_json::{Value, json};

use crate::connection::Wire;
use crate::fixture::{Act, Site};
use crate::request::Session;

/// A call that sends two notifications, waits, and sends two more; its stream and the ids of the events so far.
async fn tell(site: &mut Site, session: &Session, id: u64) -> (Wire, Vec<Option<String>>) {
    let level = session.request(90, "logging/setLevel", &json!({"level": "debug"}));
    assert_eq!(site.ask(&level).await.status, 200);
    let params = json!({"name": "tell", "arguments": {"text": "half"}, "_meta": {"progressToken": id}});
    let mut wire = site.connect().await;
    let head = wire.begin(&session.request(id, "tools/call", &params)).await;
    assert!(head.is_stream());
    let mut ids = Vec::new();
    loop {
        let event = wire.event().await.unwrap();
        ids.push(event.id.clone());
        if event.data.as_deref().is_some_and(|data| data.contains("notifications/message")) {
            site.began("tell").await;
            return (wire, ids);
        }
    }
}

/// What is left of a stream, to its end.
async fn rest(mut wire: Wire) -> Vec<Value> {
    let mut rest = Vec::new();
    while let Some(message) = wire.message().await {
        rest.push(message);
    }
    rest
}

#[tokio::test]
async fn a_broken_stream_is_resumed_from_any_event() {
    let mut site = Site::start().await;
    let session = site.session("2025-11-25").await;
    let (wire, ids) = tell(&mut site, &session, 1).await;
    assert_eq!(ids.len(), 3, "one to come back to, and two that say something");
    wire.reset();
    site.release(1);
    assert_eq!(site.act().await, Act::Ended("tell".to_owned()), "a client that has gone cancels nothing");
    for (missed, id) in ids.iter().enumerate() {
        let id = id.as_deref().unwrap();
        let mut wire = site.connect().await;
        // Also if the server has not noticed yet that the connection broke.
        assert_eq!(wire.begin(&session.resume(id)).await.status, 200, "{id}");
        let rest = rest(wire).await;
        let methods: Vec<_> =
            rest.iter().map(|message| message["method"].as_str().unwrap_or("answer")).collect();
        let all = ["notifications/progress", "notifications/message", "notifications/message", "answer"];
        assert_eq!(methods, all[missed..], "{id}");
        assert_eq!(rest.last().unwrap()["result"]["content"][0]["text"], "done");
    }
}

#[tokio::test]
async fn a_resumed_stream_waits_for_a_running_call() {
    let mut site = Site::start().await;
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = site.session(revision).await;
        let (mut wire, ids) = tell(&mut site, &session, 1).await;
        wire.finish_sending().await;
        drop(wire);
        let last = ids.last().unwrap().clone().unwrap();
        let mut wire = site.connect().await;
        assert_eq!(wire.begin(&session.resume(&last)).await.status, 200);
        site.release(1);
        assert_eq!(site.act().await, Act::Ended("tell".to_owned()));
        assert_eq!(wire.message().await.unwrap()["params"]["data"], "after");
        assert_eq!(wire.message().await.unwrap()["id"], 1);
        assert_eq!(wire.message().await, None);
    }
}

// The client knows better than the server whether its connection is still of use: the newest one gets the response, and the
// one before it ends.
#[tokio::test]
async fn the_newest_connection_takes_a_stream_over() {
    let mut site = Site::start().await;
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = site.session(revision).await;
        // The server cannot notice that the client has left these.
        let (mut first, ids) = tell(&mut site, &session, 1).await;
        let mut second = site.connect().await;
        assert_eq!(second.begin(&session.resume(ids[0].as_deref().unwrap())).await.status, 200);
        assert_eq!(first.event().await, None, "two connections read the same stream");
        let mut third = site.connect().await;
        assert_eq!(third.begin(&session.resume(ids.last().unwrap().as_deref().unwrap())).await.status, 200);
        let missed = rest(second).await;
        assert_eq!(missed.len(), ids.len() - 1, "{missed:?}");
        site.release(1);
        assert_eq!(site.act().await, Act::Ended("tell".to_owned()));
        let rest = rest(third).await;
        assert_eq!(rest.len(), 2, "{rest:?}");
        assert_eq!(rest[0]["params"]["data"], "after");
        assert_eq!(rest[1]["id"], 1);
    }
}

// H-27
#[tokio::test]
async fn a_stream_is_resumed_by_its_own_client_only() {
    let mut site = Site::with(Options::new().metrics(), |server| server).await;
    let session = site.session("2025-11-25").await;
    let (wire, ids) = tell(&mut site, &session, 1).await;
    wire.reset();
    site.until("papertape_streams", 0).await;
    let last = ids.last().unwrap().clone().unwrap();
    let other = site.session("2025-11-25").await;
    assert_eq!(site.ask(&other.resume(&last)).await.status, 400, "of another session");
    let (prefix, number) = last.rsplit_once('-').unwrap();
    let beyond = format!("{prefix}-{}", number.parse::<u64>().unwrap() + 1);
    let huge = "9".repeat(5_000);
    let stream = format!("{prefix}9-1");
    for bad in [
        "",
        "-",
        "1",
        "1-",
        "-1",
        "a-b",
        "0-1-1",
        "99-1",
        "\u{e4}",
        "18446744073709551616-1",
        "0--1",
        "null",
        "0-18446744073709551615",
        &huge,
        &beyond,
        &stream,
    ] {
        assert_eq!(site.ask(&session.resume(bad)).await.status, 400, "{bad:?}");
    }
    site.assert_well().await;
}

// The ids of events are of one process and one time: what another one calls the same is another stream.
#[tokio::test]
async fn event_ids_are_scoped_to_one_process() {
    let with =
        || Site::with(Options::new(), |server| server.state_key([1; 32], std::time::Duration::from_secs(60)));
    let (mut one, mut two) = (with().await, with().await);
    let session = one.session("2025-11-25").await;
    let (first, ids) = tell(&mut one, &session, 1).await;
    let (second, _) = tell(&mut two, &session, 2).await;
    drop((first, second));
    one.release(1);
    two.release(1);
    assert_eq!(two.act().await, Act::Ended("tell".to_owned()));
    let id = ids[0].as_deref().unwrap();
    assert_eq!(two.ask(&session.resume(id)).await.status, 400, "the answer to another request");
}

#[tokio::test]
async fn a_call_may_close_its_connection_early() {
    let mut site = Site::start().await;
    let session = site.session("2025-11-25").await;
    let mut wire = site.connect().await;
    wire.begin(&session.call(1, "poll", &json!({"after": 7}))).await;
    site.began("poll").await;
    let first = wire.event().await.unwrap();
    assert_eq!(first.data.as_deref(), Some(""), "an event to come back to");
    let id = first.id.unwrap();
    let last = wire.event().await.unwrap();
    assert_eq!(last.retry, Some(7));
    assert_eq!(wire.event().await, None);
    // The same connection can be used to resume.
    assert_eq!(wire.begin(&session.resume(&id)).await.status, 200);
    site.release(1);
    assert_eq!(wire.message().await.unwrap()["result"]["content"][0]["text"], "polled");
    assert_eq!(wire.message().await, None);
    // Clients that cannot resume keep their connection.
    let session = site.session("2025-06-18").await;
    let mut wire = site.connect().await;
    wire.begin(&session.call(1, "poll", &json!({}))).await;
    assert_eq!(site.act().await, Act::Ended("poll".to_owned()));
    site.began("poll").await;
    site.release(1);
    let answer = wire.event().await.unwrap();
    assert_eq!((answer.retry, &answer.json()["id"]), (None, &json!(1)));
}

// Abandoned streams are not kept for ever.
#[tokio::test]
async fn kept_streams_per_session_are_limited() {
    let mut site = Site::with(Options::new().metrics(), |server| server).await;
    let session = site.session("2025-11-25").await;
    let mut first = None;
    for id in 0..200 {
        let mut wire = site.connect().await;
        wire.begin(&session.call(id, "wait", &json!({"name": "x", "text": "y".repeat(1_000)}))).await;
        site.began("x").await;
        first = first.or(wire.event().await.unwrap().id);
        wire.reset();
        site.until("papertape_streams", 0).await;
        site.release(1);
        assert_eq!(site.act().await, Act::Ended("x".to_owned()));
    }
    let answer = site.ask(&session.resume(&first.unwrap())).await;
    assert_eq!(answer.status, 400, "after 200 abandoned streams the first is still there");
}
