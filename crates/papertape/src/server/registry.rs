//! The tools there are, now: looked up by name, listed page by page, changed at run time.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::context::Cx;
use super::error::{SetupError, ToolError};
use super::output::ToolOutput;
use super::tool::{Registered, Tool};
use crate::link::Link;
use crate::protocol::project;
use crate::protocol::{Revision, ToolDefinition};

/// A handle to the tools of a server, to add and remove some while it runs.
///
/// Clients are told of changes: legacy ones without asking, modern ones if they listen.
#[derive(Clone)]
pub struct Tools {
    pub(crate) registry: Arc<Registry>,
}

impl Tools {
    /// Adds a tool; see [`Server::tool`](crate::Server::tool).
    ///
    /// # Errors
    /// If there is a tool of that name, or a schema is bad.
    pub fn add<A, F, Fut, O>(&self, tool: impl Into<Tool>, handler: F) -> Result<(), SetupError>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ToolOutput,
    {
        self.registry.add(Registered::typed(tool.into(), handler)?)
    }

    /// Adds a tool with a schema given as JSON; see [`Server::raw_tool`](crate::Server::raw_tool).
    ///
    /// # Errors
    /// If there is a tool of that name, or a schema is bad.
    pub fn add_raw<F, Fut, O>(&self, tool: impl Into<Tool>, handler: F) -> Result<(), SetupError>
    where
        F: Fn(Value, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ToolOutput,
    {
        self.registry.add(Registered::raw(tool.into(), handler)?)
    }

    /// Removes a tool; false if there is none of that name. Calls that are running go on.
    #[must_use = "tells whether there was such a tool"]
    pub fn remove(&self, name: &str) -> bool {
        self.registry.remove(name)
    }
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.registry.fmt(f)
    }
}

/// The tools of one server and the links to tell when they change.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    now: RwLock<Arc<Snapshot>>,
    links: Mutex<Vec<Weak<Link>>>,
}

impl Registry {
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The tool of that name.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Registered>> {
        let now = self.now.read().unwrap_or_else(PoisonError::into_inner);
        now.by_name.get(name).and_then(|&at| now.tools.get(at)).cloned()
    }

    pub(crate) fn add(&self, tool: Registered) -> Result<(), SetupError> {
        self.change(|tools| {
            if tools.iter().any(|old| old.definition.name == tool.definition.name) {
                return Err(SetupError::Duplicate { tool: tool.definition.name });
            }
            tools.push(Arc::new(tool));
            Ok(())
        })
    }

    pub(crate) fn remove(&self, name: &str) -> bool {
        self.change(|tools| {
            let at = tools.iter().position(|tool| tool.definition.name == name).ok_or(())?;
            tools.remove(at);
            Ok::<(), ()>(())
        })
        .is_ok()
    }

    fn change<E>(&self, change: impl FnOnce(&mut Vec<Arc<Registered>>) -> Result<(), E>) -> Result<(), E> {
        {
            let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
            let mut tools = now.tools.clone();
            change(&mut tools)?;
            *now = Arc::new(Snapshot::new(tools, now.generation + 1));
        }
        self.links.lock().unwrap_or_else(PoisonError::into_inner).retain(|link| {
            let Some(link) = link.upgrade() else { return false };
            link.tools_changed();
            true
        });
        Ok(())
    }

    /// Tells this link of changes from now on.
    pub(crate) fn watch(&self, link: &Arc<Link>) {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|link| link.strong_count() > 0);
        links.push(Arc::downgrade(link));
    }
}

/// The tools at one moment.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    tools: Vec<Arc<Registered>>,
    by_name: HashMap<String, usize>,
    /// Counts changes, so that a cursor into another list is found out.
    generation: u64,
    /// The pages of `tools/list`, written once per revision.
    pages: [OnceLock<Vec<Page>>; Revision::ALL.len()],
}

/// One page of the list: the result object's members `tools` and `nextCursor`, as JSON.
pub(crate) type Page = Box<serde_json::value::RawValue>;

impl Snapshot {
    fn new(tools: Vec<Arc<Registered>>, generation: u64) -> Self {
        let by_name = tools.iter().enumerate().map(|(at, tool)| (tool.definition.name.clone(), at)).collect();
        Self { tools, by_name, generation, pages: Default::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.definition.name.as_str())
    }

    /// The page a cursor leads to, or the first; `None` if the cursor leads nowhere.
    pub(crate) fn page(&self, cursor: Option<&str>, revision: Revision, size: usize) -> Option<&Page> {
        let pages = self.pages.get(revision.index())?.get_or_init(|| self.write_pages(revision, size.max(1)));
        let at = match cursor {
            None => 0,
            Some(cursor) => {
                let (generation, page) = cursor.split_once('.')?;
                if generation.parse() != Ok(self.generation) {
                    return None;
                }
                page.parse().ok().filter(|&page| page > 0)?
            }
        };
        pages.get(at)
    }

    fn write_pages(&self, revision: Revision, size: usize) -> Vec<Page> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct List {
            tools: Vec<ToolDefinition>,
            #[serde(skip_serializing_if = "Option::is_none")]
            next_cursor: Option<String>,
        }
        let count = self.tools.len().div_ceil(size).max(1);
        (0..count)
            .filter_map(|page| {
                let tools = self.tools.iter().skip(page * size).take(size);
                let tools = tools.map(|tool| project::tool(tool.definition.clone(), revision)).collect();
                let next_cursor = (page + 1 < count).then(|| format!("{}.{}", self.generation, page + 1));
                serde_json::value::to_raw_value(&List { tools, next_cursor }).ok()
            })
            .collect()
    }
}
