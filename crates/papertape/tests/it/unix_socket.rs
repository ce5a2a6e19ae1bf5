//! A server on a Unix domain socket: its file, its limit of connections, and how it ends.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use papertape::client::ErrorKind;
use papertape::server::Tool;
use papertape::{Cx, Server, unix};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::client::text_of;
use crate::fixture;
use crate::peer::run_threads;

/// A path that no other test uses.
fn path(test: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("papertape-{}-{test}.sock", std::process::id()));
    drop(std::fs::remove_file(&path));
    path
}

#[test]
fn several_clients_are_served_until_it_is_stopped() {
    run_threads(async {
        let path = path("several");
        let listener = unix::Listener::bind(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(unix::serve_until(listener, fixture::server(), async {
            drop(stopped.await);
        }));
        let (one, two) = (unix::connect(&path).await.unwrap(), unix::connect(&path).await.unwrap());
        for client in [&one, &two] {
            let result = client.call("echo", json!({"text": "hello"})).await.unwrap();
            assert_eq!(text_of(&result), "hello");
        }
        stop.send(()).unwrap();
        serving.await.unwrap().unwrap();
        assert!(!path.exists(), "the socket is removed");
        assert!(one.call("echo", json!({"text": "late"})).await.is_err());
        let refused = unix::connect(&path).await.unwrap_err();
        assert!(matches!(refused.kind(), ErrorKind::NotStarted(_)), "{refused}");
        assert!(refused.to_string().contains("several.sock"), "{refused}");
    });
}

#[test]
fn a_running_call_is_answered_when_it_is_stopped() {
    run_threads(async {
        let path = path("running");
        let (began, mut begun) = tokio::sync::mpsc::channel(1);
        let (finish, finished) = tokio::sync::watch::channel(false);
        let tool = Tool::new("wait").input_schema(json!({"type": "object"}));
        let server = Server::new("waiting", "1").raw_tool(tool, move |_: Value, _: Cx| {
            let (began, mut finished) = (began.clone(), finished.clone());
            async move {
                began.send(()).await?;
                finished.wait_for(|finished| *finished).await?;
                Ok("done")
            }
        });
        let (stop, stopped) = oneshot::channel::<()>();
        let listener = unix::Listener::bind(&path).unwrap();
        let serving = tokio::spawn(unix::serve_until(listener, server, async { drop(stopped.await) }));
        let client = unix::connect(&path).await.unwrap();
        let calling = tokio::spawn(async move { client.call("wait", json!({})).await });
        begun.recv().await.unwrap();
        stop.send(()).unwrap();
        // The socket goes first, then what runs may finish.
        while unix::connect(&path).await.is_ok() {
            tokio::task::yield_now().await;
        }
        finish.send_replace(true);
        assert_eq!(text_of(&calling.await.unwrap().unwrap()), "done");
        serving.await.unwrap().unwrap();
    });
}

#[test]
fn a_stale_socket_is_replaced_and_anything_else_is_not() {
    run_threads(async {
        let path = path("stale");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "it is left behind");
        let listener = unix::Listener::bind(&path).unwrap();
        assert_eq!(listener.path(), path);
        let in_use = unix::Listener::bind(&path).unwrap_err().to_string();
        assert!(
            in_use.contains("another server is listening here") && in_use.contains("stale.sock"),
            "{in_use}"
        );
        // The file of another socket in its place is not its own.
        std::fs::remove_file(&path).unwrap();
        let other = UnixListener::bind(&path).unwrap();
        drop(listener);
        assert!(path.exists());
        drop(other);
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "precious").unwrap();
        let in_the_way = unix::Listener::bind(&path).unwrap_err().to_string();
        assert!(in_the_way.contains("something else than a socket"), "{in_the_way}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
        std::fs::remove_file(&path).unwrap();
    });
}

#[test]
fn of_two_servers_that_start_at_once_one_serves() {
    run_threads(async {
        let path = path("race");
        for round in 0..300 {
            drop(UnixListener::bind(&path).unwrap());
            let barrier = std::sync::Barrier::new(2);
            let runtime = tokio::runtime::Handle::current();
            let bind = || {
                let _entered = runtime.enter();
                barrier.wait();
                unix::Listener::bind(&path)
            };
            let (one, two) = std::thread::scope(|scope| {
                let other = scope.spawn(bind);
                (bind(), other.join().unwrap())
            });
            assert!(one.is_ok() != two.is_ok(), "{round}: {one:?} {two:?}");
            tokio::net::UnixStream::connect(&path).await.unwrap();
            drop((one, two));
            assert!(!path.exists(), "{round}");
        }
    });
}

#[test]
fn a_server_that_accepts_no_connection_is_still_listening() {
    run_threads(async {
        let path = path("busy");
        let socket = tokio::net::UnixSocket::new_stream().unwrap();
        socket.bind(&path).unwrap();
        let listener = socket.listen(1).unwrap();
        // Until the kernel takes no more.
        let mut clients = Vec::new();
        while let Ok(client) = tokio::net::UnixStream::connect(&path).await {
            clients.push(client);
        }
        let (done, bound) = std::sync::mpsc::channel();
        let (busy, runtime) = (path.clone(), tokio::runtime::Handle::current());
        std::thread::spawn(move || {
            let _entered = runtime.enter();
            drop(done.send(unix::Listener::bind(busy).map(drop)));
        });
        let bound = bound.recv_timeout(std::time::Duration::from_secs(20)).expect("it hangs");
        assert!(bound.unwrap_err().to_string().contains("another server is listening here"));
        assert!(path.exists());
        drop((listener, clients));
        std::fs::remove_file(&path).unwrap();
    });
}

#[test]
fn connections_over_the_limit_wait_for_one_to_end() {
    run_threads(async {
        let path = path("limit");
        let listener = unix::Listener::bind(&path).unwrap().max_connections(1);
        let serving = tokio::spawn(unix::serve_until(listener, fixture::server(), std::future::pending()));
        let first = unix::connect(&path).await.unwrap();
        let waiting = path.clone();
        let second = tokio::spawn(async move { unix::connect(waiting).await });
        // The first is served while the second waits for its place.
        for _ in 0..20 {
            first.call("echo", json!({"text": "still here"})).await.unwrap();
        }
        assert!(!second.is_finished());
        first.close().await;
        let second = second.await.unwrap().unwrap();
        second.call("echo", json!({"text": "my turn"})).await.unwrap();
        serving.abort();
        assert!(serving.await.unwrap_err().is_cancelled());
        assert!(!path.exists(), "the socket is removed");
    });
}
