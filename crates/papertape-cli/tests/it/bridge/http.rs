//! A server on stdio for hosts over HTTP: `papertape bridge --http`.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use papertape::Client;
use papertape::client::{CallOptions, Called, ClientOptions};
use papertape::http;
use papertape::protocol::{ElicitResult, LogLevel, Revision, Role, Root, SamplingResult};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::host::{bridge, server};
use crate::http::Served;
use crate::{faulty, papertape, scratch};

const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// Every host over HTTP, in front of every server at a URL.
async fn pairs_at_urls(test: impl AsyncFn(Served, ClientOptions, String)) {
    for of_server in REVISIONS {
        for of_host in REVISIONS {
            let behind = Served::start(&mut bridge(&["--http", "0"], &[&server()]));
            let url = format!("http://{}/mcp", behind.address);
            let served =
                Served::start(&mut papertape(["bridge", "--http", "0", "--revision", of_server, &url]));
            let options = ClientOptions::new().revision(Revision::parse(of_host).unwrap());
            test(served, options, format!("host: {of_host}, server at a URL: {of_server}")).await;
        }
    }
}

/// Every host over HTTP, in front of every server on stdio.
async fn pairs(options: &[&str], mode: Option<&str>, test: impl AsyncFn(Served, ClientOptions, String)) {
    for of_server in REVISIONS {
        for of_host in REVISIONS {
            let (bridged, faulty) = (server(), faulty());
            let command: &[&str] = match mode {
                Some(mode) => &[&faulty, mode],
                None => &[&bridged],
            };
            let mut all = vec!["--http", "0", "--revision", of_server];
            all.extend(options);
            let served = Served::start(&mut bridge(&all, command));
            let options = ClientOptions::new().revision(Revision::parse(of_host).unwrap());
            test(served, options, format!("host: {of_host}, server: {of_server}")).await;
        }
    }
}

async fn connect(served: &Served, options: ClientOptions) -> Client {
    http::connect_with(format!("http://{}/mcp", served.address), options).await.unwrap()
}

#[tokio::test]
async fn calls_progress_logs_and_cancellation() {
    let test = async |served: Served, options: ClientOptions, pair: String| {
        let (logs, logged) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
        let sink = Arc::clone(&logs);
        let client = connect(&served, options.on_log(move |log| sink.lock().unwrap().push(log.data))).await;
        client.set_log_level(LogLevel::Info).await.unwrap();
        let steps = Arc::clone(&logged);
        let progress = CallOptions::new().on_progress(move |step| steps.lock().unwrap().push(step.progress));
        let counted = client.call_with("count", json!({"to": 1}), progress).await.unwrap();
        assert_eq!(counted.text(), "counted to 1", "{pair}");
        assert_eq!(*logged.lock().unwrap(), [1.0], "{pair}");
        assert_eq!(*logs.lock().unwrap(), [json!({"step": 1})], "{pair}");

        let (begun, mut begins) = mpsc::unbounded_channel();
        let progress = CallOptions::new().on_progress(move |_| begun.send(()).unwrap());
        tokio::select! {
            result = client.call_with("wait", json!({}), progress) => panic!("{pair}: {result:?}"),
            _ = begins.recv() => {}
        }
        while client.call("cancelled", json!({})).await.unwrap().text() == "0" {}
        client.close().await;
    };
    pairs(&[], None, test).await;
    pairs_at_urls(test).await;
}

#[tokio::test]
async fn a_form_of_a_server_at_a_url() {
    pairs_at_urls(async |served, options, pair| {
        let options = options.on_form(async |_| ElicitResult::accept([("row", json!(7))]));
        let client = connect(&served, options).await;
        assert_eq!(client.call("seat", json!({})).await.unwrap().text(), "row 7", "{pair}");
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn elicitation_sampling_and_roots() {
    for own in [&[][..], &["--per-session"]] {
        pairs(own, Some("books"), async |served, options, pair| {
            let options = options
                .on_form(async |_| ElicitResult::accept([("seat", json!("12A"))]))
                .on_sampling(async |_| {
                    let text = json!({"type": "text", "text": "Ada"});
                    Ok(SamplingResult::new(Role::Assistant, text, "m"))
                })
                .roots(vec![Root::new("file:///home/ada")]);
            let client = connect(&served, options).await;
            let booked = client.call("book", json!({})).await.unwrap().text();
            let booked: Value = serde_json::from_str(&booked).unwrap_or_else(|_| panic!("{pair}: {booked}"));
            assert_eq!(booked["seat"]["content"]["seat"], "12A", "{pair}");
            assert_eq!(booked["who"]["content"]["text"], "Ada", "{pair}");
            assert_eq!(booked["where"]["roots"][0]["uri"], "file:///home/ada", "{pair}");
            client.close().await;
        })
        .await;
    }
}

async fn pid(client: &Client) -> String {
    client.call("pid", json!({})).await.unwrap().text()
}

#[tokio::test]
async fn a_process_is_shared_or_of_a_session() {
    for (options, shared) in [(&[][..], true), (&["--per-session"], false)] {
        pairs(options, None, async |served, _, pair| {
            let legacy = || ClientOptions::new().revision(Revision::NEWEST_LEGACY);
            let (first, second) = (connect(&served, legacy()).await, connect(&served, legacy()).await);
            assert_eq!(pid(&first).await, pid(&first).await, "{pair}");
            assert_eq!(pid(&first).await == pid(&second).await, shared, "{pair}");
            // The process of a session ends with it.
            let process = format!("/proc/{}", pid(&first).await);
            first.close().await;
            while !shared && Path::new(&process).exists() {
                tokio::task::yield_now().await;
            }
            // Hosts without sessions share one.
            let (third, fourth) =
                (connect(&served, ClientOptions::new()).await, connect(&served, ClientOptions::new()).await);
            assert_eq!(pid(&third).await, pid(&fourth).await, "{pair}");
        })
        .await;
    }
}

#[tokio::test]
async fn a_server_that_dies_is_started_again() {
    pairs(&[], None, async |mut served, options, pair| {
        let client = connect(&served, options).await;
        let before = pid(&client).await;
        client.call("exit", json!({})).await.unwrap_err();
        assert_ne!(pid(&client).await, before, "{pair}");
        client.close().await;
        served
            .wait_for_log("papertape: the server has exited (exit status: 3); it is started again in 0.2 s");
        served.wait_for_log("papertape: the server was started again (restart 1)");
    })
    .await;
}

#[test]
fn a_signal_ends_it_in_order() {
    for (signal, code) in [(Signal::TERM, Some(0)), (Signal::INT, Some(0)), (Signal::HUP, Some(129))] {
        let served = Served::start(&mut bridge(&["--http", "0"], &[&server()]));
        served.signal(signal);
        assert_eq!(served.end().code(), code, "{signal:?}");
    }
}

#[tokio::test]
async fn keys_and_health_are_those_of_serve() {
    let keys = scratch("bridge_keys").join("keys.toml");
    std::fs::write(&keys, "").unwrap();
    std::fs::set_permissions(&keys, Permissions::from_mode(0o600)).unwrap();
    let options = ["--auth", keys.to_str().unwrap(), "--health", "--metrics"];
    let all: Vec<&str> = ["--http", "0"].into_iter().chain(options).collect();
    let served = Served::start(&mut bridge(&all, &[&server()]));
    let url = format!("http://{}/mcp", served.address);
    let refused = http::connect_with(url, ClientOptions::new()).await.unwrap_err();
    assert!(refused.to_string().contains("401"), "{refused}");
    let mut stream = crate::http::open(served.address);
    let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    std::io::Write::write_all(&mut stream, request).unwrap();
    assert_eq!(crate::http::response(&mut stream).0, 200);
}

#[tokio::test]
async fn what_may_be_meant_for_another_host_is_refused() {
    let books = [&faulty(), "--legacy", "books"];
    let served = Served::start(&mut bridge(&["--http", "0"], &books));
    let asked = || {
        let none = ClientOptions::new().revision(Revision::NEWEST_LEGACY);
        none.on_form(async |_| ElicitResult::accept([("seat", json!("12A"))]))
    };
    let (waiting, booking) = (connect(&served, asked()).await, connect(&served, asked()).await);
    let hangs = tokio::spawn({
        let waiting = waiting.clone();
        async move { waiting.call("hang", json!({})).await }
    });
    // The other call has arrived.
    while !booking.call("was_heard", json!({})).await.unwrap().text().contains("tools/call") {}
    let mut booked = String::new();
    while !booked.contains("several hosts share this server") {
        booked = booking.call("book", json!({})).await.unwrap().text();
    }
    hangs.abort();
}

/// A server of 2026-07-28 needs its input for a call.
#[tokio::test]
async fn what_is_meant_for_a_call_goes_to_its_host() {
    let served = Served::start(&mut bridge(&["--http", "0"], &[&server()]));
    let rows = async |row: u8| {
        let options = ClientOptions::new().tasks(false);
        let options = options.on_form(move |_| async move { ElicitResult::accept([("row", json!(row))]) });
        connect(&served, options).await
    };
    let (waiting, first, second) = (rows(1).await, rows(2).await, rows(3).await);
    let (begun, mut begins) = mpsc::unbounded_channel();
    let progress = CallOptions::new().on_progress(move |_| begun.send(()).unwrap_or_default());
    let waits = tokio::spawn(async move { waiting.call_with("wait", json!({}), progress).await });
    begins.recv().await.unwrap();
    let (first, second) = tokio::join!(first.call("seat", json!({})), second.call("seat", json!({})));
    assert_eq!((first.unwrap().text(), second.unwrap().text()), ("row 2".to_owned(), "row 3".to_owned()));
    waits.abort();
}

#[tokio::test]
async fn a_task_of_the_server_is_one_for_a_host_that_knows_tasks() {
    let served = Served::start(&mut bridge(&["--http", "0"], &[&server()]));
    let client = connect(&served, ClientOptions::new()).await;
    // One that is over at once may be a result.
    let report = match client.call_task("report", json!({})).await.unwrap() {
        Called::Task(mut task) => task.wait().await.unwrap(),
        Called::Result(result) => result,
    };
    assert_eq!(report.text(), "the report");
    // Other calls are no tasks.
    assert!(matches!(client.call_task("pid", json!({})).await.unwrap(), Called::Result(_)));
    // A task that is cancelled is cancelled on the server.
    let Called::Task(task) = client.call_task("dream", json!({})).await.unwrap() else {
        panic!("it is no task");
    };
    task.cancel().await.unwrap();
    while client.call("cancelled", json!({})).await.unwrap().text() == "0" {}
    client.close().await;
}
