//! An index that another user made is not served.

use std::fs;
use std::path::Path;

use papertape::protocol::Revision;
use papertape_search::Options;
use serde_json::json;

use super::{anywhere, call, failure, open, options, query, sources, text, three_languages, write};

fn of_another(folder: &Path) -> Options {
    Options { index_keys: Some(folder.with_extension("keys")), ..options(folder) }
}

#[tokio::test]
async fn a_folder_with_the_index_of_another_is_served_from_its_files() {
    let folder = three_languages("blog_shipped");
    open(of_another(&folder), Revision::MODERN).await.close().await;
    for watch in [false, true] {
        write(&folder, "bees.md", "# Bees\n\nThey need flowers.\n");
        let client = open(Options { watch, ..options(&folder) }, Revision::MODERN).await;
        assert_eq!(sources(&client, query("flowers")).await, ["bees.md"]);
        let read = call(&client, "read_chunk", json!({ "source": "bees.md", "chunk_index": 0 })).await;
        assert!(text(&read).contains("They need flowers"), "{read:?}");
        client.close().await;
    }
}

#[tokio::test]
async fn an_index_of_another_user_without_its_folder_is_an_error_with_a_remedy() {
    let folder = three_languages("blog_shipped_alone");
    open(of_another(&folder), Revision::MODERN).await.close().await;
    let index = folder.join(".papertape");
    let before = fs::read(index.join("papertape.index")).unwrap();
    let client = open(Options { index: Some(index.clone()), ..anywhere() }, Revision::MODERN).await;
    let said = failure(&client, "search_blog", query("hive")).await;
    for part in ["another user or on another machine", "papertape/index.key", "papertape index DIR"] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!said.contains("blog_shipped_alone"), "{said}");
    assert!(client.resources().await.unwrap().is_empty());
    assert_eq!(fs::read(index.join("papertape.index")).unwrap(), before);
}
