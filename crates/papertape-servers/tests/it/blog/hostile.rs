//! Hostile queries, arguments, URIs and files.

use papertape::protocol::Revision;
use serde_json::{Value, json};

use super::hostile_strings::strings;
use super::{call, failure, modern, open, options, query, search, sources, text, three_languages, write};
use crate::refusal;

#[tokio::test]
async fn any_text_is_a_query() {
    let client = modern(&three_languages("blog_hostile_strings")).await;
    assert!(search(&client, query("")).await["note"].as_str().unwrap().contains("no terms"));
    let strings = strings();
    assert!(strings.len() > 515, "{}", strings.len());
    for text in &strings {
        let found = search(&client, query(text)).await;
        let hits = found["hits"].as_array().unwrap();
        if !text.chars().any(char::is_alphanumeric) {
            assert!(hits.is_empty(), "{text:?}: {found}");
        }
        // What is no syntax is terms: those that occur are found. A term behind a minus is left out, an exact phrase occurs
        // nowhere, and the title is another one.
        let is_syntax = ["-", "\"bees NEAR", "title:"].iter().any(|syntax| text.starts_with(syntax));
        if text.contains("bees") && !is_syntax {
            let first = hits.first().map(|hit| &hit["source"]);
            assert_eq!(first, Some(&json!("bees.md")), "{text:?}: {found}");
        }
        // Within the length limits of paths and tags.
        let name: String = text.chars().take(200).collect();
        let filtered = json!({ "query": "bees", "path_prefix": name, "tag": name });
        let found = search(&client, filtered).await;
        let is_nothing = text.is_empty();
        assert_eq!(found["hits"].as_array().unwrap().is_empty(), !is_nothing, "{text:?}: {found}");
        let said = failure(&client, "read_chunk", json!({ "source": name, "chunk_index": 0 })).await;
        assert!(said.starts_with("Not found: "), "{said}");
    }
}

#[tokio::test]
async fn invalid_arguments_are_errors_with_a_remedy() {
    let folder = three_languages("blog_arguments");
    let table = [
        ("search_blog", json!({}), "query"),
        ("search_blog", json!({ "query": 5 }), "query"),
        ("search_blog", json!({ "query": null }), "query"),
        ("search_blog", json!({ "query": "x", "top_k": 0 }), "top_k"),
        ("search_blog", json!({ "query": "x", "top_k": -1 }), "top_k"),
        ("search_blog", json!({ "query": "x", "top_k": 21 }), "top_k"),
        ("search_blog", json!({ "query": "x", "top_k": 9_223_372_036_854_775_808_u64 }), "top_k"),
        ("search_blog", json!({ "query": "x", "top_k": 1.5 }), "top_k"),
        ("search_blog", json!({ "query": "x", "top_k": "5" }), "top_k"),
        ("search_blog", json!({ "query": "x", "since": "yesterday" }), "since"),
        ("search_blog", json!({ "query": "x", "until": "2024-1-1" }), "until"),
        ("search_blog", json!({ "query": "x", "offset": 1 }), "offset"),
        ("search_blog", json!({ "query": "x".repeat(10_001) }), "query"),
        ("search_blog", json!({ "query": "x ".repeat(5 * 1024 * 1024) }), "schema (1048"),
        ("read_chunk", json!({ "source": "bees.md" }), "chunk_index"),
        ("read_chunk", json!({ "source": "bees.md", "chunk_index": -1 }), "chunk_index"),
        ("read_chunk", json!({ "source": "bees.md", "chunk_index": 0.5 }), "chunk_index"),
        ("read_chunk", json!({ "source": "x".repeat(5_000), "chunk_index": 0 }), "source"),
        ("read_chunk", json!({ "source": "bees.md", "chunk_index": 0, "before": 11 }), "before"),
        ("read_chunk", json!({ "source": "bees.md", "chunk_index": 0, "after": -1 }), "after"),
        ("read_chunk", json!({ "source": "bees.md", "chunk_index": 0, "whole": "page" }), "section"),
        ("list_files", json!({ "limit": 0 }), "limit"),
        ("list_files", json!({ "limit": 201 }), "limit"),
        ("list_files", json!({ "offset": -1 }), "offset"),
        ("list_files", json!({ "sort": "size" }), "sort"),
        ("list_files", json!({ "since": "yesterday" }), "YYYY-MM-DD"),
        ("list_files", json!({ "query": "x" }), "query"),
        ("list_tags", json!({ "limit": 1_001 }), "limit"),
        ("list_tags", json!({ "prefix": "x" }), "prefix"),
    ];
    for revision in [Revision::MODERN, Revision::ALL[0]] {
        let client = open(options(&folder), revision).await;
        for (tool, arguments, expected) in table.clone() {
            let shown: String = arguments.to_string().chars().take(60).collect();
            let said = if revision.invalid_arguments_are_results() {
                failure(&client, tool, arguments).await
            } else {
                let (code, said) = refusal(client.call(tool, arguments).await);
                assert_eq!(code, -32602, "{shown}");
                said
            };
            assert!(said.contains(expected) && said.len() < 2_000, "{shown}: {said}");
        }
        assert!(!search(&client, query("hive")).await["hits"].as_array().unwrap().is_empty());
    }
}

#[tokio::test]
async fn no_uri_leads_out_of_the_folder() {
    let folder = three_languages("blog_paths");
    let secret = folder.with_file_name("blog_paths-secret");
    write(&secret, "key.md", "# Key\n\nopen sesame\n");
    for revision in [Revision::MODERN, Revision::ALL[0]] {
        let client = open(options(&folder), revision).await;
        for path in [
            "../blog_paths-secret/key.md",
            "%2e%2e/blog_paths-secret/key.md",
            "..%2fblog_paths-secret%2fkey.md",
            "%252e%252e/blog_paths-secret/key.md",
            "....//blog_paths-secret/key.md",
            "..\\blog_paths-secret\\key.md",
            "/etc/passwd",
            "~/.bashrc",
            "-secret/key.md",
            "./bees.md",
            "bees.md/",
            "bees.md.",
            "bees.md%20",
            "BEES.md",
            "notas",
            "notas/../bees.md",
            ".papertape",
            "bees.md%00",
            "%ff",
            "%",
            "",
            "猫.md#chunk99",
            "bees.md#chunk-1",
        ] {
            let (code, said) = refusal(client.read(&format!("blog:///{path}")).await);
            assert_eq!(code, revision.resource_not_found_code(), "{path}: {said}");
            let place = folder.parent().unwrap().to_str().unwrap();
            assert!(!said.contains(place) && !said.contains("sesame"), "{said}");
        }
        for other in ["blog://bees.md", "blog:bees.md", "file:///etc/passwd", "BLOG:///bees.md"] {
            let (code, _) = refusal(client.read(other).await);
            assert_eq!(code, revision.resource_not_found_code(), "{other}");
        }
        assert!(!sources(&client, query("open sesame key")).await.contains(&"key.md".to_owned()));
    }
}

#[tokio::test]
async fn files_that_are_not_markdown_do_not_cause_failures() {
    let folder = three_languages("blog_odd");
    write(&folder, "binary.md", "\u{0}\u{1}\u{2}");
    std::fs::write(folder.join("latin.md"), b"ma\xf1ana \xff\xfe").unwrap();
    write(&folder, "empty.md", "");
    write(&folder, "bomb.md", &format!("{}x", "> ".repeat(50_000)));
    write(&folder, "-rf $(x)\n%.md", "# Rope\n\nropes and knots\n");
    std::fs::create_dir(folder.join("folder.md")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.join("link.md")).unwrap();
    let client = modern(&folder).await;
    assert_eq!(sources(&client, query("hive")).await[0], "bees.md");
    let found = sources(&client, query("ropes and knots")).await;
    assert_eq!(found[0], "-rf $(x)\n%.md");
    let result = call(&client, "read_chunk", json!({ "source": found[0], "chunk_index": 0 })).await;
    assert!(text(&result).contains("knots"));
    let listed = client.resources().await.unwrap();
    assert!(listed.iter().all(|one| !one.item.uri.contains("link.md")), "{listed:?}");
    for one in listed {
        client.read(&one.item.uri).await.unwrap();
    }
    let found: Value = search(&client, query("root:x:0:0")).await;
    assert!(!found.to_string().contains("/bin/"), "{found}");
}
