//! What is not portable in the results of `prompts/get`.

use serde_json::Value;

use crate::code::portability::PT0514;
use crate::definitions::entry::{Entry, Kind};
use crate::definitions::hits::Hits;
use crate::finding::Finding;

/// Messages that are not text, in the results of prompts, each of which has the definition of its prompt.
pub(crate) fn inspect_prompts(results: &[(Value, Value)]) -> Vec<Finding> {
    let mut hits = Hits::default();
    for (at, (definition, result)) in results.iter().enumerate() {
        let prompt = Entry { kind: Kind::Prompt, at, value: definition };
        let messages = result.get("messages").and_then(Value::as_array);
        for (number, message) in messages.into_iter().flatten().enumerate() {
            let kind = message.pointer("/content/type");
            if kind.is_some_and(|kind| kind != "text") {
                hits.push(prompt, format!("/messages/{number}/content/type"), kind);
            }
        }
    }
    let finding = hits.finding(
        PT0514,
        "a message is not text",
        "write what the model needs as text, or offer the prompt in a second form that is text only",
    );
    finding.into_iter().collect()
}
