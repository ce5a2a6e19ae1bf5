use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use papertape::server::{Notifier, Resource, ResourceTemplate, Service};
use papertape::{Cx, Server, memory, streams};
use serde_json::json;
use tokio::sync::mpsc;

use crate::peer::run;

#[derive(Debug, PartialEq, Eq)]
enum Event {
    Began,
    Ended,
}

struct Running(mpsc::UnboundedSender<Event>);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.send(Event::Ended));
    }
}

fn watched() -> (Service, mpsc::UnboundedReceiver<Event>) {
    let (events, seen) = mpsc::unbounded_channel();
    let server = super::server()
        .with_state(AtomicUsize::new(0))
        .tool("count", async |_: (), cx: Cx<AtomicUsize>| Ok(cx.state().load(Ordering::Relaxed).to_string()))
        .background(move |count: Arc<AtomicUsize>| {
            let events = events.clone();
            async move {
                count.fetch_add(1, Ordering::Relaxed);
                events.send(Event::Began).unwrap();
                let _running = Running(events);
                std::future::pending().await
            }
        });
    (server.build().unwrap(), seen)
}

#[test]
fn background_work_runs_once_while_the_server_is_served() {
    run(async {
        let (service, mut seen) = watched();
        tokio::task::yield_now().await;
        assert!(seen.try_recv().is_err(), "nothing serves it");
        let one = memory::connect(service.clone()).await.unwrap();
        assert_eq!(seen.recv().await, Some(Event::Began));
        let (ours, theirs) = tokio::io::duplex(1024);
        let (reader, writer) = tokio::io::split(theirs);
        let two = tokio::spawn(streams::serve(service.clone(), reader, writer));
        let counted = one.call("count", json!({})).await.unwrap();
        assert_eq!(counted.text(), "1");
        one.close().await;
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        assert!(seen.try_recv().is_err(), "the other is still served");
        drop(ours);
        two.await.unwrap().unwrap();
        assert_eq!(seen.recv().await, Some(Event::Ended));
        // And once more.
        let three = memory::connect(service).await.unwrap();
        assert_eq!(seen.recv().await, Some(Event::Began));
        assert_eq!(three.call("count", json!({})).await.unwrap().text(), "2");
        three.close().await;
        assert_eq!(seen.recv().await, Some(Event::Ended));
    });
}

#[test]
fn a_panic_in_the_background_ends_nothing_else() {
    run(async {
        let (events, mut seen) = mpsc::unbounded_channel();
        let server = Server::new("s", "1")
            .background(|_| async { panic!("on purpose") })
            .background(|_| -> std::future::Ready<()> { panic!("before its first await") })
            .background(move |_| {
                let events = events.clone();
                async move { events.send(()).unwrap() }
            })
            .tool("hello", async |_: (), _: Cx| Ok("hello"));
        let client = memory::connect(server).await.unwrap();
        seen.recv().await.unwrap();
        assert_eq!(client.call("hello", json!({})).await.unwrap().text(), "hello");
    });
}

#[test]
fn the_work_of_a_mounted_server_runs_too() {
    run(async {
        let (events, mut seen) = mpsc::unbounded_channel();
        let inner = Server::new("inner", "1").with_state(7_u8).background(move |seven: Arc<u8>| {
            let events = events.clone();
            async move { events.send(*seven).unwrap() }
        });
        let _client = memory::connect(Server::new("outer", "1").mount("in", inner)).await.unwrap();
        assert_eq!(seen.recv().await, Some(7));
    });
}

// Nothing of a server keeps what its handlers share, not even if that can notify clients.
#[test]
fn the_state_is_dropped_when_the_server_has_ended() {
    struct App {
        _running: Running,
        notifier: Notifier,
    }
    run(async {
        let (events, mut seen) = mpsc::unbounded_channel();
        let server = super::server();
        let app = App { _running: Running(events), notifier: server.notifier() };
        let template = ResourceTemplate::new("x:{x}").list(|_| async { Ok(vec![Resource::new("x:1")]) });
        let server = server
            .with_state(app)
            .tool("hello", async |_: (), cx: Cx<App>| {
                cx.state().notifier.notify("notifications/vendor/hello", json!({}))?;
                Ok("hello")
            })
            .method("vendor/hello", async |_: (), _: Cx<App>| Ok(()))
            .notification("notifications/vendor/hello", async |_: (), _: Cx<App>| Ok(()))
            .resource_template(template, async |_: BTreeMap<String, String>, _: Cx<App>| Ok("x"))
            .fallback_resource(|_, _: Cx<App>| async { Ok("any") })
            .background(|_: Arc<App>| std::future::pending())
            .visible(|_, _| true);
        let client = memory::connect(server).await.unwrap();
        assert_eq!(client.call("hello", json!({})).await.unwrap().text(), "hello");
        assert!(seen.try_recv().is_err());
        client.close().await;
        assert_eq!(seen.recv().await, Some(Event::Ended));
    });
}
