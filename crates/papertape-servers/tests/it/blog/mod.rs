//! The blog server as a client meets it: directories of real files, indexed on first use.

mod chatgpt;
mod elsewhere;
mod faults;
mod fresh;
mod hostile;
mod hostile_strings;
mod offers;
mod reading;
mod searching;
mod several;
mod shipped;
mod stop_words;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use papertape::Client;
use papertape::client::ClientOptions;
use papertape::protocol::Content;
use papertape::protocol::{CallToolResult, Revision};
use papertape_search::Options;
use papertape_servers::blog;
use serde_json::{Value, json};

use crate::scratch;

const INSTALL: &str = "\
---
title: Keeping bees
date: 2024-03-01
tags: [Garden, animals]
---
Bees need flowers from early spring on.

## The hive

A hive stands in the morning sun, with its entrance away from the wind.

## Harvest

Take honey only from combs that are capped, and leave the bees enough for the winter.
";

const SPANISH: &str = "\
# El huerto

Las canciones del huerto empiezan en marzo.

## Riego

Riega los tomates por la mañana, nunca sobre las hojas. La instalación del riego por goteo ahorra agua.
";

const CHINESE: &str = "\
# 养猫指南

猫喜欢安静的地方。

## 喂食

成年猫每天喂两次，不要给猫喝牛奶。
";

/// A directory with a text in each of three languages.
fn three_languages(test: &str) -> PathBuf {
    let folder = scratch(test);
    write(&folder, "bees.md", INSTALL);
    write(&folder, "notas/huerto nuevo.md", SPANISH);
    write(&folder, "猫.md", CHINESE);
    folder
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn options(folder: &Path) -> Options {
    Options { content: Some(folder.to_owned()), ..anywhere() }
}

/// Options without a directory.
fn anywhere() -> Options {
    let keys = Path::new(env!("CARGO_TARGET_TMPDIR")).join("it.keys");
    Options { index_keys: Some(keys), ..Options::default() }
}

/// Options of a server whose queries wait for changes to be indexed, however busy the machine is.
fn patient(folder: &Path) -> Options {
    Options { freshness_wait: Some(Duration::from_secs(60)), ..options(folder) }
}

/// A client of a server whose first index is made: on a busy machine that may take longer than a query waits.
async fn open(options: Options, revision: Revision) -> Client {
    let client = crate::open(blog::server(options).await.unwrap(), revision, ClientOptions::new()).await;
    while text(&call(&client, "search_blog", query("x")).await).contains("the index is being made") {}
    client
}

/// A client in the newest revision.
async fn modern(folder: &Path) -> Client {
    open(options(folder), Revision::MODERN).await
}

async fn call(client: &Client, tool: &str, arguments: Value) -> CallToolResult {
    client.call(tool, arguments).await.unwrap()
}

fn text(result: &CallToolResult) -> &str {
    match result.content.as_slice() {
        [Content::Text(block)] => &block.text,
        other => panic!("{other:?}"),
    }
}

/// What a search finds.
async fn search(client: &Client, arguments: Value) -> Value {
    let result = call(client, "search_blog", arguments.clone()).await;
    assert!(!result.is_error, "{arguments}: {result:?}");
    result.structured_content.unwrap().to_value().unwrap()
}

/// The sources that a search finds, best first.
async fn sources(client: &Client, arguments: Value) -> Vec<String> {
    let found = search(client, arguments).await;
    found["hits"].as_array().unwrap().iter().map(|hit| hit["source"].as_str().unwrap().to_owned()).collect()
}

/// The error text of a tool call that fails.
async fn failure(client: &Client, tool: &str, arguments: Value) -> String {
    let result = call(client, tool, arguments.clone()).await;
    assert!(result.is_error, "{tool} {arguments}: {result:?}");
    text(&result).to_owned()
}

fn query(text: &str) -> Value {
    json!({ "query": text })
}
