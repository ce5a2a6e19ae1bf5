//! `search_blog` and `read_chunk`: what they find and give.

use papertape::client::ClientOptions;
use papertape::protocol::{Content, Revision};
use papertape_servers::blog::{self, Extras};
use serde_json::{Value, json};

use super::{call, failure, modern, open, options, query, search, sources, text, three_languages};

#[tokio::test]
async fn terms_are_found_in_three_languages() {
    let client = modern(&three_languages("blog_languages")).await;
    for (text, source) in [
        ("where does a hive stand", "bees.md"),
        ("harvesting honey", "bees.md"),
        ("cancion", "notas/huerto nuevo.md"),
        ("instalacion de riego", "notas/huerto nuevo.md"),
        ("成年猫喂食", "猫.md"),
        ("牛奶", "猫.md"),
    ] {
        let found = sources(&client, query(text)).await;
        assert_eq!(found.first().map(String::as_str), Some(source), "{text}: {found:?}");
    }
}

#[tokio::test]
async fn a_hit_says_where_it_is_and_what_matches() {
    for revision in Revision::ALL {
        let folder = three_languages(&format!("blog_hit_{revision}"));
        let client = open(options(&folder), revision).await;
        let result = call(&client, "search_blog", json!({ "query": "喂食", "top_k": 1 })).await;
        let found: Value = serde_json::from_str(text(&result)).unwrap();
        assert!(text(&result).contains("成年猫每天喂两次"), "nothing is escaped: {}", text(&result));
        if revision.has_structured_output() {
            assert_eq!(result.structured_content.unwrap(), found, "{revision}");
        }
        assert_eq!(found["mode"], "lexical");
        assert_eq!(found.get("note"), None);
        let [hit] = found["hits"].as_array().unwrap().as_slice() else { panic!("{found}") };
        assert_eq!((&hit["source"], &hit["title"]), (&json!("猫.md"), &json!("养猫指南")));
        assert_eq!(hit["headings"], json!(["喂食"]));
        assert!(hit["preview"].as_str().unwrap().contains("成年猫每天喂两次"), "{hit}");
        assert_eq!((&hit["start_line"], &hit["end_line"]), (&json!(5), &json!(7)));
        assert_eq!(
            (&hit["uri"], &hit["matches"]),
            (&json!("blog:///%E7%8C%AB.md"), &json!([])),
            "only its heading has it"
        );
        assert!((10..40).contains(&hit["tokens"].as_u64().unwrap()), "{hit}");
        let score = hit["score"].as_f64().unwrap();
        assert!(score > 0.0 && (score * 10_000.0 - (score * 10_000.0).round()).abs() < 1e-6, "{score}");
        let place = json!({ "source": hit["source"], "chunk_index": hit["chunk_index"] });
        let chunk = call(&client, "read_chunk", place).await;
        assert!(text(&chunk).contains("## 喂食\n\n成年猫每天喂两次"), "{chunk:?}");
    }
}

#[tokio::test]
async fn a_preview_has_what_matches_and_no_markup() {
    let folder = crate::scratch("blog_preview");
    let before = "Otters sleep on their backs. ".repeat(20);
    let text = format!(
        "# Otters\n\n{before}\n\n- Every *tape* can be [replayed](https://example.org/x).\n\n{before}\n"
    );
    super::write(&folder, "otters.md", &text);
    let client = modern(&folder).await;
    let found = search(&client, query("how to replay the tapes")).await;
    let hit = &found["hits"][0];
    let preview = hit["preview"].as_str().unwrap();
    assert!(preview.contains("backs. Every tape can be replayed. Otters"), "{preview}");
    assert!(preview.starts_with('…') && preview.ends_with('…'), "{preview}");
    assert_eq!(hit["matches"], json!(["tape", "replayed"]));
}

#[tokio::test]
async fn files_are_linked_once_if_that_is_wanted() {
    let folder = crate::scratch("blog_links");
    for number in 0..7 {
        super::write(
            &folder,
            &format!("{number}.md"),
            "# Otters\n\n## One\n\nOtters swim.\n\n## Two\n\nOtters dive.\n",
        );
    }
    for revision in Revision::ALL {
        let extras = Extras { resource_links: true, ..Extras::default() };
        let server = blog::server_with(super::patient(&folder), extras).await.unwrap();
        let client = crate::open(server, revision, ClientOptions::new()).await;
        let result = call(&client, "search_blog", json!({ "query": "otters", "top_k": 20 })).await;
        let [Content::Text(found), links @ ..] = result.content.as_slice() else { panic!("{result:?}") };
        let found: Value = serde_json::from_str(&found.text).unwrap();
        let hits = found["hits"].as_array().unwrap();
        assert!(hits.len() > 5 && links.len() == 5, "{found}");
        let mut linked = Vec::new();
        for link in links {
            match link {
                Content::ResourceLink(link) => {
                    assert_eq!(
                        (link.title.as_deref(), link.mime_type.as_deref()),
                        (Some("Otters"), Some("text/markdown"))
                    );
                    linked.push(link.uri.clone());
                }
                Content::Text(link) => linked.push(link.text.strip_prefix("Otters: ").unwrap().to_owned()),
                other => panic!("{other:?}"),
            }
        }
        let mut files: Vec<&str> = Vec::new();
        for uri in hits.iter().map(|hit| hit["uri"].as_str().unwrap()) {
            if !files.contains(&uri) {
                files.push(uri);
            }
        }
        assert_eq!(linked, files[..5]);
    }
}

#[tokio::test]
async fn files_can_be_chosen_by_path_tag_and_date() {
    let client = modern(&three_languages("blog_filters")).await;
    let terms = "bees huerto 猫";
    let all = sources(&client, json!({ "query": terms, "top_k": 20 })).await;
    // Some clients write every number with a fraction.
    assert_eq!(sources(&client, json!({ "query": terms, "top_k": 20.0 })).await, all);
    for (filter, only) in [
        (json!({ "path_prefix": "notas/" }), Some("notas/huerto nuevo.md")),
        (json!({ "path_prefix": "./notas" }), Some("notas/huerto nuevo.md")),
        (json!({ "path_prefix": "/b" }), Some("bees.md")),
        (json!({ "path_prefix": "%" }), None),
        (json!({ "tag": "garden" }), Some("bees.md")),
        (json!({ "tag": "ANIMALS" }), Some("bees.md")),
        (json!({ "tag": "gar" }), None),
        (json!({ "since": "2024-03-01" }), Some("bees.md")),
        (json!({ "until": "2024-03-01" }), Some("bees.md")),
        (json!({ "since": "2024-03-02" }), None),
        (json!({ "since": "2024-01-01", "until": "2024-02-29" }), None),
    ] {
        let mut arguments = filter.clone();
        arguments["query"] = json!(terms);
        arguments["top_k"] = json!(20);
        let found = sources(&client, arguments).await;
        let right: Vec<&String> = all.iter().filter(|source| Some(source.as_str()) == only).collect();
        assert_eq!(found.iter().collect::<Vec<_>>(), right, "{filter}");
    }
    for (name, day) in [("since", "2024-99-99"), ("until", "2024-02-31"), ("until", "2023-02-29")] {
        let said = failure(&client, "search_blog", json!({ "query": terms, name: day })).await;
        assert!(said.contains(name) && said.contains(day) && said.contains("not a day"), "{said}");
    }
    for (name, day) in [("since", "yesterday"), ("until", "2024-5-1"), ("until", "1 May 2024")] {
        let said = failure(&client, "search_blog", json!({ "query": terms, name: day })).await;
        assert!(said.contains(name) && said.contains(day) && said.contains("YYYY-MM-DD"), "{said}");
    }
    let range = json!({ "query": terms, "since": "2024-03-02", "until": "2024-03-01" });
    let said = failure(&client, "search_blog", range).await;
    assert!(said.contains("since (2024-03-02) is after until (2024-03-01)"), "{said}");
    let one_day = json!({ "query": terms, "since": "2024-03-01", "until": "2024-03-01" });
    let found = sources(&client, one_day).await;
    assert!(!found.is_empty() && found.iter().all(|source| source == "bees.md"), "{found:?}");
    for nothing in [json!(null), json!("")] {
        let arguments = json!({ "query": terms, "top_k": 20, "path_prefix": nothing, "tag": nothing });
        assert_eq!(sources(&client, arguments).await, all);
    }
}

#[tokio::test]
async fn top_k_limits_the_hits() {
    let folder = crate::scratch("blog_many");
    for number in 0..40 {
        super::write(&folder, &format!("{number}.md"), &format!("# Note {number}\n\nAbout otters.\n"));
    }
    let client = modern(&folder).await;
    assert_eq!(sources(&client, query("otters")).await.len(), 5);
    for top_k in [1, 7, 20] {
        assert_eq!(sources(&client, json!({ "query": "otters", "top_k": top_k })).await.len(), top_k);
    }
    // The same query has the same result.
    let first = search(&client, json!({ "query": "otters", "top_k": 20 })).await;
    assert_eq!(search(&client, json!({ "query": "otters", "top_k": 20 })).await, first);
}

#[tokio::test]
async fn a_missing_chunk_is_an_error_that_suggests_the_nearest() {
    let client = modern(&three_languages("blog_nearest")).await;
    let place = |source: &str, index: u64| json!({ "source": source, "chunk_index": index });
    for (source, index, nearest) in [
        ("bees.md", 99, "bees.md#chunk"),
        ("bees.md", u64::MAX, "bees.md#chunk"),
        ("bee.md", 0, "bees.md#chunk0"),
        ("huerto nuevo.md", 0, "notas/huerto nuevo.md#chunk0"),
    ] {
        let said = failure(&client, "read_chunk", place(source, index)).await;
        let right = format!("Not found: {source}#chunk{index}. The nearest there is: {nearest}");
        assert!(said.starts_with(&right), "{said}");
    }
    let nearest = failure(&client, "read_chunk", place("bees.md", 99)).await;
    let (source, index) = nearest.rsplit_once(": ").unwrap().1.split_once("#chunk").unwrap();
    let last = call(&client, "read_chunk", place(source, index.parse().unwrap())).await;
    assert!(text(&last).contains("capped"), "{last:?}");
}
