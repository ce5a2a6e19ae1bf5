use std::sync::{Arc, Mutex};

use papertape::client::{CallOptions, ClientOptions, ErrorKind, SubscriptionFilter};
use papertape::protocol::{ElicitResult, Revision};
use papertape::stdio::ServerCommand;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::run::{connect_with, path};

/// A client of the proxy, whose user answers every form with its message.
async fn proxied(revision: Revision) -> papertape::Client {
    let command = ServerCommand::new(path("proxy")).args([path("proxied")]);
    let options = ClientOptions::new().revision(revision).on_form(|form| async move {
        ElicitResult::accept(Map::from_iter([("name".to_owned(), form.message.into())]))
    });
    connect_with(command, options).await
}

#[tokio::test]
async fn calls_reads_prompts_and_methods_pass_through() {
    for revision in [Revision::MODERN, Revision::NEWEST_LEGACY] {
        let client = proxied(revision).await;
        let tools = client.tools().await.unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool.item.name.as_str()).collect();
        assert_eq!(names, ["greet", "work", "refuse", "meta", "task", "grow"]);
        assert_eq!(tools[0].item.title.as_deref(), Some("Greet"));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let options = CallOptions::new().on_progress(move |step| log.lock().unwrap().push(step));
        let result = client.call_with("work", json!({}), options).await.unwrap();
        assert_eq!(result.text(), "done");
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        assert!(seen.len() == 1 && seen[0].message.as_deref() == Some("half done"), "{seen:?}");
        let result = client.call("work", json!({"oops": 1})).await.unwrap();
        assert!(result.is_error && result.text().contains("oops"), "{result:?}");
        for (tool, code) in [("refuse", 1001), ("unknown", -32602)] {
            let error = client.call(tool, json!({})).await.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Rpc(rpc) if rpc.code == code), "{error}");
        }
        let prompt = client.prompt("hello", Map::new()).await.unwrap();
        assert_eq!(prompt.text(), "hello");
        for (uri, text) in [("note:one", "the first note"), ("note:7", "note 7")] {
            assert_eq!(client.read(uri).await.unwrap()[0].text.as_deref(), Some(text));
        }
        let doubled = client.request("com.example/double", json!({"number": 21})).await.unwrap();
        assert_eq!(doubled["doubled"], 42);
        client.close().await;
    }
}

#[tokio::test]
async fn meta_is_passed_on() {
    for revision in [Revision::MODERN, Revision::NEWEST_LEGACY] {
        let client = proxied(revision).await;
        let options = || CallOptions::new().meta("com.example/tenant", "acme");
        let result = client.call_with("meta", json!({}), options()).await.unwrap();
        let meta: Value = result.parse().unwrap();
        assert_eq!(meta["com.example/tenant"], "acme", "{meta}");
        let meta = client.request_with("com.example/meta", json!({}), options()).await.unwrap();
        assert_eq!(meta["com.example/tenant"], "acme", "{meta}");
        client.close().await;
    }
}

#[tokio::test]
async fn the_status_of_a_task_is_progress() {
    for revision in [Revision::MODERN, Revision::NEWEST_LEGACY] {
        let client = proxied(revision).await;
        let (seen, mut steps) = mpsc::unbounded_channel();
        let options = CallOptions::new().on_progress(move |step| drop(seen.send(step.message)));
        let finish = async {
            assert_eq!(steps.recv().await.flatten().as_deref(), Some("half done"));
            client.request_as::<()>("com.example/finish", ()).await.unwrap();
        };
        let (result, ()) = tokio::join!(client.call_with("task", json!({}), options), finish);
        assert_eq!(result.unwrap().text(), "done");
        client.close().await;
    }
}

#[tokio::test]
async fn forms_reach_the_user_and_answers_the_server() {
    for revision in [Revision::MODERN, Revision::NEWEST_LEGACY] {
        let client = proxied(revision).await;
        let result = client.call("greet", json!({})).await.unwrap();
        assert_eq!(result.text(), "hello The first guest? and The second guest?");
        client.close().await;
    }
}

#[tokio::test]
async fn changes_of_the_lists_are_passed_on() {
    let client = proxied(Revision::MODERN).await;
    let mut changes = client.listen(SubscriptionFilter::new().tools()).await.unwrap();
    client.call("grow", json!({})).await.unwrap();
    while !client.tools().await.unwrap().iter().any(|tool| tool.item.name == "grown") {
        changes.next().await.unwrap().unwrap();
    }
    assert_eq!(client.call("grown", json!({})).await.unwrap().text(), "done");
    client.close().await;
}
