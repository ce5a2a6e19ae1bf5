//! Errors when something is missing or damaged: the server starts, lists its tools, and the call says what to do.

use std::fs;

use papertape::protocol::Revision;
use papertape_search::Options;
use papertape_search::embed::Choice;
use serde_json::json;

use super::{failure, modern, open, options, query, search, sources, three_languages, write};
use crate::{refusal, scratch};

#[tokio::test]
async fn a_folder_that_is_not_there_is_named_but_not_its_place() {
    let nowhere = scratch("blog_nowhere").join("notes");
    let client = modern(&nowhere).await;
    let tools = client.tools().await.unwrap();
    assert_eq!(tools.len(), 4);
    for (tool, arguments) in
        [("search_blog", query("x")), ("read_chunk", json!({ "source": "a.md", "chunk_index": 0 }))]
    {
        let said = failure(&client, tool, arguments).await;
        assert!(said.contains("\"notes\" cannot be read") && !said.contains("blog_nowhere"), "{said}");
    }
    assert!(client.resources().await.unwrap().is_empty());
    let (_, said) = refusal(client.read("blog:///a.md").await);
    assert!(!said.contains("blog_nowhere"), "{said}");
    assert!(!nowhere.exists(), "nothing is made for a directory that is none");
}

#[tokio::test]
async fn an_index_that_is_missing_is_made_by_another_process() {
    let nowhere = scratch("blog_no_index").join("index");
    let client = open(Options { index: Some(nowhere), ..super::anywhere() }, Revision::MODERN).await;
    let said = failure(&client, "search_blog", query("x")).await;
    assert!(said.contains("there is no index yet") && said.contains("papertape index"), "{said}");
    assert!(!said.contains("blog_no_index"), "{said}");
}

#[tokio::test]
async fn why_there_are_no_vectors_is_reported() {
    let folder = three_languages("blog_no_model");
    let empty = Choice::parse(scratch("blog_no_model_here").to_str().unwrap()).unwrap();
    let client = open(Options { embed: Some(empty), ..options(&folder) }, Revision::MODERN).await;
    loop {
        let found = search(&client, query("hive")).await;
        let note = found["note"].as_str().unwrap();
        if note.contains("config.json") {
            break;
        }
        assert!(note.contains("no vectors yet"), "{note}");
    }
}

#[tokio::test]
async fn an_index_alone_can_be_searched() {
    let folder = three_languages("blog_index_alone");
    let index = scratch("blog_index_alone_index").join("index");
    let both = Options { index: Some(index.clone()), ..options(&folder) };
    let client = open(both, Revision::MODERN).await;
    assert_eq!(sources(&client, query("hive")).await[0], "bees.md");
    client.close().await;
    fs::remove_dir_all(&folder).unwrap();
    let client = open(Options { index: Some(index), ..super::anywhere() }, Revision::MODERN).await;
    assert_eq!(sources(&client, query("hive")).await[0], "bees.md");
    assert!(client.read("blog:///bees.md").await.unwrap()[0].text.as_ref().unwrap().contains("morning sun"));
}

#[tokio::test]
async fn a_folder_that_is_gone_leaves_its_index_with_a_note() {
    let folder = three_languages("blog_gone");
    let index = scratch("blog_gone_index").join("index");
    let both = Options { index: Some(index), ..options(&folder) };
    let client = open(both.clone(), Revision::MODERN).await;
    assert_eq!(sources(&client, query("hive")).await[0], "bees.md");
    client.close().await;
    fs::remove_dir_all(&folder).unwrap();
    let client = open(both, Revision::MODERN).await;
    let found = search(&client, query("hive")).await;
    assert_eq!(found["hits"][0]["source"], "bees.md");
    assert!(found["note"].as_str().unwrap().contains("may be out of date"), "{found}");
}

#[tokio::test]
async fn an_index_of_another_program_is_reported() {
    let folder = three_languages("blog_broken");
    let index = scratch("blog_broken_index");
    write(&index, "readme.txt", "not an index");
    let both = Options { index: Some(index.clone()), ..options(&folder) };
    let client = open(both, Revision::MODERN).await;
    assert_eq!(client.tools().await.unwrap().len(), 4);
    let said = failure(&client, "search_blog", query("hive")).await;
    assert!(said.contains("no index in this directory; choose another one"), "{said}");
    assert!(!said.contains("blog_broken_index"), "{said}");
    assert_eq!(fs::read_dir(&index).unwrap().count(), 1, "nothing is added to it");
}
