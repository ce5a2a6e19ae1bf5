//! An MCP server and its authorization server: they behave, unless a test says otherwise.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use data_encoding::BASE64URL_NOPAD;
use http::{Method, StatusCode};
use papertape::http::{AuthError, Browser, Credentials, OAuth, Redirect};
use serde_json::json;
use sha2::{Digest, Sha256};
use url::Url;

use crate::site::{Asked, Reply, Site, json, reply, with};

/// A test's own answers; None for the usual one.
pub(crate) type Twist = Box<dyn Fn(&Asked, &Places) -> Option<Reply> + Send + Sync>;

/// Where everything is.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    pub(crate) server: String,
    pub(crate) issuer: String,
}

/// What was given out.
#[derive(Default)]
pub(crate) struct Books {
    /// Tokens that are good, and for what.
    pub(crate) tokens: HashMap<String, Vec<String>>,
    codes: HashMap<String, HashMap<String, String>>,
    refresh: HashMap<String, Vec<String>>,
    given: usize,
    /// How long the next tokens are good.
    pub(crate) lifetime: Option<u64>,
}

impl Books {
    /// Nothing can be renewed any more.
    pub(crate) fn forget(&mut self) {
        self.refresh.clear();
    }
}

pub(crate) struct World {
    pub(crate) server: Site,
    pub(crate) issuer: Site,
    pub(crate) books: Arc<Mutex<Books>>,
}

impl World {
    /// Both as they should be.
    pub(crate) async fn new() -> Self {
        Self::twisted(|_, _| None).await
    }

    /// Both as they should be, but for the twist.
    pub(crate) async fn twisted(
        twist: impl Fn(&Asked, &Places) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        let (server, issuer) = (Site::bind().await, Site::bind().await);
        let places = Places { server: server.1.clone(), issuer: issuer.1.clone() };
        let books = Arc::new(Mutex::new(Books::default()));
        let twist: Arc<Twist> = Arc::new(Box::new(twist));
        let at_server = (twist.clone(), places.clone(), books.clone());
        let at_issuer = (twist, places, books.clone());
        Self {
            server: Site::start(server, move |asked| {
                let (twist, places, books) = &at_server;
                twist(asked, places).unwrap_or_else(|| serve(asked, places, &books.lock().unwrap()))
            }),
            issuer: Site::start(issuer, move |asked| {
                let (twist, places, books) = &at_issuer;
                twist(asked, places)
                    .unwrap_or_else(|| issue(asked, &places.issuer, &mut books.lock().unwrap()))
            }),
            books,
        }
    }

    pub(crate) fn url(&self) -> Url {
        Url::parse(&format!("{}/mcp", self.server.url)).unwrap()
    }

    /// One request with these credentials, sent again as long as they say so.
    pub(crate) async fn call(&self, credentials: &Credentials, need: &str) -> Result<StatusCode, AuthError> {
        call(&self.url(), credentials, need).await
    }

    /// No token is good any more.
    pub(crate) fn revoke(&self) {
        self.books.lock().unwrap().tokens.clear();
    }

    /// How often somebody was asked.
    pub(crate) fn visits(&self) -> usize {
        self.issuer.asked("/authorize").len()
    }
}

pub(crate) async fn call(url: &Url, credentials: &Credentials, need: &str) -> Result<StatusCode, AuthError> {
    let client = plain();
    for attempt in 1.. {
        let headers = credentials.headers(&Method::POST, url).await?;
        let request = client.post(url.clone()).headers(headers).header("x-need", need);
        let response = request.send().await.unwrap();
        credentials.observe(response.headers());
        match response.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                credentials.refused(url, response.status(), response.headers(), attempt).await?;
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

/// A person who goes where they are sent and says yes.
pub(crate) fn person() -> Browser {
    Browser::new(|url| async move {
        let client = plain();
        let response = client.get(url).send().await?;
        let location = response.headers().get("location").ok_or("no redirect")?.to_str()?;
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(Redirect::from_url(location)?)
    })
}

pub(crate) fn oauth() -> OAuth {
    OAuth::new().browser(person())
}

pub(crate) fn prm(places: &Places) -> serde_json::Value {
    json!({ "resource": format!("{}/mcp", places.server), "authorization_servers": [places.issuer] })
}

pub(crate) fn metadata(issuer: &str) -> serde_json::Value {
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
fn serve(asked: &Asked, places: &Places, books: &Books) -> Reply {
    let Places { server, .. } = places;
    if asked.path == "/.well-known/oauth-protected-resource/mcp" {
        return json(200, &prm(places));
    }
    if asked.path != "/mcp" {
        return reply(404, "");
    }
    let at = format!("resource_metadata=\"{server}/.well-known/oauth-protected-resource/mcp\"");
    let need = asked.header("x-need").unwrap_or_default();
    let token = asked.header("authorization").and_then(|value| value.split_once(' ')).map(|(_, token)| token);
    match token.and_then(|token| books.tokens.get(token)) {
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
pub(crate) fn issue(asked: &Asked, issuer: &str, books: &mut Books) -> Reply {
    match asked.path.as_str() {
        "/.well-known/oauth-authorization-server" => json(200, &metadata(issuer)),
        "/register" => {
            books.given += 1;
            json(201, &json!({ "client_id": format!("client-{}-of-{issuer}", books.given) }))
        }
        "/authorize" => {
            books.given += 1;
            let code = format!("code-{}", books.given);
            books.codes.insert(code.clone(), asked.query.clone());
            let mut back = Url::parse(&asked.query["redirect_uri"]).unwrap();
            back.query_pairs_mut()
                .append_pair("code", &code)
                .append_pair("state", &asked.query["state"])
                .append_pair("iss", issuer);
            with(reply(302, ""), "location", back.as_str())
        }
        "/token" => token(&asked.form(), books),
        _ => reply(404, ""),
    }
}

fn token(form: &HashMap<String, String>, books: &mut Books) -> Reply {
    let refuse = |error: &str| json(400, &json!({ "error": error, "error_description": "so it is" }));
    let empty = String::new();
    let scopes = match form["grant_type"].as_str() {
        "authorization_code" => {
            let Some(asked) = books.codes.remove(&form["code"]) else { return refuse("invalid_grant") };
            let digest = BASE64URL_NOPAD.encode(&Sha256::digest(form["code_verifier"].as_bytes()));
            let same = ["redirect_uri", "resource"].iter().all(|name| asked.get(*name) == form.get(*name));
            if digest != asked["code_challenge"] || asked["code_challenge_method"] != "S256" || !same {
                return refuse("invalid_grant");
            }
            asked.get("scope").unwrap_or(&empty).clone()
        }
        "refresh_token" => match books.refresh.remove(&form["refresh_token"]) {
            Some(scopes) => scopes.join(" "),
            None => return refuse("invalid_grant"),
        },
        _ => form.get("scope").unwrap_or(&empty).clone(),
    };
    let scopes: Vec<String> = scopes.split(' ').map(str::to_owned).collect();
    books.given += 1;
    let (access, refresh) = (format!("access-{}", books.given), format!("refresh-{}", books.given));
    books.tokens.insert(access.clone(), scopes.clone());
    books.refresh.insert(refresh.clone(), scopes);
    json(
        200,
        &json!({
            "access_token": access,
            "token_type": "Bearer",
            "refresh_token": refresh,
            "expires_in": books.lifetime.unwrap_or(3600),
        }),
    )
}
