//! `resources/list` of a server whose templates list resources: these handlers run for each page.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::DecodedRequest;
use super::builtin::{bad_cursor, cursor_of};
use super::prepare::new_call;
use super::run::{Call, Feature, Output, PreparedCall};
use crate::protocol::project::{CacheHint, CacheScope};
use crate::server::catalog::registry::{Listed, Snapshot};
use crate::server::features::resource::RegisteredResource;
use crate::server::handler::context::Cx;
use crate::server::handler::error::{Failure, ToolError};
use crate::server::service::ServiceCore;
use crate::wire::RpcError;

/// The most resources that the templates of a server list.
const MOST_LISTED: usize = 10_000;

/// Whether handlers have to run for the list.
pub(super) fn has_handlers(service: &ServiceCore) -> bool {
    service.templates.snapshot().items.iter().any(|template| template.has_list())
}

pub(super) fn prepare(
    service: &Arc<ServiceCore>,
    request: &DecodedRequest<'_>,
) -> Result<PreparedCall, RpcError> {
    let cursor = cursor_of(request)?;
    let call = new_call(service, request, "", Feature::List)?;
    let listing = Arc::clone(&call);
    Ok(PreparedCall::new(call, Box::pin(async move { page(&listing, cursor.as_deref()).await })))
}

async fn page(call: &Arc<Call>, cursor: Option<&str>) -> Result<Output, ToolError> {
    let (service, principal) = (&call.service, call.session.principal().map(|principal| &**principal));
    let mut items = service.resources.snapshot().items.clone();
    let mut known: HashSet<String> = items.iter().map(|item| item.key().to_owned()).collect();
    let templates = service.templates.snapshot();
    let mut room = MOST_LISTED;
    for template in templates.items.iter().filter(|template| template.has_list()) {
        if service.shows(&**template, principal) {
            let listed = template.list(Cx::new(call), room).await?;
            room -= listed.len();
            items.extend(listed.into_iter().filter(|item| known.insert(item.key().to_owned())).map(Arc::new));
        }
    }
    let shows = |item: &RegisteredResource| service.shows(item, principal);
    let items = Snapshot::new(items, HashMap::new());
    let items = if call.abilities.apps { &items } else { items.without_apps().unwrap_or(&items) };
    let page = items.filtered_page(cursor, call.revision, service.limits.page, shows, &|_| true);
    // What handlers list may depend on the principal.
    let hint = CacheHint { cache_scope: CacheScope::Private, ..service.cache };
    page.map(|page| Output::Page(page, hint)).ok_or_else(|| ToolError(Failure::Rpc(bad_cursor())))
}
