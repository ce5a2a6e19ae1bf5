//! An index that keeps up with its directory.

use std::fs;
use std::path::Path;

use papertape::Client;
use papertape::client::{Change, ClientOptions, Subscription, SubscriptionFilter};
use papertape::protocol::Revision;
use papertape_search::Options;
use papertape_search::embed::Choice;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::{modern, open, options, patient, query, sources, three_languages, write};
use crate::scratch;

fn watched(folder: &Path) -> Options {
    Options { watch: true, ..options(folder) }
}

/// Waits for a change, ignoring other notifications.
async fn hear(changes: &mut Subscription, change: &Change) {
    while changes.next().await.unwrap().as_ref() != Some(change) {}
}

async fn uris(client: &Client) -> Vec<String> {
    client.resources().await.unwrap().into_iter().map(|one| one.item.uri).collect()
}

#[tokio::test]
async fn a_changed_file_is_found_when_its_notification_comes() {
    for revision in [Revision::MODERN, Revision::NEWEST_LEGACY] {
        // Not the folder of the server before, which may still be ending: its indexer would remove the files of this one's.
        let folder = three_languages(&format!("blog_watch_{revision}"));
        let client = open(watched(&folder), revision).await;
        assert!(sources(&client, query("marmalade")).await.is_empty());
        let mut changes =
            client.listen(SubscriptionFilter::new().resources().resource("blog:///bees.md")).await.unwrap();

        write(&folder, "bees.md", "# Bees\n\nHoney beats marmalade.\n");
        hear(&mut changes, &Change::Resource("blog:///bees.md".into())).await;
        assert_eq!(sources(&client, query("marmalade")).await, ["bees.md"]);
        assert!(sources(&client, query("hive")).await.is_empty());

        write(&folder, "new/deep/otters.md", "# Otters\n\nThey hold hands.\n");
        hear(&mut changes, &Change::Resources).await;
        assert_eq!(sources(&client, query("otters")).await, ["new/deep/otters.md"]);
        assert!(uris(&client).await.contains(&"blog:///new/deep/otters.md".to_owned()));

        fs::remove_file(folder.join("bees.md")).unwrap();
        hear(&mut changes, &Change::Resource("blog:///bees.md".into())).await;
        assert!(sources(&client, query("marmalade")).await.is_empty());
        assert!(!uris(&client).await.contains(&"blog:///bees.md".to_owned()));
        client.close().await;
    }
}

#[tokio::test]
async fn a_file_is_listed_while_it_has_text() {
    let folder = three_languages("blog_emptied");
    let client = open(watched(&folder), Revision::MODERN).await;
    let mut changes =
        client.listen(SubscriptionFilter::new().resources().resource("blog:///bees.md")).await.unwrap();
    write(&folder, "bees.md", "");
    hear(&mut changes, &Change::Resource("blog:///bees.md".into())).await;
    assert!(!uris(&client).await.contains(&"blog:///bees.md".to_owned()));
    write(&folder, "bees.md", "# Bees\n\nThey are back.\n");
    hear(&mut changes, &Change::Resources).await;
    while !uris(&client).await.contains(&"blog:///bees.md".to_owned()) {
        hear(&mut changes, &Change::Resources).await;
    }
}

#[tokio::test]
async fn a_folder_that_is_replaced_is_watched_on() {
    let folder = three_languages("blog_replaced").join("notas");
    let client = open(watched(&folder), Revision::MODERN).await;
    let mut changes = client.listen(SubscriptionFilter::new().resources()).await.unwrap();
    fs::rename(&folder, folder.with_file_name("old")).unwrap();
    write(&folder, "other.md", "# Other\n\nabout kettles\n");
    while uris(&client).await != ["blog:///other.md"] {
        hear(&mut changes, &Change::Resources).await;
    }
    assert_eq!(sources(&client, query("kettles")).await, ["other.md"]);
    write(&folder, "more.md", "# More\n\nabout teapots\n");
    hear(&mut changes, &Change::Resources).await;
    assert_eq!(sources(&client, query("teapots")).await, ["more.md"]);
}

#[tokio::test]
async fn an_index_that_is_replaced_is_listed_and_searched_in_its_own_language() {
    let spanish = three_languages("blog_index_replaced").join("notas");
    let english = scratch("blog_index_replaced_english");
    write(&english, "bees.md", "# Bees\n\nThey like their hives in the morning sun.\n");
    let places = scratch("blog_index_replaced_index");
    for (folder, name) in [(&english, "index"), (&spanish, "other")] {
        let both = Options { index: Some(places.join(name)), ..options(folder) };
        open(both, Revision::MODERN).await.close().await;
    }
    let alone = Options { index: Some(places.join("index")), ..super::anywhere() };
    let client = open(alone, Revision::MODERN).await;
    assert_eq!(uris(&client).await, ["blog:///bees.md"]);
    assert_eq!(sources(&client, query("hive")).await, ["bees.md"]);
    let mut changes = client.listen(SubscriptionFilter::new().resources()).await.unwrap();
    // Both are of generation 1.
    fs::rename(places.join("index"), places.join("old")).unwrap();
    fs::rename(places.join("other"), places.join("index")).unwrap();
    while uris(&client).await != ["blog:///huerto%20nuevo.md"] {
        hear(&mut changes, &Change::Resources).await;
    }
    assert_eq!(sources(&client, query("una canción")).await, ["huerto nuevo.md"]);
}

#[tokio::test]
async fn a_removed_index_is_rebuilt() {
    let folder = three_languages("blog_taken");
    let client = open(watched(&folder), Revision::MODERN).await;
    assert_eq!(sources(&client, query("hive")).await[0], "bees.md");
    fs::remove_dir_all(folder.join(".papertape")).unwrap();
    // Till then the call fails, and says so.
    while super::call(&client, "search_blog", query("hive")).await.is_error {}
    assert_eq!(sources(&client, query("hive")).await[0], "bees.md");
    assert!(folder.join(".papertape/papertape.index").exists());
}

#[tokio::test]
async fn changes_while_no_server_ran_are_found_at_once() {
    let folder = three_languages("blog_start");
    let client = modern(&folder).await;
    assert_eq!(sources(&client, query("hive")).await[0], "bees.md");
    client.close().await;
    write(&folder, "late.md", "# Late\n\nabout lanterns\n");
    fs::remove_file(folder.join("bees.md")).unwrap();
    let client = open(patient(&folder), Revision::MODERN).await;
    assert_eq!(sources(&client, query("lanterns")).await, ["late.md"]);
    assert!(sources(&client, query("hive")).await.is_empty());
}

#[tokio::test]
async fn two_servers_share_the_index_of_one_directory() {
    let folder = three_languages("blog_two");
    let first = open(watched(&folder), Revision::MODERN).await;
    let second = open(watched(&folder), Revision::MODERN).await;
    for client in [&first, &second] {
        assert_eq!(sources(client, query("hive")).await[0], "bees.md");
    }
    let mut subscriptions = Vec::new();
    for client in [&first, &second] {
        subscriptions.push(client.listen(SubscriptionFilter::new().resources()).await.unwrap());
    }
    write(&folder, "late.md", "# Late\n\nabout lanterns\n");
    for (client, changes) in [&first, &second].into_iter().zip(&mut subscriptions) {
        hear(changes, &Change::Resources).await;
        assert_eq!(sources(client, query("lanterns")).await, ["late.md"]);
    }
}

/// A service that takes the first call and never responds. Reports when a call has come, and when its caller has given
/// up.
async fn silent() -> (String, watch::Receiver<bool>, watch::Receiver<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (called, was_called) = watch::channel(false);
    let (left, has_left) = watch::channel(false);
    tokio::spawn(async move {
        let (mut first, _) = listener.accept().await.unwrap();
        called.send_replace(true);
        let mut heard = Vec::new();
        first.read_to_end(&mut heard).await.ok();
        left.send_replace(true);
    });
    (url, was_called, has_left)
}

#[tokio::test]
async fn changes_while_a_model_works_are_found() {
    let folder = three_languages("blog_thinking");
    let (url, mut was_called, has_left) = silent().await;
    let options = Options {
        embed: Some(Choice::parse("ollama:slow").unwrap()),
        embed_url: Some(url),
        ..watched(&folder)
    };
    let client = crate::open(
        papertape_servers::blog::server(options).await.unwrap(),
        Revision::MODERN,
        ClientOptions::new(),
    )
    .await;
    let mut changes = client.listen(SubscriptionFilter::new().resources()).await.unwrap();
    was_called.wait_for(|called| *called).await.unwrap();
    write(&folder, "otters.md", "# Otters\n\nThey hold hands.\n");
    while !uris(&client).await.contains(&"blog:///otters.md".to_owned()) {
        hear(&mut changes, &Change::Resources).await;
    }
    assert!(!*has_left.borrow(), "the change waited for the model");
    assert_eq!(sources(&client, query("otters")).await, ["otters.md"]);
}
