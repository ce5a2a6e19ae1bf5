//! A scenario of the official conformance suite to the credentials that it wants.

use papertape::http::{
    Assertion, AuthError, Browser, Credentials, IdentityProvider, OAuth, OAuthClient, Redirect,
};
use serde_json::Value;

/// The id that the suite expects of clients whose id is a URL.
const CLIENT_URL: &str = "https://conformance-test.local/client-metadata.json";

/// The credentials for a scenario. `context` is the suite's description of it.
pub(crate) fn credentials(scenario: &str, context: &Value) -> Result<Credentials, AuthError> {
    if !scenario.starts_with("auth/") {
        return Ok(Credentials::None);
    }
    let text = |name: &str| context.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let client = || OAuthClient::new(text("client_id"));
    let oauth = match scenario {
        "auth/pre-registration" => {
            OAuth::new().client(client().secret(text("client_secret")).issuer(text("issuer")))
        }
        "auth/client-credentials-basic" => OAuth::client_credentials(client().secret(text("client_secret"))),
        "auth/client-credentials-jwt" => {
            OAuth::client_credentials(client().ec_key(text("private_key_pem").as_bytes())?)
        }
        "auth/enterprise-managed-authorization" => {
            let known = OAuthClient::new(text("idp_client_id")).issuer(text("idp_issuer"));
            let person = Assertion::fixed(text("idp_id_token"));
            let provider = IdentityProvider::new(text("idp_token_endpoint"), known, person);
            OAuth::enterprise(client().secret(text("client_secret")), provider)
        }
        "auth/wif-jwt-bearer" => OAuth::workload(client(), Assertion::fixed(text("valid_jwt"))),
        _ => OAuth::new().client_metadata_url(CLIENT_URL),
    };
    Ok(oauth.client_name("papertape conformance").browser(Browser::new(visit)).into())
}

/// What a client must say that stops where a scenario wants it to stop.
pub(crate) fn reason_to_stop(scenario: &str) -> Option<&'static str> {
    Some(match scenario {
        "auth/iss-normalized" | "auth/iss-unexpected" | "auth/iss-wrong-issuer" => {
            "the authorization response is from"
        }
        "auth/iss-supported-missing" => "the authorization response has no iss",
        "auth/metadata-issuer-mismatch" => "is of the issuer https://attacker.example.com, not of",
        "auth/resource-mismatch" => "is for the resource https://evil.example.com/mcp, not for",
        "auth/scope-retry-limit" => "requested already and not granted",
        _ => return None,
    })
}

/// A user who always consents: the suite's pages redirect at once.
async fn visit(url: String) -> Result<Redirect, Box<dyn std::error::Error + Send + Sync>> {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
    let response = client.get(url).send().await?;
    let location = response.headers().get("location").ok_or("the page does not redirect")?;
    Ok(Redirect::from_url(location.to_str()?)?)
}
