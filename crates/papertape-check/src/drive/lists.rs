//! The lists of a server, page by page.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::definitions::Lists;
use crate::definitions::pages::Pages;
use crate::stdio::session::{NoResponse, Session};

/// A list: the capability that declares it, its method, and the member of the result.
const LISTS: [(&str, &str, &str); 4] = [
    ("tools", "tools/list", "tools"),
    ("resources", "resources/list", "resources"),
    ("resources", "resources/templates/list", "resourceTemplates"),
    ("prompts", "prompts/list", "prompts"),
];

/// Reads the lists whose capabilities are declared. `meta` is that of each request, in revisions that have one.
///
/// # Errors
/// At the first request without a response; what was listed before is in `lists`.
pub(crate) async fn read(
    session: &mut Session,
    lists: &mut Lists,
    capabilities: &Value,
    meta: Option<&Value>,
    wait: Duration,
) -> Result<(), NoResponse> {
    for (capability, method, member) in LISTS {
        if capabilities.get(capability).is_some() {
            let entries = read_list(session, lists, (method, member), meta, wait).await?;
            match method {
                "tools/list" => lists.tools = Arc::new(entries),
                "resources/list" => lists.resources = entries,
                "prompts/list" => lists.prompts = entries,
                _ => lists.templates = entries,
            }
        }
    }
    Ok(())
}

async fn read_list(
    session: &mut Session,
    lists: &mut Lists,
    (method, member): (&'static str, &'static str),
    meta: Option<&Value>,
    wait: Duration,
) -> Result<Vec<Value>, NoResponse> {
    let mut pages = Pages::default();
    loop {
        let mut params = meta.map(|meta| json!({"_meta": meta}));
        if let Some(cursor) = pages.cursor() {
            params.get_or_insert_with(|| json!({}))["cursor"] = cursor.clone();
        }
        let index = session.request(method, params, wait).await?;
        let Some(response) = session.exchanges.get_mut(index).and_then(|exchange| exchange.response.as_mut())
        else {
            break;
        };
        lists.bytes = lists.bytes.saturating_add(response.length);
        let Some(result) = response.value.get_mut("result").filter(|result| !result.is_null()) else { break };
        if !pages.take(lists, (method, member), result) {
            break;
        }
    }
    Ok(pages.entries)
}
