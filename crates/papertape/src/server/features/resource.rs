//! Resources and resource templates.

use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::protocol::apps;
use crate::protocol::content::{Annotations, ResourceContents, base64};
use crate::protocol::project::{CacheHint, CacheScope};
use crate::protocol::{self, Completion, Revision, project};
use crate::server::catalog::registry::{ForApps, Listed};
use crate::server::features::completion::{Completers, CompletionRequest};
use crate::server::features::presentation::presentation_methods;
use crate::server::features::text_values;
use crate::server::features::uri_template::UriTemplate;
use crate::server::handler::context::Cx;
use crate::server::handler::error::{SetupError, ToolError};
use crate::server::handler::middleware::{self, Middleware};
use crate::server::pipeline::run::{Output, Pace, Run};

/// A resource: its URI, name, media type and scopes. A plain URI is often enough.
///
/// ```
/// use papertape::server::Resource;
/// let resource = Resource::new("grammar://table").name("table").mime_type("text/markdown");
/// ```
pub struct Resource {
    pub(crate) definition: protocol::ResourceDefinition,
    cache: Option<CacheHint>,
    scopes: Vec<String>,
}

impl Resource {
    /// A resource with that URI, which is also its name until [`Resource::name`] sets one.
    pub fn new(uri: impl Into<String>) -> Self {
        let uri = uri.into();
        let definition = protocol::ResourceDefinition {
            name: uri.clone(),
            uri,
            ..protocol::ResourceDefinition::default()
        };
        Self { definition, cache: None, scopes: Vec::new() }
    }

    /// A resource that is defined already.
    pub(crate) fn from_parts(definition: protocol::ResourceDefinition, scopes: Vec<String>) -> Self {
        Self { definition, cache: None, scopes }
    }

    presentation_methods!("What it is.");

    /// Its name for programs.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.definition.name = name.into();
        self
    }

    /// Its media type, such as `text/markdown`.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.definition.mime_type = Some(mime_type.into());
        self
    }

    /// Its size in bytes.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.definition.size = Some(bytes);
        self
    }

    /// How long clients may cache what they have read, and whether caches may be shared. By default it is not cached.
    #[must_use]
    pub fn cache(mut self, time: Duration, scope: CacheScope) -> Self {
        self.cache = Some(CacheHint::new(time, scope));
        self
    }

    /// Hints about it.
    #[must_use]
    pub fn annotations(mut self, hints: Annotations) -> Self {
        self.definition.annotations = Some(hints);
        self
    }
}

/// A resource that is defined already: by another server, for example.
impl From<protocol::ResourceDefinition> for Resource {
    fn from(definition: protocol::ResourceDefinition) -> Self {
        Self::from_parts(definition, Vec::new())
    }
}

impl From<&str> for Resource {
    fn from(uri: &str) -> Self {
        Self::new(uri)
    }
}

impl From<String> for Resource {
    fn from(uri: String) -> Self {
        Self::new(uri)
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.definition.fmt(f)
    }
}

/// A resource template (RFC 6570): the resources whose URIs match it.
///
/// A value may hold anything once it is decoded, also `../`: `%2F` is a slash. Never join one to a path unchecked.
///
/// Supported are `{x}` (written without a slash), `{x,y}`, `{+path}` (slashes and all), `{/x}`, `{.x}`, `{#x}` and `{?x,y}`.
///
/// ```
/// use papertape::server::ResourceTemplate;
/// let template = ResourceTemplate::new("grammar://verb/{verb}")
///     .complete("verb", |so_far| async move {
///         Ok(["eat", "go"].into_iter().filter(|verb| verb.starts_with(&so_far.value)).map(str::to_owned).collect())
///     });
/// ```
pub struct ResourceTemplate {
    definition: protocol::ResourceTemplateDefinition,
    cache: Option<CacheHint>,
    completers: Completers,
    scopes: Vec<String>,
    list: Option<Arc<ListResources>>,
}

/// Lists resources of a template.
type ListResources =
    dyn Fn(Cx) -> Pin<Box<dyn Future<Output = Result<Vec<Resource>, ToolError>> + Send>> + Send + Sync;

impl ResourceTemplate {
    /// A template, which is also its name until [`ResourceTemplate::name`] sets one.
    pub fn new(template: impl Into<String>) -> Self {
        let template = template.into();
        let definition = protocol::ResourceTemplateDefinition {
            name: template.clone(),
            uri_template: template,
            ..protocol::ResourceTemplateDefinition::default()
        };
        Self { definition, cache: None, completers: Completers::default(), scopes: Vec::new(), list: None }
    }

    presentation_methods!("What the resources are.");

    /// The handler that lists the resources of the template there are, which clients see among all others in `resources/list`.
    ///
    /// It runs for each page of that list. At most 10,000 resources are listed; those that the template does not match are left
    /// out, and so is what is registered by itself. The resources have the scopes of the template, which alone count when they are
    /// read; the rules of [`Server::visible`](crate::Server::visible) apply to their URIs in the list, when they are read, and to
    /// subscriptions. A rule sees a URI without needless percent-encoding (`%61` is `a`), so that it decides about all its
    /// spellings at once.
    ///
    /// Its [`Cx`] has the principal, but no state: move a clone of the `Arc` into it that
    /// [`Server::with_shared_state`](crate::Server::with_shared_state) gets.
    ///
    /// ```
    /// use papertape::server::{Resource, ResourceTemplate};
    /// let template = ResourceTemplate::new("grammar://verb/{verb}").mime_type("text/markdown").list(|_| async {
    ///     let resource = |verb: &str| Resource::new(format!("grammar://verb/{verb}")).name(verb);
    ///     Ok(["eat", "go"].into_iter().map(resource).collect())
    /// });
    /// ```
    #[must_use]
    pub fn list<F, Fut>(mut self, list: F) -> Self
    where
        F: Fn(Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<Resource>, ToolError>> + Send + 'static,
    {
        self.list = Some(Arc::new(move |cx| Box::pin(list(cx))));
        self
    }

    /// Its name for programs.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.definition.name = name.into();
        self
    }

    /// The media type of all of them, such as `text/markdown`.
    #[must_use]
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.definition.mime_type = Some(mime_type.into());
        self
    }

    /// How long clients may cache what they have read, and whether caches may be shared. By default it is not cached.
    #[must_use]
    pub fn cache(mut self, time: Duration, scope: CacheScope) -> Self {
        self.cache = Some(CacheHint::new(time, scope));
        self
    }

    /// Hints about them.
    #[must_use]
    pub fn annotations(mut self, hints: Annotations) -> Self {
        self.definition.annotations = Some(hints);
        self
    }

    /// The handler that completes the values of a variable.
    #[must_use]
    pub fn complete<F, Fut>(mut self, variable: impl Into<String>, complete: F) -> Self
    where
        F: Fn(CompletionRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<String>, ToolError>> + Send + 'static,
    {
        self.completers.add(variable.into(), complete);
        self
    }

    /// The same with a handler that gives the result as it goes to the client, with the total of values.
    #[must_use]
    pub fn complete_raw<F, Fut>(mut self, variable: impl Into<String>, complete: F) -> Self
    where
        F: Fn(CompletionRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Completion, ToolError>> + Send + 'static,
    {
        self.completers.add_raw(variable.into(), complete);
        self
    }
}

/// A template that is defined already: by another server, for example.
impl From<protocol::ResourceTemplateDefinition> for ResourceTemplate {
    fn from(definition: protocol::ResourceTemplateDefinition) -> Self {
        Self { definition, cache: None, completers: Completers::default(), scopes: Vec::new(), list: None }
    }
}

impl From<&str> for ResourceTemplate {
    fn from(template: &str) -> Self {
        Self::new(template)
    }
}

impl fmt::Debug for ResourceTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.definition.fmt(f)
    }
}

/// What the handler of a resource can return: text, bytes, or contents made by hand.
#[diagnostic::on_unimplemented(
    message = "the handler of a resource cannot return `{Self}`",
    label = "this handler returns `{Self}`",
    note = "return text (`String`), bytes (`Vec<u8>`), or `ResourceContents`"
)]
pub trait ReadOutput: Send + 'static {
    /// The contents as they go to the client. `uri` is what was requested, `mime_type` what the resource says it holds.
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Vec<ResourceContents>;
}

impl ReadOutput for String {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Vec<ResourceContents> {
        vec![ResourceContents { text: Some(self), ..contents(uri, mime_type) }]
    }
}

impl ReadOutput for &'static str {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Vec<ResourceContents> {
        self.to_owned().into_contents(uri, mime_type)
    }
}

/// Bytes.
impl ReadOutput for Vec<u8> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Vec<ResourceContents> {
        vec![ResourceContents { blob: Some(base64(&self)), ..contents(uri, mime_type) }]
    }
}

impl ReadOutput for ResourceContents {
    fn into_contents(self, _: &str, _: Option<&str>) -> Vec<ResourceContents> {
        vec![self]
    }
}

impl ReadOutput for Vec<ResourceContents> {
    fn into_contents(self, _: &str, _: Option<&str>) -> Vec<ResourceContents> {
        self
    }
}

fn contents(uri: &str, mime_type: Option<&str>) -> ResourceContents {
    ResourceContents {
        uri: uri.to_owned(),
        mime_type: mime_type.map(str::to_owned),
        ..ResourceContents::default()
    }
}

/// A resource ready to be read.
#[derive(Clone)]
pub(crate) struct RegisteredResource {
    definition: protocol::ResourceDefinition,
    cache: Option<CacheHint>,
    scopes: Vec<String>,
    /// The middleware of the servers that it was mounted with.
    pub(crate) middleware: Vec<Middleware>,
    read: Arc<dyn Fn(Cx) -> Run + Send + Sync>,
    pace: Arc<Pace>,
}

impl RegisteredResource {
    pub(crate) fn new<F, Fut, O>(resource: Resource, read: F) -> Result<Self, SetupError>
    where
        F: Fn(Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ReadOutput,
    {
        let Resource { definition, cache, scopes } = resource;
        if definition.uri.is_empty() {
            return Err(SetupError::EmptyName { what: Self::KIND });
        }
        let mime_type = definition.mime_type.clone();
        let read = Arc::new(read);
        let read = Arc::new(move |cx: Cx| -> Run {
            let (read, mime_type, call) = (Arc::clone(&read), mime_type.clone(), Arc::clone(&cx.call));
            // All of the author's code runs within the call, where it is timed and its panics are caught.
            Box::pin(async move {
                let uri = call.feature.uri().unwrap_or_default();
                Ok(Output::Read(read(cx).await?.into_contents(uri, mime_type.as_deref())))
            })
        });
        Ok(Self { definition, cache, scopes, middleware: Vec::new(), read, pace: Arc::default() })
    }

    /// Whether it is a page of MCP Apps.
    pub(crate) fn is_page(&self) -> bool {
        self.definition.mime_type.as_deref().is_some_and(apps::is_page)
    }

    pub(crate) fn cache(&self) -> Option<CacheHint> {
        self.cache
    }

    /// The same within a server with middleware of its own.
    pub(crate) fn mounted(&self, middleware: &[Middleware]) -> Self {
        Self { middleware: middleware::mounted(middleware, &self.middleware), ..self.clone() }
    }

    /// The same with another URI.
    pub(crate) fn at(&self, uri: &str) -> Self {
        let mut other = self.clone();
        other.definition.uri = uri.to_owned();
        other
    }

    pub(crate) fn pace(&self) -> &Pace {
        &self.pace
    }

    pub(crate) fn read(&self, cx: Cx) -> Run {
        (self.read)(cx)
    }
}

impl Listed for RegisteredResource {
    type Definition = protocol::ResourceDefinition;
    const KIND: &'static str = "resource";
    const LIST: &'static str = "resources";

    fn key(&self) -> &str {
        &self.definition.uri
    }

    fn for_apps(&self) -> ForApps {
        if self.is_page() { ForApps::Only } else { ForApps::Same }
    }

    fn definition(&self, revision: Revision) -> protocol::ResourceDefinition {
        project::resource(self.definition.clone(), revision)
    }

    fn scopes(&self) -> &[String] {
        &self.scopes
    }
}

impl fmt::Debug for RegisteredResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.definition.fmt(f)
    }
}

type ReadTemplate = dyn Fn(String, &BTreeMap<String, String>, Cx) -> Result<Run, String> + Send + Sync;

/// A template ready to be read.
#[derive(Clone)]
pub(crate) struct RegisteredTemplate {
    definition: protocol::ResourceTemplateDefinition,
    cache: Option<CacheHint>,
    scopes: Vec<String>,
    /// The middleware of the servers that it was mounted with.
    pub(crate) middleware: Vec<Middleware>,
    template: Arc<UriTemplate>,
    pub(crate) completers: Completers,
    list: Option<Arc<ListResources>>,
    read: Arc<ReadTemplate>,
    pace: Arc<Pace>,
}

impl RegisteredTemplate {
    pub(crate) fn new<A, F, Fut, O>(template: ResourceTemplate, read: F) -> Result<Self, SetupError>
    where
        A: DeserializeOwned + Send + 'static,
        F: Fn(A, Cx) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
        O: ReadOutput,
    {
        let ResourceTemplate { definition, cache, completers, scopes, list } = template;
        let bad = |problem| SetupError::Template { template: definition.uri_template.clone(), problem };
        let template = UriTemplate::parse(&definition.uri_template).map_err(bad)?;
        if let Some(name) = completers.names().find(|name| !template.names().any(|known| known == *name)) {
            return Err(bad(format!("{name:?} is completed, but is not one of its variables")));
        }
        let mime_type = definition.mime_type.clone();
        let read = Arc::new(read);
        let read = Arc::new(move |uri: String, values: &BTreeMap<String, String>, cx: Cx| {
            let values: A = text_values::read(values)?;
            let (read, mime_type) = (Arc::clone(&read), mime_type.clone());
            let run: Run = Box::pin(async move {
                Ok(Output::Read(read(values, cx).await?.into_contents(&uri, mime_type.as_deref())))
            });
            Ok(run)
        });
        Ok(Self {
            definition,
            cache,
            scopes,
            middleware: Vec::new(),
            template: Arc::new(template),
            completers,
            list,
            read,
            pace: Arc::default(),
        })
    }

    pub(crate) fn cache(&self) -> Option<CacheHint> {
        self.cache
    }

    /// The same within a server with middleware of its own.
    pub(crate) fn mounted(&self, middleware: &[Middleware]) -> Self {
        Self { middleware: middleware::mounted(middleware, &self.middleware), ..self.clone() }
    }

    pub(crate) fn pace(&self) -> &Pace {
        &self.pace
    }

    /// Whether it lists its resources.
    pub(crate) fn has_list(&self) -> bool {
        self.list.is_some()
    }

    /// The resources that it lists, as items of that list.
    pub(crate) async fn list(&self, cx: Cx, most: usize) -> Result<Vec<RegisteredResource>, ToolError> {
        let Some(list) = &self.list else { return Ok(Vec::new()) };
        let mut listed = list(cx).await?;
        if listed.len() > most {
            let template = self.key();
            tracing::warn!(template, most, "a template lists more resources than can be listed");
            listed.truncate(most);
        }
        let matching = listed.into_iter().filter(|resource| {
            let matches = self.match_uri(&resource.definition.uri).is_some();
            if !matches {
                tracing::warn!(
                    template = self.key(),
                    uri = resource.definition.uri,
                    "a template lists what it does not match"
                );
            }
            matches
        });
        Ok(matching.map(|resource| self.listed(resource)).collect())
    }

    /// A resource that is only listed: it is read by this template.
    fn listed(&self, resource: Resource) -> RegisteredResource {
        let Resource { mut definition, cache, mut scopes } = resource;
        definition.mime_type = definition.mime_type.or_else(|| self.definition.mime_type.clone());
        scopes.extend_from_slice(&self.scopes);
        let read =
            Arc::new(|_| -> Run { Box::pin(ready(Err(ToolError::refused("it is read by its template")))) });
        RegisteredResource { definition, cache, scopes, middleware: Vec::new(), read, pace: Arc::default() }
    }

    /// The values of the variables, if the URI matches.
    pub(crate) fn match_uri(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        self.template.match_uri(uri)
    }

    /// The URI as rules of [`Server::visible`](crate::Server::visible) see it, if it matches.
    pub(crate) fn usual_uri(&self, uri: &str) -> Option<String> {
        self.template.usual_uri(uri)
    }

    pub(crate) fn read(&self, uri: String, values: &BTreeMap<String, String>, cx: Cx) -> Result<Run, String> {
        (self.read)(uri, values, cx)
    }
}

impl Listed for RegisteredTemplate {
    type Definition = protocol::ResourceTemplateDefinition;
    const KIND: &'static str = "resource template";
    const LIST: &'static str = "resourceTemplates";

    fn key(&self) -> &str {
        &self.definition.uri_template
    }

    fn definition(&self, revision: Revision) -> protocol::ResourceTemplateDefinition {
        project::resource_template(self.definition.clone(), revision)
    }

    fn scopes(&self) -> &[String] {
        &self.scopes
    }
}

impl fmt::Debug for RegisteredTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.definition.fmt(f)
    }
}
