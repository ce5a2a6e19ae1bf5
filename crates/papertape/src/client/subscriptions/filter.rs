//! What a subscription is for.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Change;

/// The changes that a subscription is for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[must_use]
pub struct SubscriptionFilter {
    pub(super) tools_list_changed: bool,
    pub(super) prompts_list_changed: bool,
    pub(super) resources_list_changed: bool,
    pub(super) resource_subscriptions: Vec<String>,
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

    pub(super) fn to_json(&self) -> Value {
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
        Value::Object(filter)
    }

    /// Every change that the filter includes.
    #[cfg(feature = "http-client")]
    pub(super) fn changes(&self) -> impl Iterator<Item = Change> {
        let lists = [
            (self.tools_list_changed, Change::Tools),
            (self.prompts_list_changed, Change::Prompts),
            (self.resources_list_changed, Change::Resources),
        ];
        let lists = lists.into_iter().filter_map(|(wanted, change)| wanted.then_some(change));
        lists.chain(self.resource_subscriptions.iter().cloned().map(Change::Resource))
    }

    pub(super) fn includes(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools_list_changed,
            Change::Prompts => self.prompts_list_changed,
            Change::Resources => self.resources_list_changed,
            // The URI of an update may be that of a sub-resource.
            Change::Resource(_) => !self.resource_subscriptions.is_empty(),
        }
    }
}
