//! Tools: their list, and every kind of content they return.

use serde_json::{Value, json};

use crate::wire::{LEGACY, MODERN, Wire, everyone, text};

#[test]
fn tools_list() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        let first = wire.result("tools/list", json!({}))["tools"].clone();
        let tools = first.as_array().unwrap();
        assert!(tools.len() > 20, "{}", tools.len());
        // The suite calls the first without arguments.
        assert_eq!(tools[0]["name"], "test_simple_text");
        for tool in tools {
            let name = tool["name"].as_str().unwrap();
            let fine = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
            assert!(fine && (1..=128).contains(&name.len()), "{name}");
            assert!(!tool["description"].as_str().unwrap().is_empty(), "{tool}");
            assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        }
        for _ in 0..2 {
            assert_eq!(wire.result("tools/list", json!({}))["tools"], first, "{revision}: in another order");
        }
        wire.end();
    }
}

#[test]
fn tools_call_simple_text() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        // Arguments may be absent.
        let result = wire.result("tools/call", json!({"name": "test_simple_text"}));
        assert_eq!(text(&result), "This is a simple text response for testing.");
        assert_eq!(result["isError"], false);
        wire.end();
    }
}

/// What stands in base64.
fn bytes(data: &Value) -> Vec<u8> {
    data_encoding::BASE64.decode(data.as_str().unwrap().as_bytes()).unwrap()
}

#[test]
fn tools_call_image() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        let result = wire.call("test_image_content", &json!({}));
        assert_eq!(result["content"][0]["type"], "image");
        assert_eq!(result["content"][0]["mimeType"], "image/png");
        assert!(bytes(&result["content"][0]["data"]).starts_with(b"\x89PNG"));
        wire.end();
    }
}

#[test]
fn tools_call_audio() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        let result = wire.call("test_audio_content", &json!({}));
        let content = &result["content"][0];
        // The first revision had no sound; there it is a resource.
        let (kind, data) =
            if revision == LEGACY[0] { ("resource", &content["resource"]) } else { ("audio", content) };
        assert_eq!(content["type"], kind, "{result}");
        assert_eq!(data["mimeType"], "audio/wav", "{result}");
        let data = data.get("blob").or(data.get("data")).unwrap();
        assert!(bytes(data).starts_with(b"RIFF"), "{result}");
        wire.end();
    }
}

#[test]
fn tools_call_embedded_resource() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        let result = wire.call("test_embedded_resource", &json!({}));
        assert_eq!(result["content"][0]["type"], "resource");
        let resource = &result["content"][0]["resource"];
        assert_eq!(resource["uri"], "test://embedded-resource");
        assert_eq!(resource["mimeType"], "text/plain");
        assert!(resource["text"].is_string());
        wire.end();
    }
}

#[test]
fn tools_call_mixed_content() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        let result = wire.call("test_multiple_content_types", &json!({}));
        let kinds: Vec<&Value> =
            result["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
        assert_eq!(kinds, ["text", "image", "resource"]);
        wire.end();
    }
}

#[test]
fn tools_call_error() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        let result = wire.call("test_error_handling", &json!({}));
        assert_eq!(result["isError"], true);
        assert_eq!(text(&result), "This tool intentionally returns an error for testing");
        wire.end();
    }
}

#[test]
fn tools_call_with_logging() {
    for revision in LEGACY {
        let mut wire = Wire::open(revision);
        assert_eq!(wire.result("logging/setLevel", json!({"level": "debug"})), json!({}));
        drop(wire.call("test_tool_with_logging", &json!({})));
        let lines: Vec<&Value> =
            wire.notifications("notifications/message").iter().map(|line| &line["data"]).collect();
        assert_eq!(lines, ["Tool execution started", "Tool processing data", "Tool execution completed"]);
        wire.end();
    }
}

#[test]
fn tools_call_with_progress() {
    for revision in everyone() {
        let mut wire = Wire::open(revision);
        let params = json!({"_meta": {"progressToken": "token-of-the-test"}});
        drop(wire.call_with("test_tool_with_progress", &params));
        let received = wire.notifications("notifications/progress");
        let done: Vec<f64> = received.iter().map(|received| received["progress"].as_f64().unwrap()).collect();
        assert_eq!(done, [0.0, 50.0, 100.0]);
        assert!(
            received.iter().all(
                |received| received["progressToken"] == "token-of-the-test" && received["total"] == 100.0
            )
        );
        wire.end();
    }
}

#[test]
fn json_schema_2020_12() {
    for revision in ["2025-11-25", MODERN] {
        let mut wire = Wire::open(revision);
        let list = wire.result("tools/list", json!({}));
        let tools = list["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == "json_schema_2020_12_tool").unwrap();
        let schema = &tool["inputSchema"];
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(schema["$defs"]["address"]["$anchor"], "address");
        assert_eq!(schema["properties"]["address"]["$ref"], "#/$defs/address");
        assert!(schema["allOf"][0]["anyOf"].is_array(), "{schema}");
        assert!(schema["if"].is_object() && schema["then"].is_object() && schema["else"].is_object());
        assert_eq!(schema["additionalProperties"], false);
        // It is not only shown.
        let call =
            |wire: &mut Wire, arguments| wire.call("json_schema_2020_12_tool", &arguments)["isError"].clone();
        assert_eq!(call(&mut wire, json!({"contactMethod": "phone", "phone": "1"})), false);
        assert_eq!(call(&mut wire, json!({"contactMethod": "phone", "email": "a@b"})), true);
        assert_eq!(call(&mut wire, json!({"email": "a@b", "odd": 1})), true);
        wire.end();
    }
}

/// The header is HTTP's affair; that the schema says which, is not.
#[test]
fn http_custom_header_server_validation() {
    let mut wire = Wire::open(MODERN);
    let list = wire.result("tools/list", json!({}));
    let tools = list["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == "test_custom_header").unwrap();
    assert_eq!(tool["inputSchema"]["properties"]["value"]["x-mcp-header"], "Value", "{tool}");
    assert_eq!(tool["inputSchema"]["required"], json!(["value"]));
    wire.end();
}
