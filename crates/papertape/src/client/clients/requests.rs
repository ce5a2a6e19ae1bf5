//! Requests to the server that a name or a URI belongs to.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Clients;
use super::member::Member;
use super::merged::offers_resources;
use crate::client::requests::calling;
use crate::client::{CallOptions, Client, ClientError, ErrorKind};
use crate::protocol::{CallToolResult, PromptResult, RawJson, ResourceContents};
use crate::wire::error::excerpt;

impl Clients {
    /// Calls a tool by its name with the prefix, such as `grammar_conjugate`. The tools need not be listed before.
    ///
    /// # Errors
    /// If no server has a name that the tool's begins with, its server is not connected, or no result arrived.
    pub async fn call(
        &self,
        tool: &str,
        arguments: impl Into<RawJson>,
    ) -> Result<CallToolResult, ClientError> {
        self.call_with(tool, arguments, CallOptions::new()).await
    }

    /// [`Clients::call`] with options.
    ///
    /// # Errors
    /// As [`Clients::call`].
    pub async fn call_with(
        &self,
        tool: &str,
        arguments: impl Into<RawJson>,
        options: CallOptions,
    ) -> Result<CallToolResult, ClientError> {
        let (member, client, name) = self.find_tool(tool).await?;
        let called = client.call_with(&name, arguments, options).await;
        called.map_err(|error| error.of_server(&member.name))
    }

    /// [`Client::call_as`] of a tool by its name with the prefix.
    ///
    /// # Errors
    /// As [`Clients::call`] and [`Client::call_as`].
    pub async fn call_as<T: DeserializeOwned>(
        &self,
        tool: &str,
        arguments: impl Serialize,
    ) -> Result<T, ClientError> {
        self.call_as_with(tool, arguments, CallOptions::new()).await
    }

    /// [`Clients::call_as`] with options.
    ///
    /// # Errors
    /// As [`Clients::call_as`].
    pub async fn call_as_with<T: DeserializeOwned>(
        &self,
        tool: &str,
        arguments: impl Serialize,
        options: CallOptions,
    ) -> Result<T, ClientError> {
        let (member, client, name) = self.find_tool(tool).await?;
        let called = client.call_as_with(&name, arguments, options).await;
        called.map_err(|error| error.of_server(&member.name))
    }

    /// The client of the server that a tool's name begins with, and the name that the tool has there: for what only a
    /// [`Client`] does, such as [`Client::call_task`].
    ///
    /// ```
    /// use papertape::client::Clients;
    /// use papertape::{Server, memory};
    ///
    /// #[tokio::main]
    /// async fn main() -> Result<(), papertape::client::ClientError> {
    ///     let mut clients = Clients::new();
    ///     clients.add("lab", memory::connect(Server::new("lab", "1.0.0")).await?);
    ///     let (client, name) = clients.resolve("lab_report").await?;
    ///     assert_eq!((client.server().name.as_str(), name.as_str()), ("lab", "report"));
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// If no server has a name that the tool's begins with, or its server is not connected. That the server has such a tool is
    /// not checked.
    pub async fn resolve(&self, tool: &str) -> Result<(&Client, String), ClientError> {
        self.find_tool(tool).await.map(|(_, client, name)| (client, name))
    }

    async fn find_tool(&self, tool: &str) -> Result<(&Member, &Client, String), ClientError> {
        let (member, client, local) =
            self.connected("tool", tool).map_err(|kind| ClientError::local(calling(tool), kind))?;
        let name = match member.tools.original(local) {
            Some(name) => name,
            None => {
                // Of this server only: another one that hangs must not delay the call.
                let tools = client.tools().await.map_err(|error| error.of_server(&member.name))?;
                member.prefixed(&member.tools, tools.iter().map(|tool| &*tool.item.name));
                member.tools.original(local).unwrap_or_else(|| local.to_owned())
            }
        };
        Ok((member, client, name))
    }

    /// Gets a prompt by its name with the prefix. The values of arguments are strings.
    ///
    /// # Errors
    /// If no server has a name that the prompt's begins with, its server is not connected, or does not return it.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: impl Into<RawJson>,
    ) -> Result<PromptResult, ClientError> {
        self.prompt_with(name, arguments, CallOptions::new()).await
    }

    /// [`Clients::prompt`] with options.
    ///
    /// # Errors
    /// As [`Clients::prompt`].
    pub async fn prompt_with(
        &self,
        name: &str,
        arguments: impl Into<RawJson>,
        options: CallOptions,
    ) -> Result<PromptResult, ClientError> {
        let operation = || format!("getting the prompt {}", excerpt(name));
        let (member, client, local) =
            self.connected("prompt", name).map_err(|kind| ClientError::local(operation(), kind))?;
        let name = match member.prompts.original(local) {
            Some(name) => name,
            None => {
                let prompts = client.prompts().await.map_err(|error| error.of_server(&member.name))?;
                member.prefixed(&member.prompts, prompts.iter().map(|prompt| &*prompt.item.name));
                member.prompts.original(local).unwrap_or_else(|| local.to_owned())
            }
        };
        let prompt = client.prompt_with(&name, arguments, options).await;
        prompt.map_err(|error| error.of_server(&member.name))
    }

    /// Reads a resource of the first server that lists its URI, else of the first with a template that it matches, else of
    /// the only server that has resources. The lists are requested if none of those known has the URI.
    ///
    /// # Errors
    /// If it cannot be told which server has it, or that does not return it.
    pub async fn read(&self, uri: &str) -> Result<Vec<ResourceContents>, ClientError> {
        self.read_with(uri, CallOptions::new()).await
    }

    /// [`Clients::read`] with options.
    ///
    /// # Errors
    /// As [`Clients::read`].
    pub async fn read_with(
        &self,
        uri: &str,
        options: CallOptions,
    ) -> Result<Vec<ResourceContents>, ClientError> {
        let (member, client) = self
            .owner(uri)
            .await
            .map_err(|kind| ClientError::local(format!("reading the resource {}", excerpt(uri)), kind))?;
        client.read_with(uri, options).await.map_err(|error| error.of_server(&member.name))
    }

    /// The server that a resource is read from.
    async fn owner(&self, uri: &str) -> Result<(&Member, &Client), ErrorKind> {
        let with_resources = || {
            let connected = self.members.iter().filter_map(|member| Some((member, member.client()?)));
            connected.filter(|(_, client)| offers_resources(client))
        };
        let find = || {
            let listed = with_resources().find(|(member, _)| member.lists(uri));
            listed.or_else(|| with_resources().find(|(member, _)| member.has_template_for(uri)))
        };
        if let Some(owner) = find() {
            return Ok(owner);
        }
        if let (Some(only), None) = (with_resources().next(), with_resources().nth(1)) {
            return Ok(only);
        }
        let (resources, templates) = tokio::join!(self.resources(), self.resource_templates());
        find().ok_or_else(|| {
            let names: Vec<String> = with_resources().map(|(member, _)| excerpt(&member.name)).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let failures = resources.failures.iter().chain(&templates.failures);
            let failures: Vec<String> = failures.map(|failure| format!("; {}", failure.error)).collect();
            ErrorKind::NotFound(format!(
                "no server lists it; `Clients::get` gives the client of one to read it of (those with resources: {names}){}",
                failures.concat()
            ))
        })
    }
}
