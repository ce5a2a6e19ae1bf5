//! `subscriptions/listen`, as `server-stateless` asks for it, and task notifications, for which the suite has no scenario yet.

use serde_json::{Value, json};

use crate::wire::{MODERN, TASKS, Wire};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Opens a subscription; its first message is the acknowledged filter.
fn listen(wire: &mut Wire, filter: &Value) -> (u64, Value) {
    let id = wire.begin("subscriptions/listen", json!({"notifications": filter}));
    let said = wire.next();
    assert_eq!(said["method"], "notifications/subscriptions/acknowledged", "{said}");
    assert_eq!(said["params"]["_meta"][SUBSCRIPTION], id, "{said}");
    (id, said["params"]["notifications"].clone())
}

#[test]
fn a_subscription_gets_the_notifications_of_its_filter() {
    for (filter, trigger, notification) in [
        ("toolsListChanged", "test_trigger_tool_change", "notifications/tools/list_changed"),
        ("promptsListChanged", "test_trigger_prompt_change", "notifications/prompts/list_changed"),
    ] {
        let mut wire = Wire::open(MODERN);
        let (id, acknowledged) = listen(&mut wire, &json!({filter: true}));
        assert_eq!(acknowledged[filter], true, "{acknowledged}");
        let call = wire.begin("tools/call", json!({"name": trigger, "arguments": {}}));
        let (mut heard, mut answered) = (false, false);
        while !(heard && answered) {
            let message = wire.next();
            if message["id"] == call {
                assert_eq!(message["result"]["isError"], false, "{message}");
                answered = true;
            } else {
                assert_eq!(message["method"], notification, "{message}");
                assert_eq!(message["params"]["_meta"][SUBSCRIPTION], id, "{message}");
                heard = true;
            }
        }
        wire.end_listening();
    }
}

#[test]
fn a_subscription_gets_no_notifications_beyond_its_filter() {
    let mut wire = Wire::open(MODERN);
    drop(listen(&mut wire, &json!({"promptsListChanged": true})));
    drop(wire.call("test_trigger_tool_change", &json!({})));
    let mut heard = wire.before.clone();
    // A notification of the tools would have arrived before this.
    drop(wire.call("test_trigger_prompt_change", &json!({})));
    drop(wire.call("test_simple_text", &json!({})));
    heard.append(&mut wire.before);
    assert!(
        heard.iter().all(|notification| notification["method"] == "notifications/prompts/list_changed"),
        "{heard:?}"
    );
    wire.end_listening();
}

#[test]
fn a_subscription_gets_task_notifications() {
    let mut wire = Wire::open_with(MODERN, json!({"elicitation": {}, "extensions": {TASKS: {}}}));
    let task = wire.call("confirm_delete", &json!({"filename": "listened.txt"}));
    let task = task["taskId"].as_str().unwrap().to_owned();
    let (id, _) = listen(&mut wire, &json!({"taskIds": [task]}));
    let answers = json!({"taskId": task, "inputResponses": {"confirm": {"action": "accept", "content": {"confirm": true}}}});
    // It may not have requested input yet, in which case there is nothing to respond to.
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
