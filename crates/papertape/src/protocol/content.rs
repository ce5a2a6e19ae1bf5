//! Blocks of content: text, images, audio and resources.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::raw_json::RawJson;

/// One block of content.
///
/// ```
/// use papertape::protocol::{Annotations, Content, Role};
///
/// let text = Content::text("A dot:");
/// let image = Content::image(b"\x89PNG..", "image/png").annotated(Annotations::new().audience(Role::User));
/// let link = Content::resource_link("file:///dots/1.svg", "the first dot");
/// assert_eq!(text.as_text(), Some("A dot:"));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text(TextContent),
    /// An image.
    Image(MediaContent),
    /// Audio.
    Audio(MediaContent),
    /// A link to a resource.
    ResourceLink(ResourceLink),
    /// An embedded resource.
    Resource(EmbeddedResource),
    /// A block of an unknown type, which does not make the others unreadable.
    Unknown(UnknownContent),
}

/// A block of an unknown type, as it was received.
#[derive(Debug, Clone, PartialEq)]
pub struct UnknownContent {
    kind: String,
    json: RawJson,
}

impl UnknownContent {
    /// Its `type`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Its JSON.
    #[must_use]
    pub fn json(&self) -> &str {
        self.json.get()
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum Known<'a> {
            Text(&'a TextContent),
            Image(&'a MediaContent),
            Audio(&'a MediaContent),
            ResourceLink(&'a ResourceLink),
            Resource(&'a EmbeddedResource),
        }
        match self {
            Content::Text(block) => Known::Text(block),
            Content::Image(block) => Known::Image(block),
            Content::Audio(block) => Known::Audio(block),
            Content::ResourceLink(block) => Known::ResourceLink(block),
            Content::Resource(block) => Known::Resource(block),
            Content::Unknown(block) => return block.json.serialize(serializer),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Tag {
            #[serde(rename = "type")]
            kind: String,
        }
        fn read<T: DeserializeOwned>(json: &RawJson) -> Result<T, serde_json::Error> {
            json.parse()
        }
        let json = RawJson::deserialize(deserializer)?;
        // Derived code would accept an array, too.
        if !json.is_object() {
            return Err(D::Error::custom("a block of content must be an object"));
        }
        let Tag { kind } = json.parse().map_err(D::Error::custom)?;
        match kind.as_str() {
            "text" => read(&json).map(Content::Text),
            "image" => read(&json).map(Content::Image),
            "audio" => read(&json).map(Content::Audio),
            "resource_link" => read(&json).map(Content::ResourceLink),
            "resource" => read(&json).map(Content::Resource),
            _ => Ok(Content::Unknown(UnknownContent { kind, json })),
        }
        .map_err(D::Error::custom)
    }
}

/// Text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
#[non_exhaustive]
pub struct TextContent {
    /// The text.
    pub text: String,
    /// Annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// An image or audio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
#[non_exhaustive]
pub struct MediaContent {
    /// The data in base64 (standard alphabet).
    pub data: String,
    /// The MIME type, such as `image/png`.
    pub mime_type: String,
    /// Annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// An embedded resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
#[non_exhaustive]
pub struct EmbeddedResource {
    /// The resource.
    pub resource: ResourceContents,
    /// Annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// The contents of a resource: `text` or `blob`.
///
/// ```
/// use papertape::protocol::ResourceContents;
///
/// let text = ResourceContents::text("notes:///tea", "Water the plant.");
/// let bytes = ResourceContents::blob("notes:///tea.png", b"\x89PNG..");
/// assert_eq!(text.text.as_deref(), Some("Water the plant."));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
#[non_exhaustive]
pub struct ResourceContents {
    /// The URI of the resource.
    pub uri: String,
    /// The MIME type, such as `text/markdown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The data of a binary resource, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// Metadata (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// A link to a resource.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
#[non_exhaustive]
pub struct ResourceLink {
    /// The URI.
    pub uri: String,
    /// The name, as an identifier.
    pub name: String,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The MIME type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Icons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Metadata (`_meta`).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// Annotations of content.
///
/// ```
/// use papertape::protocol::{Annotations, Role};
///
/// let hints = Annotations::new().audience(Role::User).priority(0.8).last_modified("2026-07-28T12:00:00Z");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
#[non_exhaustive]
pub struct Annotations {
    /// Who the content is for (`audience`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<Role>,
    /// The importance, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// The time of the last modification (ISO 8601).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// The role of a message to or from a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// An icon of a server, a tool, a prompt or a resource.
///
/// ```
/// use papertape::Server;
/// use papertape::protocol::Icon;
///
/// let server = Server::new("notes", "1.0.0").icon(Icon::new("https://example.com/notes.svg"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
#[non_exhaustive]
pub struct Icon {
    /// An `https:` or `data:` URI.
    pub src: String,
    /// The MIME type, such as `image/png`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The sizes, such as `48x48` or `any`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<String>,
    /// `light` or `dark`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<String>,
}

impl ResourceContents {
    /// The contents of a text resource.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self { uri: uri.into(), text: Some(text.into()), ..Self::default() }
    }

    /// The contents of a binary resource.
    pub fn blob(uri: impl Into<String>, bytes: &[u8]) -> Self {
        Self { uri: uri.into(), blob: Some(base64(bytes)), ..Self::default() }
    }
}

impl Annotations {
    /// No annotations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a role that the content is for.
    #[must_use]
    pub fn audience(mut self, role: Role) -> Self {
        self.audience.push(role);
        self
    }

    /// Sets the importance, from 0 to 1.
    #[must_use]
    pub fn priority(mut self, priority: f64) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Sets the time of the last modification (ISO 8601).
    #[must_use]
    pub fn last_modified(mut self, time: impl Into<String>) -> Self {
        self.last_modified = Some(time.into());
        self
    }
}

impl Icon {
    /// An icon at an `https:` or `data:` URI.
    pub fn new(src: impl Into<String>) -> Self {
        Self { src: src.into(), ..Self::default() }
    }
}

impl Content {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Content::Text(TextContent { text: text.into(), annotations: None, meta: None })
    }

    /// Its text, if it is a text block.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Content::Text(text) => Some(&text.text),
            _ => None,
        }
    }

    /// An image, with its MIME type (`image/png`).
    pub fn image(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Content::Image(MediaContent::new(bytes, mime_type))
    }

    /// Audio, with its MIME type (`audio/wav`).
    pub fn audio(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Content::Audio(MediaContent::new(bytes, mime_type))
    }

    /// A link to a resource.
    pub fn resource_link(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Content::ResourceLink(ResourceLink { uri: uri.into(), name: name.into(), ..ResourceLink::default() })
    }

    /// An embedded text resource.
    pub fn text_resource(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Content::Resource(EmbeddedResource {
            resource: ResourceContents {
                uri: uri.into(),
                mime_type: Some(mime_type.into()),
                text: Some(text.into()),
                ..ResourceContents::default()
            },
            annotations: None,
            meta: None,
        })
    }

    /// An embedded binary resource.
    pub fn blob_resource(uri: impl Into<String>, mime_type: impl Into<String>, bytes: &[u8]) -> Self {
        Content::Resource(EmbeddedResource {
            resource: ResourceContents {
                uri: uri.into(),
                mime_type: Some(mime_type.into()),
                blob: Some(base64(bytes)),
                ..ResourceContents::default()
            },
            annotations: None,
            meta: None,
        })
    }

    /// The same block with annotations. One of an unknown type is not changed.
    #[must_use]
    pub fn annotated(mut self, hints: Annotations) -> Self {
        let slot = match &mut self {
            Content::Text(block) => &mut block.annotations,
            Content::Image(block) | Content::Audio(block) => &mut block.annotations,
            Content::ResourceLink(block) => &mut block.annotations,
            Content::Resource(block) => &mut block.annotations,
            Content::Unknown(_) => return self,
        };
        *slot = Some(hints);
        self
    }
}

impl MediaContent {
    fn new(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Self { data: base64(bytes), mime_type: mime_type.into(), annotations: None, meta: None }
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// Bytes as base64, as JSON has them.
pub(crate) fn base64(bytes: &[u8]) -> String {
    data_encoding::BASE64.encode(bytes)
}
