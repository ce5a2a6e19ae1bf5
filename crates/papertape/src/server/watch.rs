//! Who wants to hear of what: `subscriptions/listen`, and `resources/subscribe` in older revisions.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::dispatch::{LONGEST_URI, Params, Service};
use super::task::{belongs_to, needs_tasks};
#[cfg(feature = "http")]
use crate::link::Kind;
use crate::link::{Link, ReplyTo, Wanted};
use crate::protocol::capabilities::Abilities;
use crate::protocol::meta::SubscriptionMeta;
use crate::protocol::{Revision, project};
use crate::wire::{Id, RpcError};

/// The kinds of notification a client can ask for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
pub(super) struct Filter {
    tools_list_changed: bool,
    prompts_list_changed: bool,
    resources_list_changed: bool,
    pub(super) resource_subscriptions: Vec<String>,
    task_ids: Vec<String>,
}

/// The tasks that whoever listens may hear of.
fn own_tasks(ids: &[String], link: &Link) -> Vec<String> {
    let who = link.principal().map(|who| &**who);
    ids.iter().filter(|id| belongs_to(id, who)).cloned().collect()
}

/// Whether the request says that its client can wait for tasks.
fn declares_tasks(params: &Params<'_>) -> bool {
    let declared = params.meta.as_ref().and_then(|meta| meta.client_capabilities().ok());
    declared.is_some_and(|declared| Abilities::read(declared.get()).tasks)
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
        if !filter.task_ids.is_empty() && !declares_tasks(params) {
            return Err(needs_tasks(
                "`params.notifications.taskIds` is for clients that declare tasks with the request",
            ));
        }
        let watchable = self.changing.resources;
        let uris = if watchable { filter.resource_subscriptions.clone() } else { Vec::new() };
        if uris.len().max(filter.task_ids.len()) > self.limits.subscriptions {
            let message = format!(
                "too many resources or tasks in one subscription: the limit is {}",
                self.limits.subscriptions
            );
            return Err(RpcError::invalid_request(message));
        }
        if uris.iter().chain(&filter.task_ids).any(|name| name.len() > LONGEST_URI) {
            let message =
                format!("a URI or task id in `params.notifications` is longer than {LONGEST_URI} bytes");
            return Err(RpcError::invalid_params(message));
        }
        let wanted = Wanted {
            tools: filter.tools_list_changed && self.changing.tools,
            prompts: filter.prompts_list_changed && self.changing.prompts,
            resources: filter.resources_list_changed && watchable,
            uris,
            tasks: if self.offers_tasks() { own_tasks(&filter.task_ids, link) } else { Vec::new() },
        };
        self.keep_told(link);
        link.listen(to.id.clone(), wanted, self.limits.subscriptions)
    }

    /// Changes of lists may have been missed on a link: it is told that each list that can change has.
    #[cfg(feature = "http")]
    pub(crate) fn note_missed(&self, link: &Link) {
        let super::dispatch::Changing { tools, resources, prompts } = self.changing;
        for (changes, kind) in [(tools, Kind::Tools), (resources, Kind::Resources), (prompts, Kind::Prompts)]
        {
            if changes {
                link.list_changed(kind);
            }
        }
    }

    /// A legacy client wants to hear of changes of a resource.
    pub(super) fn subscribe(
        &self,
        to: &ReplyTo,
        params: &Params<'_>,
        revision: Revision,
        link: &Link,
    ) -> Result<(), RpcError> {
        let uri = params.uri("resources/subscribe")?;
        if !self.has_resource(&uri) {
            return Err(Self::unknown_resource(&uri, revision));
        }
        link.subscribe(uri, self.limits.subscriptions)?;
        self.reply(to, &Map::new(), None, revision, link);
        Ok(())
    }

    /// It no longer does.
    pub(super) fn unsubscribe(
        &self,
        to: &ReplyTo,
        params: &Params<'_>,
        revision: Revision,
        link: &Link,
    ) -> Result<(), RpcError> {
        link.unsubscribe(&params.uri("resources/unsubscribe")?);
        self.reply(to, &Map::new(), None, revision, link);
        Ok(())
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
