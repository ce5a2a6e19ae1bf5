//! An index elsewhere belongs to one directory, and is not used for another one.

use std::fs;
use std::path::{Path, PathBuf};

use papertape::Client;
use papertape::protocol::Revision;
use papertape_search::Options;
use papertape_search::corpus::folder::Folder;
use papertape_search::index;
use serde_json::{Map, Value, json};

use super::{
    anywhere, call, failure, open, options, patient, query, search, sources, text, three_languages, write,
};
use crate::{refusal, scratch};

fn with_index(folder: &Path, index: &Path) -> Options {
    Options { index: Some(index.to_owned()), ..options(folder) }
}

/// A directory with an index elsewhere, and another directory.
async fn two_folders(test: &str) -> (PathBuf, PathBuf, PathBuf) {
    let folder = three_languages(test);
    let index = scratch(&format!("{test}_index")).join("index");
    open(with_index(&folder, &index), Revision::MODERN).await.close().await;
    let other = scratch(&format!("{test}_other"));
    write(&other, "kettles.md", "# Kettles\n\nThey whistle.\n");
    (folder, index, other)
}

fn is_refusal(said: &str) -> bool {
    ["of another directory", "(3), this one has none", "--rebuild", "--index", "--store"]
        .iter()
        .all(|part| said.contains(part))
}

#[tokio::test]
async fn a_server_leaves_the_index_of_another_folder_alone() {
    let (folder, index, other) = two_folders("blog_not_its_own").await;
    for watch in [false, true] {
        let client = open(Options { watch, ..with_index(&other, &index) }, Revision::MODERN).await;
        for (tool, arguments) in [
            ("search_blog", query("kettles")),
            ("search_blog", query("hive")),
            ("read_chunk", json!({ "source": "bees.md", "chunk_index": 0 })),
        ] {
            let said = failure(&client, tool, arguments).await;
            assert!(is_refusal(&said) && !said.contains("blog_not_its_own"), "{tool}: {said}");
        }
        assert!(client.resources().await.unwrap().is_empty());
        let (_, said) = refusal(client.read("blog:///bees.md").await);
        assert!(is_refusal(&said), "{said}");
        let question = Map::from_iter([("question".to_owned(), json!("hive"))]);
        let (_, said) = refusal(client.prompt("answer_from_blog", question).await);
        assert!(is_refusal(&said), "{said}");
        client.close().await;
    }
    let only_index = Options { index: Some(index.clone()), ..anywhere() };
    for options in [only_index, with_index(&folder, &index)] {
        let client = open(options, Revision::MODERN).await;
        assert_eq!(sources(&client, query("hive")).await[0], "bees.md");
        assert!(sources(&client, query("kettles")).await.is_empty());
        client.close().await;
    }
}

#[tokio::test]
async fn a_server_uses_the_index_once_it_belongs_to_its_directory() {
    let (_, index, other) = two_folders("blog_made_its_own").await;
    let options = with_index(&other, &index);
    let client = open(options.clone(), Revision::MODERN).await;
    assert!(is_refusal(&failure(&client, "search_blog", query("kettles")).await));
    let anyway = index::Options { full: true, ..index::Options::default() };
    let (folder, store) = (Folder::open(&other).unwrap(), options.embedded().unwrap());
    index::run_with(&folder, &store, None, anyway, &|_| ()).await.unwrap();
    let mut result = call(&client, "search_blog", query("kettles")).await;
    while result.is_error {
        assert!(is_refusal(text(&result)), "{result:?}");
        result = call(&client, "search_blog", query("kettles")).await;
    }
    let found = result.structured_content.unwrap().to_value().unwrap();
    assert_eq!(found["hits"][0]["source"], "kettles.md", "{found}");
}

#[tokio::test]
async fn an_index_is_kept_when_all_files_of_a_watched_directory_change() {
    let (folder, index, _) = two_folders("blog_goes_on").await;
    let client = open(Options { watch: true, ..with_index(&folder, &index) }, Revision::MODERN).await;
    assert_eq!(sources(&client, query("hive")).await[0], "bees.md");
    for path in ["bees.md", "notas/huerto nuevo.md", "猫.md"] {
        fs::remove_file(folder.join(path)).unwrap();
    }
    write(&folder, "otters.md", "# Otters\n\nThey hold hands.\n");
    while sources(&client, query("otters")).await != ["otters.md"] {}
    while !sources(&client, query("hive")).await.is_empty() {}
}

/// The result of a search once its note says that the directory has no files any more. Till then, and then, nothing is
/// lost.
async fn found_without_files(client: &Client) -> Value {
    loop {
        let found = search(client, query("hive")).await;
        assert_eq!(found["hits"][0]["source"], "bees.md", "{found}");
        if found["note"].as_str().is_some_and(|note| note.contains("no files any more")) {
            return found;
        }
    }
}

#[tokio::test]
async fn an_index_elsewhere_is_kept_when_a_watched_directory_disappears() {
    let (folder, index, _) = two_folders("blog_unmounted").await;
    let client = open(Options { watch: true, ..with_index(&folder, &index) }, Revision::MODERN).await;
    assert_eq!(sources(&client, query("hive")).await[0], "bees.md");
    // As with a disk that is not mounted.
    let disk = folder.with_file_name("blog_unmounted_disk");
    fs::remove_dir_all(&disk).ok();
    fs::rename(&folder, &disk).unwrap();
    fs::create_dir(&folder).unwrap();
    let found = found_without_files(&client).await;
    let note = found["note"].as_str().unwrap();
    assert!(note.contains("(3)") && note.contains("--rebuild") && !note.contains("blog_unmounted"), "{note}");
    // All goes on by itself when it is back.
    write(&disk, "otters.md", "# Otters\n\nThey hold hands.\n");
    fs::remove_file(disk.join("猫.md")).unwrap();
    fs::remove_dir(&folder).unwrap();
    fs::rename(&disk, &folder).unwrap();
    while sources(&client, query("otters")).await != ["otters.md"] {}
    assert_eq!(sources(&client, query("hive")).await[0], "bees.md");
    while search(&client, query("hive")).await.get("note").is_some() {}
    assert!(sources(&client, query("猫")).await.is_empty());
}

#[tokio::test]
async fn a_watched_folder_may_be_emptied_if_its_index_is_within_it() {
    let folder = three_languages("blog_emptied_within");
    let client = open(Options { watch: true, ..options(&folder) }, Revision::MODERN).await;
    assert_eq!(sources(&client, query("hive")).await[0], "bees.md");
    for path in ["bees.md", "notas/huerto nuevo.md", "猫.md"] {
        fs::remove_file(folder.join(path)).unwrap();
    }
    while !sources(&client, query("hive")).await.is_empty() {}
}

#[tokio::test]
async fn an_index_within_its_folder_is_never_refused() {
    let folder = three_languages("blog_within");
    let index = folder.join(".papertape");
    open(options(&folder), Revision::MODERN).await.close().await;
    for path in ["bees.md", "notas/huerto nuevo.md", "猫.md"] {
        fs::remove_file(folder.join(path)).unwrap();
    }
    write(&folder, "otters.md", "# Otters\n\nThey hold hands.\n");
    let within = Options { index: Some(index), ..patient(&folder) };
    let client = open(within, Revision::MODERN).await;
    assert_eq!(sources(&client, query("otters")).await, ["otters.md"]);
}
