use std::sync::{Arc, Mutex};

use papertape::Client;
use papertape::client::{CallOptions, Called, ClientOptions, ErrorKind, TaskHandle};
use papertape::server::TaskStatus;
use papertape::stdio::ServerCommand;
use serde_json::json;
use tempfile::TempDir;

use crate::run::{connect_with, path};

async fn connect(folder: &TempDir, options: ClientOptions) -> Client {
    let command = ServerCommand::new(path("task")).args([folder.path()]);
    connect_with(command, options).await
}

async fn start(client: &Client, below: u64) -> TaskHandle {
    match client.call_task("count_primes", json!({"below": below})).await.unwrap() {
        Called::Task(task) => task,
        Called::Result(result) => unreachable!("{result:?}"),
    }
}

#[tokio::test]
async fn a_call_waits_for_its_task() {
    let folder = tempfile::tempdir().unwrap();
    let client = connect(&folder, ClientOptions::new()).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let statuses = Arc::clone(&seen);
    let options = CallOptions::new().on_status(move |task| statuses.lock().unwrap().push(task.status));
    let result = client.call_with("count_primes", json!({"below": 1000}), options).await.unwrap();
    assert_eq!(result.text(), "168 primes below 1000");
    assert!(!seen.lock().unwrap().is_empty());
    client.close().await;
}

#[tokio::test]
async fn a_task_outlives_the_process_that_ran_it() {
    let folder = tempfile::tempdir().unwrap();
    let client = connect(&folder, ClientOptions::new()).await;
    let mut task = start(&client, 1000).await;
    task.wait().await.unwrap();
    let id = task.id().to_owned();
    client.close().await;

    let client = connect(&folder, ClientOptions::new()).await;
    assert_eq!(client.task(id).wait().await.unwrap().text(), "168 primes below 1000");
    client.close().await;
}

#[tokio::test]
async fn a_task_can_be_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let client = connect(&folder, ClientOptions::new()).await;
    let mut task = start(&client, u64::MAX).await;
    assert_eq!(task.poll().await.unwrap().status, TaskStatus::Working);
    task.cancel().await.unwrap();
    let error = task.wait().await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::TaskCancelled), "{error:?}");

    let elsewhere = client.task("../secret").poll().await.map(drop).unwrap_err();
    assert!(elsewhere.to_string().contains("unknown task"), "{elsewhere}");
    client.close().await;
}

#[tokio::test]
async fn clients_without_tasks_wait_for_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let client = connect(&folder, ClientOptions::new().tasks(false)).await;
    let result = client.call("count_primes", json!({"below": 100})).await.unwrap();
    assert_eq!(result.text(), "25 primes below 100");
    client.close().await;
}
