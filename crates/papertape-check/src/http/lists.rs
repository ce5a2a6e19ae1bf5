//! The lists of a server, page by page.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::definitions::Lists;
use crate::definitions::pages::Pages;
use crate::finding::Finding;
use crate::http::channel::Channel;
use crate::http::client::Client;
use crate::http::exchange::Exchange;
use crate::http::inspect::response;
use crate::inspect::capabilities::of_refused;

/// A list: the capability that declares it, its method, and the member of the result.
const LISTS: [(&str, &str, &str); 4] = [
    ("tools", "tools/list", "tools"),
    ("resources", "resources/list", "resources"),
    ("resources", "resources/templates/list", "resourceTemplates"),
    ("prompts", "prompts/list", "prompts"),
];

/// Servers of resources without templates need not have this method.
const TEMPLATES: &str = "resources/templates/list";

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct ListsRead {
    pub(crate) lists: Lists,
    /// What is wrong with the responses.
    pub(crate) findings: Vec<Finding>,
    /// An id of an event.
    pub(crate) event_id: Option<String>,
    /// A request had no response, so that nothing was read after it.
    pub(crate) failed: bool,
    /// Lists that could be read.
    pub(crate) works: Vec<&'static str>,
    /// What the caller may not list.
    pub(crate) skipped: Vec<String>,
    /// The findings about those that are declared, and refused.
    pub(crate) refused: Vec<(&'static str, Finding)>,
}

/// Reads the lists whose capabilities are declared.
pub(crate) async fn read(client: &Client, channel: &mut Channel, capabilities: &Value) -> ListsRead {
    let mut read = ListsRead::default();
    read.lists.is_modern = matches!(channel, Channel::Stateless);
    for (capability, method, member) in LISTS {
        if capabilities.get(capability).is_none() {
            continue;
        }
        let mut pages = Pages::default();
        loop {
            let params = pages.cursor().map(|cursor| json!({"cursor": cursor}));
            let mut exchange = Box::pin(channel.call(client, method, params)).await;
            let size = exchange.response().map_or(0, |response| response.body.len());
            read.lists.bytes = read.lists.bytes.saturating_add(u64::try_from(size).unwrap_or(u64::MAX));
            let more = match exchange.result_mut() {
                Some(result) => pages.take(&mut read.lists, (method, member), result),
                None => false,
            };
            read.note(&exchange);
            if exchange.result().is_some() {
                read.works.push(method);
            } else if let Some(status) = exchange.denied() {
                read.skipped.push(format!("`{method}`: it is refused with HTTP {status}"));
            } else if let Some(error) = exchange.message().and_then(|message| message.get("error"))
                && method != TEMPLATES
            {
                read.refused.push((method, exchange.proves(of_refused(capability, method, error))));
            }
            if read.failed {
                return read;
            }
            if !more {
                break;
            }
        }
        let entries = pages.entries;
        match method {
            "tools/list" => read.lists.tools = Arc::new(entries),
            "resources/list" => read.lists.resources = entries,
            "prompts/list" => read.lists.prompts = entries,
            _ => read.lists.templates = entries,
        }
    }
    read
}

impl ListsRead {
    /// Notes what is wrong with a response; the same fault in each of them is one finding.
    fn note(&mut self, exchange: &Exchange) {
        let events = exchange.response().map(|response| response.events.as_slice()).unwrap_or_default();
        let id = events.iter().find_map(|event| event.id.clone().filter(|id| !id.is_empty()));
        self.event_id = self.event_id.take().or(id);
        self.failed = exchange.outcome.is_err();
        if !response::is_polled(exchange)
            && let Some(found) = response::inspect(exchange)
            && !self.findings.iter().any(|finding| finding.code == found.code)
        {
            self.findings.push(found);
        }
    }
}
