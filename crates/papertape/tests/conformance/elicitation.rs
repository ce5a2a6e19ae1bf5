//! Elicitation and sampling of legacy clients, by server requests.

use serde_json::{Value, json};

use crate::wire::{LEGACY, Wire, accept, sampled, text};

/// Calls a tool that sends one request: that request, and the result.
fn call_asked(wire: &mut Wire, tool: &str, arguments: &Value, answer: &Value) -> (Value, Value) {
    let mut asked = Vec::new();
    let result =
        wire.result_asking("tools/call", json!({"name": tool, "arguments": arguments}), |question| {
            asked.push(question.clone());
            answer.clone()
        });
    assert_eq!(asked.len(), 1, "{asked:?}");
    (asked.remove(0), result)
}

#[test]
fn tools_call_sampling() {
    for revision in LEGACY {
        let mut wire = Wire::open(revision);
        let prompt = json!({"prompt": "Say hello."});
        let (asked, result) = call_asked(&mut wire, "test_sampling", &prompt, &sampled("Hello."));
        assert_eq!(asked["method"], "sampling/createMessage");
        assert_eq!(
            asked["params"]["messages"],
            json!([{"role": "user", "content": {"type": "text", "text": "Say hello."}}])
        );
        assert_eq!(asked["params"]["maxTokens"], 100);
        assert_eq!(text(&result), "LLM response: Hello.");
        wire.end();
    }
}

#[test]
fn tools_call_elicitation() {
    for revision in ["2025-06-18", "2025-11-25"] {
        let mut wire = Wire::open(revision);
        let user = json!({"username": "ada", "email": "ada@example.com"});
        let message = json!({"message": "Who are you?"});
        let (asked, result) = call_asked(&mut wire, "test_elicitation", &message, &accept(&user));
        assert_eq!(asked["method"], "elicitation/create");
        assert_eq!(asked["params"]["message"], "Who are you?");
        let schema = &asked["params"]["requestedSchema"];
        assert_eq!(schema["properties"]["username"]["type"], "string", "{schema}");
        assert_eq!(schema["properties"]["email"]["type"], "string", "{schema}");
        assert_eq!(schema["required"], json!(["username", "email"]));
        assert!(
            text(&result).contains("action=accept") && text(&result).contains("ada@example.com"),
            "{result}"
        );
        let (_, result) = call_asked(&mut wire, "test_elicitation", &message, &json!({"action": "decline"}));
        assert!(text(&result).contains("action=decline"), "{result}");
        wire.end();
    }
}

#[test]
fn revisions_without_elicitation_get_no_requests() {
    for revision in ["2024-11-05", "2025-03-26"] {
        let mut wire = Wire::open(revision);
        let result = wire.call("test_elicitation", &json!({"message": "Who are you?"}));
        assert_eq!(result["isError"], true, "{result}");
        wire.end();
    }
}

#[test]
fn elicitation_sep1034_defaults() {
    let mut wire = Wire::open("2025-11-25");
    let given = json!({"name": "Jane", "age": 25, "score": 88, "status": "inactive", "verified": false});
    let (asked, result) =
        call_asked(&mut wire, "test_elicitation_sep1034_defaults", &json!({}), &accept(&given));
    let fields = &asked["params"]["requestedSchema"]["properties"];
    for (field, kind, default) in [
        ("name", "string", json!("John Doe")),
        ("age", "integer", json!(30)),
        ("score", "number", json!(95.5)),
        ("status", "string", json!("active")),
        ("verified", "boolean", json!(true)),
    ] {
        assert_eq!(fields[field]["type"], kind, "{field}: {fields}");
        assert_eq!(fields[field]["default"], default, "{field}: {fields}");
    }
    assert_eq!(fields["status"]["enum"], json!(["active", "inactive", "pending"]));
    assert!(text(&result).contains("Jane") && text(&result).contains("inactive"), "{result}");
    wire.end();
}

#[test]
fn elicitation_sep1330_enums() {
    let mut wire = Wire::open("2025-11-25");
    let given = json!({"untitledSingle": "option1", "titledSingle": "value1", "legacyEnum": "opt1",
        "untitledMulti": ["option1", "option2"], "titledMulti": ["value1", "value2"]});
    let (asked, result) =
        call_asked(&mut wire, "test_elicitation_sep1330_enums", &json!({}), &accept(&given));
    let fields = &asked["params"]["requestedSchema"]["properties"];
    let titled = |choices: &Value| {
        let choices = choices.as_array().unwrap();
        assert!(
            choices.iter().all(|choice| choice["const"].is_string() && choice["title"].is_string()),
            "{choices:?}"
        );
    };

    let field = &fields["untitledSingle"];
    assert_eq!(field["enum"], json!(["option1", "option2", "option3"]));
    assert!(field["type"] == "string" && field.get("oneOf").is_none() && field.get("enumNames").is_none());
    let field = &fields["titledSingle"];
    assert!(field["type"] == "string" && field.get("enum").is_none(), "{field}");
    titled(&field["oneOf"]);
    let field = &fields["legacyEnum"];
    assert_eq!(field["enumNames"].as_array().unwrap().len(), field["enum"].as_array().unwrap().len());
    assert_eq!(field["type"], "string");
    let field = &fields["untitledMulti"];
    assert_eq!(field["items"], json!({"type": "string", "enum": ["option1", "option2", "option3"]}));
    assert_eq!(field["type"], "array");
    let field = &fields["titledMulti"];
    assert!(field["type"] == "array" && field["items"].get("enum").is_none(), "{field}");
    titled(&field["items"]["anyOf"]);

    assert!(text(&result).contains(r#""titledMulti":["value1","value2"]"#), "{result}");
    // A value that is not among the choices is rejected.
    let odd = json!({"untitledSingle": "option1", "titledSingle": "value1", "legacyEnum": "opt1",
        "untitledMulti": ["option1", "odd"], "titledMulti": []});
    let (_, result) = call_asked(&mut wire, "test_elicitation_sep1330_enums", &json!({}), &accept(&odd));
    assert_eq!(result["isError"], true, "{result}");
    wire.end();
}

#[test]
fn multi_select_is_an_error_in_revisions_without_it() {
    let mut wire = Wire::open("2025-06-18");
    let result = wire.call("test_elicitation_sep1330_enums", &json!({}));
    assert_eq!(result["isError"], true);
    assert!(text(&result).contains("choose several"), "{result}");
    wire.end();
}
