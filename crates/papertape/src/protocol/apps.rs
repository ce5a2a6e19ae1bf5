//! MCP Apps (extension `io.modelcontextprotocol/ui`, specification 2026-01-26): tools whose results a host shows in an HTML page
//! of the server's. Here are the declarations: `_meta.ui` of a tool and of the page.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::content::{ResourceContents, ResourceLink};
use super::tools::ToolDefinition;

/// The MCP Apps extension.
pub const APPS: &str = "io.modelcontextprotocol/ui";

/// The MIME type of a page.
pub const APP_MIME_TYPE: &str = "text/html;profile=mcp-app";

/// The URI scheme of pages.
pub const APP_SCHEME: &str = "ui://";

/// The member of `_meta`.
pub(crate) const UI: &str = "ui";

/// How `_meta.ui.resourceUri` of a tool was written before the specification was stable.
const OLD_RESOURCE_URI: &str = "ui/resourceUri";

/// How a host shows a page and what the page may use (`_meta.ui` of the resource).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
#[non_exhaustive]
pub struct AppMeta {
    /// The origins that the page may use. Without it, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csp: Option<Csp>,
    /// The browser features that the page requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// The origin of the page, in the format of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Whether the host should draw a border and a background.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefers_border: Option<bool>,
}

/// The origins that a page may use: the host builds its Content Security Policy from them and denies all others.
///
/// ```
/// use papertape::protocol::Csp;
/// let csp = Csp::none().connect("https://api.example.com").resources("https://*.example.com");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
#[non_exhaustive]
pub struct Csp {
    /// Origins of requests (`connect-src`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connect_domains: Vec<String>,
    /// Origins of images, scripts, style sheets, fonts and media.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_domains: Vec<String>,
    /// Origins of nested frames (`frame-src`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frame_domains: Vec<String>,
    /// Origins of the document's base URI (`base-uri`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub base_uri_domains: Vec<String>,
}

impl Csp {
    /// No origins: the page has all that it needs within itself.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// An origin of requests: `fetch`, `XMLHttpRequest`, WebSockets.
    #[must_use]
    pub fn connect(mut self, origin: impl Into<String>) -> Self {
        self.connect_domains.push(origin.into());
        self
    }

    /// An origin of images, scripts, style sheets, fonts and media.
    #[must_use]
    pub fn resources(mut self, origin: impl Into<String>) -> Self {
        self.resource_domains.push(origin.into());
        self
    }

    /// An origin of nested frames.
    #[must_use]
    pub fn frames(mut self, origin: impl Into<String>) -> Self {
        self.frame_domains.push(origin.into());
        self
    }

    /// An origin of the document's base URI.
    #[must_use]
    pub fn base_uri(mut self, origin: impl Into<String>) -> Self {
        self.base_uri_domains.push(origin.into());
        self
    }

    /// The first entry that a host cannot write into a policy: it would end the list of origins, or begin another one.
    pub(crate) fn invalid(&self) -> Option<&str> {
        let lists =
            [&self.connect_domains, &self.resource_domains, &self.frame_domains, &self.base_uri_domains];
        lists.into_iter().flatten().map(String::as_str).find(|origin| !is_origin(origin))
    }
}

/// `scheme://host` with a port or not, as policies write it: a wildcard may stand for the first labels of the host, IP addresses
/// of version 6 cannot be written. No path, and nothing that has a meaning in a policy.
fn is_origin(origin: &str) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    let (host, port) = authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && (host == "*" || host.strip_prefix("*.").unwrap_or(host).split('.').all(is_label))
        && port.is_none_or(|port| port == "*" || is_port(port))
}

/// Browser features that a page requests. A host may deny each of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
#[non_exhaustive]
pub struct Permissions {
    /// The camera.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub camera: Option<Map<String, Value>>,
    /// The microphone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub microphone: Option<Map<String, Value>>,
    /// The position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geolocation: Option<Map<String, Value>>,
    /// Writing to the clipboard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clipboard_write: Option<Map<String, Value>>,
}

/// The page of a tool, and who may call the tool (`_meta.ui` of the tool).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
#[non_exhaustive]
pub struct ToolUi {
    /// The URI of the page that shows its results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_uri: Option<String>,
    /// `model` and `app`: who may call it. Without it, both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Vec<String>>,
}

impl ToolUi {
    /// Whether a host may offer the tool to its model.
    #[must_use]
    pub fn for_model(&self) -> bool {
        self.visible_to("model")
    }

    /// Whether pages of the same server may call the tool.
    #[must_use]
    pub fn for_app(&self) -> bool {
        self.visible_to("app")
    }

    fn visible_to(&self, caller: &str) -> bool {
        self.visibility.as_ref().is_none_or(|visible| visible.iter().any(|to| to == caller))
    }
}

impl ToolDefinition {
    /// Its page and who may call it, if the server says so: for hosts.
    #[must_use]
    pub fn ui(&self) -> Option<ToolUi> {
        let meta = self.meta.as_ref()?;
        let mut ui: ToolUi = read(meta).unwrap_or_default();
        if ui.resource_uri.is_none() {
            ui.resource_uri = meta.get(OLD_RESOURCE_URI).and_then(Value::as_str).map(str::to_owned);
        }
        (ui != ToolUi::default()).then_some(ui)
    }
}

impl ToolDefinition {
    /// Removes what [`ToolDefinition::ui`] reads.
    pub(crate) fn take_ui(&mut self) {
        let Some(meta) = &mut self.meta else { return };
        meta.shift_remove(UI);
        meta.shift_remove(OLD_RESOURCE_URI);
        if meta.is_empty() {
            self.meta = None;
        }
    }
}

impl ResourceContents {
    /// How it is shown and what it may use, if it is a page: for hosts.
    #[must_use]
    pub fn ui(&self) -> Option<AppMeta> {
        read(self.meta.as_ref()?)
    }
}

impl ResourceLink {
    /// How it is shown and what it may use, if it is a page: for hosts. What is read together with the page takes precedence.
    #[must_use]
    pub fn ui(&self) -> Option<AppMeta> {
        read(self.meta.as_ref()?)
    }
}

fn read<T: serde::de::DeserializeOwned>(meta: &Map<String, Value>) -> Option<T> {
    T::deserialize(meta.get(UI)?).ok()
}

/// Whether a URI may be that of a page.
pub(crate) fn is_page_uri(uri: &str) -> bool {
    uri.strip_prefix(APP_SCHEME).is_some_and(|rest| !rest.is_empty())
}

/// What a client declares: the MIME types of the pages that it shows.
pub(crate) fn client_settings() -> Value {
    json!({ "mimeTypes": [APP_MIME_TYPE] })
}

/// Whether the settings that a client declares have the MIME type of our pages.
pub(crate) fn shows_pages(settings: &Value) -> bool {
    let types = settings.get("mimeTypes").and_then(Value::as_array);
    types.is_some_and(|types| types.iter().filter_map(Value::as_str).any(is_page))
}

/// Whether it is the MIME type of a page, in any spelling: `text/html; profile="mcp-app"`.
pub(crate) fn is_page(mime_type: &str) -> bool {
    let plain: String = mime_type.chars().filter(|c| !c.is_whitespace() && *c != '"').collect();
    plain.eq_ignore_ascii_case(APP_MIME_TYPE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_of_a_policy() {
        for origin in
            ["https://example.com", "wss://a.example.com:8443", "https://*.example.com", "http://127.0.0.1:*"]
        {
            assert_eq!(Csp::none().connect(origin).invalid(), None, "{origin}");
        }
        for origin in [
            "",
            "*",
            "example.com",
            "https://",
            "https://a.*.com",
            "https://a..com",
            "https://a:",
            "https://a:b",
            "http://[::1]:80",
            "1://a",
            "https://a b",
            "https://a;script-src",
            "'unsafe-eval'",
            "https://a/b",
        ] {
            assert_eq!(Csp::none().frames(origin).invalid(), Some(origin));
        }
    }

    #[test]
    fn settings_of_a_client() {
        assert!(shows_pages(&client_settings()));
        assert!(shows_pages(&json!({"mimeTypes": ["a/b", "text/html; profile=\"mcp-app\""]})));
        for other in [
            json!({}),
            json!({"mimeTypes": []}),
            json!({"mimeTypes": "text/html;profile=mcp-app"}),
            json!({"mimeTypes": ["text/html", 1]}),
            json!(null),
        ] {
            assert!(!shows_pages(&other), "{other}");
        }
    }

    #[test]
    fn ui_of_a_tool() {
        let tool = |meta: Value| {
            ToolDefinition { meta: meta.as_object().cloned(), ..ToolDefinition::default() }.ui()
        };
        assert_eq!(tool(json!({})), None);
        assert_eq!(tool(json!({"ui": 1})), None);
        let ui = tool(json!({"ui": {"resourceUri": "ui://a"}})).unwrap();
        assert!(ui.for_model() && ui.for_app());
        let ui = tool(json!({"ui": {"visibility": ["app"]}})).unwrap();
        assert!(!ui.for_model() && ui.for_app());
        assert_eq!(tool(json!({"ui/resourceUri": "ui://b"})).unwrap().resource_uri.unwrap(), "ui://b");
    }

    #[test]
    fn a_tool_without_its_ui() {
        let without = |meta: Value| {
            let mut tool = ToolDefinition { meta: meta.as_object().cloned(), ..ToolDefinition::default() };
            tool.take_ui();
            tool.meta.map(Value::Object)
        };
        let ui = json!({"resourceUri": "ui://a"});
        assert_eq!(without(json!({"ui": ui, "ui/resourceUri": "ui://a"})), None);
        assert_eq!(without(json!({"ui": ui, "a/b": 1})), Some(json!({"a/b": 1})));
    }
}
