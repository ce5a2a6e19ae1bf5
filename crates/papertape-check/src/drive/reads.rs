//! Reads resources and gets prompts that a server lists: neither changes anything.

use serde_json::{Map, Value, json};

use crate::definitions::Lists;
use crate::drive::client::Client;
use crate::stdio::session::NoResponse;

/// How many resources are read, and how many prompts are got.
const READ: usize = 5;

/// A request for something that is listed.
#[derive(Debug)]
pub(crate) struct Read {
    /// What it is: `prompt "review"`.
    pub(crate) subject: String,
    /// Its definition.
    pub(crate) definition: Value,
    /// The request, by the index of its exchange.
    pub(crate) request: usize,
    /// Why it has no response.
    pub(crate) failure: Option<NoResponse>,
}

/// Reads the first resources and gets the first prompts: those, and whether the server answers after them.
pub(crate) async fn run(client: &mut Client, lists: &Lists, skipped: &mut Vec<String>) -> (Vec<Read>, bool) {
    let mut reads = Vec::new();
    let resources = lists.resources.iter().filter_map(|resource| {
        let uri = resource.get("uri")?.as_str()?;
        Some((format!("resource \"{uri}\""), resource, "resources/read", json!({"uri": uri})))
    });
    let prompts = lists.prompts.iter().filter_map(|prompt| {
        let name = prompt.get("name")?.as_str()?;
        let params = json!({"name": name, "arguments": arguments(prompt)});
        Some((format!("prompt \"{name}\""), prompt, "prompts/get", params))
    });
    for (subject, definition, method, params) in resources.take(READ).chain(prompts.take(READ)) {
        if !client.has_room() {
            break;
        }
        let failure = client.request(method, params).await.err();
        let request = client.session.exchanges.len().saturating_sub(1);
        let lives = match failure {
            None => true,
            Some(NoResponse::Timeout) => client.ping().await.is_ok(),
            Some(_) => false,
        };
        if !lives {
            skipped.push(format!("calls of tools: the server answers nothing after `{method}` of {subject}"));
        }
        reads.push(Read { subject, definition: definition.clone(), request, failure });
        if !lives {
            return (reads, false);
        }
    }
    (reads, true)
}

/// The required arguments of a prompt, which are strings.
fn arguments(prompt: &Value) -> Value {
    let arguments = prompt.get("arguments").and_then(Value::as_array);
    let required =
        arguments.into_iter().flatten().filter(|argument| argument.get("required") == Some(&json!(true)));
    let names = required.filter_map(|argument| argument.get("name")?.as_str());
    Value::Object(names.map(|name| (name.to_owned(), json!("example"))).collect::<Map<_, _>>())
}
