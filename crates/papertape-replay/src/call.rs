//! What a message asks for: a method, what it addresses, and its parameters in a form that can be compared.

use std::borrow::Cow;
use std::fmt;

use papertape::wire::tape::escaped;
use serde_json::Value;
use serde_json::value::RawValue;

/// How much of a name is displayed.
const SHOWN: usize = 80;

/// A request or a notification, without its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Its method.
    pub method: String,
    /// What it addresses: the name of a tool or a prompt, a URI, a task, a cursor.
    pub name: Option<String>,
    /// Whether it goes on with what a server has asked for (`inputResponses`, `requestState`).
    pub(crate) goes_on: bool,
    /// Its parameters, without what differs from run to run.
    pub(crate) params: String,
}

impl Call {
    pub(crate) fn new(method: &str, params: Option<&RawValue>) -> Self {
        let raw = params.map_or("", RawValue::get);
        let Ok(mut value) = serde_json::from_str::<Value>(raw) else {
            return Self { method: method.to_owned(), name: None, goes_on: false, params: raw.to_owned() };
        };
        let goes_on = value.get("requestState").is_some() || value.get("inputResponses").is_some();
        let name = name(&value);
        if let Some(members) = value.as_object_mut() {
            members.shift_remove("_meta");
        }
        let params = if value.as_object().is_some_and(serde_json::Map::is_empty) {
            String::new()
        } else {
            let mut text = String::new();
            canonical(&value, &mut text);
            text
        };
        Self { method: method.to_owned(), name, goes_on, params }
    }

    /// Whether both address the same thing, whatever their arguments are.
    pub(crate) fn addresses_the_same(&self, other: &Self) -> bool {
        (&self.method, &self.name, self.goes_on) == (&other.method, &other.name, other.goes_on)
    }
}

/// `tools/call echo`.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.method))?;
        match &self.name {
            Some(name) => write!(f, " {}", shown(name)),
            None => Ok(()),
        }
    }
}

fn shown(text: &str) -> String {
    let beginning: Cow<'_, str> = match text.char_indices().nth(SHOWN) {
        Some((end, _)) => Cow::Owned(format!("{}...", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    };
    escaped(beginning.as_bytes())
}

fn name(params: &Value) -> Option<String> {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    if let Some(reference) = params.get("ref") {
        let of = text(reference, "name").or_else(|| text(reference, "uri"))?;
        let argument = params.get("argument").and_then(|argument| text(argument, "name"));
        return Some(argument.map_or(of.clone(), |argument| format!("{of} {argument}")));
    }
    ["name", "uri", "taskId", "cursor"].into_iter().find_map(|name| text(params, name))
}

/// The same text for equal values: members are sorted, and integers have no fraction.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            text.push('{');
            for (name, value) in members {
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                canonical(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Number(number) => {
            let number = number.to_string();
            text.push_str(number.strip_suffix(".0").unwrap_or(&number));
        }
        Value::Null | Value::Bool(_) | Value::String(_) => text.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::Call;

    fn call(method: &str, params: &str) -> Call {
        Call::new(method, Some(&RawValue::from_string(params.to_owned()).unwrap()))
    }

    #[test]
    fn equal_parameters_are_equal_in_any_order() {
        let one = call(
            "tools/call",
            r#"{"name":"a","arguments":{"x":1,"y":[1.0,"é"]},"_meta":{"progressToken":1}}"#,
        );
        let other = call("tools/call", r#"{"arguments":{"y":[1,"\u00e9"],"x":1},"name":"a"}"#);
        assert_eq!(one, other);
        assert_ne!(one, call("tools/call", r#"{"arguments":{"y":["é",1],"x":1},"name":"a"}"#));
        assert_eq!(call("ping", "{}"), Call::new("ping", None));
        assert_eq!(call("ping", r#"{"_meta":{}}"#), Call::new("ping", None));
    }

    #[test]
    fn what_is_addressed_is_displayed() {
        assert_eq!(call("resources/read", r#"{"uri":"a:\u001b"}"#).to_string(), "resources/read a:⟦1b⟧");
        assert_eq!(call("initialize", r#"{"clientInfo":{"name":"x"}}"#).to_string(), "initialize");
        let completed =
            call("completion/complete", r#"{"ref":{"uri":"a:{b}"},"argument":{"name":"b","value":""}}"#);
        assert_eq!(completed.to_string(), "completion/complete a:{b} b");
        assert!(call("tools/call", &format!(r#"{{"name":"{}"}}"#, "x".repeat(999))).to_string().len() < 200);
    }

    #[test]
    fn what_goes_on_is_something_else() {
        let first = call("tools/call", r#"{"name":"a"}"#);
        assert!(first.addresses_the_same(&call("tools/call", r#"{"name":"a","arguments":{}}"#)));
        assert!(!first.addresses_the_same(&call("tools/call", r#"{"name":"a","requestState":"x"}"#)));
    }
}
