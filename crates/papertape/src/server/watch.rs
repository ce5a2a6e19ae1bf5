//! `subscriptions/listen`: who wants to hear of what.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::dispatch::{Params, Service};
use crate::link::{Link, ReplyTo};
use crate::protocol::meta::SubscriptionMeta;
use crate::protocol::{Revision, project};
use crate::wire::{Id, RpcError};

/// The kinds of notification a client can ask for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Filter {
    #[serde(default)]
    tools_list_changed: bool,
}

impl Service {
    /// Opens a subscription. It has no answer until it ends.
    pub(super) fn listen(&self, to: &ReplyTo, params: &Params<'_>, link: &Arc<Link>) -> Result<(), RpcError> {
        if to.batch.is_some() {
            // Its answer comes when it ends, and the others' would wait for it.
            return Err(RpcError::invalid_request("`subscriptions/listen` must not be in a batch"));
        }
        let Some(filter) = &params.notifications else {
            let message =
                "`subscriptions/listen` needs `params.notifications`, such as {\"toolsListChanged\": true}";
            return Err(RpcError::invalid_params(message));
        };
        let tools = filter.tools_list_changed && self.tools_can_change();
        link.listen(to.id.clone(), tools, self.limits.subscriptions)
    }

    /// Ends every subscription, because the server does.
    pub(crate) fn end_subscriptions(&self, link: &Arc<Link>) {
        link.end_subscriptions(|out, id| self.write_end(out, id));
    }

    fn write_end(&self, out: &mut Vec<u8>, subscription: &Id) {
        #[derive(Serialize)]
        struct End<'a> {
            #[serde(rename = "_meta")]
            meta: SubscriptionMeta<'a>,
        }
        let end = End { meta: SubscriptionMeta { subscription, server: Some(&self.identity_json) } };
        // Our own types have string keys only, so that this cannot fail.
        drop(project::write_result(out, Revision::MODERN, &end, None, None));
    }
}
