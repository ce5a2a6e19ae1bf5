//! An MCP server and its authorization server: they behave, unless a test says otherwise.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use data_encoding::BASE64URL_NOPAD;
use http::{Method, StatusCode};
use papertape_oauth::client::{AuthError, Browser, Credentials, OAuth, Redirect};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::Url;

use super::stub_server::{Reply, Request, StubServer, json, reply, with};

/// The path of the protected resource metadata.
pub(crate) const RESOURCE_METADATA: &str = "/.well-known/oauth-protected-resource/mcp";
/// The path of the authorization server metadata.
pub(crate) const SERVER_METADATA: &str = "/.well-known/oauth-authorization-server";

/// A test's own responses; None for the usual one.
pub(crate) type Override = Box<dyn Fn(&Request, &Urls) -> Option<Reply> + Send + Sync>;

/// Where everything is.
#[derive(Debug, Clone)]
pub(crate) struct Urls {
    pub(crate) server: String,
    pub(crate) issuer: String,
}

/// Issued codes and tokens.
#[derive(Default)]
pub(crate) struct IssuedTokens {
    /// Valid access tokens and their scopes.
    pub(crate) tokens: HashMap<String, Vec<String>>,
    codes: HashMap<String, HashMap<String, String>>,
    refresh: HashMap<String, Vec<String>>,
    given: usize,
    /// The lifetime of the next tokens, in seconds.
    pub(crate) lifetime: Option<u64>,
}

impl IssuedTokens {
    /// Invalidates all refresh tokens.
    pub(crate) fn forget(&mut self) {
        self.refresh.clear();
    }
}

pub(crate) struct Deployment {
    pub(crate) server: StubServer,
    pub(crate) issuer: StubServer,
    pub(crate) issued: Arc<Mutex<IssuedTokens>>,
}

impl Deployment {
    /// Both behave.
    pub(crate) async fn new() -> Self {
        Self::with_override(|_, _| None).await
    }

    /// Both behave, except where the override returns a response.
    pub(crate) async fn with_override(
        override_response: impl Fn(&Request, &Urls) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        let (server, issuer) = (StubServer::bind().await, StubServer::bind().await);
        let urls = Urls { server: server.1.clone(), issuer: issuer.1.clone() };
        let issued = Arc::new(Mutex::new(IssuedTokens::default()));
        let override_response: Arc<Override> = Arc::new(Box::new(override_response));
        let at_server = (override_response.clone(), urls.clone(), issued.clone());
        let at_issuer = (override_response, urls, issued.clone());
        Self {
            server: StubServer::start(server, move |request| {
                let (override_response, urls, issued) = &at_server;
                override_response(request, urls)
                    .unwrap_or_else(|| serve(request, urls, &issued.lock().unwrap()))
            }),
            issuer: StubServer::start(issuer, move |request| {
                let (override_response, urls, issued) = &at_issuer;
                override_response(request, urls)
                    .unwrap_or_else(|| issue(request, &urls.issuer, &mut issued.lock().unwrap()))
            }),
            issued,
        }
    }

    /// Both behave, but a member of the authorization server metadata has another value.
    pub(crate) async fn with_server_metadata(member: &'static str, value: Value) -> Self {
        Self::with_override(move |request, urls| {
            let mut document = server_metadata(&urls.issuer);
            document[member] = value.clone();
            (request.path == SERVER_METADATA).then(|| json(200, &document))
        })
        .await
    }

    /// Both behave, but a member of the protected resource metadata has another value.
    pub(crate) async fn with_resource_metadata(member: &'static str, value: Value) -> Self {
        Self::with_override(move |request, urls| {
            let mut document = resource_metadata(urls);
            document[member] = value.clone();
            (request.path == RESOURCE_METADATA).then(|| json(200, &document))
        })
        .await
    }

    pub(crate) fn url(&self) -> Url {
        Url::parse(&format!("{}/mcp", self.server.url)).unwrap()
    }

    /// One request with these credentials, repeated after each challenge.
    pub(crate) async fn call(&self, credentials: &Credentials, need: &str) -> Result<StatusCode, AuthError> {
        call(&self.url(), credentials, need).await
    }

    /// Invalidates all access tokens.
    pub(crate) fn revoke(&self) {
        self.issued.lock().unwrap().tokens.clear();
    }

    /// How often authorization was requested.
    pub(crate) fn authorizations(&self) -> usize {
        self.issuer.requests("/authorize").len()
    }
}

pub(crate) async fn call(url: &Url, credentials: &Credentials, need: &str) -> Result<StatusCode, AuthError> {
    let client = plain();
    for attempt in 1.. {
        let headers = credentials.headers(&Method::POST, url).await?;
        let request = client.post(url.clone()).headers(headers).header("x-need", need);
        let response = request.send().await.unwrap();
        credentials.observe(response.headers(), response.remote_addr());
        match response.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                credentials.challenged(url, response.status(), response.headers(), attempt).await?;
            }
            other => return Ok(other),
        }
        assert!(attempt < 10, "this would go on for ever");
    }
    unreachable!()
}

/// An HTTP client for this machine, which follows nothing.
fn plain() -> reqwest::Client {
    let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    builder.tls_built_in_root_certs(false).build().unwrap()
}

/// A user who follows redirects and consents.
pub(crate) fn approving_user() -> Browser {
    Browser::new(|url| async move {
        let client = plain();
        let response = client.get(url).send().await?;
        let location = response.headers().get("location").ok_or("no redirect")?.to_str()?;
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(Redirect::from_url(location)?)
    })
}

pub(crate) fn oauth() -> OAuth {
    OAuth::new().browser(approving_user())
}

fn resource_metadata(urls: &Urls) -> Value {
    json!({ "resource": format!("{}/mcp", urls.server), "authorization_servers": [urls.issuer] })
}

pub(crate) fn server_metadata(issuer: &str) -> Value {
    json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "registration_endpoint": format!("{issuer}/register"),
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "private_key_jwt"],
    })
}

/// The MCP server: `x-need` names the scope that a request takes.
fn serve(request: &Request, urls: &Urls, issued: &IssuedTokens) -> Reply {
    let Urls { server, .. } = urls;
    if request.path == RESOURCE_METADATA {
        return json(200, &resource_metadata(urls));
    }
    if request.path != "/mcp" {
        return reply(404, "");
    }
    let at = format!("resource_metadata=\"{server}{RESOURCE_METADATA}\"");
    let need = request.header("x-need").unwrap_or_default();
    let token =
        request.header("authorization").and_then(|value| value.split_once(' ')).map(|(_, token)| token);
    match token.and_then(|token| issued.tokens.get(token)) {
        None if need.is_empty() => with(reply(401, ""), "www-authenticate", &format!("Bearer {at}")),
        None => with(reply(401, ""), "www-authenticate", &format!("Bearer {at}, scope=\"{need}\"")),
        Some(scopes) if need.is_empty() || scopes.iter().any(|scope| scope == need) => reply(200, "{}"),
        Some(_) => {
            let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{need}\", {at}");
            with(reply(403, ""), "www-authenticate", &challenge)
        }
    }
}

/// The authorization server.
pub(crate) fn issue(request: &Request, issuer: &str, issued: &mut IssuedTokens) -> Reply {
    match request.path.as_str() {
        SERVER_METADATA => json(200, &server_metadata(issuer)),
        "/register" => {
            issued.given += 1;
            json(201, &json!({ "client_id": format!("client-{}-of-{issuer}", issued.given) }))
        }
        "/authorize" => {
            issued.given += 1;
            let code = format!("code-{}", issued.given);
            issued.codes.insert(code.clone(), request.query.clone());
            let mut back = Url::parse(&request.query["redirect_uri"]).unwrap();
            back.query_pairs_mut()
                .append_pair("code", &code)
                .append_pair("state", &request.query["state"])
                .append_pair("iss", issuer);
            with(reply(302, ""), "location", back.as_str())
        }
        "/token" => token(&request.form(), issued),
        _ => reply(404, ""),
    }
}

fn token(form: &HashMap<String, String>, issued: &mut IssuedTokens) -> Reply {
    let refuse = |error: &str| json(400, &json!({ "error": error, "error_description": "so it is" }));
    let empty = String::new();
    let scopes = match form["grant_type"].as_str() {
        "authorization_code" => {
            let Some(request) = issued.codes.remove(&form["code"]) else { return refuse("invalid_grant") };
            let digest = BASE64URL_NOPAD.encode(&Sha256::digest(form["code_verifier"].as_bytes()));
            let same = ["redirect_uri", "resource"].iter().all(|name| request.get(*name) == form.get(*name));
            if digest != request["code_challenge"] || request["code_challenge_method"] != "S256" || !same {
                return refuse("invalid_grant");
            }
            request.get("scope").unwrap_or(&empty).clone()
        }
        "refresh_token" => match issued.refresh.remove(&form["refresh_token"]) {
            Some(scopes) => scopes.join(" "),
            None => return refuse("invalid_grant"),
        },
        _ => form.get("scope").unwrap_or(&empty).clone(),
    };
    let scopes: Vec<String> = scopes.split(' ').map(str::to_owned).collect();
    issued.given += 1;
    let (access, refresh) = (format!("access-{}", issued.given), format!("refresh-{}", issued.given));
    issued.tokens.insert(access.clone(), scopes.clone());
    issued.refresh.insert(refresh.clone(), scopes);
    json(
        200,
        &json!({
            "access_token": access,
            "token_type": "Bearer",
            "refresh_token": refresh,
            "expires_in": issued.lifetime.unwrap_or(3600),
        }),
    )
}
