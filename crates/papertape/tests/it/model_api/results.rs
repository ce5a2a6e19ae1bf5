//! Results as messages.

use papertape::client::model_api::{ModelApi, ToolCall};
use papertape::protocol::{CallToolResult, Content};
use serde_json::{Value, json};

use super::{calls, declared};

/// The messages for these results.
fn messages(api: ModelApi, results: Vec<CallToolResult>) -> Vec<Value> {
    let declared = declared(api, &json!({"type": "object"}));
    let call = declared.call(&calls::item(api, "t", &json!({}))).unwrap();
    let results: Vec<(ToolCall, CallToolResult)> =
        results.into_iter().map(|result| (call.clone(), result)).collect();
    declared.results(&results)
}

fn mixed() -> CallToolResult {
    let mut result = CallToolResult::new("Look:");
    result.content.push(Content::image(b"abc", "image/png"));
    result.content.push(Content::audio(b"abcdef", "audio/wav"));
    result.content.push(Content::resource_link("note:1", "one"));
    result.content.push(Content::text_resource("note:2", "text/plain", "two"));
    result
}

const REST: &str = "[audio, audio/wav, 6 bytes, which cannot be shown]\n[resource one: note:1]\ntwo";

#[test]
fn each_api_gets_what_it_accepts() {
    let text = format!("Look:\n{REST}");
    assert_eq!(
        messages(ModelApi::OpenAiChat, vec![mixed()]),
        [json!({"role": "tool", "tool_call_id": "c1",
            "content": format!("Look:\n[image, image/png, 3 bytes, which cannot be shown]\n{REST}")})]
    );
    assert_eq!(
        messages(ModelApi::OpenAiResponses, vec![mixed()]),
        [json!({"type": "function_call_output", "call_id": "c1", "output": [
            {"type": "input_text", "text": text},
            {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,YWJj"},
        ]})]
    );
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "YWJj"}});
    assert_eq!(
        messages(ModelApi::Anthropic, vec![mixed(), CallToolResult::failed("no")]),
        [json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": text}, image], "is_error": false},
            {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "no"}], "is_error": true},
        ]})]
    );
    assert_eq!(
        messages(ModelApi::Gemini, vec![mixed(), CallToolResult::failed("no")]),
        [json!({"role": "user", "parts": [
            {"functionResponse": {"id": "c1", "name": "t", "response": {"output": text},
                "parts": [{"inlineData": {"mimeType": "image/png", "data": "YWJj"}}]}},
            {"functionResponse": {"id": "c1", "name": "t", "response": {"error": "no"}}},
        ]})]
    );
}

#[test]
fn failures_and_empty_results_can_be_told_apart() {
    let texts = |result: CallToolResult| messages(ModelApi::OpenAiChat, vec![result])[0]["content"].clone();
    assert_eq!(texts(CallToolResult::failed("no")), "Error: no");
    assert_eq!(texts(CallToolResult::failed("")), "Error: the tool failed");
    assert_eq!(texts(CallToolResult::default()), "");
    let structured: CallToolResult =
        serde_json::from_value(json!({"content": [], "structuredContent": {"n": 1}})).unwrap();
    assert_eq!(texts(structured), "{\"n\":1}");
    let empty = messages(ModelApi::Anthropic, vec![CallToolResult::default(), CallToolResult::failed("")]);
    assert_eq!(empty[0]["content"][0]["content"], json!([]));
    assert_eq!(empty[0]["content"][1]["content"][0]["text"], "the tool failed");
    for api in super::APIS {
        assert!(messages(api, Vec::new()).is_empty());
    }
}
