//! Prompts and what their arguments can be completed with.

use serde_json::{Value, json};

use crate::wire::{Wire, everyone};

/// The messages of a prompt.
fn messages(wire: &mut Wire, name: &str, arguments: &Value) -> Vec<Value> {
    let result = wire.result("prompts/get", json!({"name": name, "arguments": arguments}));
    result["messages"].as_array().unwrap().clone()
}

#[test]
fn prompts_list() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        let list = wire.result("prompts/list", json!({}));
        let prompts = list["prompts"].as_array().unwrap();
        assert_eq!(prompts.len(), 5);
        for prompt in prompts {
            assert!(prompt["name"].is_string() && prompt["description"].is_string(), "{prompt}");
        }
        wire.end();
    }
}

#[test]
fn prompts_get_simple() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        // Arguments may be absent.
        let result = wire.result("prompts/get", json!({"name": "test_simple_prompt"}));
        let message = &result["messages"][0];
        assert_eq!(message["role"], "user");
        assert_eq!(
            message["content"],
            json!({"type": "text", "text": "This is a simple prompt for testing."})
        );
        wire.end();
    }
}

#[test]
fn prompts_get_with_args() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        let arguments = json!({"arg1": "hello", "arg2": "world"});
        let messages = messages(&mut wire, "test_prompt_with_arguments", &arguments);
        let text = messages[0]["content"]["text"].as_str().unwrap();
        assert!(text.contains("hello") && text.contains("world"), "{text}");
        let error = wire
            .error("prompts/get", json!({"name": "test_prompt_with_arguments", "arguments": {"arg1": "x"}}));
        assert_eq!(error["code"], -32602, "{error}");
        wire.end();
    }
}

#[test]
fn prompts_get_embedded_resource() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        let arguments = json!({"resourceUri": "test://example-resource"});
        let messages = messages(&mut wire, "test_prompt_with_embedded_resource", &arguments);
        let block =
            messages.iter().map(|message| &message["content"]).find(|block| block["type"] == "resource");
        let resource = &block.unwrap()["resource"];
        assert_eq!(resource["uri"], "test://example-resource");
        assert!(resource["text"].is_string());
        wire.end();
    }
}

#[test]
fn prompts_get_with_image() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        let messages = messages(&mut wire, "test_prompt_with_image", &json!({}));
        let block = messages
            .iter()
            .map(|message| &message["content"])
            .find(|block| block["type"] == "image")
            .unwrap();
        assert_eq!(block["mimeType"], "image/png");
        assert!(block["data"].is_string());
        wire.end();
    }
}

#[test]
fn completion_complete() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        let result = wire.result(
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"}, "argument": {"name": "arg1", "value": "test"}}),
        );
        assert_eq!(result["completion"]["values"], json!(["testing", "tested"]), "{result}");
        wire.end();
    }
}
