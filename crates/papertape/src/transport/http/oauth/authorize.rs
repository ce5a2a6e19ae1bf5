//! A person's permission to a code: the way through the browser, and what comes back from it.

use std::time::Duration;

use url::Url;

use super::browser::{Redirect, Visit};
use super::error::{AuthError, AuthStep, quote};
use super::issuer::Issuer;
use super::random;
use super::secret::Secret;

const STEP: AuthStep = AuthStep::Authorization;

/// What a permission is asked for.
pub(crate) struct Question<'a> {
    pub(crate) issuer: &'a Issuer,
    pub(crate) resource: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) scopes: &'a [String],
    /// The name of the key that the token will be bound to.
    pub(crate) key: Option<String>,
}

/// What a person's permission is worth: a code, and what shows that it is ours.
pub(crate) struct Permission {
    pub(crate) code: Secret,
    pub(crate) verifier: Secret,
    pub(crate) redirect_uri: String,
}

/// Whether an issuer can be asked at all, and where.
pub(crate) fn endpoint(issuer: &Issuer) -> Result<&Url, AuthError> {
    let name = quote(&issuer.name, &[]);
    if issuer.pkce == Some(false) {
        return Err(AuthError::refusal(
            STEP,
            format!(
                "{name} does not say that it checks who redeems a code (PKCE with S256), so a code could be stolen: \
                 tell its operator to list S256 in code_challenge_methods_supported"
            ),
        ));
    }
    issuer
        .authorization
        .as_ref()
        .ok_or_else(|| AuthError::refusal(STEP, format!("{name} has no page that asks people")))
}

/// Asks a person.
pub(crate) async fn ask(
    question: &Question<'_>,
    visit: Visit<'_>,
    patience: Duration,
) -> Result<Permission, AuthError> {
    let redirect_uri = visit.redirect_uri.clone();
    let (state, verifier) = (random::name()?, random::name()?);
    let mut url = endpoint(question.issuer)?.clone();
    // A fragment would swallow the parameters.
    url.set_fragment(None);
    url.query_pairs_mut()
        .append_pair("response_type", "code")
        .append_pair("client_id", question.client_id)
        .append_pair("redirect_uri", &redirect_uri)
        .append_pair("state", &state)
        .append_pair("code_challenge", &random::digest(&verifier))
        .append_pair("code_challenge_method", "S256")
        .append_pair("resource", question.resource);
    if !question.scopes.is_empty() {
        url.query_pairs_mut().append_pair("scope", &question.scopes.join(" "));
    }
    if let Some(key) = &question.key {
        url.query_pairs_mut().append_pair("dpop_jkt", key);
    }
    let redirect = tokio::time::timeout(patience, visit.walk(url.as_str(), &state))
        .await
        .map_err(|_| AuthError::new(STEP, format!("nobody answered within {} s", patience.as_secs())))??;
    let code = read(&redirect, question.issuer, &state)?;
    Ok(Permission { code, verifier: Secret::new(verifier), redirect_uri })
}

/// The code in a redirect, if the redirect is the answer to our question and from the issuer that was asked.
fn read(redirect: &Redirect, issuer: &Issuer, state: &str) -> Result<Secret, AuthError> {
    let foreign = |what: &str| {
        AuthError::refusal(
            STEP,
            format!("{what}: somebody may have mixed another answer in, so it is not used; begin again"),
        )
    };
    if redirect.get("state") != Some(state) {
        return Err(foreign("the answer does not belong to the question (its state differs)"));
    }
    // Nothing else of the answer is believed, nor shown, before it is known whose it is (RFC 9207).
    let name = quote(&issuer.name, &[]);
    match redirect.get("iss") {
        Some(iss) if iss == issuer.name => {}
        Some(iss) => return Err(foreign(&format!("the answer is of {}, not of {name}", quote(iss, &[])))),
        None if redirect.has("iss") => return Err(foreign("the answer names its issuer twice")),
        None if issuer.sends_iss => {
            return Err(foreign(&format!("the answer does not name its issuer, which {name} always does")));
        }
        None => {}
    }
    if let Some(error) = redirect.get("error") {
        let words = redirect.get("error_description").map(|words| format!(" ({})", quote(words, &[])));
        return Err(AuthError::refusal(
            STEP,
            format!("{name} says {}{}", quote(error, &[]), words.unwrap_or_default()),
        ));
    }
    match redirect.get("code") {
        Some(code) if !code.is_empty() => Ok(Secret::new(code)),
        _ => Err(AuthError::refusal(STEP, format!("the answer of {name} has no code in it"))),
    }
}
