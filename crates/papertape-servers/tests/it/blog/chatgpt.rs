//! The tools `search` and `fetch` of ChatGPT.

use papertape::Client;
use papertape::client::ClientOptions;
use papertape::protocol::Revision;
use papertape_servers::blog::{self, ChatGpt, Extras};
use serde_json::{Value, json};

use super::{call, failure, open, options, patient, query, text, three_languages, write};
use crate::scratch;

async fn client(folder: &std::path::Path, base_url: Option<&str>) -> Client {
    let chatgpt = Some(ChatGpt { base_url: base_url.map(str::to_owned) });
    let extras = Extras { chatgpt, ..Extras::default() };
    let server = blog::server_with(patient(folder), extras).await.unwrap();
    assert_eq!(server.check().unwrap(), []);
    crate::open(server, Revision::MODERN, ClientOptions::new()).await
}

/// The structure, which the text repeats: ChatGPT reads the text alone.
async fn result(client: &Client, tool: &str, arguments: Value) -> Value {
    let result = call(client, tool, arguments.clone()).await;
    assert!(!result.is_error, "{arguments}: {result:?}");
    let found: Value = serde_json::from_str(text(&result)).unwrap();
    assert_eq!(result.structured_content.unwrap().to_value().unwrap(), found);
    found
}

#[tokio::test]
async fn what_search_finds_can_be_fetched() {
    let folder = three_languages("blog_chatgpt");
    let client = client(&folder, None).await;
    let names: Vec<String> =
        client.tools().await.unwrap().into_iter().map(|tool| tool.item.name.clone()).collect();
    for name in ["search", "fetch", "search_blog", "read_chunk"] {
        assert!(names.iter().any(|there| there == name), "{names:?}");
    }
    let found = result(&client, "search", query("where does a hive stand")).await;
    let first = &found["results"][0];
    assert_eq!(first["title"], "Keeping bees > The hive");
    assert_eq!(first["url"], "blog:///bees.md");
    let read = result(&client, "fetch", json!({ "id": first["id"] })).await;
    assert_eq!((&read["id"], &read["title"], &read["url"]), (&first["id"], &first["title"], &first["url"]));
    assert!(read["text"].as_str().unwrap().starts_with("## The hive\n\nA hive stands"), "{read}");
    assert_eq!(
        read["metadata"],
        json!({ "source": "bees.md", "date": "2024-03-01", "tags": "Garden, animals" })
    );
    let whole = result(&client, "fetch", json!({ "id": "notas/huerto nuevo.md" })).await;
    assert_eq!((&whole["title"], &whole["text"]), (&json!("El huerto"), &json!(super::SPANISH)));
    assert_eq!(result(&client, "search", query("zzzzqqqq")).await, json!({ "results": [] }));
    let said = failure(&client, "fetch", json!({ "id": "bee.md#chunk0" })).await;
    assert_eq!(said, "Not found: bee.md#chunk0. The nearest there is: bees.md#chunk0");
}

#[tokio::test]
async fn links_lead_to_the_site() {
    let folder = three_languages("blog_chatgpt_site");
    for base in ["https://notes.example/blog", "https://notes.example/blog/"] {
        let client = client(&folder, Some(base)).await;
        let found = result(&client, "search", query("riego de los tomates")).await;
        let url = "https://notes.example/blog/notas/huerto%20nuevo.md";
        assert_eq!(found["results"][0]["url"], url);
        let read = result(&client, "fetch", json!({ "id": found["results"][0]["id"] })).await;
        assert_eq!(read["url"], url);
    }
}

#[tokio::test]
async fn a_section_is_one_result_and_read_in_parts() {
    let folder = scratch("blog_chatgpt_long");
    let paragraphs: Vec<String> =
        (0..200).map(|number| format!("otters {number} {}\n\n", "word ".repeat(150))).collect();
    write(&folder, "otters.md", &format!("# Otters\n\n## Food\n\n{}", paragraphs.concat()));
    let client = client(&folder, None).await;
    let found = result(&client, "search", query("otters")).await;
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found}");
    let (mut id, mut parts) = (json!("otters.md#chunk0"), 0);
    let mut read = String::new();
    while id != Value::Null {
        let part = result(&client, "fetch", json!({ "id": id })).await;
        read.push_str(part["text"].as_str().unwrap());
        id = part["metadata"]["next"].clone();
        parts += 1;
    }
    assert!(parts > 2 && paragraphs.iter().all(|paragraph| read.contains(paragraph.trim_end())), "{parts}");
}

#[tokio::test]
async fn they_are_an_option() {
    let client = open(options(&three_languages("blog_no_chatgpt")), Revision::MODERN).await;
    assert_eq!(client.tools().await.unwrap().len(), 4);
}
