//! A model's calls, read and run.

use papertape::client::model_api::ModelApi;
use papertape::client::{CallOptions, Clients};
use papertape::protocol::ToolDefinition;
use papertape::server::Tool;
use papertape::{Cx, Server, ToolError, memory};
use serde_json::{Value, json};

use super::{APIS, declared, strict, tool};
use crate::client::text_of;
use crate::peer::run;

/// A call as an API has it.
pub(super) fn item(api: ModelApi, name: &str, arguments: &Value) -> Value {
    let text = arguments.to_string();
    match api {
        ModelApi::OpenAiChat => {
            json!({"id": "c1", "type": "function", "function": {"name": name, "arguments": text}})
        }
        ModelApi::OpenAiResponses => {
            json!({"type": "function_call", "call_id": "c1", "name": name, "arguments": text})
        }
        ModelApi::Anthropic => json!({"type": "tool_use", "id": "c1", "name": name, "input": arguments}),
        _ => json!({"functionCall": {"id": "c1", "name": name, "args": arguments}}),
    }
}

/// A response with text and calls.
fn response(api: ModelApi, items: &[Value]) -> Value {
    let after = |first: Value| -> Value { std::iter::once(first).chain(items.iter().cloned()).collect() };
    match api {
        ModelApi::OpenAiChat => json!({"choices": [{"message": {"content": "", "tool_calls": items}}]}),
        ModelApi::OpenAiResponses => json!({"output": after(json!({"type": "reasoning"}))}),
        ModelApi::Anthropic => json!({"content": after(json!({"type": "text"}))}),
        _ => {
            let parts = after(json!({"text": "I look."}));
            json!({"candidates": [{"content": {"role": "model", "parts": parts}}]})
        }
    }
}

#[test]
fn calls_of_all_apis_are_read() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    for api in APIS {
        let declared = api.declare([&tool("get.weather", &schema)]);
        let tools = declared.tools();
        let named = tools.pointer("/0/functionDeclarations/0").unwrap_or(&tools[0]);
        let name = named.pointer("/function/name").unwrap_or(&named["name"]).as_str().unwrap();
        assert_ne!(name, "get.weather");
        let items = [item(api, name, &json!({"a": 1})), item(api, "invented", &json!({}))];
        let calls = declared.calls(&response(api, &items));
        assert_eq!(calls.len(), 2, "{api:?}");
        assert_eq!((calls[0].id.as_str(), calls[0].name.as_str()), ("c1", "get.weather"));
        assert_eq!(calls[0].arguments.as_ref().unwrap().get(), r#"{"a":1}"#);
        assert_eq!(calls[1].name, "invented");
        let problem = calls[1].arguments.as_ref().unwrap_err();
        assert_eq!(problem, &format!("there is no tool \"invented\"; these are some: {name}"));
        assert!(declared.calls(&response(api, &[])).is_empty() && declared.calls(&Value::Null).is_empty());
    }
}

#[test]
fn arguments_are_read_as_models_write_them() {
    let declared = declared(ModelApi::OpenAiChat, &json!({"type": "object"}));
    let read = |arguments: Value| {
        let item = json!({"id": "c", "function": {"name": "t", "arguments": arguments}});
        declared.call(&item).unwrap().arguments.map(|json| json.get().to_owned())
    };
    for (given, right) in [
        (json!(""), "{}"),
        (json!(" "), "{}"),
        (json!("null"), "{}"),
        (Value::Null, "{}"),
        (json!({"a": 1}), r#"{"a":1}"#),
        (
            json!(" {\"n\": 340282366920938463463374607431768211455}\n"),
            "{\"n\": 340282366920938463463374607431768211455}",
        ),
    ] {
        assert_eq!(read(given).as_deref(), Ok(right));
    }
    for (given, says) in [
        (json!("{\"a\": "), "not valid JSON (EOF while parsing"),
        (json!("{} {}"), "not valid JSON"),
        (json!("[1]"), "must be a JSON object, not \"[1]\""),
        (json!(5), "must be a JSON object"),
    ] {
        assert!(read(given).unwrap_err().contains(says), "{says}");
    }
}

#[test]
fn the_nulls_of_strict_mode_are_removed_where_the_server_has_none() {
    let item = json!({"type": "object", "required": ["a"], "additionalProperties": false, "properties": {
        "a": {"type": ["string", "null"]}, "b": {"type": "integer"}
    }});
    let schema = json!({"type": "object", "required": ["must"], "additionalProperties": false, "properties": {
        "must": {"type": "string"},
        "may": {"type": "string"},
        "null": {"type": ["string", "null"]},
        "items": {"type": "array", "items": item},
        "kind": {"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "x"}, "n": {"type": "integer"}}, "required": ["kind"]},
            {"type": "object", "properties": {"kind": {"const": "y"}, "m": {"type": "integer"}}, "required": ["kind"]},
        ]},
    }});
    let declared = strict(&schema);
    assert_eq!(declared.tools()[0]["function"]["strict"], true, "{:?}", super::losses(&declared));
    let given = json!({
        "must": "x", "may": null, "null": null,
        "items": [{"a": null, "b": null}], "kind": {"kind": "y", "m": null},
    });
    let call = declared.call(&super::calls::item(ModelApi::OpenAiChat, "t", &given)).unwrap();
    let right = json!({"must": "x", "null": null, "items": [{"a": null}], "kind": {"kind": "y"}});
    assert_eq!(call.arguments.unwrap(), right);
}

#[test]
fn arguments_with_refused_names_are_renamed_both_ways() {
    let schema = json!({"type": "object", "properties": {"$filter": {"type": "string"}, "a.b": {}}, "required": ["$filter"]});
    let declared = declared(ModelApi::Anthropic, &schema);
    let parameters = super::parameters(&declared);
    let name = parameters["required"][0].as_str().unwrap();
    assert!(
        name.starts_with("_filter_") && parameters["properties"][name]["type"] == "string",
        "{parameters}"
    );
    assert!(parameters["properties"].get("a.b").is_some());
    let call = declared.call(&item(ModelApi::Anthropic, "t", &json!({(name): "x", "a.b": 1}))).unwrap();
    assert_eq!(call.arguments.unwrap(), json!({"$filter": "x", "a.b": 1}));
}

#[test]
fn calls_are_run_and_failures_are_texts_for_the_model() {
    run(async {
        let server = || {
            let echo = Tool::new("echo").input_schema(json!({"type": "object", "required": ["text"]}));
            Server::new("s", "1").raw_tool(echo, async |arguments: Value, _: Cx| {
                Ok(arguments["text"].as_str().unwrap_or_default().to_owned())
            })
        };
        let mut clients = Clients::new();
        clients.add("s", memory::connect(server()).await.unwrap());
        let client = memory::connect(server()).await.unwrap();
        let tools = clients.tools().await;
        let api = ModelApi::OpenAiChat;
        let declared = api.declare(tools.items());
        let call = |name: &str, arguments: &Value| declared.call(&item(api, name, arguments)).unwrap();
        assert_eq!(text_of(&clients.run(&call("s_echo", &json!({"text": "a"}))).await), "a");
        let tools = client.tools().await.unwrap();
        let of_one = api.declare(tools.iter().map(|tool| &tool.item));
        let echo = of_one.call(&item(api, "echo", &json!({"text": "b"}))).unwrap();
        assert_eq!(text_of(&client.run(&echo).await), "b");
        for (name, arguments, says) in [
            ("s_echo", json!({}), "text"),
            ("s_echo", json!([]), "must be a JSON object"),
            ("s_none", json!({}), "there is no tool \"s_none\"; these are some: s_echo"),
            ("none", json!({}), "there is no tool"),
        ] {
            let result = clients.run(&call(name, &arguments)).await;
            assert!(result.is_error && text_of(&result).contains(says), "{result:?}");
        }
        assert!(client.run(&call("none", &json!({}))).await.is_error);
    });
}

#[test]
fn a_model_cannot_call_what_was_left_out_of_the_declarations() {
    run(async {
        let server = Server::new("lab", "1")
            .tool("read", async |(): (), _: Cx| Ok::<_, ToolError>("read"))
            .tool("erase", async |(): (), _: Cx| Ok::<_, ToolError>("erased"));
        let client = memory::connect(server).await.unwrap();
        let tools = client.tools().await.unwrap();
        let clients: Clients = [("lab", client.clone())].into_iter().collect();
        let merged = clients.tools().await;
        for api in APIS {
            for (strict, name) in [(false, "erase"), (true, "erase"), (false, "raed")] {
                let own = tools.iter().map(|tool| &tool.item).filter(|tool| tool.name == "read");
                let declared = if strict { api.declare_strict(own) } else { api.declare(own) };
                let calls = declared.calls(&response(api, &[item(api, name, &json!({}))]));
                let result = client.run(&calls[0]).await;
                assert!(result.is_error, "{result:?}");
                let says = match name {
                    "raed" => "there is no tool \"raed\": did you mean \"read\"?",
                    _ => "there is no tool \"erase\"; these are some: read",
                };
                assert_eq!(text_of(&result), says);

                let own = merged.items().filter(|tool| tool.name == "lab_read");
                let declared = if strict { api.declare_strict(own) } else { api.declare(own) };
                for name in ["lab_erase", "erase"] {
                    let call = declared.call(&item(api, name, &json!({}))).unwrap();
                    let result = clients.run_with(&call, CallOptions::new()).await;
                    assert!(
                        result.is_error && text_of(&result).starts_with("there is no tool"),
                        "{result:?}"
                    );
                }
            }
        }
        let none = ModelApi::Gemini.declare([]);
        let call = none.call(&item(ModelApi::Gemini, "read", &json!({}))).unwrap();
        assert_eq!(call.arguments.unwrap_err(), "there is no tool \"read\", nor any other");
    });
}

#[test]
fn a_failed_call_is_told_by_the_name_that_the_model_knows() {
    run(async {
        let gone = tool("lab_gone", &json!({"type": "object"}));
        let server = Server::new("lab", "1").tool("read", async |(): (), _: Cx| Ok::<_, ToolError>("read"));
        let clients: Clients = [("lab", memory::connect(server).await.unwrap())].into_iter().collect();
        let declared = ModelApi::Anthropic.declare([&gone]);
        let call = declared.call(&item(ModelApi::Anthropic, "lab_gone", &json!({}))).unwrap();
        let result = clients.run(&call).await;
        assert!(text_of(&result).starts_with("calling the tool \"lab_gone\" failed: "), "{result:?}");
    });
}

#[test]
fn tools_that_are_for_pages_only_are_neither_declared_nor_called() {
    let with_ui = |name: &str, visibility: Value| -> ToolDefinition {
        let meta = json!({"ui": {"resourceUri": "ui://a", "visibility": visibility}});
        serde_json::from_value(json!({"name": name, "inputSchema": {"type": "object"}, "_meta": meta}))
            .unwrap()
    };
    let tools =
        [with_ui("page", json!(["app"])), with_ui("both", json!(["app", "model"])), tool("t", &json!({}))];
    for api in APIS {
        let declared = api.declare(&tools);
        let json = declared.tools().to_string();
        assert!(!json.contains("\"page\"") && json.contains("\"both\"") && json.contains("\"t\""), "{json}");
        let call = declared.call(&item(api, "page", &json!({}))).unwrap();
        assert!(call.arguments.is_err(), "{call:?}");
    }
}

#[test]
fn no_digit_is_lost_where_arguments_are_renamed_or_nulls_removed() {
    const BIG: &str = "340282366920938463463374607431768211455";
    let schema = json!({"type": "object", "required": ["$n"], "additionalProperties": false, "properties": {
        "$n": {"type": "integer"},
        "o": {"type": "object", "properties": {"m": {"type": "integer"}}, "required": []},
    }});
    let renamed = declared(ModelApi::Anthropic, &schema);
    let name = super::parameters(&renamed)["required"][0].as_str().unwrap().to_owned();
    let strict = strict(&schema);
    assert_eq!(strict.tools()[0]["function"]["strict"], true, "{:?}", super::losses(&strict));
    for (declared, text, right) in [
        // Text, which a proxy may make of the `input`.
        (&renamed, format!("{{\"{name}\": {BIG}}}"), format!("{{\"$n\":{BIG}}}")),
        (
            &strict,
            format!("{{\"$n\": {BIG}, \"o\": {{\"m\": null}}}}"),
            format!("{{\"$n\":{BIG},\"o\":{{}}}}"),
        ),
    ] {
        let call = match declared.tools()[0].get("function") {
            Some(_) => json!({"id": "c", "function": {"name": "t", "arguments": text}}),
            None => json!({"type": "tool_use", "id": "c", "name": "t", "input": text}),
        };
        assert_eq!(declared.call(&call).unwrap().arguments.unwrap().get(), right);
    }
}
