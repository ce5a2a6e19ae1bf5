//! What a host says about itself in its first message.

use std::io;
use std::slice;

use papertape::Cx;
use papertape::protocol::capabilities::{Abilities, ClientCapabilities, Implementation};
use papertape::wire::frame::PieceKind;
use papertape::wire::{Decoder, Framing};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncReadExt};

/// The longest first message that is waited for.
const LONGEST: usize = 16 * 1024 * 1024;

/// A host: its name, and what a server can request of it.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Host {
    /// Its name and version, if it has sent them.
    pub client: Option<Implementation>,
    /// What a server can request of it.
    pub capabilities: ClientCapabilities,
}

impl Host {
    /// A host of which nothing is known: a server behind the bridge may request anything, and is refused when a host turns out
    /// not to support it.
    #[must_use]
    pub fn any() -> Self {
        let all = Abilities {
            form: true,
            url: true,
            sampling: true,
            sampling_tools: true,
            roots: true,
            ..Abilities::default()
        };
        Self { client: None, capabilities: all.into() }
    }

    /// The host that makes a call.
    pub(crate) fn of_call(cx: &Cx) -> Self {
        Self { client: cx.client().cloned(), capabilities: cx.client_capabilities().clone() }
    }

    /// The host that begins with this message.
    fn of(message: &Value) -> Self {
        let params = message.get("params");
        let meta = |name: &str| params?.get("_meta")?.get(format!("io.modelcontextprotocol/{name}"));
        let opens = message.get("method").and_then(Value::as_str) == Some("initialize");
        let own = |name: &str| params.filter(|_| opens)?.get(name);
        let declared = meta("clientCapabilities").or_else(|| own("capabilities"));
        let client = meta("clientInfo").or_else(|| own("clientInfo"));
        let client = client.and_then(|client| Implementation::deserialize(client).ok());
        let Some(declared) = declared else { return Self { client, ..Self::any() } };
        let mut capabilities = ClientCapabilities::from(Abilities::read(&declared.to_string()));
        let extensions = declared.get("extensions").and_then(Value::as_object);
        let extensions: Map<String, Value> = extensions.cloned().unwrap_or_default();
        capabilities.extensions = (!extensions.is_empty()).then_some(extensions);
        Self { client, capabilities }
    }
}

/// The first message of a host, and all bytes that have been read for it, to be read again by what serves the host.
pub(crate) struct FirstMessage {
    pub(crate) host: Host,
    pub(crate) bytes: Vec<u8>,
    /// How many of them are the message.
    pub(crate) length: usize,
    pub(crate) framing: Framing,
    /// The ids of the requests in it, which are several in a batch.
    pub(crate) ids: Vec<Value>,
    /// What it asks for, if it has no effect, so that it may be made twice.
    pub(crate) handshake: Option<Handshake>,
}

/// How a host opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Handshake {
    /// `initialize` with this revision.
    Initialize(String),
    /// `server/discover` with this revision.
    Discover(String),
    /// A list, requested in a stateless revision without a handshake.
    List,
}

impl Handshake {
    fn of(message: &Value) -> Option<Self> {
        let params = message.get("params")?;
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        match message.get("method")?.as_str()? {
            "initialize" => text(params.get("protocolVersion")).map(Self::Initialize),
            method => {
                let revision = text(params.pointer("/_meta/io.modelcontextprotocol~1protocolVersion"))?;
                match method {
                    "server/discover" => Some(Self::Discover(revision)),
                    "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
                        Some(Self::List)
                    }
                    _ => None,
                }
            }
        }
    }

    /// Whether a server that responds with this result speaks the revision.
    pub(crate) fn is_accepted_by(&self, result: &Value) -> bool {
        match self {
            Self::Initialize(revision) => result.get("protocolVersion") == Some(&revision.as_str().into()),
            Self::Discover(revision) => {
                let supported = result.get("supportedVersions").and_then(Value::as_array);
                supported.is_some_and(|supported| supported.contains(&revision.as_str().into()))
            }
            // Results of older revisions have no such member.
            Self::List => result.get("resultType").is_some(),
        }
    }
}

impl FirstMessage {
    /// Reads up to the end of the first message; `None` if the input ends before.
    pub(crate) async fn read(reader: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Self>> {
        let mut decoder = Decoder::new(LONGEST);
        let (mut bytes, mut length) = (Vec::new(), 0);
        loop {
            let before = bytes.len();
            if reader.read_buf(&mut bytes).await? == 0 {
                // What has no end is not a message, but the host gets the error that it deserves.
                let (host, framing) = (Host::any(), Framing::Line);
                let (length, ids) = (bytes.len(), Vec::new());
                let rest = Self { host, bytes, length, framing, ids, handshake: None };
                return Ok(Some(rest).filter(|rest| rest.length > 0));
            }
            decoder.push(bytes.get(before..).unwrap_or_default());
            while let Some(piece) = decoder.next_piece() {
                length += piece.raw.len();
                let body = match piece.kind {
                    PieceKind::Frame(body) => body,
                    PieceKind::Blank => continue,
                    // What is not a message is refused by what serves the host.
                    PieceKind::Unfinished(_) | PieceKind::Skipped | PieceKind::Broken(_) => b"",
                };
                let message: Value = serde_json::from_slice(body).unwrap_or_default();
                let (host, handshake) = (Host::of(&message), Handshake::of(&message));
                let (framing, ids) = (piece.framing, ids(&message));
                return Ok(Some(Self { host, bytes, length, framing, ids, handshake }));
            }
            // Blank lines are not kept: a host can send any number of them.
            bytes.drain(..length);
            length = 0;
        }
    }
}

/// The ids of the requests in a message or a batch.
fn ids(message: &Value) -> Vec<Value> {
    let members = message.as_array().map_or(slice::from_ref(message), Vec::as_slice);
    let requests = members.iter().filter(|member| member.get("method").is_some());
    let ids = requests.filter_map(|request| request.get("id"));
    ids.filter(|id| id.is_string() || id.is_i64() || id.is_u64()).cloned().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{FirstMessage, Handshake, Host};

    fn declared(message: &Value) -> Value {
        serde_json::to_value(Host::of(message).capabilities).unwrap()
    }

    #[test]
    fn capabilities_are_read_from_either_handshake() {
        let capabilities = json!({"roots": {"listChanged": true}, "extensions": {"com.example/x": {"y": 1}}});
        let client = json!({"name": "host", "version": "2"});
        let params = json!({"capabilities": capabilities, "clientInfo": client});
        let legacy = json!({"id": 1, "method": "initialize", "params": params});
        let meta = json!({
            "io.modelcontextprotocol/clientCapabilities": capabilities,
            "io.modelcontextprotocol/clientInfo": client,
        });
        let modern = json!({"id": 1, "method": "tools/list", "params": {"_meta": meta}});
        for message in [legacy, modern] {
            assert_eq!(declared(&message), json!({"roots": {}, "extensions": {"com.example/x": {"y": 1}}}));
            assert_eq!(Host::of(&message).client.unwrap().name, "host");
        }
        assert_eq!(
            declared(&json!({"id": 1, "method": "ping"}))["elicitation"],
            json!({"form": {}, "url": {}})
        );
    }

    #[test]
    fn a_handshake_is_accepted_in_its_own_revision() {
        let initialize = json!({"method": "initialize", "params": {"protocolVersion": "2025-06-18"}});
        let initialize = Handshake::of(&initialize).unwrap();
        assert!(initialize.is_accepted_by(&json!({"protocolVersion": "2025-06-18"})));
        assert!(!initialize.is_accepted_by(&json!({"protocolVersion": "2024-11-05"})));
        let modern = |method: &str| {
            let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
            Handshake::of(&json!({"method": method, "params": {"_meta": meta}}))
        };
        let discover = modern("server/discover").unwrap();
        assert!(discover.is_accepted_by(&json!({"supportedVersions": ["2026-07-28"]})));
        assert!(!discover.is_accepted_by(&json!({"supportedVersions": ["2025-11-25"]})));
        let list = modern("tools/list").unwrap();
        assert!(list.is_accepted_by(&json!({"resultType": "complete", "tools": []})));
        assert!(!list.is_accepted_by(&json!({"tools": []})));
        // What may have an effect is not tried.
        assert_eq!(modern("tools/call"), None);
        assert_eq!(Handshake::of(&json!({"method": "tools/list", "params": {}})), None);
    }

    #[tokio::test]
    async fn the_first_message_ends_where_its_frame_ends() {
        for input in
            ["{\"id\":7,\"method\":\"ping\"}\n{", "Content-Length: 24\r\n\r\n{\"id\":7,\"method\":\"ping\"}X"]
        {
            let first = FirstMessage::read(&mut input.as_bytes()).await.unwrap().unwrap();
            assert_eq!(first.ids, [json!(7)], "{input}");
            assert_eq!(first.bytes, input.as_bytes());
        }
        assert!(FirstMessage::read(&mut &b""[..]).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn blank_lines_before_the_first_message_are_not_kept() {
        let blank = b"\n \r\n".repeat(100_000);
        let mut input = &[&blank[..], b"{\"id\":7,\"method\":\"ping\"}\n"].concat()[..];
        let first = FirstMessage::read(&mut input).await.unwrap().unwrap();
        assert_eq!(first.ids, [json!(7)]);
        assert!(first.bytes.len() < blank.len() / 2, "{} bytes are kept", first.bytes.len());
        assert!(first.bytes.get(..first.length).unwrap().ends_with(b"\"ping\"}\n"));
    }

    #[tokio::test]
    async fn every_request_of_a_batch_has_an_id() {
        let input = br#"[{"id":1,"method":"a"},{"method":"b"},{"id":"2","method":"c"},{"id":3},{"id":null,"method":"d"},5]"#;
        let first = FirstMessage::read(&mut &[input, &b"\n"[..]].concat()[..]).await.unwrap().unwrap();
        assert_eq!(first.ids, [json!(1), json!("2")]);
    }
}
