//! `subscriptions/listen`, as `server-stateless` asks for it, and the news of tasks, for which the suite has no scenario yet.

use serde_json::{Value, json};

use crate::wire::{MODERN, TASKS, Wire};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Begins to listen; its first message is what it will hear of.
fn listen(wire: &mut Wire, filter: &Value) -> (u64, Value) {
    let id = wire.begin("subscriptions/listen", json!({"notifications": filter}));
    let said = wire.next();
    assert_eq!(said["method"], "notifications/subscriptions/acknowledged", "{said}");
    assert_eq!(said["params"]["_meta"][SUBSCRIPTION], id, "{said}");
    (id, said["params"]["notifications"].clone())
}

#[test]
fn a_listener_hears_what_it_asked_for_under_its_own_name() {
    for (filter, trigger, news) in [
        ("toolsListChanged", "test_trigger_tool_change", "notifications/tools/list_changed"),
        ("promptsListChanged", "test_trigger_prompt_change", "notifications/prompts/list_changed"),
    ] {
        let mut wire = Wire::open(MODERN);
        let (id, honoured) = listen(&mut wire, &json!({filter: true}));
        assert_eq!(honoured[filter], true, "{honoured}");
        let call = wire.begin("tools/call", json!({"name": trigger, "arguments": {}}));
        let (mut heard, mut answered) = (false, false);
        while !(heard && answered) {
            let message = wire.next();
            if message["id"] == call {
                assert_eq!(message["result"]["isError"], false, "{message}");
                answered = true;
            } else {
                assert_eq!(message["method"], news, "{message}");
                assert_eq!(message["params"]["_meta"][SUBSCRIPTION], id, "{message}");
                heard = true;
            }
        }
        wire.end_listening();
    }
}

#[test]
fn a_listener_does_not_hear_what_it_did_not_ask_for() {
    let mut wire = Wire::open(MODERN);
    drop(listen(&mut wire, &json!({"promptsListChanged": true})));
    drop(wire.call("test_trigger_tool_change", &json!({})));
    let mut heard = wire.before.clone();
    // What was to be told of the tools would have been told before this.
    drop(wire.call("test_trigger_prompt_change", &json!({})));
    drop(wire.call("test_simple_text", &json!({})));
    heard.append(&mut wire.before);
    assert!(heard.iter().all(|news| news["method"] == "notifications/prompts/list_changed"), "{heard:?}");
    wire.end_listening();
}

#[test]
fn a_listener_hears_how_a_task_is() {
    let mut wire = Wire::open_with(MODERN, json!({"elicitation": {}, "extensions": {TASKS: {}}}));
    let task = wire.call("confirm_delete", &json!({"filename": "listened.txt"}));
    let task = task["taskId"].as_str().unwrap().to_owned();
    let (id, _) = listen(&mut wire, &json!({"taskIds": [task]}));
    let answers = json!({"taskId": task, "inputResponses": {"confirm": {"action": "accept", "content": {"confirm": true}}}});
    // It may not have asked yet, in which case there is nothing to answer.
    while wire.result("tasks/get", json!({"taskId": task}))["status"] != "input_required" {}
    let update = wire.begin("tasks/update", answers);
    let (mut last, mut acknowledged) = (Value::Null, false);
    while !(acknowledged && last["status"] == "completed") {
        let message = wire.next();
        if message["id"] == update {
            acknowledged = true;
            continue;
        }
        assert_eq!(message["method"], "notifications/tasks", "{message}");
        last = message["params"].clone();
        assert_eq!(last["taskId"], task, "{last}");
        assert_eq!(last["_meta"][SUBSCRIPTION], id, "{last}");
    }
    assert_eq!(last["result"]["content"][0]["text"], "listened.txt would be gone", "{last}");
    wire.end_listening();
}
