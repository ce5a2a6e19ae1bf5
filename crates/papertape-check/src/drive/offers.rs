//! Whether a server offers what it declares, and nothing else: each feature is asked for, once.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::definitions::Lists;
use crate::drive::client::Client;
use crate::drive::run::Opening;
use crate::stdio::session::{NoResponse, Session, Unsolicited};

/// A subscription is acknowledged at once: there is no acknowledgement if it does not come in this time, at least.
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);

/// What every server of a session-based revision has, and none declares.
pub(crate) const PING: &str = "ping";

/// A feature, and the request that asked for it.
#[derive(Debug)]
pub(crate) struct Offer {
    /// The capability, such as `resources.subscribe`, or [`PING`].
    pub(crate) capability: &'static str,
    /// Whether the server declares it.
    pub(crate) declared: bool,
    /// The request, by the index of its exchange.
    pub(crate) request: usize,
    /// Why it has no response.
    pub(crate) failure: Option<NoResponse>,
    /// How many entries the list has that it asked for.
    pub(crate) listed: Option<usize>,
}

/// A subscription of a stateless revision.
#[derive(Debug)]
pub(crate) struct Listen {
    /// The request, by the index of its exchange.
    pub(crate) request: usize,
    /// `notifications/subscriptions/acknowledged`.
    pub(crate) acknowledged: Option<Unsolicited>,
    /// Why neither that nor a response has come.
    pub(crate) failure: Option<NoResponse>,
}

/// Asks for every feature, declared or not. It changes nothing.
pub(crate) async fn ask(client: &mut Client, lists: &Lists) -> Vec<Offer> {
    let mut offers = Vec::new();
    for (capability, method, params) in features(client, lists) {
        let declared = capability == PING || client.declares(&format!("/{}", capability.replace('.', "/")));
        let failure = client.request(method, params).await.err();
        let request = client.session.exchanges.len().saturating_sub(1);
        let listed = take_list(client, request, capability);
        offers.push(Offer { capability, declared, request, failure, listed });
        if failure.is_some_and(|failure| failure != NoResponse::Timeout) {
            break;
        }
    }
    offers
}

/// Takes a list, which may be long, out of a response: how many entries it has.
fn take_list(client: &mut Client, request: usize, member: &str) -> Option<usize> {
    let response = client.session.exchanges.get_mut(request)?.response.as_mut()?;
    let list = response.value.get_mut("result")?.get_mut(member)?.as_array_mut()?;
    Some(std::mem::take(list).len())
}

fn features(client: &Client, lists: &Lists) -> Vec<(&'static str, &'static str, Value)> {
    let mut features = vec![];
    for (capability, method) in
        [("tools", "tools/list"), ("resources", "resources/list"), ("prompts", "prompts/list")]
    {
        features.push((capability, method, json!({})));
    }
    if let Some(prompt) = lists.prompts.iter().find_map(completable)
        && (client.declares("/completions") || client.revision != "2024-11-05")
    {
        features.push(("completions", "completion/complete", prompt));
    }
    if client.opening != Opening::Modern {
        features.push((PING, "ping", json!({})));
        features.push(("logging", "logging/setLevel", json!({"level": "warning"})));
        let uri = lists.resources.first().and_then(|resource| resource.get("uri")?.as_str());
        if let (Some(uri), true) = (uri, client.declares("/resources/subscribe")) {
            features.push(("resources.subscribe", "resources/subscribe", json!({"uri": uri})));
            features.push(("resources.subscribe", "resources/unsubscribe", json!({"uri": uri})));
        }
    }
    features
}

/// The parameters of a completion of the first argument of a prompt.
fn completable(prompt: &Value) -> Option<Value> {
    let name = prompt.get("name")?.as_str()?;
    let argument = prompt.pointer("/arguments/0/name")?.as_str()?;
    Some(json!({
        "ref": {"type": "ref/prompt", "name": name},
        "argument": {"name": argument, "value": ""},
    }))
}

/// Subscribes to what a server of a stateless revision declares; nothing if it declares no notifications.
pub(crate) async fn listen(client: &mut Client, lists: &Lists) -> Option<Listen> {
    let mut filter = Map::new();
    for (pointer, member) in [
        ("/tools/listChanged", "toolsListChanged"),
        ("/prompts/listChanged", "promptsListChanged"),
        ("/resources/listChanged", "resourcesListChanged"),
    ] {
        if client.declares(pointer) {
            filter.insert(member.to_owned(), json!(true));
        }
    }
    let uri = lists.resources.first().and_then(|resource| resource.get("uri")).filter(|uri| uri.is_string());
    if let (Some(uri), true) = (uri, client.declares("/resources/subscribe")) {
        filter.insert("resourceSubscriptions".to_owned(), json!([uri]));
    }
    if filter.is_empty() {
        return None;
    }
    let request = client.begin("subscriptions/listen", json!({"notifications": filter})).await;
    let index = client.session.exchanges.len().saturating_sub(1);
    let begin = client.session.unsolicited.len();
    let wait = client.wait.max(UNACKNOWLEDGED);
    let failure = match request {
        Ok(_) => {
            let answered = |session: &Session| {
                let responded =
                    session.exchanges.get(index).is_some_and(|exchange| exchange.response.is_some());
                responded || session.unsolicited.iter().skip(begin).any(acknowledges)
            };
            client.session.receive_until(wait, answered).await.err()
        }
        Err(failure) => Some(failure),
    };
    let acknowledged =
        client.session.unsolicited.iter().skip(begin).find(|message| acknowledges(message)).cloned();
    let id = client.session.exchanges.get(index).and_then(|exchange| exchange.request.get("id")).cloned();
    let _ = client.session.notify("notifications/cancelled", Some(json!({"requestId": id}))).await;
    Some(Listen { request: index, acknowledged, failure })
}

fn acknowledges(message: &Unsolicited) -> bool {
    message.value.get("method").is_some_and(|method| method == "notifications/subscriptions/acknowledged")
}
