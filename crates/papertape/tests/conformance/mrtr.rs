//! `input-required-result-*`: input requests that a modern client carries to its user and back.

use serde_json::{Value, json};

use crate::wire::{MODERN, Wire, accept, call_params, sampled, text};

const ELICITATION: &str = "test_input_required_result_elicitation";

/// A client with every capability.
fn open() -> Wire {
    Wire::open_with(MODERN, json!({"elicitation": {}, "sampling": {}, "roots": {}}))
}

/// The first round of a call: the input requests, and the state.
fn round(wire: &mut Wire, tool: &str) -> (Value, String) {
    asked(&wire.call(tool, &json!({})))
}

/// The input requests, and the state.
fn asked(result: &Value) -> (Value, String) {
    assert_eq!(result["resultType"], "input_required", "{result}");
    (result["inputRequests"].clone(), result["requestState"].as_str().unwrap().to_owned())
}

/// The next round.
fn answered(wire: &mut Wire, tool: &str, answers: &Value, state: &str) -> Value {
    wire.call_with(tool, &json!({"inputResponses": answers, "requestState": state}))
}

fn is_complete(result: &Value) {
    assert_eq!(result["resultType"], "complete", "{result}");
    assert_eq!(result["isError"], false, "{result}");
}

#[test]
fn basic_elicitation() {
    let mut wire = open();
    let (questions, state) = round(&mut wire, ELICITATION);
    let question = &questions["user_name"];
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], "What is your name?");
    assert_eq!(question["params"]["requestedSchema"]["required"], json!(["name"]));
    let result =
        answered(&mut wire, ELICITATION, &json!({"user_name": accept(&json!({"name": "Alice"}))}), &state);
    is_complete(&result);
    assert_eq!(text(&result), "Hello, Alice!");
    wire.end();
}

#[test]
fn basic_sampling() {
    let mut wire = open();
    let tool = "test_input_required_result_sampling";
    let (questions, state) = round(&mut wire, tool);
    assert_eq!(questions["capital_question"]["method"], "sampling/createMessage");
    let result = answered(&mut wire, tool, &json!({"capital_question": sampled("Paris.")}), &state);
    is_complete(&result);
    assert!(text(&result).contains("Paris."), "{result}");
    wire.end();
}

#[test]
fn basic_list_roots() {
    let mut wire = open();
    let tool = "test_input_required_result_list_roots";
    let (questions, state) = round(&mut wire, tool);
    assert_eq!(questions["client_roots"]["method"], "roots/list");
    let roots = json!({"client_roots": {"roots": [{"uri": "file:///test/root", "name": "Test Root"}]}});
    let result = answered(&mut wire, tool, &roots, &state);
    is_complete(&result);
    assert_eq!(text(&result), "Roots: 1");
    wire.end();
}

#[test]
fn request_state() {
    let mut wire = open();
    let tool = "test_input_required_result_request_state";
    let (_, state) = round(&mut wire, tool);
    let result = answered(&mut wire, tool, &json!({"confirm": accept(&json!({"ok": true}))}), &state);
    is_complete(&result);
    assert!(text(&result).contains("state-ok"), "{result}");
    wire.end();
}

#[test]
fn multiple_input_requests() {
    let mut wire = open();
    let tool = "test_input_required_result_multiple_inputs";
    let (questions, state) = round(&mut wire, tool);
    let methods =
        ["user_name", "greeting", "client_roots"].map(|name| questions[name]["method"].as_str().unwrap());
    assert_eq!(methods, ["elicitation/create", "sampling/createMessage", "roots/list"]);
    let some = json!({"user_name": accept(&json!({"name": "Alice"})), "greeting": sampled("Hello there!")});
    // Those that are missing are requested again.
    let (questions, state) = asked(&answered(&mut wire, tool, &some, &state));
    assert_eq!(questions.as_object().unwrap().keys().collect::<Vec<_>>(), ["client_roots"]);
    let result = answered(&mut wire, tool, &json!({"client_roots": {"roots": []}}), &state);
    is_complete(&result);
    assert!(text(&result).contains("Alice") && text(&result).contains("Hello there!"), "{result}");
    wire.end();
}

#[test]
fn multi_round() {
    let mut wire = open();
    let tool = "test_input_required_result_multi_round";
    let (questions, first) = round(&mut wire, tool);
    assert!(questions["step1"].is_object(), "{questions}");
    let result = answered(&mut wire, tool, &json!({"step1": accept(&json!({"name": "Alice"}))}), &first);
    let (questions, second) = asked(&result);
    assert!(questions["step2"].is_object() && questions.get("step1").is_none(), "{questions}");
    assert_ne!(first, second);
    let result = answered(&mut wire, tool, &json!({"step2": accept(&json!({"color": "blue"}))}), &second);
    is_complete(&result);
    assert_eq!(text(&result), "Alice likes blue");
    wire.end();
}

#[test]
fn missing_input_response() {
    let mut wire = open();
    let wrong = json!({"inputResponses": {"wrong_key": accept(&json!({"data": "wrong"}))}});
    let (questions, state) = asked(&wire.call_with(ELICITATION, &wrong));
    assert!(questions["user_name"].is_object(), "{questions}");
    let (questions, _) = asked(&answered(&mut wire, ELICITATION, &wrong["inputResponses"], &state));
    assert!(questions["user_name"].is_object(), "{questions}");
    wire.end();
}

#[test]
fn non_tool_request() {
    let mut wire = open();
    let name = "test_input_required_result_prompt";
    let (questions, state) = asked(&wire.result("prompts/get", json!({"name": name})));
    assert_eq!(questions["user_context"]["method"], "elicitation/create");
    let answers = json!({"user_context": accept(&json!({"context": "test context"}))});
    let params = json!({"name": name, "inputResponses": answers, "requestState": state});
    let result = wire.result("prompts/get", params);
    assert_eq!(result["resultType"], "complete");
    let said = result["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(said.contains("test context"), "{said}");
    wire.end();
}

#[test]
fn unsupported_methods() {
    let mut wire = open();
    for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        assert_eq!(wire.result(method, json!({}))["resultType"], "complete", "{method}");
    }
    wire.end();
}

#[test]
fn tampered_state() {
    let mut wire = open();
    let tool = "test_input_required_result_tampered_state";
    let (_, state) = round(&mut wire, tool);
    let answers = json!({"confirm": accept(&json!({"ok": true}))});
    for other in [format!("{state}-TAMPERED"), String::new(), state.chars().skip(1).collect()] {
        let params = call_params(tool, &json!({"inputResponses": answers, "requestState": other}));
        let error = wire.error("tools/call", params);
        assert_eq!(error["code"], -32602, "{error}");
    }
    // It is another tool's, too.
    let params = call_params(ELICITATION, &json!({"inputResponses": answers, "requestState": state}));
    assert_eq!(wire.error("tools/call", params)["code"], -32602);
    is_complete(&answered(&mut wire, tool, &answers, &state));
    wire.end();
}

#[test]
fn capability_check() {
    let tool = "test_input_required_result_capabilities";
    for (capabilities, questions) in [
        (json!({"sampling": {}}), vec!["greeting"]),
        (json!({"elicitation": {}}), vec!["user_name"]),
        (json!({"roots": {}, "sampling": {}}), vec!["greeting", "client_roots"]),
    ] {
        let mut wire = Wire::open_with(MODERN, capabilities);
        let (asked, _) = round(&mut wire, tool);
        assert_eq!(asked.as_object().unwrap().keys().collect::<Vec<_>>(), questions);
        wire.end();
    }
}

#[test]
fn ignore_extra_params() {
    let mut wire = open();
    let answers = json!({"user_name": accept(&json!({"name": "Alice"})), "unknown_extra_key": accept(&json!({"foo": "bar"}))});
    // Also from a client that sends input responses in advance.
    let result = wire.call_with(ELICITATION, &json!({"inputResponses": answers}));
    is_complete(&result);
    let (_, state) = round(&mut wire, ELICITATION);
    is_complete(&answered(&mut wire, ELICITATION, &answers, &state));
    wire.end();
}

#[test]
fn validate_input() {
    let mut wire = open();
    for bad in [json!({"user_name": 12345}), Value::Null, json!([]), json!("x")] {
        let error = wire.error("tools/call", call_params(ELICITATION, &json!({"inputResponses": bad})));
        assert_eq!(error["code"], -32602, "{bad}: {error}");
    }
    wire.end();
}
