//! A server on a real socket, and a client that sends any request.

use std::sync::Arc;

use http::HeaderMap;
use papertape::http::{Auth, HttpService, Keys, NewKey, OAuthServer, Options, serve_until, service_with};
use papertape::server::{Form, Prompt, PromptOutput, Resource, ResourceTemplate, Tool};
use papertape::{Cx, Server, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use papertape_testing::oauth::RESOURCE;
use papertape_testing::oauth::StubIssuer;
use papertape_testing::oauth::{TokenSigner, claims_with};

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";

#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) origin: String,
    client: reqwest::Client,
    _stop: Arc<oneshot::Sender<()>>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// The message, or null.
    pub(crate) body: Value,
}

#[derive(Deserialize, JsonSchema)]
struct Colour {
    colour: String,
}

#[derive(Deserialize, JsonSchema)]
struct Topic {
    topic: String,
}

async fn whoami(_: (), cx: Cx) -> Result<String, ToolError> {
    Ok(cx.principal().map(|principal| principal.name.clone()).unwrap_or_default())
}

async fn tenant(_: (), cx: Cx) -> Result<String, ToolError> {
    Ok(cx.principal().map(|principal| principal.claims()["tenant"].to_string()).unwrap_or_default())
}

async fn ask(_: (), cx: Cx) -> Result<String, ToolError> {
    let answer = cx.ask("colour", Form::<Colour>::new("Which colour?"))?.accepted();
    Ok(answer.map(|answer| answer.colour).unwrap_or_default())
}

/// Says that it has begun, and never ends.
async fn endless(_: (), cx: Cx) -> Result<String, ToolError> {
    cx.progress(1.0, None, "begun");
    std::future::pending().await
}

async fn prompt(topic: Topic, _: Cx) -> Result<impl PromptOutput, ToolError> {
    Ok(topic.topic)
}

fn server() -> Server {
    let tool = |name: &str| Tool::new(name).description("For tests.");
    let mut server = Server::new("notes", "1.0.0")
        .tool(tool("whoami"), whoami)
        .tool(tool("tenant"), tenant)
        .tool(tool("ask"), ask)
        .tool(tool("endless"), endless)
        .tool(tool("long").long_running(), whoami)
        .tool(tool("endless_task").long_running(), endless)
        .tool(tool("write").scopes(["notes:read", "notes:write"]), whoami)
        .resource(Resource::new("notes://all").scopes(["notes:read"]), |_| async { Ok("all".to_owned()) })
        .resource_template(
            ResourceTemplate::new("notes://one/{topic}")
                .scopes(["notes:read"])
                .complete("topic", |_| async { Ok(vec!["secret".to_owned()]) }),
            |topic: Topic, _| async move { Ok(topic.topic) },
        )
        .prompt(
            Prompt::new("sum")
                .scopes(["notes:read"])
                .complete("topic", |_| async { Ok(vec!["secret".to_owned()]) }),
            prompt,
        );
    drop(server.resources());
    server
}

impl Site {
    pub(crate) async fn start(auth: Auth) -> Self {
        Self::with(Options::new().auth(auth).health().legacy_sse()).await
    }

    pub(crate) async fn with(options: Options) -> Self {
        Self::serving(server(), options).await
    }

    pub(crate) async fn serving(server: Server, options: Options) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(async move {
            serve_until(listener, server, options, async move { drop(stopped.await) }).await.unwrap();
        });
        Self { origin, client: reqwest::Client::builder().no_proxy().build().unwrap(), _stop: Arc::new(stop) }
    }

    /// The server mounted in an application of axum.
    pub(crate) async fn mounted(options: Options, mount: impl FnOnce(HttpService) -> axum::Router) -> Self {
        let app = mount(service_with(server(), options).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(async move {
            let serving = axum::serve(listener, app);
            serving.with_graceful_shutdown(async move { drop(stopped.await) }).await.unwrap();
        });
        Self { origin, client: reqwest::Client::builder().no_proxy().build().unwrap(), _stop: Arc::new(stop) }
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let request = self.client.request(method.parse().unwrap(), format!("{}{path}", self.origin));
        request
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
    }

    /// A stateless request, with a token if that is not empty.
    pub(crate) async fn ask(&self, token: &str, method: &str, params: Value) -> Reply {
        send(self.asking(token, method, params)).await
    }

    /// The same, to be sent.
    pub(crate) fn asking(&self, token: &str, method: &str, mut params: Value) -> reqwest::RequestBuilder {
        params["_meta"] = json!({
            "progressToken": 1,
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {
                "elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}},
            },
        });
        let mut request =
            self.request("POST", "/mcp").header("mcp-protocol-version", MODERN).header("mcp-method", method);
        if let Some(name) = ["name", "uri", "taskId"].iter().find_map(|name| params[name].as_str()) {
            request = request.header("mcp-name", name);
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        with_token(request, token).body(body.to_string())
    }

    pub(crate) async fn call(&self, token: &str, tool: &str) -> Reply {
        self.ask(token, "tools/call", json!({"name": tool, "arguments": {}})).await
    }

    /// A message of a session.
    pub(crate) async fn say(&self, token: &str, session: &str, message: &Value) -> Reply {
        send(self.saying(token, session, message)).await
    }

    /// The same, to be sent.
    pub(crate) fn saying(&self, token: &str, session: &str, message: &Value) -> reqwest::RequestBuilder {
        let mut request = self.request("POST", "/mcp");
        if !session.is_empty() {
            request = request.header("mcp-session-id", session).header("mcp-protocol-version", LEGACY);
        }
        with_token(request, token).body(message.to_string())
    }

    /// Opens a session and returns its id.
    pub(crate) async fn open(&self, token: &str) -> String {
        let params = json!({
            "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        });
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let reply = self.say(token, "", &message).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        let session = reply.headers["mcp-session-id"].to_str().unwrap().to_owned();
        let opened = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.say(token, &session, &opened).await.status, 202);
        session
    }

    pub(crate) async fn call_within(&self, token: &str, session: &str, tool: &str) -> Reply {
        let params = json!({"name": tool, "arguments": {}});
        self.say(
            token,
            session,
            &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}),
        )
        .await
    }
}

pub(crate) fn with_token(request: reqwest::RequestBuilder, token: &str) -> reqwest::RequestBuilder {
    if token.is_empty() { request } else { request.header("authorization", format!("Bearer {token}")) }
}

pub(crate) async fn send(request: reqwest::RequestBuilder) -> Reply {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.unwrap();
    // Of a stream, the last message.
    let last = text.lines().filter_map(|line| line.strip_prefix("data:")).next_back().unwrap_or(&text);
    Reply { status, headers, body: serde_json::from_str(last.trim()).unwrap_or_default() }
}

impl Reply {
    /// The challenge of a response with this status.
    #[track_caller]
    pub(crate) fn challenge(&self, status: u16) -> &str {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.headers.get_all("www-authenticate").iter().count(), 1, "{self:?}");
        self.headers["www-authenticate"].to_str().unwrap()
    }

    /// The text that a tool has given.
    #[track_caller]
    pub(crate) fn text(&self) -> &str {
        assert_eq!(self.status, 200, "{self:?}");
        self.body["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{self:?}"))
    }
}

/// A key with some scopes, and a server that it opens.
pub(crate) async fn keyed(names: &[(&str, &[&str])]) -> (Site, Vec<String>) {
    let keys: Vec<NewKey> = names.iter().map(|(name, scopes)| key(name, scopes)).collect();
    let text: String = keys.iter().map(NewKey::entry).collect();
    let auth = Auth::new().keys(Keys::parse(&text).unwrap());
    (Site::start(auth).await, keys.iter().map(|key| key.secret().to_owned()).collect())
}

pub(crate) fn key(name: &str, scopes: &[&str]) -> NewKey {
    NewKey::generate(name, scopes.iter().map(|scope| (*scope).to_owned()), None).unwrap()
}

/// An issuer, and a server that trusts it.
pub(crate) struct Trusting {
    pub(crate) site: Site,
    pub(crate) issuer: StubIssuer,
    pub(crate) signer: TokenSigner,
}

impl Trusting {
    pub(crate) async fn start(change: impl FnOnce(Auth) -> Auth) -> Self {
        Self::start_with(change, |oauth| oauth).await
    }

    pub(crate) async fn start_with(
        change: impl FnOnce(Auth) -> Auth,
        server: impl FnOnce(OAuthServer) -> OAuthServer,
    ) -> Self {
        let (issuer, signer) = (StubIssuer::start().await, TokenSigner::es256(1));
        issuer.publish(&[&signer]);
        let oauth = OAuthServer::new(RESOURCE).issuer_with_keys(issuer.name(), issuer.jwks_url());
        let site = Site::start(change(Auth::new().oauth(server(oauth)))).await;
        Self { site, issuer, signer }
    }

    /// A token of a subject, with some scopes.
    pub(crate) fn token(&self, subject: &str, scopes: &str) -> String {
        let mut claims = claims_with(&self.issuer, "scope", json!(scopes));
        claims["sub"] = json!(subject);
        self.signer.sign(&claims)
    }

    pub(crate) fn name_of(&self, subject: &str) -> String {
        format!("{} {subject}", self.issuer.name())
    }
}
