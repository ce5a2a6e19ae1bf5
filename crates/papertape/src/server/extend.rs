//! What a server can have beside the features of MCP: methods and notifications of its own, extensions, fallbacks for names that
//! are not registered, and background work.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::protocol::{LogLevel, RawJson, method};
use crate::server::Server;
use crate::server::background::BackgroundWork;
use crate::server::features::fallbacks::Fallbacks;
use crate::server::features::method::{Method, MethodOutput, RegisteredMethod};
use crate::server::features::prompt::{Prompt, PromptOutput, RegisteredPrompt};
use crate::server::features::resource::{ReadOutput, RegisteredResource, Resource};
use crate::server::features::tool::{RegisteredTool, Tool, ToolOutput};
use crate::server::handler::context::{Cx, LogParams, with_state};
use crate::server::handler::error::{SetupError, ToolError};
use crate::server::handler::middleware::Middleware;
use crate::server::session::subscribers::Subscribers;

/// What a server has beside the features of MCP.
#[derive(Debug, Clone, Default)]
pub(crate) struct Custom {
    pub(crate) methods: Methods,
    pub(crate) notifications: Methods,
    /// Declared extensions, with their settings.
    pub(crate) extensions: Map<String, Value>,
    pub(crate) fallbacks: Fallbacks,
    pub(crate) background: BackgroundWork,
}

/// Methods by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Methods(BTreeMap<String, Arc<RegisteredMethod>>);

impl Methods {
    pub(crate) fn find(&self, name: &str) -> Option<Arc<RegisteredMethod>> {
        self.0.get(name).cloned()
    }

    fn add(&mut self, method: RegisteredMethod) -> Result<(), SetupError> {
        let (what, name) = (method.kind, method.name().to_owned());
        match self.0.insert(name.clone(), Arc::new(method)) {
            None => Ok(()),
            Some(_) => Err(SetupError::Duplicate { what, name }),
        }
    }
}

impl Custom {
    /// Adds what a mounted server has, except its fallbacks.
    pub(crate) fn mount(&mut self, other: Custom, middleware: &[Middleware]) -> Result<(), SetupError> {
        for method in other.methods.0.values() {
            self.methods.add(method.mounted(middleware))?;
        }
        for notification in other.notifications.0.values() {
            self.notifications.add(notification.mounted(middleware))?;
        }
        self.extensions.extend(other.extensions);
        self.background.mount(other.background);
        Ok(())
    }
}

impl<S: Send + Sync + 'static> Server<S> {
    /// Adds a method of one's own, or of an extension: a name (or a [`Method`] with scopes) and its handler.
    ///
    /// The handler takes the `params` of the request as a type of its own, or as [`RawJson`]; `_meta` is in [`Cx::meta`]. Clients
    /// call it with [`Client::request`](crate::Client::request).
    ///
    /// ```
    /// use papertape::{Cx, Json, Server, ToolError};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Deserialize)]
    /// struct Rename {
    ///     from: String,
    ///     to: String,
    /// }
    ///
    /// #[derive(Serialize)]
    /// struct Renamed {
    ///     notes: u32,
    /// }
    ///
    /// async fn rename(params: Rename, _: Cx) -> Result<Json<Renamed>, ToolError> {
    ///     Ok(Json(Renamed { notes: u32::from(params.from != params.to) }))
    /// }
    ///
    /// let server = Server::new("notes", "1.0.0").method("com.example/rename", rename);
    /// ```
    #[must_use]
    pub fn method<A, F, Fut, O>(mut self, method: impl Into<Method>, handler: F) -> Self
    where
        A: DeserializeOwned + Send + 'static,
        F: Fn(A, Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: MethodOutput,
    {
        let handler = with_state(&self.state, handler);
        let method = RegisteredMethod::new(RegisteredMethod::METHOD, method.into(), handler);
        let added = method.and_then(|method| self.custom.methods.add(method));
        self.note(added)
    }

    /// Adds a handler of a notification that clients send.
    ///
    /// The notifications of a session are handled one after another, in the order in which they came; when
    /// [`Limits::in_flight`](crate::server::Limits::in_flight) of them wait, more are dropped and logged. What the handler returns
    /// goes to no client; an error is logged. It can elicit no input and has no progress, because nothing responds to it. To notify
    /// clients from there, use a [`Notifier`].
    #[must_use]
    pub fn notification<A, F, Fut>(mut self, notification: impl Into<Method>, handler: F) -> Self
    where
        A: DeserializeOwned + Send + 'static,
        F: Fn(A, Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), ToolError>> + Send + 'static,
    {
        let handler = with_state(&self.state, handler);
        let method = RegisteredMethod::new(RegisteredMethod::NOTIFICATION, notification.into(), handler);
        let added = method.and_then(|method| self.custom.notifications.add(method));
        self.note(added)
    }

    /// Declares an extension with its settings (an object) to clients whose revision has extensions. Its methods are added with
    /// [`Server::method`]; what the client declares is in [`Cx::client_capabilities`].
    ///
    /// ```
    /// let server = papertape::Server::new("notes", "1.0.0")
    ///     .extension("com.example/rename", serde_json::json!({"most": 100}));
    /// ```
    #[must_use]
    pub fn extension(mut self, name: impl Into<String>, settings: Value) -> Self {
        let name = name.into();
        let declared = if settings.is_object() {
            self.custom.extensions.insert(name, settings);
            Ok(())
        } else {
            Err(SetupError::Extension { name })
        };
        self.note(declared)
    }

    /// Adds the handler of tools that are not registered: it takes the name, and the arguments as they came.
    ///
    /// It is called for every principal that may use the server, for it has no scopes: check [`Cx::principal`] where that matters. A
    /// tool that is registered but [hidden](Server::visible) from the principal does not come here, and the rules of
    /// [`Server::visible`] apply to the name that was requested.
    ///
    /// ```
    /// use papertape::{Server, ToolError};
    ///
    /// let server = Server::new("any", "1.0.0").fallback_tool(|name, arguments, _| async move {
    ///     match name.as_str() {
    ///         "echo" => Ok(arguments.get().to_owned()),
    ///         _ => Err(ToolError::refused(format!("there is no tool {name}"))),
    ///     }
    /// });
    /// ```
    #[must_use]
    pub fn fallback_tool<F, Fut, O>(mut self, handler: F) -> Self
    where
        F: Fn(String, RawJson, Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ToolOutput,
    {
        let tool = Tool::new("fallback").unchecked();
        let handler = self.named(handler);
        let tool = RegisteredTool::typed(tool, handler).map(|tool| self.custom.fallbacks.tool = Some(tool));
        self.note(tool)
    }

    /// Adds the handler that reads resources which are not registered and match no template: it takes the URI.
    ///
    /// What [`Server::fallback_tool`] says about principals holds here too.
    #[must_use]
    pub fn fallback_resource<F, Fut, O>(mut self, read: F) -> Self
    where
        F: Fn(String, Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ReadOutput,
    {
        let state = Arc::clone(&self.state);
        let read = move |cx: Cx| {
            let uri = cx.call.feature.uri().unwrap_or_default().to_owned();
            read(uri, cx.with_state(&state))
        };
        let resource = RegisteredResource::new(Resource::new("fallback:"), read);
        let added = resource.map(|resource| self.custom.fallbacks.resource = Some(resource));
        self.note(added)
    }

    /// Adds the handler of prompts that are not registered: it takes the name and the arguments.
    ///
    /// What [`Server::fallback_tool`] says about principals holds here too.
    #[must_use]
    pub fn fallback_prompt<F, Fut, O>(mut self, fill: F) -> Self
    where
        F: Fn(String, BTreeMap<String, String>, Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: PromptOutput,
    {
        let fill = self.named(fill);
        let prompt = RegisteredPrompt::new(Prompt::of_any_arguments(), fill);
        let added = prompt.map(|prompt| self.custom.fallbacks.prompt = Some(prompt));
        self.note(added)
    }

    /// Adds the handler of methods that are neither registered nor MCP's: it takes the method and its params as they came.
    ///
    /// Methods of MCP that this server does not offer are not found, as before. What [`Server::fallback_tool`] says about
    /// principals holds here too.
    #[must_use]
    pub fn fallback_method<F, Fut, O>(mut self, handler: F) -> Self
    where
        F: Fn(String, RawJson, Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: MethodOutput,
    {
        let handler = self.named(handler);
        let method = RegisteredMethod::new(RegisteredMethod::METHOD, Method::new("fallback"), handler);
        let added = method.map(|method| self.custom.fallbacks.method = Some(method));
        self.note(added)
    }

    /// Adds the handler of notifications that are not registered: it takes the name, and the params as they came. It also gets two
    /// of MCP: `notifications/initialized`, with which a session is open, and `notifications/roots/list_changed`.
    ///
    /// What [`Server::notification`] says about order and errors holds here too. From the context of the first of them, input can
    /// be requested as long as the session is open: [`Cx::request`].
    #[must_use]
    pub fn fallback_notification<F, Fut>(mut self, handler: F) -> Self
    where
        F: Fn(String, RawJson, Cx<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), ToolError>> + Send + 'static,
    {
        let handler = self.named(handler);
        let method = RegisteredMethod::new(RegisteredMethod::NOTIFICATION, Method::new("fallback"), handler);
        let added = method.map(|method| self.custom.fallbacks.notification = Some(method));
        self.note(added)
    }

    /// A handler that takes the name of what was requested, with its state.
    fn named<A, F, Fut>(&self, handler: F) -> impl Fn(A, Cx) -> Fut + use<S, A, F, Fut>
    where
        F: Fn(String, A, Cx<S>) -> Fut,
    {
        let state = Arc::clone(&self.state);
        move |arguments, cx: Cx| {
            let name = cx.call.feature.name().to_owned();
            handler(name, arguments, cx.with_state(&state))
        }
    }

    /// Adds work that runs in the background while the server is served: to poll something, or to keep an index up to date. It
    /// takes the state; handles such as [`Tools`](crate::server::Tools) are cloned into it.
    ///
    /// It starts when the server is first served (`http::service`: with the first request), once for all transports and clients,
    /// on the runtime that serves. When the last transport has ended, it is dropped at its next `await`. If the same
    /// [`Service`](crate::server::Service) is served again after that, it starts again. A panic is logged and ends this work
    /// alone.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use std::time::Duration;
    ///
    /// use papertape::Server;
    ///
    /// #[derive(Default)]
    /// struct App {
    ///     minutes: AtomicU64,
    /// }
    ///
    /// let server = Server::new("clock", "1.0.0").with_state(App::default()).background(|app| async move {
    ///     loop {
    ///         tokio::time::sleep(Duration::from_secs(60)).await;
    ///         app.minutes.fetch_add(1, Ordering::Relaxed);
    ///     }
    /// });
    /// ```
    #[must_use]
    pub fn background<F, Fut>(mut self, work: F) -> Self
    where
        F: Fn(Arc<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let state = Arc::clone(&self.state);
        self.custom.background.add(move || work(Arc::clone(&state)));
        self
    }

    /// A handle to send notifications of one's own to all clients.
    #[must_use]
    pub fn notifier(&self) -> Notifier {
        Notifier { subscribers: Arc::clone(&self.subscribers) }
    }
}

/// Sends custom notifications, or those of an extension, to clients: see [`Server::notifier`].
///
/// ```
/// use papertape::Server;
/// use serde_json::json;
///
/// let server = Server::new("editor", "1.0.0");
/// let notifier = server.notifier();
/// // Later, while the server runs:
/// notifier.notify("notifications/com.example/saved", json!({"file": "a.md"})).unwrap();
/// ```
#[derive(Clone)]
pub struct Notifier {
    subscribers: Arc<Subscribers>,
}

impl Notifier {
    /// Notifies all clients with an open session. Those of stateless revisions have none: a handler notifies them while it
    /// serves a request, with [`Cx::notify`].
    ///
    /// A client that does not read what it was sent misses it. On HTTP that is one whose GET stream is not open: 16 KiB wait for
    /// it.
    ///
    /// # Errors
    /// If it is a notification of MCP, or `params` are not an object.
    pub fn notify(&self, method: &str, params: impl Serialize) -> Result<(), ToolError> {
        let params = check(method, &params)?;
        self.subscribers.send(method, &params);
        Ok(())
    }

    /// Sends a log message to all clients with an open session that have requested its level; those of stateless revisions have
    /// none: see [`Cx::log`]. The server must declare logging: [`Server::logging`](crate::Server::logging).
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn log(&self, level: LogLevel, logger: Option<&str>, data: RawJson) -> Result<(), ToolError> {
        let params = RawJson::write(&LogParams { level, logger, data }).map_err(ToolError::internal)?;
        self.subscribers.log(level, &params);
        Ok(())
    }
}

impl fmt::Debug for Notifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notifier").finish_non_exhaustive()
    }
}

impl<S> Cx<S> {
    /// Sends the client a notification of one's own, or of an extension, that belongs to this call: it arrives before the
    /// response, on HTTP with it. After the response nothing is sent, and nothing to a client that does not read.
    ///
    /// ```
    /// fn search(cx: papertape::Cx) -> Result<(), papertape::ToolError> {
    ///     cx.notify("notifications/com.example/found", serde_json::json!({"file": "a.md"}))?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// If it is a notification of MCP, or `params` are not an object.
    pub fn notify(&self, method: &str, params: impl Serialize) -> Result<(), ToolError> {
        let params = check(method, &params)?;
        self.call.session.notify_unless(&self.call.flags.answered, method, &params);
        Ok(())
    }
}

/// The params of a notification, if it can be sent.
fn check(name: &str, params: &impl Serialize) -> Result<RawJson, ToolError> {
    if method::is_standard(name) {
        return Err(ToolError::internal(format!("{name} is MCP's own: the server sends it itself")));
    }
    let params = RawJson::write(params).map_err(ToolError::internal)?;
    if !params.is_object() {
        return Err(ToolError::internal(format!("the params of {name} must be an object")));
    }
    Ok(params)
}
