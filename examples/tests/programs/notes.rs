use papertape::Client;
use papertape::client::{Change, ClientOptions, ErrorKind, SubscriptionFilter};
use papertape::protocol::Reference;
use papertape::stdio::ServerCommand;
use serde_json::{Map, json};
use tempfile::TempDir;

use crate::run::{connect_with, path};

async fn connect(folder: &TempDir) -> Client {
    let command = ServerCommand::new(path("notes")).args([folder.path().join("notes.db")]);
    connect_with(command, ClientOptions::new()).await
}

async fn write(client: &Client, name: &str, text: &str) {
    let result = client.call("write_note", json!({"name": name, "text": text})).await.unwrap();
    assert!(!result.is_error, "{result:?}");
}

#[tokio::test]
async fn notes_are_resources_that_outlive_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let client = connect(&folder).await;
    let filter = SubscriptionFilter::new().resources().resource("notes:///tea");
    let mut changes = client.listen(filter).await.unwrap();
    write(&client, "tea", "Water the tea plant.").await;
    assert_eq!(changes.next().await.unwrap(), Some(Change::Resources));
    write(&client, "tea", "Water the tea plant on Mondays.").await;
    assert_eq!(changes.next().await.unwrap(), Some(Change::Resource("notes:///tea".to_owned())));
    drop(changes);
    client.close().await;

    let client = connect(&folder).await;
    let resources = client.resources().await.unwrap();
    assert_eq!(resources.iter().map(|entry| entry.item.uri.as_str()).collect::<Vec<_>>(), ["notes:///tea"]);
    let contents = client.read("notes:///tea").await.unwrap();
    assert_eq!(contents.first().unwrap().text.as_deref(), Some("Water the tea plant on Mondays."));
    let missing = client.read("notes:///coffee").await.unwrap_err();
    assert!(matches!(missing.kind(), ErrorKind::Rpc(_)), "{missing}");

    client.call("delete_note", json!({"name": "tea"})).await.unwrap();
    assert!(client.resources().await.unwrap().is_empty());
    assert!(client.call("delete_note", json!({"name": "tea"})).await.unwrap().is_error);
    client.close().await;
}

#[tokio::test]
async fn notes_are_found_completed_and_summarised() {
    let folder = tempfile::tempdir().unwrap();
    let client = connect(&folder).await;
    for (name, text) in [("tea", "Green."), ("teapot", "Of clay."), ("coffee", "Black.")] {
        write(&client, name, text).await;
    }
    let found = client.call("search_notes", json!({"query": "CLAY"})).await.unwrap();
    let hits = found.structured_content.unwrap().to_value().unwrap();
    assert!(hits.to_string().contains("notes:///teapot") && !hits.to_string().contains("coffee"), "{hits}");

    for reference in [
        Reference::Resource { uri: "notes:///{name}".to_owned() },
        Reference::Prompt { name: "summarise".to_owned() },
    ] {
        let completion = client.complete(reference, "name", "tea", Map::new()).await.unwrap();
        assert_eq!(completion.values, ["tea", "teapot"]);
    }

    let prompt = client.prompt("summarise", json!({"name": "teapot"})).await.unwrap();
    assert!(prompt.text().ends_with("Of clay."), "{}", prompt.text());

    let result = client.call("write_note", json!({"name": "../tea", "text": ""})).await.unwrap();
    assert!(result.is_error, "{result:?}");
    client.close().await;
}
