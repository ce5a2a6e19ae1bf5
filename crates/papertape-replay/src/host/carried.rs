//! Values that a server makes and a client sends back: cursors, states, ids of tasks. Those of the new responses take the place
//! of the recorded ones.

use std::collections::HashMap;

use serde_json::Value;

/// The members of responses that have such values, and under which names clients send them.
const NAMES: [(&str, &str); 3] =
    [("nextCursor", "cursor"), ("requestState", "requestState"), ("taskId", "taskId")];

/// How many values are kept.
const MOST: usize = 100_000;

/// Recorded values, and what takes their place.
#[derive(Debug, Default)]
pub(super) struct Carried(HashMap<String, String>);

impl Carried {
    /// Learns the values of a response, and writes the recorded ones into it; whether it has changed.
    pub(super) fn learn(&mut self, recorded: &Value, new: &mut Value) -> bool {
        match (recorded, new) {
            (Value::Object(recorded), Value::Object(new)) => {
                let mut changed = false;
                for (name, new) in new.iter_mut() {
                    let Some(recorded) = recorded.get(name) else { continue };
                    if let (Value::String(old), Value::String(fresh)) = (recorded, &mut *new)
                        && NAMES.iter().any(|(made, _)| made == name)
                    {
                        if old != fresh && self.0.len() < MOST {
                            self.0.insert(old.clone(), std::mem::replace(fresh, old.clone()));
                            changed = true;
                        }
                        continue;
                    }
                    changed |= self.learn(recorded, new);
                }
                changed
            }
            (Value::Array(recorded), Value::Array(new)) => {
                let pairs = recorded.iter().zip(new.iter_mut());
                pairs.fold(false, |changed, (recorded, new)| self.learn(recorded, new) | changed)
            }
            _ => false,
        }
    }

    /// A message of the client with the new values; nothing if it has none of them.
    pub(super) fn applied(&self, text: &str) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let mut message = serde_json::from_str(text).ok()?;
        self.apply(&mut message).then(|| message.to_string())
    }

    fn apply(&self, message: &mut Value) -> bool {
        match message {
            Value::Object(members) => members.iter_mut().fold(false, |changed, (name, value)| {
                let is_carried = NAMES.iter().any(|(_, sent)| sent == name);
                let fresh = value.as_str().filter(|_| is_carried).and_then(|old| self.0.get(old));
                match fresh {
                    Some(fresh) => {
                        *value = Value::from(fresh.as_str());
                        true
                    }
                    None => self.apply(value) | changed,
                }
            }),
            Value::Array(items) => items.iter_mut().fold(false, |changed, item| self.apply(item) | changed),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Carried;

    #[test]
    fn a_new_cursor_takes_the_place_of_the_recorded_one() {
        let mut carried = Carried::default();
        let recorded = json!({"tools": [{"name": "a"}], "nextCursor": "old"});
        let mut new = json!({"tools": [{"name": "b"}], "nextCursor": "new"});
        assert!(carried.learn(&recorded, &mut new));
        assert_eq!(new, json!({"tools": [{"name": "b"}], "nextCursor": "old"}));
        let sent = r#"{"id":2,"method":"tools/list","params":{"cursor":"old","x":["old"]}}"#;
        let wanted = r#"{"id":2,"method":"tools/list","params":{"cursor":"new","x":["old"]}}"#;
        assert_eq!(carried.applied(sent).as_deref(), Some(wanted));
        assert_eq!(carried.applied(r#"{"params":{"cursor":"other"}}"#), None);
    }
}
