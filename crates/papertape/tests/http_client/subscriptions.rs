//! Subscriptions of legacy revisions: they outlive connections, sessions and servers, or end with an error; they never wait in
//! silence for what cannot come.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use papertape::Server as Papertape;
use papertape::client::{Change, ErrorKind, SubscriptionFilter};
use papertape::http::{self, Options};
use papertape::server::{Resource, Resources};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::scripted::{
    Seen, Server, Step, accepted, chunk, error, event, handshake, json, legacy, response, result, run,
    stream_end, stream_head, text, within,
};

const URI: &str = "note:one";

fn filter() -> SubscriptionFilter {
    SubscriptionFilter::new().tools().resource(URI)
}

/// Opens a session of this name, in which lists and resources can change.
fn opened(seen: &Seen, session: &str) -> Vec<Step> {
    let offers =
        json!({"tools": {"listChanged": true}, "resources": {"subscribe": true, "listChanged": true}});
    let opened = result(seen, &json!({"protocolVersion": "2025-11-25", "capabilities": offers}));
    let headers = format!("content-type: application/json\r\nmcp-session-id: {session}\r\n");
    response("200 OK", &headers, &opened.to_string())
}

fn subscribed(seen: &Seen) -> Vec<Step> {
    json("200 OK", &result(seen, &json!({})))
}

/// A stream that sends this, and stays open.
fn telling(method: &str, params: &Value) -> Vec<Step> {
    let changed = json!({"jsonrpc": "2.0", "method": method, "params": params});
    vec![stream_head(), event(&changed), Step::Hold]
}

/// A stream that ends without an event, and may be resumed at once.
fn idle() -> Vec<Step> {
    vec![stream_head(), chunk("id: 7\nretry: 1\ndata:\n\n"), stream_end()]
}

fn forgotten() -> Vec<Step> {
    response("404 Not Found", "", "no such session")
}

fn count(counter: &AtomicUsize) -> usize {
    counter.fetch_add(1, Ordering::SeqCst)
}

#[test]
fn an_idle_stream_may_be_closed_again_and_again() {
    run(async {
        let gets = AtomicUsize::new(0);
        let server = Server::new(move |seen| match &seen.what()[..] {
            "initialize" => opened(seen, "s-1"),
            "GET" if count(&gets) < 6 => idle(),
            "GET" => telling("notifications/tools/list_changed", &json!({})),
            _ => handshake(seen).unwrap(),
        })
        .await;
        let client = server.try_connect(legacy()).await.unwrap();
        let mut changes = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
        assert_eq!(changes.next().await.unwrap(), Some(Change::Tools));
        assert_eq!(server.of("GET").len(), 7);
        assert_eq!(server.of("initialize").len(), 1);
    });
}

#[test]
fn a_dropped_subscription_is_unsubscribed() {
    run(async {
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let server = Server::new(move |seen| match &seen.what()[..] {
            "initialize" => opened(seen, "s-1"),
            "GET" => vec![stream_head(), Step::Hold],
            "resources/subscribe" => subscribed(seen),
            "resources/unsubscribe" => {
                sender.send(seen.message()["params"]["uri"].clone()).unwrap();
                subscribed(seen)
            }
            _ => handshake(seen).unwrap(),
        })
        .await;
        let client = server.try_connect(legacy()).await.unwrap();
        drop(client.listen(filter()).await.unwrap());
        assert_eq!(receiver.recv().await.unwrap(), URI);
        client.close().await;
    });
}

/// A server that forgets its session on demand, and rejects GET or POST then.
async fn forgetful(on_get: bool) -> (Server, Arc<AtomicBool>) {
    let forgets = Arc::new(AtomicBool::new(false));
    let is_forgotten = Arc::clone(&forgets);
    let server = Server::new(move |seen| {
        let forgotten_now = is_forgotten.load(Ordering::SeqCst);
        let old = seen.header("mcp-session-id") == Some("s-1");
        match &seen.what()[..] {
            "initialize" => opened(seen, if forgotten_now { "s-2" } else { "s-1" }),
            "GET" if old && on_get && forgotten_now => forgotten(),
            "GET" if old && on_get => idle(),
            "GET" => vec![stream_head(), chunk("id: 7\nretry: 1\ndata:\n\n"), Step::Hold],
            "tools/call" if old && forgotten_now => forgotten(),
            "resources/subscribe" if old && forgotten_now => forgotten(),
            "resources/subscribe" => subscribed(seen),
            "tools/call" => json("200 OK", &text(seen, "ok")),
            _ => handshake(seen).unwrap_or_else(accepted),
        }
    })
    .await;
    (server, forgets)
}

#[test]
fn a_new_session_resubscribes_and_reports_possible_changes() {
    run(async {
        for on_get in [true, false] {
            let (server, forgets) = forgetful(on_get).await;
            let client = server.try_connect(legacy()).await.unwrap();
            let mut changes = client.listen(filter()).await.unwrap();
            forgets.store(true, Ordering::SeqCst);
            if !on_get {
                client.call("t", json!({})).await.unwrap();
            }
            assert_eq!(changes.next().await.unwrap(), Some(Change::Tools), "on GET: {on_get}");
            assert_eq!(changes.next().await.unwrap(), Some(Change::Resource(URI.to_owned())));
            assert_eq!(server.of("initialize").len(), 2);
            let again = server.of("resources/subscribe").pop().unwrap();
            assert_eq!(again.header("mcp-session-id"), Some("s-2"));
            assert_eq!(again.message()["params"]["uri"], URI);
            assert_eq!(server.of("GET").pop().unwrap().header("mcp-session-id"), Some("s-2"));
        }
    });
}

#[test]
fn a_new_session_that_does_not_take_the_subscription_ends_it() {
    run(async {
        let gets = AtomicUsize::new(0);
        let server = Server::new(move |seen| match (&seen.what()[..], seen.header("mcp-session-id")) {
            ("initialize", _) => opened(seen, if seen.number == 0 { "s-1" } else { "s-2" }),
            ("GET", Some("s-1")) if count(&gets) < 2 => idle(),
            ("GET", Some("s-1")) => forgotten(),
            ("GET", _) => vec![stream_head(), Step::Hold],
            ("resources/subscribe", Some("s-1")) => subscribed(seen),
            ("resources/subscribe", _) => json("200 OK", &error(seen, -32002, &json!(null))),
            _ => handshake(seen).unwrap_or_else(accepted),
        })
        .await;
        let client = server.try_connect(legacy()).await.unwrap();
        let mut changes = client.listen(SubscriptionFilter::new().resource(URI)).await.unwrap();
        let mut next = changes.next().await;
        // A change that may have been missed may be reported before.
        while let Ok(Some(_)) = next {
            next = changes.next().await;
        }
        assert!(matches!(next.unwrap_err().kind(), ErrorKind::Rpc(error) if error.code == -32002));
        assert_eq!(changes.next().await.unwrap(), None);
    });
}

#[test]
fn a_server_that_forgets_every_session_is_given_up() {
    run(async {
        let sessions = AtomicUsize::new(0);
        let seen_before = std::sync::Mutex::new(std::collections::HashSet::new());
        let server = Server::new(move |seen| match &seen.what()[..] {
            "initialize" => opened(seen, &format!("s-{}", count(&sessions))),
            "GET" => {
                let session = seen.header("mcp-session-id").unwrap().to_owned();
                if seen_before.lock().unwrap().insert(session) { idle() } else { forgotten() }
            }
            _ => handshake(seen).unwrap_or_else(accepted),
        })
        .await;
        let client = server.try_connect(legacy()).await.unwrap();
        let mut changes = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
        let lost = loop {
            match changes.next().await {
                Ok(change) => assert_eq!(change, Some(Change::Tools), "it may have been missed"),
                Err(lost) => break lost,
            }
        };
        assert!(
            lost.to_string().contains("forgets every session as soon as its notification stream ends"),
            "{lost}"
        );
        assert_eq!(server.of("initialize").len(), 1 + 5);
    });
}

#[test]
fn an_event_id_that_the_server_does_not_know_is_given_up() {
    run(async {
        let server = Server::new(move |seen| match (&seen.what()[..], seen.header("last-event-id")) {
            ("initialize", _) => opened(seen, "s-1"),
            ("GET", Some(_)) => response("400 Bad Request", "", "what event?"),
            ("GET", None) if seen.number < 3 => idle(),
            ("GET", None) => vec![stream_head(), Step::Hold],
            ("resources/subscribe", _) => subscribed(seen),
            _ => handshake(seen).unwrap_or_else(accepted),
        })
        .await;
        let client = server.try_connect(legacy()).await.unwrap();
        let mut changes = client.listen(filter()).await.unwrap();
        assert_eq!(changes.next().await.unwrap(), Some(Change::Tools));
        assert_eq!(changes.next().await.unwrap(), Some(Change::Resource(URI.to_owned())));
        let ids: Vec<_> =
            server.of("GET").iter().map(|seen| seen.header("last-event-id").is_some()).collect();
        assert_eq!(ids, [false, true, false]);
        assert_eq!(server.of("resources/subscribe").len(), 2);
    });
}

#[test]
fn a_subscription_that_cannot_be_served_is_an_error() {
    run(async {
        for (what, get) in [
            ("405", response("405 Method Not Allowed", "allow: POST\r\n", "")),
            ("404", response("404 Not Found", "", "")),
            ("HTML", response("200 OK", "content-type: text/html\r\n", "<p>")),
        ] {
            let hears = Arc::new(AtomicBool::new(false));
            let now = Arc::clone(&hears);
            let server = Server::new(move |seen| match &seen.what()[..] {
                "initialize" => opened(seen, "s-1"),
                "GET" if now.load(Ordering::SeqCst) => {
                    telling("notifications/tools/list_changed", &json!({}))
                }
                "GET" => get.clone(),
                _ => handshake(seen).unwrap_or_else(accepted),
            })
            .await;
            let client = server.try_connect(legacy()).await.unwrap();
            let mut changes = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
            let lost = changes.next().await.unwrap_err();
            assert!(lost.to_string().contains("waiting for changes"), "{what}: {lost}");
            assert_eq!(changes.next().await.unwrap(), None, "{what}");
            assert_eq!(server.of("initialize").len(), 1, "{what}");
            // The next attempt may succeed.
            hears.store(true, Ordering::SeqCst);
            let mut changes = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
            assert_eq!(changes.next().await.unwrap(), Some(Change::Tools), "{what}");
        }
    });
}

#[test]
fn a_server_that_has_gone_for_good_ends_the_subscription() {
    run(async {
        let server = Server::new(move |seen| match &seen.what()[..] {
            "initialize" => opened(seen, "s-1"),
            "GET" if seen.number < 3 => idle(),
            "GET" => vec![Step::Close],
            _ => handshake(seen).unwrap_or_else(accepted),
        })
        .await;
        let client = server.try_connect(legacy()).await.unwrap();
        let mut changes = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
        let lost = changes.next().await.unwrap_err();
        assert!(matches!(lost.kind(), ErrorKind::Closed | ErrorKind::Unreachable(_)), "{lost:?}");
    });
}

/// A real server at an address, with a state key that the next one has too.
async fn real(address: SocketAddr) -> (SocketAddr, Resources, oneshot::Sender<()>, JoinHandle<()>) {
    let listener = TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut server = Papertape::new("notes", "1.0.0")
        .state_key([7; 32], Duration::from_secs(600))
        .resource(Resource::new(URI).name("one"), |_| async { Ok("the first note") });
    let resources = server.resources();
    let (stop, stopped) = oneshot::channel();
    let until = async move { drop(stopped.await) };
    let served = tokio::spawn(async move {
        http::serve_until(listener, server, Options::new(), until).await.unwrap();
    });
    (address, resources, stop, served)
}

// The session goes on, because its id is sealed with the same key; its subscriptions are lost.
#[test]
fn a_subscription_outlives_a_restart_of_the_server() {
    run(async {
        let (address, _, stop, served) = real(SocketAddr::from(([127, 0, 0, 1], 0))).await;
        let endpoint = http::Endpoint::new(format!("http://{address}/mcp"));
        let client = http::connect_with(endpoint, legacy()).await.unwrap();
        let mut changes = client.listen(SubscriptionFilter::new().resource(URI)).await.unwrap();
        stop.send(()).unwrap();
        served.await.unwrap();
        let (_, resources, _stop, _served) = real(address).await;
        // One may be reported because it may have been missed; the others need a subscription.
        for _ in 0..3 {
            let notified = within(async {
                loop {
                    resources.updated(URI);
                    if let Ok(next) = tokio::time::timeout(Duration::from_millis(50), changes.next()).await {
                        return next.unwrap();
                    }
                }
            });
            assert_eq!(notified.await, Some(Change::Resource(URI.to_owned())));
        }
        client.close().await;
    });
}
