//! A signed token (JWT) to who it was given to; or why it is not good.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{DecodingKey, Header, Validation, dangerous};
use serde::Deserialize;
use serde_json::Value;

use super::algorithm::Algorithm;
use super::challenge::Refusal;
use super::issuer::Issuer;
use super::jwks::KeySet;
use crate::server::Principal;

/// A clock that is further off than this is broken.
const MOST_LEEWAY: Duration = Duration::from_secs(3600);

/// Checks tokens.
#[derive(Debug)]
pub(super) struct Verifier {
    pub(super) issuers: Vec<Arc<Issuer>>,
    pub(super) audiences: HashSet<String>,
    pub(super) algorithms: Vec<Algorithm>,
    pub(super) leeway: Duration,
}

#[derive(Deserialize)]
struct Origin {
    iss: String,
}

#[derive(Deserialize)]
struct Claims {
    sub: String,
    /// A number; whether it has passed is found out with the signature.
    exp: Option<Value>,
    scope: Option<Value>,
    scp: Option<Value>,
    cnf: Option<Value>,
}

impl Verifier {
    /// Who a token was given to, with which scopes, and until when.
    pub(super) async fn check(&self, token: &str) -> Result<(Principal, Option<SystemTime>), Refusal> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| {
            Refusal::invalid("the token is no JWT, or signed in a way that is not accepted here")
        })?;
        let algorithm = self.algorithm(&header)?;
        // Only to know whom to ask for keys; it counts once the signature is checked.
        let origin: Origin = dangerous::insecure_decode_claims(token)
            .map_err(|_| Refusal::invalid("the token does not say who issued it"))?;
        let known = self.issuers.iter().find(|issuer| issuer.name == origin.iss);
        let issuer =
            known.ok_or_else(|| Refusal::invalid("the token is of an issuer that is not trusted here"))?;
        let claims = *self.verify(token, &header, algorithm, issuer).await?;
        if claims.cnf.is_some() {
            // Whoever has stolen it could use it: that it is theirs would have to be proven.
            return Err(Refusal::invalid(
                "the token is bound to a key, and proofs of that are not understood here",
            ));
        }
        if claims.sub.is_empty() {
            return Err(Refusal::invalid("the token does not say whose it is"));
        }
        let scopes = [claims.scope, claims.scp].iter().flatten().flat_map(words).collect();
        // One that cannot be told is further away than any stream lasts.
        let until = claims
            .exp
            .and_then(|exp| Duration::try_from_secs_f64(exp.as_f64()?).ok())
            .and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since)?.checked_add(self.leeway()));
        Ok((Principal { name: format!("{} {}", issuer.name, claims.sub), scopes }, until))
    }

    /// How a token is signed, if that is accepted.
    fn algorithm(&self, header: &Header) -> Result<Algorithm, Refusal> {
        // Something in it must be understood, and we do not.
        if header.crit.is_some() {
            return Err(Refusal::invalid("the token has critical extensions"));
        }
        // Other tokens of the same issuer, such as proofs and notices of logout, are signed with the same keys.
        let typ = header.typ.as_deref().unwrap_or("JWT").to_ascii_lowercase();
        if !matches!(typ.strip_prefix("application/").unwrap_or(&typ), "jwt" | "at+jwt") {
            return Err(Refusal::invalid("the token is no access token"));
        }
        let known = self.algorithms.iter().find(|algorithm| algorithm.of_library() == header.alg);
        known
            .copied()
            .ok_or_else(|| Refusal::invalid("the token is signed in a way that is not accepted here"))
    }

    async fn verify(
        &self,
        token: &str,
        header: &Header,
        algorithm: Algorithm,
        issuer: &Arc<Issuer>,
    ) -> Result<Box<Claims>, Refusal> {
        let unavailable = || {
            let why = "the keys of the token's issuer cannot be had now: try again in some seconds";
            Refusal::Unavailable(why.to_owned())
        };
        let id = header.kid.as_deref();
        let validation = self.validation(algorithm, issuer);
        let keys = issuer.keys().await.ok_or_else(unavailable)?;
        match try_keys(token, &keys.find(id, algorithm), &validation) {
            Tried::Done(result) => return result,
            // A key that is named and known has not signed it: other keys will not help.
            Tried::Forged if id.is_some() => return Err(forged()),
            Tried::Forged | Tried::NoKey => {}
        }
        let newer: Arc<KeySet> = issuer.newer().await.ok_or_else(unavailable)?;
        match try_keys(token, &newer.find(id, algorithm), &validation) {
            Tried::Done(result) => result,
            Tried::Forged => Err(forged()),
            Tried::NoKey => {
                Err(Refusal::invalid("the token is signed with a key that its issuer does not have"))
            }
        }
    }

    fn leeway(&self) -> Duration {
        self.leeway.min(MOST_LEEWAY)
    }

    fn validation(&self, algorithm: Algorithm, issuer: &Issuer) -> Validation {
        let mut validation = Validation::new(algorithm.of_library());
        validation.leeway = self.leeway().as_secs();
        validation.validate_nbf = true;
        validation.aud = Some(self.audiences.clone());
        validation.set_issuer(&[&issuer.name]);
        validation.set_required_spec_claims(&["exp", "aud", "iss", "sub"]);
        validation
    }
}

enum Tried {
    /// A key has signed it; whether it is good is another question.
    Done(Result<Box<Claims>, Refusal>),
    /// None of these keys has.
    Forged,
    NoKey,
}

fn forged() -> Refusal {
    Refusal::invalid("the token's signature is not right")
}

fn try_keys(token: &str, keys: &[&DecodingKey], validation: &Validation) -> Tried {
    let mut tried = Tried::NoKey;
    for key in keys {
        match jsonwebtoken::decode::<Claims>(token, key, validation) {
            Ok(token) => return Tried::Done(Ok(Box::new(token.claims))),
            Err(error) => match problem(error.kind()) {
                Some(problem) => return Tried::Done(Err(Refusal::invalid(problem))),
                None => tried = Tried::Forged,
            },
        }
    }
    tried
}

/// What is wrong with a token whose signature is right; `None` if that is not so.
fn problem(kind: &ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::ExpiredSignature => "the token has expired",
        ErrorKind::ImmatureSignature => "the token is not valid yet",
        ErrorKind::InvalidAudience => "the token is for another server",
        ErrorKind::InvalidIssuer => "the token is of an issuer that is not trusted here",
        ErrorKind::MissingRequiredClaim(claim) => match claim.as_str() {
            "exp" => "the token does not say until when it is valid",
            "aud" => "the token does not say which server it is for",
            _ => "the token does not say whose it is",
        },
        ErrorKind::InvalidClaimFormat(_) | ErrorKind::Json(_) | ErrorKind::Base64(_) | ErrorKind::Utf8(_) => {
            "the token's claims cannot be read"
        }
        _ => return None,
    })
}

/// Scopes as issuers write them: words in a text, or a list.
fn words(scopes: &Value) -> Vec<String> {
    match scopes {
        Value::String(text) => text.split_ascii_whitespace().map(str::to_owned).collect(),
        Value::Array(list) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}
