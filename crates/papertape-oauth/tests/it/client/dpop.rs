//! Sender-constrained tokens (DPoP).

use std::sync::Mutex;

use data_encoding::BASE64URL_NOPAD;
use papertape_oauth::client::{Credentials, Dpop};
use serde_json::{Value, json as value};
use sha2::{Digest, Sha256};

use super::deployment::{Deployment, SERVER_METADATA, oauth, server_metadata};
use super::stub_server::{Request, json, reply, with};

/// The claims of a DPoP proof, whose header and signature are verified.
fn claims(request: &Request) -> Option<Value> {
    let proof = request.header("dpop")?;
    let header = jsonwebtoken::decode_header(proof).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(header.typ.as_deref(), Some("dpop+jwt"));
    let key = jsonwebtoken::DecodingKey::from_jwk(&header.jwk.unwrap()).unwrap();
    let mut rules = jsonwebtoken::Validation::new(jsonwebtoken::Algorithm::ES256);
    rules.required_spec_claims.clear();
    rules.validate_exp = false;
    papertape_oauth::install_crypto_provider();
    Some(jsonwebtoken::decode::<Value>(proof, &key, &rules).unwrap().claims)
}

/// A deployment that binds tokens, and may require nonces at both servers.
async fn bound(nonces: bool, token_type: &'static str) -> Deployment {
    let seen = Mutex::new(Vec::<Value>::new());
    Deployment::with_override(move |request, urls| match request.path.as_str() {
        SERVER_METADATA => {
            let mut document = server_metadata(&urls.issuer);
            document["dpop_signing_alg_values_supported"] = value!(["ES256"]);
            Some(json(200, &document))
        }
        "/token" => {
            let claims = claims(request).unwrap();
            assert_eq!(
                (&claims["htm"], &claims["htu"]),
                (&value!("POST"), &value!(format!("{}/token", urls.issuer)))
            );
            if nonces && claims["nonce"] != "as-1" {
                let refusal = json(400, &value!({ "error": "use_dpop_nonce" }));
                return Some(with(refusal, "dpop-nonce", "as-1"));
            }
            Some(json(200, &value!({ "access_token": "bound", "token_type": token_type })))
        }
        "/mcp" if request.header("authorization") == Some("DPoP bound") => {
            let claims = claims(request).unwrap();
            assert_eq!(claims["ath"], BASE64URL_NOPAD.encode(&Sha256::digest(b"bound")));
            assert_eq!(claims["htu"], format!("{}/mcp", urls.server));
            let mut seen = seen.lock().unwrap();
            assert!(!seen.contains(&claims["jti"]), "a proof is valid once");
            seen.push(claims["jti"].clone());
            if nonces && claims["nonce"] != "rs-1" {
                let challenge = with(reply(401, ""), "www-authenticate", "DPoP error=\"use_dpop_nonce\"");
                return Some(with(challenge, "dpop-nonce", "rs-1"));
            }
            Some(reply(200, ""))
        }
        _ => None,
    })
    .await
}

#[tokio::test]
async fn a_bound_token_has_a_new_proof_for_each_request() {
    let deployment = bound(false, "DPoP").await;
    let credentials: Credentials = oauth().into();
    for _ in 0..3 {
        assert_eq!(deployment.call(&credentials, "").await.unwrap(), 200);
    }
    assert!(deployment.issuer.requests("/authorize")[0].query.contains_key("dpop_jkt"));
}

#[tokio::test]
async fn nonces_of_both_servers_are_used_and_remembered() {
    let deployment = bound(true, "DPoP").await;
    let credentials: Credentials = oauth().into();
    assert_eq!(deployment.call(&credentials, "").await.unwrap(), 200);
    assert_eq!(deployment.issuer.requests("/token").len(), 2);
    assert_eq!(deployment.server.requests("/mcp").len(), 3);
    assert_eq!(deployment.call(&credentials, "").await.unwrap(), 200);
    assert_eq!(deployment.server.requests("/mcp").len(), 4, "the nonce was remembered");
    assert_eq!(deployment.authorizations(), 1);
}

#[tokio::test]
async fn nonce_challenges_are_bounded() {
    let deployment = Deployment::with_override(|request, _| {
        request.header("authorization").filter(|_| request.path == "/mcp")?;
        let challenge = with(reply(401, ""), "www-authenticate", "DPoP error=\"use_dpop_nonce\"");
        Some(with(challenge, "dpop-nonce", "again"))
    })
    .await;
    let error = deployment.call(&oauth().into(), "").await.unwrap_err();
    assert!(error.to_string().contains("times in a row"), "{error}");
    assert_eq!(deployment.authorizations(), 1);
}

#[tokio::test]
async fn unbound_tokens_are_rejected_if_dpop_is_required() {
    let deployment = bound(false, "Bearer").await;
    let error = deployment.call(&oauth().dpop(Dpop::Required).into(), "").await.unwrap_err();
    assert!(error.to_string().contains("not bound"), "{error}");
    let off = Deployment::new().await;
    off.call(&oauth().dpop(Dpop::Off).into(), "").await.unwrap();
    assert!(off.issuer.requests("/token")[0].header("dpop").is_none());
}
