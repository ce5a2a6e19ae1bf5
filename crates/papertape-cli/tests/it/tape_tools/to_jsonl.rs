//! `papertape tape to-jsonl`.

use serde_json::{Value, json};

use crate::tape_tools::{STDIO, tool_of};
use crate::text;

#[test]
fn each_record_is_a_line() {
    let end = tool_of(&["to-jsonl"], STDIO);
    end.is_clean();
    let lines: Vec<Value> = text(&end).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 13);
    let numbers = lines.iter().map(|line| line["number"].as_u64().unwrap());
    assert!(numbers.eq(1..=13));
    assert_eq!(
        lines[0],
        json!({"number": 1, "time": 0.0, "source": "event", "kind": "event", "event": "start",
            "detail": {"command": ["./server"], "pid": 4242}})
    );
    assert_eq!(lines[2]["text"], "listening\u{1b}[0m\n");
    assert_eq!(lines[6].get("message"), None);
    assert_eq!(lines[7]["message"]["result"]["content"][0]["text"], "3");
    assert!(text(&end).contains(r#""time":0.150000,"#));
}
