//! `tasks-*`: calls that continue after their response.

use serde_json::{Value, json};

use crate::wire::{LEGACY, MODERN, TASKS, Wire, accept, text};

/// A client that supports tasks.
fn open() -> Wire {
    Wire::open_with(MODERN, json!({"elicitation": {}, "sampling": {}, "extensions": {TASKS: {}}}))
}

/// The id of the task that a call has become.
fn begin(wire: &mut Wire, tool: &str, arguments: &Value) -> String {
    let task = wire.call(tool, arguments);
    assert_eq!(task["resultType"], "task", "{task}");
    task["taskId"].as_str().unwrap().to_owned()
}

/// The task once it has a status.
fn when(wire: &mut Wire, task: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    loop {
        let now = wire.result("tasks/get", json!({"taskId": task}));
        assert_eq!(now["resultType"], "complete", "{now}");
        assert_eq!(now["taskId"], task, "{now}");
        if is_so(&now) {
            return now;
        }
        let over = ["completed", "failed", "cancelled"].contains(&now["status"].as_str().unwrap());
        assert!(!over, "{now}");
        // The process under test is given some time; the test does not depend on how much.
        std::thread::yield_now();
    }
}

fn over(wire: &mut Wire, task: &str, status: &str) -> Value {
    when(wire, task, |now| now["status"] == status)
}

/// An empty acknowledgement.
fn is_acknowledgement(result: &Value) {
    let says: Vec<&String> = result.as_object().unwrap().keys().filter(|name| *name != "_meta").collect();
    assert_eq!(says, ["resultType"], "{result}");
    assert_eq!(result["resultType"], "complete");
}

#[test]
fn tasks_lifecycle() {
    let mut wire = open();
    let result = wire.call("greet", &json!({"name": "World"}));
    assert_eq!((text(&result), &result["resultType"]), ("Hello, World!", &json!("complete")));

    let task = begin(&mut wire, "slow_compute", &json!({"seconds": 0.05, "label": "made"}));
    let done = over(&mut wire, &task, "completed");
    assert_eq!(text(&done["result"]), "made took 0.05 seconds");
    is_acknowledgement(&wire.result("tasks/cancel", json!({"taskId": task})));
    assert_eq!(wire.result("tasks/get", json!({"taskId": task}))["status"], "completed");

    let task = begin(&mut wire, "failing_job", &json!({}));
    assert_eq!(over(&mut wire, &task, "completed")["result"]["isError"], true);

    let task = begin(&mut wire, "protocol_error_job", &json!({}));
    let failed = over(&mut wire, &task, "failed");
    assert!(failed["error"]["code"].is_i64() && failed["error"]["message"].is_string(), "{failed}");
    assert!(failed.get("result").is_none(), "{failed}");

    let task = begin(&mut wire, "slow_compute", &json!({"seconds": 60, "label": "cancelled"}));
    is_acknowledgement(&wire.result("tasks/cancel", json!({"taskId": task})));
    let cancelled = over(&mut wire, &task, "cancelled");
    assert!(cancelled.get("result").is_none() && cancelled.get("error").is_none(), "{cancelled}");
    wire.end();
}

#[test]
fn tasks_capability_negotiation() {
    let mut wire = Wire::open_with(MODERN, json!({}));
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let error = wire.error(method, json!({"taskId": "x", "inputResponses": {}}));
        assert_eq!(error["code"], -32021, "{method}: {error}");
    }
    let result = wire.call("slow_compute", &json!({"seconds": 0, "label": "at once"}));
    assert_eq!(result["resultType"], "complete", "{result}");
    // It is declared for one request at a time.
    let meta = json!({"io.modelcontextprotocol/clientCapabilities": {"extensions": {TASKS: {}}}});
    let params = json!({"arguments": {"seconds": 0, "label": "task"}, "_meta": meta});
    assert_eq!(wire.call_with("slow_compute", &params)["resultType"], "task");
    wire.end();
}

#[test]
fn legacy_clients_have_no_tasks() {
    for revision in LEGACY {
        let mut wire = Wire::open_with(revision, json!({"extensions": {TASKS: {}}}));
        assert_eq!(text(&wire.call("slow_compute", &json!({"seconds": 0}))), "it took 0 seconds");
        assert_eq!(wire.error("tasks/get", json!({"taskId": "x"}))["code"], -32601);
        assert_eq!(wire.error("tools/call", json!({"name": "failing_job"}))["code"], -32602);
        wire.end();
    }
}

#[test]
fn tasks_wire_fields_and_request_state_removal() {
    let mut wire = open();
    let task = wire.call("slow_compute", &json!({"seconds": 60, "label": "fields"}));
    let now = wire.result("tasks/get", json!({"taskId": task["taskId"]}));
    for (what, task) in [("made", &task), ("got", &now)] {
        assert!(task["ttlMs"].is_null() || task["ttlMs"].as_u64().unwrap() > 0, "{what}: {task}");
        assert!(task["pollIntervalMs"].as_u64().unwrap() > 0, "{what}: {task}");
        for time in ["createdAt", "lastUpdatedAt"] {
            let time = task[time].as_str().unwrap();
            assert!(time.len() >= 20 && time.as_bytes()[10] == b'T' && time.ends_with('Z'), "{what}: {time}");
        }
        for gone in ["task", "ttl", "pollInterval", "requestState", "inputRequests", "result", "error"] {
            assert!(task.get(gone).is_none(), "{what}: {gone} in {task}");
        }
    }
    is_acknowledgement(&wire.result("tasks/cancel", json!({"taskId": task["taskId"]})));
    wire.end();
}

#[test]
fn tasks_mrtr_input() {
    let mut wire = open();
    let task = begin(&mut wire, "confirm_delete", &json!({"filename": "a.txt"}));
    let asks = over(&mut wire, &task, "input_required");
    assert_eq!(asks["inputRequests"]["confirm"]["method"], "elicitation/create", "{asks}");
    assert!(asks.get("requestState").is_none(), "{asks}");
    // A response without an input request is ignored.
    let odd = json!({"taskId": task, "inputResponses": {"unknown-key": {"ignored": true}}});
    is_acknowledgement(&wire.result("tasks/update", odd));
    assert_eq!(wire.result("tasks/get", json!({"taskId": task}))["status"], "input_required");
    let answers = json!({"taskId": task, "inputResponses": {"confirm": accept(&json!({"confirm": true}))}});
    is_acknowledgement(&wire.result("tasks/update", answers));
    assert_eq!(text(&over(&mut wire, &task, "completed")["result"]), "a.txt would be gone");

    let task = begin(&mut wire, "multi_input", &json!({}));
    drop(over(&mut wire, &task, "input_required"));
    let answer =
        |name: &str| json!({"taskId": task, "inputResponses": {name: accept(&json!({"confirm": true}))}});
    is_acknowledgement(&wire.result("tasks/update", answer("first")));
    let asks = wire.result("tasks/get", json!({"taskId": task}));
    assert_eq!(asks["status"], "input_required");
    assert_eq!(asks["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["second"]);
    is_acknowledgement(&wire.result("tasks/update", answer("second")));
    assert_eq!(text(&over(&mut wire, &task, "completed")["result"]), "2 of 2 are all right");
    wire.end();
}

#[test]
fn tasks_dispatch_and_envelope() {
    let mut wire = open();
    let params = json!({"arguments": {"name": "hint"}, "task": {"ttl": 60000}});
    let result = wire.call_with("greet", &params);
    assert!(result["resultType"] == "complete" && result.get("taskId").is_none(), "{result}");
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let error = wire.error(method, json!({"taskId": "nonexistent", "inputResponses": {}}));
        assert_eq!(error["code"], -32602, "{method}: {error}");
    }
    // There at once, and no mark of the legacy tasks in the result.
    let task = begin(&mut wire, "slow_compute", &json!({"seconds": 0, "label": "x"}));
    let done = over(&mut wire, &task, "completed");
    assert!(done["result"]["_meta"].get("io.modelcontextprotocol/related-task").is_none(), "{done}");
    wire.end();
}

#[test]
fn tasks_required_task_error() {
    let mut wire = Wire::open_with(MODERN, json!({}));
    let error = wire.error("tools/call", json!({"name": "failing_job", "arguments": {}}));
    assert_eq!(error["code"], -32021, "{error}");
    assert_eq!(error["data"]["requiredCapabilities"], json!({"extensions": {TASKS: {}}}));
    wire.end();
}

#[test]
fn tasks_mrtr_composition() {
    let mut wire = open();
    let tool = "test_tool_with_task";
    let asks = wire.call(tool, &json!({}));
    assert_eq!(asks["resultType"], "input_required", "{asks}");
    assert!(asks.get("taskId").is_none(), "{asks}");
    let answers = json!({"user_name": accept(&json!({"name": "Alice"}))});
    let task =
        wire.call_with(tool, &json!({"inputResponses": answers, "requestState": asks["requestState"]}));
    assert_eq!(task["resultType"], "task", "{task}");
    assert!(task.get("requestState").is_none() && task.get("inputRequests").is_none(), "{task}");
    let done = over(&mut wire, task["taskId"].as_str().unwrap(), "completed");
    assert_eq!(text(&done["result"]), "Done for Alice.");
    wire.end();
    // Without tasks, the same tool requests input and returns a result.
    let mut wire = Wire::open_with(MODERN, json!({"elicitation": {}}));
    let result = wire.call_with(tool, &json!({"inputResponses": answers}));
    assert_eq!(text(&result), "Done for Alice.");
    wire.end();
}
