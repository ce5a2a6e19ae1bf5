//! Lists, page by page. Invalid entries are kept, and marked with what is wrong with them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use papertape_schema::Validator;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use super::Client;
use super::error::{ClientError, ErrorKind};
use super::list_cache::ReadList;
use super::options::{CallOptions, Timeouts};
use super::session::{Failure, Params};
use super::subscriptions::Change;
use crate::protocol::{
    PromptDefinition, RawJson, ResourceDefinition, ResourceTemplateDefinition, ToolDefinition, method,
    param_headers,
};
use crate::schema;
use crate::sync::lock;
use crate::wire::error::{INVALID_PARAMS, excerpt, shortened};

/// The maximum number of pages of a list.
const MOST_PAGES: usize = 1_000;
/// How often a list is read again from the start because the server rejects its own cursor.
const MOST_RESTARTS: usize = 2;
/// The maximum number of entries of a list.
const MOST_ENTRIES: usize = 100_000;
/// The maximum size of a list in bytes of JSON.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// An entry of a list, and what is wrong with it.
///
/// Invalid entries are not left out: a tool with an invalid definition is still one that its author looks for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ListEntry<T> {
    /// Its valid members.
    pub item: T,
    /// Its JSON as it was received.
    pub raw: RawJson,
    /// Why it is invalid; empty if it is valid.
    pub problems: Vec<String>,
}

/// Whether a list failed because the server rejected its own cursor.
enum Cursor {
    Rejected,
    Valid,
}

/// What a list consists of.
pub(super) trait Listable:
    DeserializeOwned + Serialize + Default + Clone + Send + Sync + 'static
{
    const METHOD: &'static str;
    /// The change with which servers announce another list.
    const CHANGE: Option<Change> = None;
    /// The member of the result that has the list.
    const LIST: &'static str;
    /// The member of an entry that identifies it.
    const KEY: &'static str;

    fn key(&self) -> &str;

    /// Adds what is wrong with it beyond its JSON shape.
    fn check(&self, _: &mut Vec<String>) {}
}

impl Listable for ToolDefinition {
    const METHOD: &'static str = method::TOOLS_LIST;
    const CHANGE: Option<Change> = Some(Change::Tools);
    const LIST: &'static str = "tools";
    const KEY: &'static str = "name";

    fn key(&self) -> &str {
        &self.name
    }

    fn check(&self, problems: &mut Vec<String>) {
        match &self.input_schema {
            Value::Null => problems.push("`inputSchema` is missing".to_owned()),
            schema => {
                if let Some(problem) = schema_problem(schema, true) {
                    problems.push(format!("`inputSchema` is invalid: {problem}"));
                }
                param_headers::find(schema, problems);
            }
        }
        if let Some(problem) = self.output_schema.as_ref().and_then(|schema| schema_problem(schema, false)) {
            problems.push(format!("`outputSchema` is invalid: {problem}"));
        }
    }
}

impl Listable for ResourceDefinition {
    const METHOD: &'static str = method::RESOURCES_LIST;
    const CHANGE: Option<Change> = Some(Change::Resources);
    const LIST: &'static str = "resources";
    const KEY: &'static str = "uri";

    fn key(&self) -> &str {
        &self.uri
    }
}

impl Listable for ResourceTemplateDefinition {
    const METHOD: &'static str = method::TEMPLATES_LIST;
    const CHANGE: Option<Change> = Some(Change::Resources);
    const LIST: &'static str = "resourceTemplates";
    const KEY: &'static str = "uriTemplate";

    fn key(&self) -> &str {
        &self.uri_template
    }
}

impl Listable for PromptDefinition {
    const METHOD: &'static str = method::PROMPTS_LIST;
    const CHANGE: Option<Change> = Some(Change::Prompts);
    const LIST: &'static str = "prompts";
    const KEY: &'static str = "name";

    fn key(&self) -> &str {
        &self.name
    }
}

impl Client {
    /// Lists the tools, from all pages; those with invalid definitions are marked with the reason.
    ///
    /// On HTTP, tools whose `x-mcp-header` annotations are invalid are left out, as MCP requires; that is reported among
    /// the problems of the last one.
    ///
    /// A server of a stateless revision says for how long a list may be used (`ttlMs`, 0 by default): until then, or until it
    /// announces a change, the same list is returned again. [`CallOptions::fresh`] reads it in any case.
    ///
    /// From here on, structured results are validated against the tools' output schemas.
    ///
    /// # Errors
    /// If the server does not return the list.
    pub async fn tools(&self) -> Result<Vec<ListEntry<ToolDefinition>>, ClientError> {
        self.tools_with(CallOptions::new()).await
    }

    /// [`Client::tools`] with options.
    ///
    /// # Errors
    /// If the server does not return the list.
    pub async fn tools_with(
        &self,
        options: CallOptions,
    ) -> Result<Vec<ListEntry<ToolDefinition>>, ClientError> {
        let finish = |tools: &mut Vec<ListEntry<ToolDefinition>>| {
            if self.sends_param_headers() {
                self.set_param_headers(tools);
            }
            let schemas = tools.iter().filter_map(|tool| {
                let schema = tool.item.output_schema.as_ref()?;
                Some((tool.item.name.clone(), schema::compile(schema).ok().map(Arc::new)?))
            });
            *lock(&self.shared.output_schemas) = schemas.collect();
        };
        self.list_all(options, finish).await
    }

    /// Remembers which arguments are repeated in headers. A tool with invalid annotations must not be called, and is left
    /// out; the reason is added to the last tool.
    fn set_param_headers(&self, tools: &mut Vec<ListEntry<ToolDefinition>>) {
        let mut header_params = HashMap::new();
        let mut left_out = Vec::new();
        tools.retain(|tool| match param_headers::annotations(&tool.item.input_schema) {
            Ok(annotations) => {
                if !annotations.is_empty() {
                    header_params.insert(tool.item.name.clone(), annotations.into());
                }
                true
            }
            Err(problem) => {
                let name = excerpt(&tool.item.name);
                left_out.push(format!(
                    "the tool {name} was left out, because it cannot be called on HTTP: {problem}"
                ));
                false
            }
        });
        for problem in left_out {
            tracing::warn!("{problem}");
            if let Some(last) = tools.last_mut() {
                last.problems.push(problem);
            }
        }
        self.session().set_header_params(header_params);
    }

    /// Lists the resources, from all pages.
    ///
    /// # Errors
    /// If the server does not return the list.
    pub async fn resources(&self) -> Result<Vec<ListEntry<ResourceDefinition>>, ClientError> {
        self.resources_with(CallOptions::new()).await
    }

    /// [`Client::resources`] with options.
    ///
    /// # Errors
    /// If the server does not return the list.
    pub async fn resources_with(
        &self,
        options: CallOptions,
    ) -> Result<Vec<ListEntry<ResourceDefinition>>, ClientError> {
        self.list_all(options, |_| ()).await
    }

    /// Lists the resource templates, from all pages.
    ///
    /// # Errors
    /// If the server does not return the list.
    pub async fn resource_templates(
        &self,
    ) -> Result<Vec<ListEntry<ResourceTemplateDefinition>>, ClientError> {
        self.resource_templates_with(CallOptions::new()).await
    }

    /// [`Client::resource_templates`] with options.
    ///
    /// # Errors
    /// If the server does not return the list.
    pub async fn resource_templates_with(
        &self,
        options: CallOptions,
    ) -> Result<Vec<ListEntry<ResourceTemplateDefinition>>, ClientError> {
        self.list_all(options, |_| ()).await
    }

    /// Lists the prompts, from all pages.
    ///
    /// # Errors
    /// If the server does not return the list.
    pub async fn prompts(&self) -> Result<Vec<ListEntry<PromptDefinition>>, ClientError> {
        self.prompts_with(CallOptions::new()).await
    }

    /// [`Client::prompts`] with options.
    ///
    /// # Errors
    /// If the server does not return the list.
    pub async fn prompts_with(
        &self,
        options: CallOptions,
    ) -> Result<Vec<ListEntry<PromptDefinition>>, ClientError> {
        self.list_all(options, |_| ()).await
    }

    /// A list, which is read unless the last one may still be used; `finish` is applied to it when it has been read.
    async fn list_all<T: Listable>(
        &self,
        options: CallOptions,
        finish: impl FnOnce(&mut Vec<ListEntry<T>>),
    ) -> Result<Vec<ListEntry<T>>, ClientError> {
        // Session-based revisions have no `ttlMs`, and `_meta` may change what a server lists.
        let uses_cache = !self.revision().opens_with_handshake() && options.meta.is_empty();
        let changes = T::CHANGE.map_or(0, |change| self.session().changes_of(&change));
        if uses_cache
            && !options.fresh
            && let Some(entries) = self.shared.lists.get(changes)
        {
            return Ok(entries);
        }
        if T::CHANGE == Some(Change::Tools) {
            // A change after this point may be missing in the list.
            self.session().take_tools_changed();
        }
        let mut list = self.list(T::METHOD, Params::default(), options).await?;
        finish(&mut list.entries);
        if uses_cache {
            self.shared.lists.put(&list, changes);
        }
        Ok(list.entries)
    }

    /// Reads all pages of a list, within the total timeout of one request. `params` are sent with each page.
    ///
    /// A server may reject a cursor that it has returned, because the list has changed or because another replica responds.
    /// Then the list is read again from the start.
    pub(super) async fn list<T: Listable>(
        &self,
        method: &str,
        mut params: Params,
        options: CallOptions,
    ) -> Result<ReadList<T>, ClientError> {
        let timeouts = options.timeouts(self.timeouts());
        let deadline = Instant::now() + timeouts.total;
        params.push_meta(options.meta);
        let mut restarts = 0;
        loop {
            match self.list_from_start(method, &params, (timeouts, deadline)).await {
                Err((error, Cursor::Rejected)) if restarts < MOST_RESTARTS => {
                    restarts += 1;
                    tracing::info!("listing again from the start: {error}");
                }
                Err((error, _)) => return Err(error),
                Ok(entries) => return Ok(entries),
            }
        }
    }

    async fn list_from_start<T: Listable>(
        &self,
        method: &str,
        params: &Params,
        (timeouts, deadline): (Timeouts, Instant),
    ) -> Result<ReadList<T>, (ClientError, Cursor)> {
        let mut list = ReadList::new();
        let mut names = HashSet::new();
        let mut cursor: Option<String> = None;
        for page in 1.. {
            let operation = || match page {
                1 => format!("listing {}", T::LIST),
                page => format!("listing {} (page {page})", T::LIST),
            };
            let mut params = params.clone();
            if let Some(cursor) = cursor.take() {
                params.push("cursor", cursor.into());
            }
            let result = self.request_complete_result(method, params, timeouts, deadline, None).await;
            let raw = result.map_err(|failure| {
                let rejected = matches!(&failure.kind, ErrorKind::Rpc(error) if error.code == INVALID_PARAMS);
                let cursor = if page > 1 && rejected { Cursor::Rejected } else { Cursor::Valid };
                (self.session().error(operation(), failure), cursor)
            })?;
            list.bytes += raw.get().len();
            let invalid = |problem: String| {
                let failure = Failure::protocol(problem, raw.get().as_bytes());
                (self.session().error(operation(), failure), Cursor::Valid)
            };
            let mut result: HashMap<String, RawJson> = serde_json::from_str(raw.get())
                .map_err(|error| invalid(format!("the result is invalid: {error}")))?;
            let page_entries = result.remove(T::LIST).and_then(|list| list.parse::<Vec<RawJson>>().ok());
            let Some(page_entries) = page_entries else {
                return Err(invalid(format!("the result has no array `{}`", T::LIST)));
            };
            for raw in page_entries {
                list.entries.push(read_entry(raw, &mut names));
            }
            list.limit_freshness(result.get("ttlMs").and_then(|ttl| ttl.parse().ok()));
            // A cursor may repeat: its meaning is up to the server, and the number of pages is bounded.
            let next = result.remove("nextCursor").unwrap_or_else(|| Value::Null.into());
            let problem = match next.rounded() {
                Value::Null => return Ok(list),
                Value::String(_)
                    if page >= MOST_PAGES
                        || list.entries.len() >= MOST_ENTRIES
                        || list.bytes >= MOST_BYTES =>
                {
                    let count = list.entries.len();
                    format!("the list is too long: it was read up to page {page}, {count} entries")
                }
                Value::String(next) => {
                    cursor = Some(next);
                    continue;
                }
                _ => {
                    let next = shortened(next.get());
                    format!("the list may be incomplete: `nextCursor` is {next}, not a string")
                }
            };
            return end_incomplete(list, problem).map_err(invalid);
        }
        Ok(list)
    }
}

/// A problem of a list as a whole is reported with its last entry.
fn end_incomplete<T>(mut list: ReadList<T>, problem: String) -> Result<ReadList<T>, String> {
    tracing::warn!("{problem}");
    list.limit_freshness(None);
    match list.entries.last_mut() {
        Some(last) => last.problems.push(problem),
        None => return Err(problem),
    }
    Ok(list)
}

fn read_entry<T: Listable>(raw: RawJson, names: &mut HashSet<String>) -> ListEntry<T> {
    let mut problems = Vec::new();
    let value: Value = match raw.parse() {
        Ok(value) => value,
        Err(error) => {
            return ListEntry { item: T::default(), raw, problems: vec![error.to_string()] };
        }
    };
    let item: T = salvage(&value, &mut problems);
    if value.is_object() {
        let name = item.key();
        if name.is_empty() && problems.is_empty() {
            problems.push(format!("`{}` is empty", T::KEY));
        } else if !name.is_empty() && !names.insert(name.to_owned()) {
            problems.push(format!("the {} {} occurs more than once", T::KEY, excerpt(name)));
        }
        item.check(&mut problems);
    }
    ListEntry { item, raw, problems }
}

/// Reads an object member by member: an invalid one is left out, with the reason.
pub(super) fn salvage<T>(raw: &Value, problems: &mut Vec<String>) -> T
where
    T: DeserializeOwned + Serialize + Default,
{
    let error = match serde_json::from_value(raw.clone()) {
        Ok(item) => return item,
        Err(error) => error,
    };
    let mut item = T::default();
    let Value::Object(members) = raw else {
        problems.push(error.to_string());
        return item;
    };
    let Ok(Value::Object(mut valid)) = serde_json::to_value(&item) else { return item };
    let before = problems.len();
    for (name, value) in members {
        let replaced = valid.insert(name.clone(), value.clone());
        match serde_json::from_value(Value::Object(valid.clone())) {
            Ok(read) => item = read,
            Err(error) => {
                problems.push(format!("`{name}` is invalid: {error}"));
                match replaced {
                    Some(value) => drop(valid.insert(name.clone(), value)),
                    None => drop(valid.remove(name)),
                }
            }
        }
    }
    if problems.len() == before {
        problems.push(error.to_string());
    }
    item
}

/// What is wrong with a schema. That of arguments must be one of an object.
fn schema_problem(schema: &Value, of_arguments: bool) -> Option<String> {
    if of_arguments && schema.is_object() && schema.get("type") != Some(&Value::from("object")) {
        let got = schema.get("type").map_or("nothing".to_owned(), Value::to_string);
        return Some(format!("its `type` must be \"object\", got {got}"));
    }
    let compiled: Result<Validator, String> = schema::compile(schema);
    compiled.err()
}
