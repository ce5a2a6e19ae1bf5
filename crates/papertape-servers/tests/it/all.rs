//! `papertape serve all`: grammar and text in one server.

use papertape::Client;
use papertape::client::ClientOptions;
use papertape::protocol::Content;
use papertape::protocol::{ElicitResult, Reference, Revision};
use papertape_servers::{all, grammar, text};
use serde_json::{Map, Value, json};

use crate::{open, refusal};

async fn said(client: &Client, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments).await.unwrap();
    match &result.content[..] {
        [Content::Text(text)] => text.text.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn everything_is_listed_with_its_prefix() {
    for revision in Revision::ALL {
        let client = open(all::server(), revision, ClientOptions::new()).await;
        assert_eq!(client.server().name, "papertape-all");
        let tools: Vec<String> =
            client.tools().await.unwrap().into_iter().map(|tool| tool.item.name).collect();
        let mut wanted = Vec::new();
        for (prefix, server) in [("grammar", grammar::server()), ("text", text::server())] {
            let alone = open(server, revision, ClientOptions::new()).await;
            wanted.extend(
                alone.tools().await.unwrap().into_iter().map(|tool| format!("{prefix}_{}", tool.item.name)),
            );
        }
        assert_eq!(tools, wanted);
        assert_eq!(tools.len(), 7);

        let prompts: Vec<String> =
            client.prompts().await.unwrap().into_iter().map(|prompt| prompt.item.name).collect();
        assert_eq!(prompts, ["grammar_explain_tense"]);
        assert_eq!(client.resources().await.unwrap()[0].item.uri, "grammar://table");
        assert_eq!(client.resource_templates().await.unwrap()[0].item.uri_template, "grammar://verb/{verb}");
    }
}

#[tokio::test]
async fn everything_works() {
    let options = ClientOptions::new()
        .on_form(|_| async { ElicitResult::accept(json!({"answer": "went"}).as_object().cloned().unwrap()) });
    let client = open(all::server(), Revision::MODERN, options).await;
    let eat = json!({"verb": "eat", "tense": "past simple", "person": "3sg"});
    assert_eq!(said(&client, "grammar_conjugate", eat.clone()).await, "ate");
    assert_eq!(said(&client, "text_word_count", json!({"text": "one two"})).await, "2");
    let drilled = client.call("grammar_drill", json!({"verb": "go", "questions": 1})).await.unwrap();
    assert_eq!(drilled.structured_content.unwrap().to_value().unwrap()["marks"][0]["given"], "went");
    assert!(
        client.read("grammar://verb/go").await.unwrap()[0]
            .text
            .as_ref()
            .unwrap()
            .starts_with("# go (irregular)")
    );
    let go = json!({"verb": "go", "tense": "past simple"}).as_object().cloned().unwrap();
    assert_eq!(client.prompt("grammar_explain_tense", go).await.unwrap().messages.len(), 1);
    let prompt = Reference::Prompt { name: "grammar_explain_tense".into() };
    assert_eq!(client.complete(prompt, "verb", "g", Map::new()).await.unwrap().values, ["go"]);
    // Errors use the name that the client knows.
    let (_, unknown) = refusal(client.call("conjugate", eat).await);
    assert!(unknown.contains("grammar_conjugate"), "{unknown}");
    let run = json!({"verb": "run", "tense": "past simple", "person": "3sg"});
    let wrong = said(&client, "grammar_conjugate", run).await;
    assert!(
        wrong.starts_with("invalid arguments for tool \"grammar_conjugate\": \"run\" is out of scope"),
        "{wrong}"
    );
}

/// The instructions must name the tools as they are listed.
#[tokio::test]
async fn the_instructions_name_tools_that_there_are() {
    for (server, named) in [
        (grammar::server(), &["grammar://table"][..]),
        (text::server(), &["word_count", "echo"]),
        (all::server(), &["grammar_drill", "grammar://table", "text_word_count", "text_echo"]),
    ] {
        let client = open(server, Revision::MODERN, ClientOptions::new()).await;
        let instructions = client.instructions().unwrap();
        let words: Vec<&str> =
            instructions.split([' ', '\n', ';', ',']).map(|word| word.trim_end_matches(['.', ':'])).collect();
        for name in named {
            assert!(words.contains(name), "{name} in {instructions}");
        }
        let tools = client.tools().await.unwrap();
        for word in words.iter().filter(|word| word.contains('_') && !word.ends_with('*')) {
            assert!(tools.iter().any(|tool| tool.item.name == *word), "{word} in {instructions}");
        }
    }
}
