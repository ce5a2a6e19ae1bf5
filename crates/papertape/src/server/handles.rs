//! Handles to change what a server offers while it runs. Clients are told: legacy ones without asking, modern ones if
//! they listen.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::context::Cx;
use super::error::{SetupError, ToolError};
use super::output::ToolOutput;
use super::prompt::{Prompt, PromptOutput, RegisteredPrompt};
use super::registry::Registry;
use super::resource::{ReadOutput, RegisteredResource, Resource};
use super::tool::{Registered, Tool};

/// A handle to the tools of a server.
#[derive(Clone)]
pub struct Tools {
    pub(super) registry: Arc<Registry<Registered>>,
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

/// A handle to the resources of a server.
#[derive(Clone)]
pub struct Resources {
    pub(super) registry: Arc<Registry<RegisteredResource>>,
}

impl Resources {
    /// Adds a resource; see [`Server::resource`](crate::Server::resource).
    ///
    /// # Errors
    /// If there is a resource with that URI.
    pub fn add<F, Fut, O>(&self, resource: impl Into<Resource>, read: F) -> Result<(), SetupError>
    where
        F: Fn(Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ReadOutput,
    {
        self.registry.add(RegisteredResource::new(resource.into(), read)?)
    }

    /// Removes and adds many resources at once: whoever lists them sees all of it or nothing, and clients are told once.
    ///
    /// A resource whose URI is there already gets its new description in the old one's place. Clients are not told of
    /// that: those who watch it hear by [`Resources::updated`].
    ///
    /// # Errors
    /// If one of them has no URI or asks for a scope that is none; then nothing is done.
    pub fn exchange<F, Fut, O>(
        &self,
        remove: &[String],
        put: impl IntoIterator<Item = (Resource, F)>,
    ) -> Result<(), SetupError>
    where
        F: Fn(Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ReadOutput,
    {
        let put = put.into_iter().map(|(resource, read)| RegisteredResource::new(resource, read));
        let put = put.collect::<Result<Vec<_>, _>>()?;
        self.registry.exchange(&remove.iter().map(String::as_str).collect(), put)
    }

    /// Removes a resource; false if there is none with that URI.
    #[must_use = "tells whether there was such a resource"]
    pub fn remove(&self, uri: &str) -> bool {
        self.registry.remove(uri)
    }

    /// Tells those who watch a resource, listed or made from a template, that it is another now.
    pub fn updated(&self, uri: &str) {
        self.registry.tell(|link| link.resource_updated(uri));
    }
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.registry.fmt(f)
    }
}

/// A handle to the prompts of a server.
#[derive(Clone)]
pub struct Prompts {
    pub(super) registry: Arc<Registry<RegisteredPrompt>>,
}

impl Prompts {
    /// Adds a prompt; see [`Server::prompt`](crate::Server::prompt).
    ///
    /// # Errors
    /// If there is a prompt of that name, or its arguments are no plain values.
    pub fn add<A, F, Fut, O>(&self, prompt: impl Into<Prompt>, fill: F) -> Result<(), SetupError>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: PromptOutput,
    {
        self.registry.add(RegisteredPrompt::new(prompt.into(), fill)?)
    }

    /// Removes a prompt; false if there is none of that name.
    #[must_use = "tells whether there was such a prompt"]
    pub fn remove(&self, name: &str) -> bool {
        self.registry.remove(name)
    }
}

impl fmt::Debug for Prompts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.registry.fmt(f)
    }
}
