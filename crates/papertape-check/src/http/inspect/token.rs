//! Tokens: in the URL, for another audience, or not checked at all.

use data_encoding::BASE64URL_NOPAD;
use reqwest::Url;
use serde_json::Value;

use crate::code::http::{PT0831, PT0832, PT0833};
use crate::drive::{LATEST_LEGACY, MODERN};
use crate::evidence::Evidence;
use crate::finding::Finding;
use crate::http::channel::{initialize, stateless};
use crate::http::client::{Client, PROBE, Request, shown};
use crate::http::exchange::Exchange;
use crate::http::inspect::authorization::{self, covers};
use crate::http::inspect::{finding, origin};
use crate::inspect::quote;

/// Parameters that are tokens.
const TOKENS: [&str; 7] = ["access_token", "token", "api_key", "apikey", "api-key", "key", "auth"];

/// A token that no server has issued.
const INVALID: &str = "Bearer papertape-check-invalid-token";

/// A token in the URL.
pub(crate) fn in_url(url: &Url) -> Option<Finding> {
    let (name, _) = url
        .query_pairs()
        .find(|(name, value)| TOKENS.contains(&name.to_ascii_lowercase().as_str()) && value.len() >= 8)?;
    let message = format!("the parameter `{name}` in the URL looks like a token");
    Some(
        finding(PT0833, message)
            .evidence(Evidence::fact(format!("{}?{name}=[redacted]", shown(url))))
            .remedy("send it in the `Authorization` header: URLs are in logs and in files that are shared"),
    )
}

/// What is wrong with the authorization of a server that has served a request with a token.
pub(crate) async fn inspect(client: &Client, is_legacy: bool) -> Vec<Finding> {
    let without = open(client, is_legacy, Request::anonymous).await;
    if without.status() != Some(401) {
        return Vec::new();
    }
    let (mut findings, resources) = Box::pin(authorization::inspect(client, &without)).await;
    let invalid =
        open(client, is_legacy, |request| request.anonymous().header("authorization", INVALID)).await;
    if invalid.result().is_some() {
        findings.push(invalid.proves(
            finding(PT0832, "a token that was made up is accepted, and a request without a token is not")
                .remedy("validate each token: its signature, issuer, audience and expiry, or by introspection"),
        ));
    }
    findings.extend(audience(client, &resources));
    findings
}

async fn open(client: &Client, is_legacy: bool, with: impl Fn(Request) -> Request) -> Exchange {
    let request = if is_legacy {
        initialize(client, LATEST_LEGACY)
    } else {
        stateless(client, "server/discover", None, MODERN)
    };
    let exchange = client.send(with(request).within(PROBE)).await;
    origin::end(client, &exchange).await;
    exchange
}

/// A token for another audience, which the server has accepted. `resources` are what it calls itself.
fn audience(client: &Client, resources: &[String]) -> Option<Finding> {
    let claims = claims(client.token()?)?;
    let audiences: Vec<&str> = match claims.get("aud") {
        Some(Value::String(audience)) => vec![audience],
        Some(Value::Array(audiences)) => audiences.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is_meant = |audience: &&str| {
        covers(audience, &client.url) || resources.iter().any(|resource| resource == audience)
    };
    if audiences.iter().any(is_meant) {
        return None;
    }
    let says = if audiences.is_empty() {
        "names no audience".to_owned()
    } else {
        format!(
            "is for {}",
            audiences.iter().take(3).map(|audience| quote(audience)).collect::<Vec<_>>().join(" and ")
        )
    };
    let aud = claims.get("aud").unwrap_or(&Value::Null);
    let message = format!("the token {says}, not for {}, and is accepted", shown(&client.url));
    Some(
        finding(PT0831, message)
            .evidence(Evidence::fact(format!("the claim `aud` of the token: {}", quote(&aud.to_string()))))
            .remedy("accept tokens whose `aud` is the URL of the server only, and refuse the rest with 401"),
    )
}

/// The claims of a JWT.
fn claims(token: &str) -> Option<Value> {
    let mut parts = token.split('.');
    let (_, payload, _) = (parts.next()?, parts.next()?, parts.next()?);
    let bytes = BASE64URL_NOPAD.decode(payload.as_bytes()).ok()?;
    serde_json::from_slice(&bytes).ok().filter(Value::is_object)
}
