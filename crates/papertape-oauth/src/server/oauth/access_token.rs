//! Verification of access tokens (JWT, RFC 9068).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{DecodingKey, Header, Validation, dangerous};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::algorithm::Algorithm;
use super::issuer::Issuer;
use super::jwks::KeySet;
use crate::server::challenge::Refusal;
use crate::{Principal, split_scopes};

/// The greatest leeway: a clock that is further off is broken.
const MAX_LEEWAY: Duration = Duration::from_secs(3600);

#[derive(Debug)]
pub(super) struct Verifier {
    pub(super) issuers: Vec<Arc<Issuer>>,
    pub(super) audiences: HashSet<String>,
    pub(super) algorithms: Vec<Algorithm>,
    pub(super) leeway: Duration,
}

#[derive(Deserialize)]
struct IssuerClaim {
    iss: String,
}

/// The claims of a token.
type Claims = Map<String, Value>;

impl Verifier {
    /// The principal of a token, and when it expires.
    pub(super) async fn check(&self, token: &str) -> Result<(Principal, Option<SystemTime>), Refusal> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| {
            Refusal::invalid_token("the token is not a JWT, or its algorithm is not accepted")
        })?;
        let algorithm = self.algorithm(&header)?;
        // Not verified yet: only to find the keys.
        let claim: IssuerClaim = dangerous::insecure_decode_claims(token)
            .map_err(|_| Refusal::invalid_token("the token has no issuer (`iss`)"))?;
        let known = self.issuers.iter().find(|issuer| issuer.name == claim.iss);
        let issuer = known.ok_or_else(|| Refusal::invalid_token("the issuer of the token is not trusted"))?;
        let claims = self.verify(token, &header, algorithm, issuer).await?;
        if claims.contains_key("cnf") {
            // Without a check of the proof of possession, a stolen token would be accepted.
            return Err(Refusal::invalid_token("sender-constrained tokens (`cnf`) are not supported"));
        }
        let subject = match claims.get("sub") {
            Some(Value::String(subject)) if !subject.is_empty() => subject,
            Some(Value::String(_)) | None => {
                return Err(Refusal::invalid_token("the token has no subject (`sub`)"));
            }
            Some(_) => return Err(Refusal::invalid_token("the claims of the token are malformed")),
        };
        let scopes: Vec<String> =
            [claims.get("scope"), claims.get("scp")].into_iter().flatten().flat_map(scopes_of).collect();
        // A time that cannot be represented is later than the end of any stream.
        let until = claims.get("exp").and_then(time).and_then(|until| until.checked_add(self.leeway()));
        let principal = Principal::new(format!("{} {subject}", issuer.name)).with_scopes(scopes);
        Ok((principal.with_claims(claims), until))
    }

    /// The algorithm of a token, if it is accepted.
    fn algorithm(&self, header: &Header) -> Result<Algorithm, Refusal> {
        // RFC 7515: unknown critical extensions must be rejected, and none is known.
        if header.crit.is_some() {
            return Err(Refusal::invalid_token("the token has critical extensions"));
        }
        // Other JWTs of the issuer, such as logout tokens, are signed with the same keys.
        let typ = header.typ.as_deref().unwrap_or("JWT").to_ascii_lowercase();
        if !matches!(typ.strip_prefix("application/").unwrap_or(&typ), "jwt" | "at+jwt") {
            return Err(Refusal::invalid_token("the token is not an access token (`typ`)"));
        }
        let known = self.algorithms.iter().find(|algorithm| algorithm.to_jsonwebtoken() == header.alg);
        known.copied().ok_or_else(|| Refusal::invalid_token("the algorithm of the token is not accepted"))
    }

    async fn verify(
        &self,
        token: &str,
        header: &Header,
        algorithm: Algorithm,
        issuer: &Arc<Issuer>,
    ) -> Result<Claims, Refusal> {
        let unavailable =
            || Refusal::unavailable("the keys of the issuer cannot be fetched: try again in some seconds");
        let id = header.kid.as_deref();
        let validation = self.validation(algorithm, issuer);
        let keys = issuer.keys().await.ok_or_else(unavailable)?;
        match try_keys(token, &keys.find(id, algorithm), &validation) {
            Tried::Done(result) => return result,
            // The key that the token names is known, and has not signed it.
            Tried::Forged if id.is_some() => return Err(forged()),
            Tried::Forged | Tried::NoKey => {}
        }
        let newer: Arc<KeySet> = issuer.newer().await.ok_or_else(unavailable)?;
        match try_keys(token, &newer.find(id, algorithm), &validation) {
            Tried::Done(result) => result,
            Tried::Forged => Err(forged()),
            Tried::NoKey => {
                Err(Refusal::invalid_token("the token is signed with a key that its issuer does not publish"))
            }
        }
    }

    pub(super) fn leeway(&self) -> Duration {
        self.leeway.min(MAX_LEEWAY)
    }

    fn validation(&self, algorithm: Algorithm, issuer: &Issuer) -> Validation {
        let mut validation = Validation::new(algorithm.to_jsonwebtoken());
        validation.leeway = self.leeway().as_secs();
        validation.validate_nbf = true;
        validation.aud = Some(self.audiences.clone());
        validation.set_issuer(&[&issuer.name]);
        validation.set_required_spec_claims(&["exp", "aud", "iss", "sub"]);
        validation
    }
}

enum Tried {
    /// The signature is valid; the claims may not be.
    Done(Result<Claims, Refusal>),
    /// None of the keys has signed it.
    Forged,
    NoKey,
}

fn forged() -> Refusal {
    Refusal::invalid_token("the signature of the token is invalid")
}

fn try_keys(token: &str, keys: &[&DecodingKey], validation: &Validation) -> Tried {
    let mut tried = Tried::NoKey;
    for key in keys {
        match jsonwebtoken::decode::<Claims>(token, key, validation) {
            Ok(token) => return Tried::Done(Ok(token.claims)),
            Err(error) => match problem(error.kind()) {
                Some(problem) => return Tried::Done(Err(Refusal::invalid_token(problem))),
                None => tried = Tried::Forged,
            },
        }
    }
    tried
}

/// What is wrong with the claims; `None` if the signature is invalid.
fn problem(kind: &ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::ExpiredSignature => "the token has expired",
        ErrorKind::ImmatureSignature => "the token is not valid yet",
        ErrorKind::InvalidAudience => "the audience (`aud`) of the token is another server",
        ErrorKind::InvalidIssuer => "the issuer of the token is not trusted",
        ErrorKind::MissingRequiredClaim(claim) => match claim.as_str() {
            "exp" => "the token has no expiry (`exp`)",
            "aud" => "the token has no audience (`aud`)",
            _ => "the token has no subject (`sub`)",
        },
        ErrorKind::InvalidClaimFormat(_) | ErrorKind::Json(_) | ErrorKind::Base64(_) | ErrorKind::Utf8(_) => {
            "the claims of the token are malformed"
        }
        _ => return None,
    })
}

/// A moment (`exp`, `nbf`): seconds since 1970.
pub(super) fn time(claim: &Value) -> Option<SystemTime> {
    let since = Duration::try_from_secs_f64(claim.as_f64()?).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(since)
}

/// Whether an audience (`aud`), a string or a list of them, has one of the accepted ones.
pub(super) fn audience_is_one_of(audience: &Value, accepted: &HashSet<String>) -> bool {
    match audience {
        Value::String(audience) => accepted.contains(audience),
        Value::Array(list) => list.iter().filter_map(Value::as_str).any(|one| accepted.contains(one)),
        _ => false,
    }
}

/// Scopes are a list, or a string with spaces.
pub(super) fn scopes_of(claim: &Value) -> Vec<String> {
    match claim {
        Value::String(text) => split_scopes(text),
        Value::Array(list) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}
