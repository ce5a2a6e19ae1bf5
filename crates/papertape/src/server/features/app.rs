//! MCP Apps: pages that hosts show for the results of tools.

use std::fmt;

use serde_json::{Map, Value};

use crate::protocol::ResourceContents;
use crate::protocol::apps::{APP_MIME_TYPE, APP_SCHEME, AppMeta, Csp, Permissions, UI, is_page_uri};
use crate::server::features::presentation::presentation_methods;
use crate::server::features::resource::Resource;
use crate::server::handler::error::SetupError;

/// A page that hosts with MCP Apps show for the results of a tool: an HTML document and what it may use.
///
/// The page exchanges JSON-RPC messages with its host by `postMessage`; it gets the arguments and the result of the call, and
/// may call the server's tools through the host.
///
/// ```
/// use papertape::server::{App, Tool};
/// use papertape::{Server, ToolError};
/// use papertape::protocol::Csp;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// /// The weather of a city.
/// #[derive(Deserialize, JsonSchema)]
/// struct Weather { city: String }
///
/// let page = App::new("ui://weather/today", "<!doctype html><title>Weather</title><p id=sky>")
///     .csp(Csp::none().connect("https://weather.example.com"))
///     .prefers_border(true);
/// let server = Server::new("weather", "1.0.0")
///     .app(page)
///     .tool(Tool::new("weather").ui("ui://weather/today"), async |args: Weather, _| {
///         Ok(format!("{}: sunny", args.city))
///     });
/// server.check().unwrap();
/// ```
pub struct App {
    definition: crate::protocol::ResourceDefinition,
    scopes: Vec<String>,
    html: String,
    ui: AppMeta,
}

impl App {
    /// A page with this URI (`ui://…`) and this HTML document.
    ///
    /// The host shows it in a sandbox: scripts and styles within the document work; what it loads from elsewhere must be allowed
    /// with [`App::csp`].
    #[must_use]
    pub fn new(uri: impl Into<String>, html: impl Into<String>) -> Self {
        let definition = Resource::new(uri).mime_type(APP_MIME_TYPE).definition;
        Self { definition, scopes: Vec::new(), html: html.into(), ui: AppMeta::default() }
    }

    presentation_methods!("What it shows.");

    /// Its name for programs.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.definition.name = name.into();
        self
    }

    /// The origins that it may use. Without this, none.
    #[must_use]
    pub fn csp(mut self, csp: Csp) -> Self {
        self.ui.csp = Some(csp);
        self
    }

    /// Requests the camera.
    #[must_use]
    pub fn camera(self) -> Self {
        self.permit(|permissions| permissions.camera = Some(Map::new()))
    }

    /// Requests the microphone.
    #[must_use]
    pub fn microphone(self) -> Self {
        self.permit(|permissions| permissions.microphone = Some(Map::new()))
    }

    /// Requests the position.
    #[must_use]
    pub fn geolocation(self) -> Self {
        self.permit(|permissions| permissions.geolocation = Some(Map::new()))
    }

    /// Requests to write to the clipboard.
    #[must_use]
    pub fn clipboard_write(self) -> Self {
        self.permit(|permissions| permissions.clipboard_write = Some(Map::new()))
    }

    /// The origin of the page, where it needs a stable one. Its format is the host's.
    #[must_use]
    pub fn domain(mut self, domain: impl Into<String>) -> Self {
        self.ui.domain = Some(domain.into());
        self
    }

    /// Whether the host should draw a border and a background. Without this, the host decides.
    #[must_use]
    pub fn prefers_border(mut self, border: bool) -> Self {
        self.ui.prefers_border = Some(border);
        self
    }

    fn permit(mut self, change: impl FnOnce(&mut Permissions)) -> Self {
        change(self.ui.permissions.get_or_insert_default());
        self
    }

    /// The resource and its contents.
    pub(crate) fn into_resource(self) -> Result<(Resource, ResourceContents), SetupError> {
        let Self { mut definition, scopes, html, ui } = self;
        let uri = definition.uri.clone();
        let bad = |problem| SetupError::App { uri: uri.clone(), problem };
        if !is_page_uri(&uri) {
            return Err(bad(format!("its URI must begin with {APP_SCHEME}, such as ui://server/page")));
        }
        if !is_document(&html) {
            return Err(bad("it must be a whole document: its HTML begins with <!doctype html>".to_owned()));
        }
        if let Some(origin) = ui.csp.as_ref().and_then(Csp::invalid) {
            return Err(bad(format!("{origin:?} is not an origin: write one as https://example.com")));
        }
        let meta = ui_meta(&ui);
        if let Some(meta) = meta.clone() {
            definition.meta.get_or_insert_default().extend(meta);
        }
        let contents = ResourceContents {
            uri: uri.clone(),
            mime_type: Some(APP_MIME_TYPE.to_owned()),
            text: Some(html),
            meta,
            ..ResourceContents::default()
        };
        Ok((Resource::from_parts(definition, scopes), contents))
    }
}

/// Whether it says that it is an HTML document. Comments may stand before that.
fn is_document(html: &str) -> bool {
    let mut html = html.trim_start_matches('\u{feff}').trim_start();
    while let Some((_, after)) = html.strip_prefix("<!--").and_then(|comment| comment.split_once("-->")) {
        html = after.trim_start();
    }
    html.get(..15).is_some_and(|start| start.eq_ignore_ascii_case("<!doctype html>"))
}

/// `_meta` with the member `ui`, if it says something.
fn ui_meta(ui: &AppMeta) -> Option<Map<String, Value>> {
    let value = serde_json::to_value(ui).ok().filter(|_| *ui != AppMeta::default())?;
    Some(Map::from_iter([(UI.to_owned(), value)]))
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App")
            .field("definition", &self.definition)
            .field("ui", &self.ui)
            .finish_non_exhaustive()
    }
}
