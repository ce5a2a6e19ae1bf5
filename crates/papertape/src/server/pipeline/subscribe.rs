//! `subscriptions/listen`: which notifications a client has requested, and which of them it will get.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::respond;
use super::{DecodedRequest, LONGEST_URI, Params};
use crate::protocol::Revision;
use crate::protocol::capabilities::Abilities;
use crate::protocol::meta::SubscriptionMeta;
use crate::server::service::ServiceCore;
use crate::server::session::Session;
use crate::server::session::subscriptions::SubscriptionFilter;
use crate::server::tasks::{belongs_to, needs_tasks};
use crate::wire::{Id, RpcError};

/// The notifications that a client requests.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RequestedFilter {
    tools_list_changed: bool,
    prompts_list_changed: bool,
    resources_list_changed: bool,
    pub(super) resource_subscriptions: Vec<String>,
    task_ids: Vec<String>,
}

/// Opens a subscription. Its response comes when it ends.
pub(super) fn listen(service: &Arc<ServiceCore>, request: &DecodedRequest<'_>) -> Result<(), RpcError> {
    let DecodedRequest { params, to, session, .. } = request;
    if to.batch.is_some() {
        // The other responses of the batch would wait for its response.
        return Err(RpcError::invalid_request("`subscriptions/listen` must not be in a batch"));
    }
    let Some(requested) = &params.notifications else {
        let message =
            "`subscriptions/listen` needs `params.notifications`, such as {\"toolsListChanged\": true}";
        return Err(RpcError::invalid_params(message));
    };
    let filter = filter(service, params, requested, session)?;
    service.add_subscriber(session);
    session.listen(to.id.clone(), filter, service.limits.subscriptions)?;
    service.subscribers.watches_others();
    Ok(())
}

/// The notifications that the client will get.
fn filter(
    service: &ServiceCore,
    params: &Params<'_>,
    requested: &RequestedFilter,
    session: &Session,
) -> Result<SubscriptionFilter, RpcError> {
    let (task_ids, limit) = (&requested.task_ids, service.limits.subscriptions);
    if !task_ids.is_empty() && !declares_tasks(params) {
        let message = "`params.notifications.taskIds` is for clients that declare tasks with the request";
        return Err(needs_tasks(message));
    }
    let changing = service.changing;
    let uris = if changing.watched { requested.resource_subscriptions.clone() } else { Vec::new() };
    if uris.len().max(task_ids.len()) > limit {
        let message = format!("too many resources or tasks in one subscription: the limit is {limit}");
        return Err(RpcError::invalid_request(message));
    }
    if uris.iter().chain(task_ids).any(|name| name.len() > LONGEST_URI) {
        let message =
            format!("a URI or task id in `params.notifications` is longer than {LONGEST_URI} bytes");
        return Err(RpcError::invalid_params(message));
    }
    Ok(SubscriptionFilter {
        tools: requested.tools_list_changed && changing.tools,
        prompts: requested.prompts_list_changed && changing.prompts,
        resources: requested.resources_list_changed && changing.resources,
        uris,
        tasks: if service.offers_tasks() { own_tasks(task_ids, session) } else { Vec::new() },
    })
}

/// The tasks of the session's principal.
fn own_tasks(ids: &[String], session: &Session) -> Vec<String> {
    let principal = session.principal().map(|principal| &**principal);
    ids.iter().filter(|id| belongs_to(id, principal)).cloned().collect()
}

/// Whether the request declares that its client supports tasks.
fn declares_tasks(params: &Params<'_>) -> bool {
    let declared = params.meta.as_ref().and_then(|meta| meta.client_capabilities().ok());
    declared.is_some_and(|declared| Abilities::read(declared.get()).tasks)
}

/// Ends every subscription of a session, because the server ends.
pub(crate) fn end_all(service: &ServiceCore, session: &Session) {
    #[derive(Serialize)]
    struct End<'a> {
        #[serde(rename = "_meta")]
        meta: SubscriptionMeta<'a>,
    }
    session.end_subscriptions(|out, subscription: &Id| {
        let end = End { meta: SubscriptionMeta { subscription, server: Some(&service.identity_json) } };
        // Our own types have string keys only, so that this cannot fail.
        drop(respond::write_result(out, Revision::MODERN, &end, None, None));
    });
}
