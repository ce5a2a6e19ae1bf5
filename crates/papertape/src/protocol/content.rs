//! What tools give back to read, see and hear.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::raw_json::RawJson;

/// One block of content.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Text.
    Text(TextContent),
    /// A picture.
    Image(MediaContent),
    /// A sound.
    Audio(MediaContent),
    /// Where to find a resource.
    ResourceLink(ResourceLink),
    /// A resource itself.
    Resource(EmbeddedResource),
    /// A block of a type that this version does not know, so that it does not lose those beside it.
    Unknown(UnknownContent),
}

/// A block of a type that this version does not know, as it came.
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

    /// The whole block.
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
        // Derived code would take an array too.
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

/// Text, for a person or a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct TextContent {
    /// The text.
    pub text: String,
    /// Hints about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Anything else.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// A picture or a sound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub struct MediaContent {
    /// The bytes in base64 (standard alphabet).
    pub data: String,
    /// What they are, such as `image/png`.
    pub mime_type: String,
    /// Hints about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Anything else.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// A resource within a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct EmbeddedResource {
    /// The resource.
    pub resource: ResourceContents,
    /// Hints about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Anything else.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// What a resource holds: `text` or `blob`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub struct ResourceContents {
    /// Which resource it is.
    pub uri: String,
    /// What it holds, such as `text/markdown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The text of a text resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes of any other, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// Anything else.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// Where to find a resource, and what it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub struct ResourceLink {
    /// Where.
    pub uri: String,
    /// For programs.
    pub name: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Pictures of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Hints about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
    /// Anything else.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// Hints about content.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub struct Annotations {
    /// Whom it is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<Role>,
    /// How much it matters, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// When it was last changed (ISO 8601).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// A side of a conversation with a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// A picture of a server, a tool or a resource.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub struct Icon {
    /// An `https:` or `data:` URI.
    pub src: String,
    /// What it is, such as `image/png`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Such as `48x48` or `any`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<String>,
    /// `light` or `dark`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<String>,
}

impl Content {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Content::Text(TextContent { text: text.into(), annotations: None, meta: None })
    }

    /// A picture: bytes and what they are (`image/png`).
    pub fn image(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Content::Image(MediaContent::new(bytes, mime_type))
    }

    /// A sound: bytes and what they are (`audio/wav`).
    pub fn audio(bytes: &[u8], mime_type: impl Into<String>) -> Self {
        Content::Audio(MediaContent::new(bytes, mime_type))
    }

    /// Where to find a resource.
    pub fn resource_link(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Content::ResourceLink(ResourceLink { uri: uri.into(), name: name.into(), ..ResourceLink::default() })
    }

    /// A resource that is text.
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

    /// A resource that is bytes.
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

    /// The same block with hints. One of an unknown type stays as it is.
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

/// Bytes as they stand in JSON.
pub(crate) fn base64(bytes: &[u8]) -> String {
    data_encoding::BASE64.encode(bytes)
}
