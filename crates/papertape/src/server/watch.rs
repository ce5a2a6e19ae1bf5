//! `subscriptions/listen`: who wants to hear of what.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::dispatch::{Params, Service};
use crate::link::{Link, ReplyTo};
use crate::protocol::meta::{SERVER_INFO, SUBSCRIPTION_ID};
use crate::protocol::{Revision, project};
use crate::wire::{Id, RpcError};

/// The kinds of notification a client can ask for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Filter {
    #[serde(default)]
    tools_list_changed: bool,
}

impl Service {
    /// Opens a subscription. It has no answer until it ends.
    pub(super) fn listen(&self, to: &ReplyTo, params: &Params<'_>, link: &Arc<Link>) -> Result<(), RpcError> {
        let wanted = params.notifications.map(RawValue::get).unwrap_or_default();
        let filter: Filter = serde_json::from_str(wanted).map_err(|_| {
            let example = r#"{"toolsListChanged": true}"#;
            RpcError::invalid_params(format!(
                "`subscriptions/listen` needs `params.notifications`, such as {example}"
            ))
        })?;
        let tools = filter.tools_list_changed && self.tools_can_change();
        link.listen(to.id.clone(), tools, self.limits().subscriptions)
    }

    /// Ends every subscription, because the server does.
    pub(crate) fn end_subscriptions(&self, link: &Arc<Link>) {
        link.end_subscriptions(|out, id| self.write_end(out, id));
    }

    fn write_end(&self, out: &mut Vec<u8>, id: &Id) {
        let revision = Revision::MODERN;
        let identity = project::implementation(self.identity().clone(), revision);
        let body = serde_json::json!({"_meta": {SUBSCRIPTION_ID: id, SERVER_INFO: identity}});
        // Our own types have string keys only, so that this cannot fail.
        drop(project::write_result(out, revision, &body, None, None));
    }
}
