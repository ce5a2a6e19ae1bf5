//! Shapes: nothing of a newer revision reaches an older client, and form schemas are restricted.

use papertape::Cx;
use papertape::server::{Elicited, Form};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ALL, Anything, FORM, code, legacy, modern, named, one, plain, rich};
use crate::peer::{MODERN, Peer, run};

// Shapes.

fn forbidden(revision: &str) -> Vec<&'static str> {
    let mut names = Vec::new();
    if revision < "2025-03-26" {
        names.extend(["completions", "audio"]);
    }
    if revision < "2025-06-18" {
        names.extend(["title", "lastModified", "_meta", "resource_link", "elicitation"]);
    }
    if revision < "2025-11-25" {
        names.extend(["icons", "websiteUrl", "toolChoice", "tools", "mode"]);
    }
    if revision < MODERN {
        names.extend([
            "resultType",
            "ttlMs",
            "cacheScope",
            "extensions",
            "io.modelcontextprotocol/serverInfo",
        ]);
    }
    names
}

fn check_names(value: &Value, path: &str, forbidden: &[&str]) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let path = format!("{path}/{name}");
                // These are older than others of their name.
                let known = ["/capabilities/tools", "/result/tools", "/annotations/title"];
                let known = known.iter().any(|known| path.ends_with(known));
                assert!(known || !forbidden.contains(&name.as_str()), "{path}: {value}");
                if name == "type" {
                    assert!(!value.as_str().is_some_and(|kind| forbidden.contains(&kind)), "{path}: {value}");
                }
                check_names(value, &path, forbidden);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| check_names(item, path, forbidden)),
        _ => {}
    }
}

#[test]
fn no_field_of_a_newer_revision_reaches_an_older_client() {
    run(async {
        for revision in crate::peer::LEGACY {
            let forbidden = forbidden(revision);
            let mut peer = Peer::connect(rich());
            let params = json!({"protocolVersion": revision, "clientInfo": {"name": "t", "version": "1"},
                "capabilities": serde_json::from_str::<Value>(ALL).unwrap()});
            let mut received = peer.line(plain(0, "initialize", &params)).await;
            peer.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
            for (id, (method, params)) in [
                ("logging/setLevel", json!({"level": "debug"})),
                ("tools/list", json!({})),
                ("resources/list", json!({})),
                ("resources/templates/list", json!({})),
                ("prompts/list", json!({})),
                ("tools/call", json!({"name": "t", "_meta": {"progressToken": 1}})),
                ("resources/read", json!({"uri": "x:y"})),
                ("resources/read", json!({"uri": "z:1"})),
                ("prompts/get", json!({"name": "p"})),
                (
                    "completion/complete",
                    json!({"ref": {"type": "ref/resource", "uri": "z:{a}"},
                    "argument": {"name": "a", "value": ""}}),
                ),
                ("resources/subscribe", json!({"uri": "x:y"})),
                ("resources/unsubscribe", json!({"uri": "x:y"})),
            ]
            .into_iter()
            .enumerate()
            {
                let replies = peer.line(plain(id as u64 + 1, method, &params)).await;
                assert!(replies.last().unwrap()["result"].is_object(), "{revision} {method}: {replies:?}");
                received.extend(replies);
            }
            for received in &received {
                check_names(received, "", &forbidden);
            }
            for method in ["tasks/get", "tasks/cancel", "server/discover", "subscriptions/listen"] {
                let reply =
                    one(&mut peer, plain(99, method, &json!({"taskId": "x", "notifications": {}}))).await;
                assert_eq!(reply["error"]["code"], -32601, "{method} {reply}");
            }
        }
    });
}

#[test]
fn input_requests_of_newer_revisions_do_not_reach_legacy_clients() {
    use papertape::protocol::{Role, SamplingMessage, SamplingRequest};
    run(async {
        let message = |content| SamplingMessage::new(Role::User, content);
        let text = json!({"type": "text", "text": "x"});
        let audio = json!({"type": "audio", "data": "", "mimeType": "audio/wav"});
        let result = json!({"type": "tool_result", "toolUseId": "1", "content": []});
        for (content, choice, since) in [
            (text.clone(), None, "2024-11-05"),
            (text.clone(), Some(json!({"mode": "none"})), "2025-11-25"),
            (json!([text]), None, "2025-11-25"),
            (result, None, "2025-11-25"),
            (audio, None, "2025-03-26"),
        ] {
            for revision in crate::peer::LEGACY {
                let (content, choice) = (content.clone(), choice.clone());
                let server = named("s").tool("ask", move |_: Anything, cx: Cx| {
                    let mut question = SamplingRequest::new(vec![message(content.clone())], 1);
                    question.tool_choice.clone_from(&choice);
                    async move { Ok(cx.ask("x", question)?.model) }
                });
                let mut peer = legacy(server, revision, ALL).await;
                let received = one(&mut peer, plain(1, "tools/call", &json!({"name": "ask"}))).await;
                // Sent in its shape, or rejected.
                if received["method"] != "sampling/createMessage" {
                    assert_eq!(received["result"]["isError"], true, "{received}");
                    assert!(revision < since, "{revision}: {received}");
                } else if revision < since {
                    assert!(received["params"].get("toolChoice").is_none(), "{revision}: {received}");
                    let kind = received["params"]["messages"][0]["content"]["type"].as_str();
                    assert!(
                        kind.is_some_and(|kind| ["text", "image"].contains(&kind)),
                        "{revision}: {received}"
                    );
                }
            }
        }
    });
}

#[test]
fn a_form_of_any_plain_type_is_one_in_every_revision() {
    /// Either.
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Way {
        /// By train.
        Train,
        /// By ship.
        Ship,
    }
    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Only {
        One,
    }
    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema counts")]
    struct Rich {
        must: Way,
        may: Option<Way>,
        #[serde(default)]
        perhaps: Option<bool>,
        #[serde(default)]
        number: Option<u8>,
        only: Only,
        wide: f32,
        #[serde(default = "seven")]
        count: i64,
        #[schemars(length(min = 1, max = 5))]
        short: String,
    }
    fn seven() -> i64 {
        7
    }
    run(async {
        for revision in ["2025-06-18", "2025-11-25"] {
            let server = named("s").tool("ask", |_: Anything, cx: Cx| async move {
                Ok(format!("{:?}", cx.ask("x", Form::<Rich>::new("?"))?))
            });
            let mut peer = legacy(server, revision, FORM).await;
            let received = one(&mut peer, plain(1, "tools/call", &json!({"name": "ask"}))).await;
            assert_eq!(received["method"], "elicitation/create", "{received}");
            let schema = &received["params"]["requestedSchema"];
            for (name, property) in schema["properties"].as_object().unwrap() {
                let kind = property["type"].as_str().unwrap_or_else(|| panic!("{name}: {property}"));
                let mut known = vec!["type", "title", "description"];
                known.extend(match (kind, revision) {
                    ("string", "2025-06-18") => vec!["minLength", "maxLength", "format", "enum", "enumNames"],
                    ("string", _) => vec!["minLength", "maxLength", "format", "enum", "oneOf", "default"],
                    ("number" | "integer", "2025-06-18") => vec!["minimum", "maximum"],
                    ("number" | "integer", _) => vec!["minimum", "maximum", "default"],
                    ("boolean", _) => vec!["default"],
                    _ => panic!("{name}: {property}"),
                });
                for member in property.as_object().unwrap().keys() {
                    assert!(known.contains(&member.as_str()), "{revision} {name}: {member} in {property}");
                }
                assert!(
                    !property["default"].is_null() || property.get("default").is_none(),
                    "{name}: {property}"
                );
            }
        }
    });
}

#[test]
fn form_responses_are_validated() {
    #[derive(Debug, Deserialize, JsonSchema)]
    struct Age {
        #[schemars(range(min = 18, max = 120))]
        age: u32,
    }
    run(async {
        let server = || {
            named("s").tool("ask", |_: Anything, cx: Cx| async move {
                Ok(match cx.ask("x", Form::<Age>::new("?"))? {
                    Elicited::Accepted(age) => age.age.to_string(),
                    _ => String::new(),
                })
            })
        };
        for (said, good) in [(json!(5), false), (json!(20), true), (json!(20.0), true), (json!("20"), false)]
        {
            let mut peer = legacy(server(), "2025-11-25", FORM).await;
            let asked = one(&mut peer, plain(1, "tools/call", &json!({"name": "ask"}))).await;
            let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"age": said}}});
            let reply = one(&mut peer, answer.to_string()).await;
            assert_eq!(reply["result"]["isError"] == false, good, "{said}: {reply}");
        }
    });
}

/// Contents that no client could read are the author's mistake, and not the client's.
#[test]
fn contents_that_are_nothing_are_not_sent() {
    use papertape::protocol::ResourceContents;
    run(async {
        let server = named("s").resource("x:y", |_| async { Ok(ResourceContents::default()) }).resource(
            "x:both",
            |_| async {
                let mut both = ResourceContents::text("x:both", "");
                both.blob = Some(String::new());
                Ok(both)
            },
        );
        let mut peer = Peer::connect(server);
        for uri in ["x:y", "x:both"] {
            assert_eq!(code(&mut peer, modern("{}", 1, "resources/read", json!({"uri": uri}))).await, -32603);
        }
    });
}
