//! What the server answers by itself, without a handler: lists, skills, subscriptions, the log level, `ping`, and the opening
//! of a session.

use std::borrow::Cow;
use std::ops::Bound;

use serde::Serialize;
use serde_json::Map;
use serde_json::value::RawValue;

use super::DecodedRequest;
use super::resolve::{List, Target};
use super::{opening, respond, subscribe};
use crate::protocol;
use crate::protocol::meta::LOG_LEVELS;
use crate::protocol::project::{CacheHint, CacheScope};
use crate::server::catalog::cursor;
use crate::server::catalog::registry::{Listed, Registry};
use crate::server::features::skills::ListedSkill;
use crate::server::service::ServiceCore;
use crate::wire::RpcError;

/// Writes the response to a request that has no handler.
pub(super) fn answer(
    service: &std::sync::Arc<ServiceCore>,
    request: &DecodedRequest<'_>,
    target: Target,
) -> Result<(), RpcError> {
    match target {
        Target::List(List::Tools) => list(service, request, &service.tools),
        Target::List(List::Resources) => list(service, request, &service.resources),
        Target::List(List::Templates) => list(service, request, &service.templates),
        Target::List(List::Prompts) => list(service, request, &service.prompts),
        Target::List(List::Skills) => list(service, request, &service.skills.list),
        Target::Skill(skill) => {
            let mut skill = skill.definition(request.revision);
            if service.visibility.is_restricted() {
                let shows = |uri: &str| service.shows_file(uri, request.principal());
                ListedSkill::leave_out_files(&mut skill, &shows);
            }
            respond::result(service, request, &SkillResult { skill }, Some(service.list_cache()));
            Ok(())
        }
        Target::Directory(uri) => read_directory(service, request, &uri),
        Target::Subscription(uri, _) => {
            request.session.subscribe(uri, service.limits.subscriptions)?;
            service.subscribers.watches_others();
            empty(service, request)
        }
        Target::Unsubscription(uri) => {
            request.session.unsubscribe(&uri);
            service.subscribers.watches_others();
            empty(service, request)
        }
        Target::Listen(_) => subscribe::listen(service, request),
        Target::LogLevel => set_log_level(service, request),
        Target::Initialize => opening::initialize(service, request),
        Target::Discover => {
            opening::discover(service, request);
            Ok(())
        }
        Target::Ping => empty(service, request),
        Target::Tool(_)
        | Target::Resource(..)
        | Target::Prompt(_)
        | Target::Completion(_)
        | Target::Method(_)
        | Target::Task(..) => Err(RpcError::internal("internal error")),
    }
}

fn empty(service: &ServiceCore, request: &DecodedRequest<'_>) -> Result<(), RpcError> {
    respond::result(service, request, &Map::new(), None);
    Ok(())
}

fn set_log_level(service: &ServiceCore, request: &DecodedRequest<'_>) -> Result<(), RpcError> {
    let level = request.params.level.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let Some(level) = level else {
        let message = format!("`logging/setLevel` needs `params.level`: {LOG_LEVELS}");
        return Err(RpcError::invalid_params(message));
    };
    request.session.set_log_level(level);
    empty(service, request)
}

/// One page of a list.
fn list<T: Listed>(
    service: &ServiceCore,
    request: &DecodedRequest<'_>,
    registry: &Registry<T>,
) -> Result<(), RpcError> {
    let cursor = cursor_of(request)?;
    let items = registry.snapshot();
    let (items, cache) = match items.without_apps() {
        None => (&*items, service.list_cache()),
        // Caches are not shared by clients that get different lists.
        Some(others) => {
            let list = if request.abilities().apps { &*items } else { others };
            (list, CacheHint { cache_scope: CacheScope::Private, ..service.cache })
        }
    };
    let size = service.limits.page.min(T::MOST_PER_PAGE);
    let page = if service.visibility.is_restricted() {
        let shows = |item: &T| service.shows(item, request.principal());
        let shows_file = |uri: &str| service.shows_file(uri, request.principal());
        let page = items.filtered_page(cursor.as_deref(), request.revision, size, shows, &shows_file);
        page.map(Cow::Owned)
    } else {
        items.page(cursor.as_deref(), request.revision, size)
    };
    let page = page.ok_or_else(bad_cursor)?;
    respond::result(service, request, &*page, Some(cache));
    Ok(())
}

/// The cursor of a request; `None` is the beginning of the list.
pub(super) fn cursor_of(request: &DecodedRequest<'_>) -> Result<Option<String>, RpcError> {
    match request.params.cursor.map(RawValue::get) {
        None | Some("null") => Ok(None),
        Some(raw) => serde_json::from_str(raw).map(Some).map_err(|_| bad_cursor()),
    }
}

pub(super) fn bad_cursor() -> RpcError {
    RpcError::invalid_params("invalid or stale cursor: list again from the start")
}

#[derive(Serialize)]
struct SkillResult {
    skill: protocol::SkillDefinition,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DirectoryResult<'a> {
    resources: Vec<&'a protocol::ResourceDefinition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// `resources/directory/read`
fn read_directory(service: &ServiceCore, request: &DecodedRequest<'_>, uri: &str) -> Result<(), RpcError> {
    let Some(directory) = service.skills.directory(uri) else { return Ok(()) };
    let size = service.limits.page.max(1);
    let last = match cursor_of(request)? {
        None => None,
        Some(cursor) => Some(cursor::decode(uri, &cursor).ok_or_else(bad_cursor)?),
    };
    let after = last.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
    let rest = directory.range::<String, _>((after, Bound::Unbounded));
    let mut rest = rest.filter(|(_, entry)| service.shows_file(&entry.uri, request.principal()));
    let page: Vec<_> = rest.by_ref().take(size).collect();
    let last = page.last().filter(|_| rest.next().is_some());
    let next_cursor = last.map(|(last, _)| cursor::encode(uri, last));
    let resources = page.into_iter().map(|(_, resource)| resource).collect();
    respond::result(service, request, &DirectoryResult { resources, next_cursor }, None);
    Ok(())
}
