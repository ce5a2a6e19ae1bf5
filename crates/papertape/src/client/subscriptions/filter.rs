//! What a subscription is for.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Change;
use crate::wire::error::excerpt;

/// How much of a filter is named in an error.
const MOST_DESCRIBED: usize = 5;

/// The changes that a subscription is for.
///
/// ```
/// use papertape::client::SubscriptionFilter;
///
/// let filter = SubscriptionFilter::new().tools().resource("notes:///tea");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[must_use]
pub struct SubscriptionFilter {
    pub(super) tools_list_changed: bool,
    pub(super) prompts_list_changed: bool,
    pub(super) resources_list_changed: bool,
    pub(super) resource_subscriptions: Vec<String>,
    pub(super) task_ids: Vec<String>,
}

impl SubscriptionFilter {
    /// An empty filter.
    pub fn new() -> Self {
        Self::default()
    }

    /// Changes of the list of tools.
    pub fn tools(mut self) -> Self {
        self.tools_list_changed = true;
        self
    }

    /// Changes of the list of prompts.
    pub fn prompts(mut self) -> Self {
        self.prompts_list_changed = true;
        self
    }

    /// Changes of the list of resources.
    pub fn resources(mut self) -> Self {
        self.resources_list_changed = true;
        self
    }

    /// Updates of one resource.
    pub fn resource(mut self, uri: impl Into<String>) -> Self {
        self.resource_subscriptions.push(uri.into());
        self
    }

    /// Changes of one task (an extension of 2026-07-28).
    pub fn task(mut self, id: impl Into<String>) -> Self {
        self.task_ids.push(id.into());
        self
    }

    /// Whether it has changes of the list of tools.
    #[must_use]
    pub fn has_tools(&self) -> bool {
        self.tools_list_changed
    }

    /// Whether it has changes of the list of prompts.
    #[must_use]
    pub fn has_prompts(&self) -> bool {
        self.prompts_list_changed
    }

    /// Whether it has changes of the list of resources.
    #[must_use]
    pub fn has_resources(&self) -> bool {
        self.resources_list_changed
    }

    /// The URIs of the resources whose updates it has.
    #[must_use]
    pub fn resource_uris(&self) -> &[String] {
        &self.resource_subscriptions
    }

    /// The ids of the tasks whose changes it has.
    #[must_use]
    pub fn task_ids(&self) -> &[String] {
        &self.task_ids
    }

    /// Whether it has nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What it has, in words, for errors.
    pub(super) fn described(&self) -> String {
        let lists = [
            (self.tools_list_changed, "the list of tools"),
            (self.prompts_list_changed, "the list of prompts"),
            (self.resources_list_changed, "the list of resources"),
        ];
        let lists = lists.into_iter().filter(|(wanted, _)| *wanted).map(|(_, name)| name.to_owned());
        let resources =
            self.resource_subscriptions.iter().map(|uri| format!("the resource {}", excerpt(uri)));
        let tasks = self.task_ids.iter().map(|id| format!("the task {}", excerpt(id)));
        lists.chain(resources).chain(tasks).take(MOST_DESCRIBED).collect::<Vec<_>>().join(", ")
    }

    pub(in crate::client) fn to_json(&self) -> Value {
        let mut filter = serde_json::Map::new();
        for (name, wanted) in [
            ("toolsListChanged", self.tools_list_changed),
            ("promptsListChanged", self.prompts_list_changed),
            ("resourcesListChanged", self.resources_list_changed),
        ] {
            if wanted {
                filter.insert(name.to_owned(), true.into());
            }
        }
        if !self.resource_subscriptions.is_empty() {
            filter.insert("resourceSubscriptions".to_owned(), json!(self.resource_subscriptions));
        }
        if !self.task_ids.is_empty() {
            filter.insert("taskIds".to_owned(), json!(self.task_ids));
        }
        Value::Object(filter)
    }

    /// Every change that the filter includes.
    #[cfg(any(unix, feature = "http-client"))]
    pub(in crate::client) fn changes(&self) -> impl Iterator<Item = Change> {
        let lists = [
            (self.tools_list_changed, Change::Tools),
            (self.prompts_list_changed, Change::Prompts),
            (self.resources_list_changed, Change::Resources),
        ];
        let lists = lists.into_iter().filter_map(|(wanted, change)| wanted.then_some(change));
        let resources = self.resource_subscriptions.iter().cloned().map(Change::Resource);
        lists.chain(resources).chain(self.task_ids.iter().cloned().map(Change::Task))
    }

    pub(in crate::client) fn includes(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools_list_changed,
            Change::Prompts => self.prompts_list_changed,
            Change::Resources => self.resources_list_changed,
            // The URI of an update may be that of a sub-resource.
            Change::Resource(_) => !self.resource_subscriptions.is_empty(),
            Change::Task(id) => self.task_ids.contains(id),
        }
    }
}
