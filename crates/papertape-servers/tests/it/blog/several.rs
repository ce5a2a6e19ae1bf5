//! Several directories in one index.

use std::fs;
use std::path::{Path, PathBuf};

use papertape::Client;
use papertape::client::ClientOptions;
use papertape::protocol::Revision;
use papertape_search::Options;
use papertape_servers::blog;
use serde_json::json;

use super::{call, options, patient, query, search, sources, text, write};
use crate::scratch;

/// Two directories of the same name, and one of another.
fn three(test: &str) -> (PathBuf, [PathBuf; 3]) {
    let base = scratch(test);
    let folders = ["a/notes", "b/notes", "c/blog"].map(|name| base.join(name));
    write(&folders[0], "bees.md", "# Bees\n\nThey live in a hive.\n");
    write(&folders[1], "bees.md", "# More bees\n\nThe hive hums.\n");
    write(&folders[2], "deep/otters.md", "---\ntags: [river]\n---\n# Otters\n\nThey hold hands.\n");
    (base, folders)
}

fn all(folders: &[PathBuf]) -> Options {
    Options { further: folders[1..].to_vec(), ..patient(&folders[0]) }
}

async fn open(options: Options) -> Client {
    let client =
        crate::open(blog::server(options).await.unwrap(), Revision::MODERN, ClientOptions::new()).await;
    while text(&call(&client, "search_blog", query("x")).await).contains("the index is being made") {}
    client
}

async fn sorted(client: &Client, words: &str) -> Vec<String> {
    let mut found = sources(client, json!({ "query": words, "top_k": 20 })).await;
    found.sort();
    found
}

/// Searches until the sources are these: a directory is looked at again and again.
async fn becomes(client: &Client, words: &str, right: &[&str]) {
    while sorted(client, words).await != right {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn files_of_several_directories_are_told_apart_by_its_name() {
    let (_, folders) = three("blog_several");
    let client = open(all(&folders)).await;
    assert_eq!(sorted(&client, "hive").await, ["notes-2/bees.md", "notes/bees.md"]);
    assert_eq!(sorted(&client, "otters").await, ["blog/deep/otters.md"]);
    let within = json!({ "query": "hive", "path_prefix": "notes-2/" });
    assert_eq!(sources(&client, within).await, ["notes-2/bees.md"]);
    let read = client.read("blog:///blog/deep/otters.md").await.unwrap();
    assert!(read[0].text.as_ref().unwrap().contains("hold hands"));
    let chunk = json!({ "source": "notes-2/bees.md", "chunk_index": 0 });
    assert_eq!(text(&call(&client, "read_chunk", chunk).await), "# More bees\n\nThe hive hums.\n");
    let tagged = call(&client, "list_files", json!({ "tag": "river" })).await;
    assert!(text(&tagged).contains("\"blog/deep/otters.md\""), "{tagged:?}");
    client.close().await;
    // The index of a directory alone is another one, with other paths.
    let client = open(options(&folders[0])).await;
    assert_eq!(sorted(&client, "hive").await, ["bees.md"]);
    client.close().await;
    let client = open(all(&folders)).await;
    assert_eq!(sorted(&client, "hive").await, ["notes-2/bees.md", "notes/bees.md"]);
}

#[tokio::test]
async fn every_directory_is_watched() {
    let (_, folders) = three("blog_several_watched");
    let client = open(Options { watch: true, ..all(&folders) }).await;
    for (folder, path) in folders.iter().zip(["notes/new.md", "notes-2/new.md", "blog/new.md"]) {
        let word = path.replace(['/', '-', '.'], "");
        write(folder, "new.md", &format!("# New\n\nabout {word}\n"));
        becomes(&client, &word, &[path]).await;
        fs::remove_file(folder.join("new.md")).unwrap();
        becomes(&client, &word, &[]).await;
    }
}

/// A directory goes away and comes back.
async fn is_kept(options: Options, away: &Path, leave_empty: bool, said: &str) {
    let client = open(options).await;
    assert_eq!(sorted(&client, "otters").await, ["blog/deep/otters.md"]);
    let aside = away.with_file_name("aside");
    fs::rename(away, &aside).unwrap();
    if leave_empty {
        // As the place where a disk was mounted.
        fs::create_dir(away).unwrap();
    }
    // What is there is followed on.
    write(&away.parent().unwrap().join("../b/notes"), "kettles.md", "# Kettles\n\nThey whistle.\n");
    becomes(&client, "kettles", &["notes-2/kettles.md"]).await;
    let found = loop {
        let found = search(&client, query("otters")).await;
        if found["note"].as_str().is_some_and(|note| note.contains(said)) {
            break found;
        }
    };
    assert_eq!(found["hits"][0]["source"], "blog/deep/otters.md", "{found}");
    if leave_empty {
        fs::remove_dir(away).unwrap();
    }
    fs::rename(&aside, away).unwrap();
    write(away, "deep/otters.md", "# Otters\n\nThey are back.\n");
    while search(&client, query("otters")).await.get("note").is_some() {}
    assert_eq!(sorted(&client, "back").await, ["blog/deep/otters.md"]);
    client.close().await;
}

#[tokio::test]
async fn a_directory_that_is_away_keeps_its_part_of_the_index() {
    let (_, folders) = three("blog_several_gone");
    let options = Options { watch: true, ..all(&folders) };
    is_kept(options, &folders[2], false, "the directory \"blog\" cannot be read").await;
}

#[tokio::test]
async fn a_directory_that_is_empty_keeps_its_part_of_the_index() {
    let (base, folders) = three("blog_several_emptied");
    let options = Options { watch: true, index: Some(base.join("index")), ..all(&folders) };
    is_kept(options, &folders[2], true, "the directory \"blog\" has no files any more").await;
}

#[tokio::test]
async fn a_server_starts_without_one_of_its_directories() {
    let (_, folders) = three("blog_several_missing");
    let aside = folders[2].with_file_name("aside");
    fs::rename(&folders[2], &aside).unwrap();
    // Not watched: it is tried again all the same.
    let client = open(all(&folders)).await;
    let found = search(&client, query("hive")).await;
    assert_eq!(found["hits"].as_array().unwrap().len(), 2, "{found}");
    let note = found["note"].as_str().unwrap();
    assert!(note.contains("\"blog\" cannot be read") && !note.contains("blog_several_missing"), "{note}");
    fs::rename(&aside, &folders[2]).unwrap();
    becomes(&client, "otters", &["blog/deep/otters.md"]).await;
    client.close().await;
    // Nothing is made in the place of a directory that has gone.
    fs::rename(&folders[0], &aside).unwrap();
    let client = open(all(&folders)).await;
    let said = super::failure(&client, "search_blog", query("hive")).await;
    assert!(said.contains("\"notes\" cannot be read"), "{said}");
    assert!(!folders[0].exists());
}

#[tokio::test]
async fn a_directory_within_another_is_refused() {
    let (_, folders) = three("blog_several_nested");
    let nested = Options { further: vec![folders[2].join("deep")], ..options(&folders[2]) };
    let said = blog::server(nested).await.unwrap_err().to_string();
    assert!(said.ends_with("is indexed with it: leave it out"), "{said}");
}
