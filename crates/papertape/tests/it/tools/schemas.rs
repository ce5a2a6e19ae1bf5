//! Schemas and names: what is refused at the start, and what arguments can be.

use std::collections::BTreeMap;

use papertape::client::ClientOptions;
use papertape::protocol::Content;
use papertape::protocol::{PromptMessage, PromptResult, Revision};
use papertape::server::{Tool, Warning, WarningKind};
use papertape::{Cx, Json, Server, memory};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{REVISIONS, nothing, numbered};
use crate::peer::{MODERN, Peer, call, request, run, words};

/// A server with one raw tool, `odd`, of that input and output schema.
fn odd(input: Value, output: Option<Value>) -> Server {
    let mut tool = Tool::new("odd").input_schema(input);
    if let Some(output) = output {
        tool = tool.output_schema(output);
    }
    Server::new("odd", "1").raw_tool(tool, async |_: Value, _: Cx| Ok(Json(json!({}))))
}

#[test]
fn a_bad_schema_is_named_at_the_start() {
    let object = json!({"type": "object"});
    for (input, output, reason) in [
        (json!({}), None, "\"type\": \"object\""),
        (json!({"type": "string"}), None, "\"type\": \"object\""),
        (json!({"type": ["object"]}), None, "\"type\": \"object\""),
        (json!({"properties": {}}), None, "\"type\": \"object\""),
        (json!(null), None, "Tool::input_schema"),
        (json!(true), None, "must be a JSON object"),
        (json!([]), None, "must be a JSON object"),
        (json!({"type": "objekt"}), None, "objekt"),
        (json!({"type": "object", "properties": []}), None, ""),
        (json!({"type": "object", "required": "a"}), None, ""),
        (json!({"type": "object", "properties": {"a": {"pattern": "("}}}), None, "("),
        (json!({"type": "object", "properties": {"a": {"minLength": -1}}}), None, ""),
        (
            json!({"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/schema"}}}),
            None,
            "127.0.0.1",
        ),
        (json!({"type": "object", "$ref": "https://example.com/schema.json"}), None, "example.com"),
        (json!({"type": "object", "properties": {"a": {"$ref": "other.json"}}}), None, "other.json"),
        (json!({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}), None, "etc/passwd"),
        (json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/missing"}}}), None, "missing"),
        (
            json!({"type": "object", "$schema": "http://json-schema.org/draft-03/schema#"}),
            None,
            "2020-12 or draft-07",
        ),
        (json!({"type": "object", "$schema": "https://example.com/dialect"}), None, "2020-12 or draft-07"),
        (json!({"type": "object", "$schema": 5}), None, "2020-12 or draft-07"),
        (object.clone(), Some(json!({"type": "objekt"})), "objekt"),
        (object.clone(), Some(json!({"$ref": "http://127.0.0.1:1/schema"})), "127.0.0.1"),
        (object.clone(), Some(json!("x")), "must be a JSON object"),
    ] {
        let which = if output.is_some() { "output" } else { "input" };
        let error = odd(input.clone(), output.clone()).check().unwrap_err().to_string();
        assert!(error.contains("\"odd\"") && error.contains(which), "{input} {output:?}: {error}");
        assert!(error.contains(reason), "{input} {output:?}: {error}");
        // Serving says the same.
        let (ours, _theirs) = tokio::io::duplex(64);
        let (reader, writer) = tokio::io::split(ours);
        let served = run(papertape::streams::serve(odd(input, output), reader, writer)).unwrap_err();
        assert_eq!(served.to_string(), error);
    }
}

#[test]
fn a_good_schema_is_good() {
    for (input, output) in [
        (json!({"type": "object"}), Some(json!({"type": "array"}))),
        (json!({"type": "object", "$schema": "https://json-schema.org/draft/2020-12/schema"}), None),
        (
            json!({
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "object",
                "definitions": {"a": {}},
                "properties": {"a": {"$ref": "#/definitions/a"}},
            }),
            None,
        ),
        (
            json!({
                "type": "object",
                "$defs": {"a": {"type": "integer"}},
                "properties": {"a": {"$ref": "#/$defs/a"}},
                "x-unknown": 5,
            }),
            None,
        ),
        (
            json!({"type": "object", "$defs": {"a": {"$anchor": "here"}}, "properties": {"a": {"$ref": "#here"}}}),
            None,
        ),
        (json!({"type": "object", "properties": {"child": {"$ref": "#"}}}), None),
        (json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}), None),
    ] {
        odd(input.clone(), output).check().unwrap_or_else(|error| panic!("{input}: {error}"));
    }
}

#[test]
fn names_are_unique_and_not_empty() {
    let twice = Server::new("twice", "1").tool("same", nothing).tool("other", nothing).tool("same", nothing);
    assert_eq!(twice.check().unwrap_err().to_string(), "tool \"same\": registered twice");
    assert_eq!(
        Server::new("none", "1").tool("", nothing).check().unwrap_err().to_string(),
        "a tool has an empty name"
    );
    let (server, tools) = numbered(1, 10);
    assert!(tools.add("t0", nothing).unwrap_err().to_string().contains("\"t0\""));
    server.check().unwrap();
    // The first problem is the one that is reported.
    let both = Server::new("both", "1").tool("", nothing).tool("a", nothing).tool("a", nothing);
    assert_eq!(both.check().unwrap_err().to_string(), "a tool has an empty name");
}

#[test]
fn an_enum_of_structs_and_nothing_can_be_arguments() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "lowercase")]
    enum Shape {
        Circle { radius: f64 },
        Square { side: f64 },
    }
    run(async {
        let server = Server::new("shapes", "1")
            .tool("area", async |shape: Shape, _: Cx| {
                Ok(match shape {
                    Shape::Circle { radius } => format!("{:.1}", radius * radius * 3.0),
                    Shape::Square { side } => format!("{:.1}", side * side),
                })
            })
            .tool("none", async |(): (), _: Cx| Ok("nothing"));
        let mut peer = Peer::open(server, "2025-06-18").await;
        let mut answer = async |tool: &str, arguments: Value| {
            let answers = peer.line(call("", "7", tool, &arguments)).await;
            let message = answers[0]["error"]["message"].as_str();
            message.or(answers[0]["result"]["content"][0]["text"].as_str()).unwrap().to_owned()
        };
        assert_eq!(answer("area", json!({"kind": "circle", "radius": 2})).await, "12.0");
        assert_eq!(answer("area", json!({"kind": "square", "side": 3})).await, "9.0");
        assert_eq!(answer("none", json!({})).await, "nothing");
        assert!(answer("none", json!({"x": 1})).await.contains("\"x\" is unknown"));
    });
}

#[test]
fn an_argument_of_any_type_is_listed_for_every_revision() {
    #[derive(Deserialize, JsonSchema)]
    struct Anything {
        #[expect(dead_code, reason = "only its schema matters")]
        value: Value,
    }
    for revision in REVISIONS {
        run(async {
            let server = Server::new("any", "1").tool("take", async |_: Anything, _: Cx| Ok("taken"));
            let mut peer = Peer::open(server, revision).await;
            let list = peer.line(request(revision, "7", "tools/list", json!({}))).await;
            let property = &list[0]["result"]["tools"][0]["inputSchema"]["properties"]["value"];
            assert_eq!(property, &json!({}), "{revision}");
        });
    }
}

#[test]
fn a_recursive_schema_is_checked_to_any_allowed_depth() {
    run(async {
        let schema = json!({
            "type": "object",
            "properties": {"child": {"$ref": "#"}, "leaf": {"type": "integer"}},
            "additionalProperties": false,
        });
        let mut peer = Peer::open(odd(schema, None), MODERN).await;
        let nest = |leaf: Value, levels: usize| {
            (0..levels).fold(json!({"leaf": leaf}), |inner, _| json!({"child": inner}))
        };
        assert_eq!(words(&peer.send(call(MODERN, "7", "odd", &nest(json!(1), 100)) + "\n").await), "R(7)");
        assert_eq!(words(&peer.send(call(MODERN, "8", "odd", &nest(json!("x"), 100)) + "\n").await), "F(8)");
    });
}

/// What a tool that reads an `A` says about arguments: "taken", or why not.
async fn take<A: DeserializeOwned + JsonSchema + Send + 'static>(arguments: Value) -> String {
    let server = Server::new("one", "1").tool("take", async |_: A, _: Cx| Ok("taken"));
    let mut peer = Peer::open(server, MODERN).await;
    let answers = peer.line(call(MODERN, "7", "take", &arguments)).await;
    answers[0]["result"]["content"][0]["text"]
        .as_str()
        .unwrap()
        .replace("invalid arguments for tool \"take\": ", "")
}

#[test]
fn unknown_arguments_are_rejected() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "lowercase")]
    #[expect(dead_code, reason = "only its schema matters")]
    enum Shape {
        Circle { radius: f64 },
        Square { side: f64 },
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Flat {
        own: u8,
        #[serde(flatten)]
        shape: Shape,
        #[serde(flatten)]
        page: Page,
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Page {
        number: u32,
        size: Option<u32>,
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Open {
        own: u8,
        map: BTreeMap<String, u8>,
        any: serde_json::Map<String, Value>,
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
    }
    run(async {
        let page = |more: Value| json!({"number": 1, "size": null, "pages": more});
        assert_eq!(take::<Page>(json!({"number": 1, "size": null})).await, "taken");
        let problem = r#""pages" is unknown"#;
        assert_eq!(take::<Page>(page(json!(1))).await, problem);
        let problem = r#""nubmer" is unknown: did you mean "number"?"#;
        assert_eq!(take::<Page>(json!({"number": 1, "nubmer": 1})).await, problem);
        let problem = r#""number" is null: value is not of type "integer""#;
        assert_eq!(take::<Page>(json!({"number": null})).await, problem);
        let flat = json!({"own": 1, "kind": "circle", "radius": 2.0, "number": 3, "size": null});
        assert_eq!(take::<Flat>(flat.clone()).await, "taken");
        let mut odd = flat;
        odd["raduis"] = json!(1);
        assert_eq!(take::<Flat>(odd).await, r#""raduis" is unknown: did you mean "radius"?"#);
        let open = json!({"own": 1, "map": {"a": 1}, "any": {"b": {}}, "more": null, "other": 1});
        assert_eq!(take::<Open>(open).await, "taken");
    });
}

#[test]
fn null_for_an_optional_argument_of_a_raw_tool_is_absent() {
    run(async {
        let schema = json!({
            "type": "object",
            "properties": {
                "a": {"type": "string"},
                "b": {"type": ["string", "null"]},
                "c": {"type": "string"},
                "d": {"$ref": "#/$defs/d"},
                "e": {},
            },
            "required": ["c"],
            "$defs": {"d": {"type": "object", "properties": {"x": {"enum": [1]}}}},
        });
        let server = Server::new("raw", "1")
            .raw_tool(Tool::new("tell").input_schema(schema), async |arguments: Value, _: Cx| {
                Ok(arguments.to_string())
            });
        let mut peer = Peer::open(server, MODERN).await;
        let mut tell = async |arguments: Value| {
            let answers = peer.line(call(MODERN, "7", "tell", &arguments)).await;
            answers[0]["result"]["content"][0]["text"].as_str().unwrap().to_owned()
        };
        let nulls = json!({"a": null, "b": null, "c": "x", "d": {"x": null}, "e": null, "f": null});
        let left = json!({"b": null, "c": "x", "d": {}, "e": null, "f": null});
        assert_eq!(tell(nulls).await, left.to_string());
        assert_eq!(tell(json!({"c": "x", "d": null})).await, json!({"c": "x"}).to_string());
        assert!(tell(json!({"c": null})).await.contains(r#""c" is null"#));
    });
}

#[test]
fn schemas_that_hosts_reject_get_a_warning_with_location_and_remedy() {
    let schema = json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}});
    let server = Server::new("s", "1")
        .raw_tool(Tool::new("no good").input_schema(schema), async |_: Value, _: Cx| Ok("x"))
        .tool(Tool::new("good").description("Fine."), async |(): (), _: Cx| Ok("x"));
    let mounted = Server::new("t", "1").mount(&"p".repeat(61), server);
    let warnings = mounted.check().unwrap();
    let said: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    let kinds: Vec<WarningKind> = warnings.iter().map(|warning| warning.kind).collect();
    let expected = [WarningKind::Name, WarningKind::NoDescription, WarningKind::TypeList, WarningKind::Name];
    assert_eq!(kinds, expected, "{said:#?}");
    assert!(said[0].starts_with("tool \"ppp") && said[0].contains("up to 64"), "{}", said[0]);
    assert!(said[2].contains(", /properties/a/type of its input schema: AutoGen 0.7"), "{}", said[2]);
    assert!(said[2].contains("`anyOf`"), "{}", said[2]);
    // The second is too long only because of where it is mounted.
    assert!(said[3].contains("_good\""), "{}", said[3]);
}

#[test]
fn a_non_object_result_is_wrapped_where_required() {
    #[derive(Deserialize, JsonSchema)]
    struct Word {
        word: Option<String>,
    }
    #[derive(Serialize, JsonSchema)]
    #[serde(untagged)]
    enum Either {
        Object { a: u8 },
        Word(String),
    }
    let server = || {
        Server::new("s", "1")
            .tool("list", async |(): (), _: Cx| Ok(Json(vec![1, 2])))
            .tool("number", async |(): (), _: Cx| Ok(Json(7)))
            .tool("either", async |word: Word, _: Cx| {
                Ok(Json(word.word.map_or(Either::Object { a: 1 }, Either::Word)))
            })
            .tool("map", async |(): (), _: Cx| Ok(Json(BTreeMap::from([("a", 1)]))))
    };
    run(async {
        for revision in Revision::ALL {
            let client =
                memory::connect_with(server(), ClientOptions::new().revision(revision)).await.unwrap();
            let tools = client.tools().await.unwrap();
            for (tool, arguments, value) in [
                ("list", json!({}), json!([1, 2])),
                ("number", json!({}), json!(7)),
                ("either", json!({}), json!({"a": 1})),
                ("either", json!({"word": "x"}), json!("x")),
                ("map", json!({}), json!({"a": 1})),
            ] {
                // The client holds it against the schema that was listed.
                let result = client.call(tool, arguments).await.unwrap();
                let schema =
                    &tools.iter().find(|listed| listed.item.name == tool).unwrap().item.output_schema;
                let is_wrapped = tool != "map" && revision != Revision::MODERN;
                let right = if is_wrapped { json!({"result": value}) } else { value.clone() };
                let right = Some(right).filter(|_| revision.has_structured_output());
                let structured = result.structured_content.map(|json| json.to_value().unwrap());
                assert_eq!(structured, right, "{revision} {tool}");
                assert_eq!(schema.is_some(), revision.has_structured_output());
                let text = serde_json::to_value(&result.content[0]).unwrap();
                assert_eq!(serde_json::from_str::<Value>(text["text"].as_str().unwrap()).unwrap(), value);
            }
        }
    });
}

#[test]
fn a_prompt_that_hosts_cannot_read_gets_a_warning() {
    let filled = |contents: &[Content]| {
        PromptResult::new(contents.iter().map(|content| PromptMessage::user(content.clone())).collect())
    };
    let (text, empty) = (Content::text("Hello."), Content::text(" "));
    let passage = Content::text_resource("note:one", "text/plain", "x");
    for (contents, expected) in [
        (vec![text.clone(), text.clone()], vec![]),
        (vec![], vec![("", WarningKind::NoText)]),
        (vec![empty, text.clone()], vec![("/messages/0", WarningKind::NoText)]),
        (vec![text, passage], vec![("/messages/1", WarningKind::NotText)]),
    ] {
        let warnings = Warning::of_prompt("p", &filled(&contents));
        let reported: Vec<_> =
            warnings.iter().map(|warning| (warning.pointer.as_str(), warning.kind)).collect();
        assert_eq!(reported, expected, "{contents:?}");
    }
}
