//! The tools of the bundled servers, over bytes in memory.

use std::collections::BTreeMap;

use papertape::Server;
use papertape_servers::{all, blog, grammar, text};
use serde_json::{Value, json};

/// Opens a session in a revision, sends the requests under the ids 1, 2, ... and returns the responses in that order,
/// the response to `initialize` first.
async fn exchange(server: Server, revision: &str, requests: &[(&str, Value)]) -> Vec<Value> {
    let client = json!({ "name": "test", "version": "1" });
    let opening = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": client });
    let mut input = String::new();
    let mut send = |message: Value| input.push_str(&format!("{message}\n"));
    send(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening }));
    send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    for (id, (method, params)) in (1..).zip(requests) {
        send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }
    let mut output = Vec::new();
    papertape::streams::serve(server, input.as_bytes(), &mut output).await.unwrap();
    let responses: BTreeMap<u64, Value> = output
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice::<Value>(line).unwrap())
        .map(|response| (response["id"].as_u64().unwrap(), response))
        .collect();
    assert_eq!(responses.len(), requests.len() + 1, "{responses:?}");
    responses.into_values().collect()
}

/// Calls a tool and returns its result.
async fn call(server: Server, tool: &str, arguments: Value) -> Value {
    let call = json!({ "name": tool, "arguments": arguments });
    exchange(server, "2025-11-25", &[("tools/call", call)]).await[1]["result"].take()
}

/// Calls a tool that is expected to work and returns its text.
async fn text_of(server: Server, tool: &str, arguments: Value) -> String {
    let result = call(server, tool, arguments.clone()).await;
    assert_ne!(result["isError"], json!(true), "{tool} {arguments}: {result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// Calls a tool that is expected to fail and returns what the model reads.
async fn failure_of(server: Server, tool: &str, arguments: Value) -> String {
    let result = call(server, tool, arguments.clone()).await;
    assert_eq!(result["isError"], json!(true), "{tool} {arguments}: {result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// Every bundled server with its name; the blog server has nothing to search.
async fn all_servers() -> [(&'static str, Server); 4] {
    let missing = crate::scratch("bundled").join("none");
    let options = blog::Options { content: Some(missing), ..blog::Options::default() };
    [
        ("blog", blog::server(options).await.unwrap()),
        ("grammar", grammar::server()),
        ("text", text::server()),
        ("all", all::server()),
    ]
}

#[tokio::test]
async fn every_server_starts_and_identifies_itself() {
    for (name, server) in all_servers().await {
        assert_eq!(server.check().unwrap(), [], "known hosts reject something of it");
        let responses = exchange(server, "2025-11-25", &[]).await;
        let info = &responses[0]["result"]["serverInfo"];
        assert_eq!(info["name"], format!("papertape-{name}"));
        assert_eq!(info["version"], env!("CARGO_PKG_VERSION"));
    }
}

#[tokio::test]
async fn every_tool_and_every_argument_is_described() {
    let mut names = Vec::new();
    for (_, server) in all_servers().await {
        let responses = exchange(server, "2025-11-25", &[("tools/list", json!({}))]).await;
        for tool in responses[1]["result"]["tools"].as_array().unwrap() {
            names.push(tool["name"].as_str().unwrap().to_owned());
            assert!(tool["title"].is_string() && tool["description"].is_string(), "{tool}");
            let hints = &tool["annotations"];
            assert_eq!(hints["readOnlyHint"], true, "{tool}");
            // A drill asks the user, so it is not idempotent.
            let idempotent = !names.last().unwrap().ends_with("drill");
            assert_eq!(hints["idempotentHint"].as_bool(), idempotent.then_some(true), "{tool}");
            assert_eq!(hints["openWorldHint"], false, "{tool}");
            for (name, argument) in tool["inputSchema"]["properties"].as_object().unwrap() {
                assert!(argument["description"].is_string(), "{name} of {tool}");
            }
        }
    }
    names.sort();
    assert_eq!(
        names,
        [
            "check_subject_verb_agreement",
            "conjugate",
            "drill",
            "echo",
            "grammar_check_subject_verb_agreement",
            "grammar_conjugate",
            "grammar_drill",
            "grammar_lookup_irregular_verb",
            "grammar_lookup_spanish",
            "list_files",
            "list_tags",
            "lookup_irregular_verb",
            "lookup_spanish",
            "read_chunk",
            "search_blog",
            "text_echo",
            "text_word_count",
            "word_count"
        ]
    );
}

#[tokio::test]
async fn conjugate_takes_both_spellings() {
    for (tense, person) in [("past simple", "3rd singular"), ("past_simple", "3sg")] {
        let arguments = json!({ "verb": "eat", "tense": tense, "person": person });
        assert_eq!(text_of(grammar::server(), "conjugate", arguments).await, "ate");
    }
}

#[tokio::test]
async fn an_irregular_verb_has_three_parts() {
    let result = call(grammar::server(), "lookup_irregular_verb", json!({ "verb": "write" })).await;
    let parts = json!({ "infinitive": "write", "past_simple": "wrote", "past_participle": "written" });
    assert_eq!(result["structuredContent"], parts);
    assert_eq!(serde_json::from_str::<Value>(result["content"][0]["text"].as_str().unwrap()).unwrap(), parts);
    let failure = failure_of(grammar::server(), "lookup_irregular_verb", json!({ "verb": "work" })).await;
    assert_eq!(failure, "\"work\" is regular: its past simple and its past participle are both \"worked\"");
}

#[tokio::test]
async fn spanish_readings() {
    let table = [
        (json!({ "english_form": "ate" }), "comió"),
        (json!({ "english_form": "ate", "person": "1sg" }), "comí"),
        (json!({ "english_form": "worked", "tense": "past_participle" }), "trabajado"),
        (json!({ "english_form": "ate", "person": null, "tense": null }), "comió"),
    ];
    for (arguments, right) in table {
        assert_eq!(text_of(grammar::server(), "lookup_spanish", arguments).await, right);
    }
    let failure = failure_of(grammar::server(), "lookup_spanish", json!({ "english_form": "ran" })).await;
    assert!(failure.starts_with("\"ran\" is not a form this tutor knows"), "{failure}");
}

#[tokio::test]
async fn agreement_is_judged() {
    let arguments = json!({ "subject": "she", "verb_form": "eat" });
    let result = call(grammar::server(), "check_subject_verb_agreement", arguments).await;
    let verdict = &result["structuredContent"];
    assert_eq!((&verdict["agrees"], &verdict["expected"]), (&json!(false), &json!("eats")));
}

#[tokio::test]
async fn a_verb_out_of_scope_is_named_and_so_are_all_that_are_in_it() {
    let sentence = "\"run\" is out of scope: this tutor knows 20 verbs: work, play, walk, talk, listen, watch, study, \
                    finish, start, look, want, like, be, have, do, go, come, see, eat, write";
    let conjugate = json!({ "verb": "run", "tense": "infinitive", "person": "3sg" });
    for (tool, arguments) in [("conjugate", conjugate), ("lookup_irregular_verb", json!({ "verb": "run" }))] {
        let failure = failure_of(grammar::server(), tool, arguments.clone()).await;
        assert!(failure.contains(sentence), "{failure}");
        // Older clients get the same text in a JSON-RPC error.
        let call = json!({ "name": tool, "arguments": arguments });
        let responses = exchange(grammar::server(), "2025-06-18", &[("tools/call", call)]).await;
        let error = &responses[1]["error"];
        assert_eq!(error["code"], -32602);
        assert!(error["message"].as_str().unwrap().contains(sentence), "{error}");
    }
}

#[tokio::test]
async fn other_invalid_arguments_get_the_usual_error() {
    let arguments = json!({ "verb": "eat", "tense": "future", "person": "3sg" });
    let failure = failure_of(grammar::server(), "conjugate", arguments).await;
    assert!(failure.contains("\"tense\"") && failure.contains("simple future"), "{failure}");
    let failure = failure_of(grammar::server(), "conjugate", json!({})).await;
    assert!(failure.contains("\"verb\" is missing"), "{failure}");
    let failure =
        failure_of(grammar::server(), "lookup_spanish", json!({ "english_form": "ate", "tens": "x" })).await;
    assert!(failure.contains("\"tens\""), "{failure}");
}

#[tokio::test]
async fn echo_changes_nothing() {
    for text in ["", " a\tb\r\n", "comió 我 👍🏽 \u{0}\u{2028}\u{feff}", "{\"a\": \"\\\"\"}"] {
        assert_eq!(text_of(text::server(), "echo", json!({ "text": text })).await, text);
    }
}

#[tokio::test]
async fn words_are_counted_in_short_and_long_texts() {
    let long = "one two ".repeat(100_000);
    for (text, count) in
        [("", "0"), ("don't you know", "3"), ("我喜欢学习英语", "4"), (long.as_str(), "200000")]
    {
        assert_eq!(text_of(text::server(), "word_count", json!({ "text": text })).await, count);
    }
}
