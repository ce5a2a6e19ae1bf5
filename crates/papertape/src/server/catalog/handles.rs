//! Handles to change the lists of a server while it serves. Clients are notified: those of session-based revisions always,
//! those of stateless ones if they have subscribed.

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::server::catalog::registry::Registry;
use crate::server::features::prompt::{Prompt, PromptOutput, RegisteredPrompt};
use crate::server::features::resource::{
    ReadOutput, RegisteredResource, RegisteredTemplate, Resource, ResourceTemplate,
};
use crate::server::features::tool::{RegisteredTool, Tool, ToolOutput};
use crate::server::handler::context::{Cx, reader_with_state, with_state};
use crate::server::handler::error::{SetupError, ToolError};
use crate::server::session::subscribers::Subscribers;
use crate::server::session::subscriptions::ChangingList;

/// A handle to the tools of a server. Their handlers get the state that the server had when the handle was taken.
///
/// ```
/// use papertape::{Cx, Server};
///
/// let mut server = Server::new("clock", "1.0.0");
/// let tools = server.tools();
/// // Later, while the server runs:
/// tools.add("noon", async |_: (), _: Cx| Ok("12:00")).unwrap();
/// assert!(tools.remove("noon"));
/// ```
pub struct Tools<S = ()> {
    pub(crate) registry: Arc<Registry<RegisteredTool>>,
    pub(crate) subscribers: Arc<Subscribers>,
    pub(crate) state: Arc<S>,
}

impl<S: Send + Sync + 'static> Tools<S> {
    /// Adds a tool; see [`Server::tool`](crate::Server::tool).
    ///
    /// # Errors
    /// If there is a tool of that name, or a schema is bad.
    pub fn add<A, F, Fut, O>(&self, tool: impl Into<Tool>, handler: F) -> Result<(), SetupError>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ToolOutput,
    {
        self.registry.add(RegisteredTool::typed(tool.into(), with_state(&self.state, handler))?)?;
        self.subscribers.list_changed(ChangingList::Tools);
        Ok(())
    }

    /// Adds a tool with a schema given as JSON; see [`Server::raw_tool`](crate::Server::raw_tool).
    ///
    /// # Errors
    /// If there is a tool of that name, or a schema is bad.
    pub fn add_raw<F, Fut, O>(&self, tool: impl Into<Tool>, handler: F) -> Result<(), SetupError>
    where
        F: Fn(Value, Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ToolOutput,
    {
        self.registry.add(RegisteredTool::raw(tool.into(), with_state(&self.state, handler))?)?;
        self.subscribers.list_changed(ChangingList::Tools);
        Ok(())
    }

    /// Puts other tools in place of all there are, in one step: clients are notified once.
    ///
    /// # Errors
    /// If one of them is invalid, or two have one name; then nothing is changed.
    pub fn replace_all<A, F, Fut, O>(
        &self,
        tools: impl IntoIterator<Item = (Tool, F)>,
    ) -> Result<(), SetupError>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ToolOutput,
    {
        let all = tools.into_iter();
        let all = all.map(|(tool, handler)| RegisteredTool::typed(tool, with_state(&self.state, handler)));
        self.registry.replace_all(all.collect::<Result<Vec<_>, _>>()?)?;
        self.subscribers.list_changed(ChangingList::Tools);
        Ok(())
    }

    /// Removes a tool; false if there is none of that name. Calls that are running go on.
    #[must_use = "whether there was such a tool"]
    pub fn remove(&self, name: &str) -> bool {
        let removed = self.registry.remove(name);
        if removed {
            self.subscribers.list_changed(ChangingList::Tools);
        }
        removed
    }
}

impl<S> Clone for Tools<S> {
    fn clone(&self) -> Self {
        Self {
            registry: Arc::clone(&self.registry),
            subscribers: Arc::clone(&self.subscribers),
            state: Arc::clone(&self.state),
        }
    }
}

impl<S> fmt::Debug for Tools<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.registry.fmt(f)
    }
}

/// A handle to the resources of a server. Their handlers get the state that the server had when the handle was taken.
///
/// ```
/// use papertape::{Cx, Server};
///
/// let mut server = Server::new("diary", "1.0.0");
/// let resources = server.resources();
/// // Later, while the server runs:
/// resources.add("diary:///today", async |_: Cx| Ok("Rain.")).unwrap();
/// resources.updated("diary:///today");
/// assert!(resources.remove("diary:///today"));
/// ```
pub struct Resources<S = ()> {
    pub(crate) registry: Arc<Registry<RegisteredResource>>,
    pub(crate) templates: Arc<Registry<RegisteredTemplate>>,
    pub(crate) subscribers: Arc<Subscribers>,
    pub(crate) state: Arc<S>,
}

impl<S: Send + Sync + 'static> Resources<S> {
    /// Adds a resource; see [`Server::resource`](crate::Server::resource).
    ///
    /// # Errors
    /// If there is a resource with that URI.
    pub fn add<F, Fut, O>(&self, resource: impl Into<Resource>, read: F) -> Result<(), SetupError>
    where
        F: Fn(Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ReadOutput,
    {
        self.registry.add(RegisteredResource::new(resource.into(), reader_with_state(&self.state, read))?)?;
        self.subscribers.list_changed(ChangingList::Resources);
        Ok(())
    }

    /// Removes and adds many resources at once: a list has all of it or nothing, and clients are notified once.
    ///
    /// A resource with a URI that is listed already takes the place of the old one. Clients are not notified of that: call
    /// [`Resources::updated`] for those that have subscribed to it.
    ///
    /// # Errors
    /// If one of them has no URI or an invalid scope; then nothing is changed.
    pub fn exchange<F, Fut, O>(
        &self,
        remove: &[String],
        put: impl IntoIterator<Item = (Resource, F)>,
    ) -> Result<(), SetupError>
    where
        F: Fn(Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ReadOutput,
    {
        let put = put
            .into_iter()
            .map(|(resource, read)| RegisteredResource::new(resource, reader_with_state(&self.state, read)));
        let put = put.collect::<Result<Vec<_>, _>>()?;
        if self.registry.exchange(&remove.iter().map(String::as_str).collect(), put)? {
            self.subscribers.list_changed(ChangingList::Resources);
        }
        Ok(())
    }

    /// Puts other resources in place of all there are, in one step: clients are notified once.
    ///
    /// # Errors
    /// If one of them is invalid, or two have one URI; then nothing is changed.
    pub fn replace_all<F, Fut, O>(
        &self,
        resources: impl IntoIterator<Item = (Resource, F)>,
    ) -> Result<(), SetupError>
    where
        F: Fn(Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ReadOutput,
    {
        let all = resources.into_iter();
        let all = all
            .map(|(resource, read)| RegisteredResource::new(resource, reader_with_state(&self.state, read)));
        self.registry.replace_all(all.collect::<Result<Vec<_>, _>>()?)?;
        self.subscribers.list_changed(ChangingList::Resources);
        Ok(())
    }

    /// Puts other resource templates in place of all there are, in one step: clients are notified once that the list of resources
    /// has changed, which is that of templates, too.
    ///
    /// # Errors
    /// If one of them is invalid, or two have one URI template; then nothing is changed.
    pub fn replace_all_templates<A, F, Fut, O>(
        &self,
        templates: impl IntoIterator<Item = (ResourceTemplate, F)>,
    ) -> Result<(), SetupError>
    where
        A: DeserializeOwned + Send + 'static,
        F: Fn(A, Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ReadOutput,
    {
        let all = templates.into_iter();
        let all =
            all.map(|(template, read)| RegisteredTemplate::new(template, with_state(&self.state, read)));
        self.templates.replace_all(all.collect::<Result<Vec<_>, _>>()?)?;
        self.subscribers.list_changed(ChangingList::Resources);
        Ok(())
    }

    /// Removes a resource; false if there is none with that URI.
    #[must_use = "whether there was such a resource"]
    pub fn remove(&self, uri: &str) -> bool {
        let removed = self.registry.remove(uri);
        if removed {
            self.subscribers.list_changed(ChangingList::Resources);
        }
        removed
    }

    /// Notifies clients that the list of resources has changed: after a change of what a template
    /// [lists](crate::server::ResourceTemplate::list). Adding and removing notify them already.
    pub fn list_changed(&self) {
        self.subscribers.list_changed(ChangingList::Resources);
    }

    /// Waits until clients have subscribed to other resources than those that are known, and returns their URIs: for a proxy, which
    /// subscribes to them in turn. The end of a session or of a subscription counts with the next change.
    ///
    /// ```
    /// use std::collections::BTreeSet;
    /// use papertape::server::Resources;
    ///
    /// async fn follow(resources: Resources) {
    ///     let mut watched = BTreeSet::new();
    ///     loop {
    ///         watched = resources.watched(&watched).await;
    ///         println!("{watched:?}");
    ///     }
    /// }
    /// ```
    pub async fn watched(&self, known: &BTreeSet<String>) -> BTreeSet<String> {
        self.subscribers.watched(known).await
    }

    /// Notifies the clients that have subscribed to a resource, listed or of a template, that it has changed.
    pub fn updated(&self, uri: &str) {
        self.subscribers.resource_updated(uri);
    }
}

impl<S> Clone for Resources<S> {
    fn clone(&self) -> Self {
        Self {
            registry: Arc::clone(&self.registry),
            templates: Arc::clone(&self.templates),
            subscribers: Arc::clone(&self.subscribers),
            state: Arc::clone(&self.state),
        }
    }
}

impl<S> fmt::Debug for Resources<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.registry.fmt(f)
    }
}

/// A handle to the prompts of a server. Their handlers get the state that the server had when the handle was taken.
///
/// ```
/// use papertape::{Cx, Server};
///
/// let mut server = Server::new("reviews", "1.0.0");
/// let prompts = server.prompts();
/// // Later, while the server runs:
/// prompts.add("review", async |_: (), _: Cx| Ok("Review this change.")).unwrap();
/// assert!(prompts.remove("review"));
/// ```
pub struct Prompts<S = ()> {
    pub(crate) registry: Arc<Registry<RegisteredPrompt>>,
    pub(crate) subscribers: Arc<Subscribers>,
    pub(crate) state: Arc<S>,
}

impl<S: Send + Sync + 'static> Prompts<S> {
    /// Adds a prompt; see [`Server::prompt`](crate::Server::prompt).
    ///
    /// # Errors
    /// If there is a prompt of that name, or its arguments are not plain values.
    pub fn add<A, F, Fut, O>(&self, prompt: impl Into<Prompt>, fill: F) -> Result<(), SetupError>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: PromptOutput,
    {
        self.registry.add(RegisteredPrompt::new(prompt.into(), with_state(&self.state, fill))?)?;
        self.subscribers.list_changed(ChangingList::Prompts);
        Ok(())
    }

    /// Puts other prompts in place of all there are, in one step: clients are notified once.
    ///
    /// # Errors
    /// If one of them is invalid, or two have one name; then nothing is changed.
    pub fn replace_all<A, F, Fut, O>(
        &self,
        prompts: impl IntoIterator<Item = (Prompt, F)>,
    ) -> Result<(), SetupError>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: PromptOutput,
    {
        let all = prompts.into_iter();
        let all =
            all.map(|(prompt, handler)| RegisteredPrompt::new(prompt, with_state(&self.state, handler)));
        self.registry.replace_all(all.collect::<Result<Vec<_>, _>>()?)?;
        self.subscribers.list_changed(ChangingList::Prompts);
        Ok(())
    }

    /// Removes a prompt; false if there is none of that name.
    #[must_use = "whether there was such a prompt"]
    pub fn remove(&self, name: &str) -> bool {
        let removed = self.registry.remove(name);
        if removed {
            self.subscribers.list_changed(ChangingList::Prompts);
        }
        removed
    }
}

impl<S> Clone for Prompts<S> {
    fn clone(&self) -> Self {
        Self {
            registry: Arc::clone(&self.registry),
            subscribers: Arc::clone(&self.subscribers),
            state: Arc::clone(&self.state),
        }
    }
}

impl<S> fmt::Debug for Prompts<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.registry.fmt(f)
    }
}
