//! `${input:ID}`: values that a file leaves to its user, as VS Code does.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

/// A value that a server of a file needs from its user: `${input:ID}` in its entry, declared in the list `inputs` of the file.
///
/// ```
/// use papertape::client::config::ServersFile;
///
/// let text = r#"{
///     "inputs": [{"type": "promptString", "id": "token", "description": "API token", "password": true}],
///     "servers": {"tools": {"command": "tools-server", "env": {"TOKEN": "${input:token}"}}}
/// }"#;
/// let file = ServersFile::parse(text, "mcp.json").unwrap();
/// let [token] = file.inputs("tools").try_into().unwrap();
/// assert_eq!((token.id.as_str(), token.is_secret), ("token", true));
/// assert!(file.server("tools").unwrap().is_err());
/// assert!(file.input("token", "abc").server("tools").unwrap().is_ok());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Input {
    /// Its name in `${input:ID}`.
    pub id: String,
    /// What it is, for the user.
    pub description: Option<String>,
    /// It must not be shown while it is typed (`"password": true`).
    pub is_secret: bool,
    /// The value without one from the user.
    pub default: Option<String>,
    /// The values to choose from (`pickString`); any value if there are none.
    pub options: Vec<String>,
}

impl Input {
    /// `None` without an id. Other members that are missing or have the wrong type are left out.
    fn read(declared: &Value) -> Option<Self> {
        let text = |name: &str| declared.get(name).and_then(Value::as_str).map(str::to_owned);
        // An option is a string, or an object with a label.
        let option =
            |option: &Value| option.as_str().or_else(|| option.get("value")?.as_str()).map(str::to_owned);
        let options = declared.get("options").and_then(Value::as_array);
        Some(Self {
            id: text("id")?,
            description: text("description"),
            is_secret: declared.get("password") == Some(&Value::Bool(true)),
            default: text("default"),
            options: options.into_iter().flatten().filter_map(option).collect(),
        })
    }
}

/// The inputs of a file: those that it declares, and the values that were given.
#[derive(Default)]
pub(super) struct Inputs {
    declared: Vec<Input>,
    given: BTreeMap<String, String>,
}

impl Inputs {
    /// Reads the list of a file. One that is invalid is only missing.
    pub(super) fn read(list: Option<&Value>) -> Self {
        let list = list.and_then(Value::as_array);
        Self { declared: list.into_iter().flatten().filter_map(Input::read).collect(), ..Self::default() }
    }

    pub(super) fn give(&mut self, id: String, value: String) {
        self.given.insert(id, value);
    }

    /// Those that an entry needs, in its order.
    pub(super) fn of_entry(&self, entry: &Value) -> Vec<Input> {
        let mut found: Vec<Input> = Vec::new();
        // The members that are expanded.
        let members =
            ["command", "args", "env", "environment", "cwd", "url", "httpUrl", "serverUrl", "headers"];
        for member in members {
            let Some(value) = entry.get(member) else { continue };
            each_id(value, &mut |id| {
                if found.iter().all(|input| input.id != id) {
                    found.push(self.declared(id));
                }
            });
        }
        found
    }

    /// The input of an id, which may not be declared.
    fn declared(&self, id: &str) -> Input {
        let found = self.declared.iter().find(|input| input.id == id);
        found.cloned().unwrap_or_else(|| Input { id: id.to_owned(), ..Input::default() })
    }

    /// The value of an input; the error says what is missing.
    pub(super) fn value(&self, id: &str) -> Result<String, String> {
        let input = self.declared(id);
        match self.given.get(id).or(input.default.as_ref()) {
            Some(value) if input.options.is_empty() || input.options.contains(value) => Ok(value.clone()),
            Some(_) => {
                Err(format!("the input \"{id}\", whose value must be one of: {}", input.options.join(", ")))
            }
            None => {
                let description = input.description.map(|text| format!(" ({text})")).unwrap_or_default();
                Err(format!(
                    "the input \"{id}\"{description}, which has no value: set it with `ServersFile::input`"
                ))
            }
        }
    }
}

/// Calls `found` with the id of each `${input:ID}` in a string, a list of strings, or an object of them.
fn each_id(value: &Value, found: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => {
            for (at, start) in text.match_indices(START) {
                let rest = text.get(at + start.len()..).unwrap_or_default();
                if let Some((id, _)) = rest.split_once('}') {
                    found(id);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| each_id(item, found)),
        Value::Object(members) => members.values().for_each(|member| each_id(member, found)),
        _ => {}
    }
}

const START: &str = "${input:";

/// Without the values, which may be secret.
impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { declared, given } = self;
        f.debug_struct("Inputs").field("declared", declared).field("given", &given.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Input, Inputs};

    fn inputs() -> Inputs {
        Inputs::read(Some(&json!([
            {"id": "token", "type": "promptString", "description": "API token", "password": true},
            {"id": "region", "type": "pickString", "options": ["eu", {"label": "US", "value": "us"}], "default": "eu"},
            {"id": 5}, "x", {"description": "no id"},
        ])))
    }

    #[test]
    fn those_of_an_entry_are_found_once() {
        let entry = json!({
            "args": ["${input:token}", "a${input:region}b${input:token}"], "env": {"A": "${input:other}"},
            "dev": "${input:unused}", "cwd": "${input:open",
        });
        let found = inputs().of_entry(&entry);
        assert_eq!(
            found.iter().map(|input| input.id.as_str()).collect::<Vec<_>>(),
            ["token", "region", "other"]
        );
        assert!(found[0].is_secret);
        assert_eq!(found[1].options, ["eu", "us"]);
        assert_eq!(found[2], Input { id: "other".to_owned(), ..Input::default() });
        assert!(Inputs::read(Some(&json!({}))).of_entry(&json!(1)).is_empty());
    }

    #[test]
    fn a_value_is_given_or_the_default() {
        let mut inputs = inputs();
        assert!(inputs.value("token").unwrap_err().contains("\"token\" (API token), which has no value"));
        assert_eq!(inputs.value("region").as_deref(), Ok("eu"));
        inputs.give("token".to_owned(), "sesame".to_owned());
        inputs.give("region".to_owned(), "mars".to_owned());
        assert_eq!(inputs.value("token").as_deref(), Ok("sesame"));
        assert!(inputs.value("region").unwrap_err().ends_with("one of: eu, us"));
        assert!(!format!("{inputs:?}").contains("sesame"));
    }
}
