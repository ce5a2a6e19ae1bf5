//! Tokens that are bound to a key.

use std::sync::Mutex;

use data_encoding::BASE64URL_NOPAD;
use papertape::http::{Credentials, Dpop};
use serde_json::{Value, json as value};
use sha2::{Digest, Sha256};

use crate::site::{Asked, json, reply, with};
use crate::world::{World, metadata, oauth};

/// What a proof claims, if its shape and its signature are right.
fn claims(asked: &Asked) -> Option<Value> {
    let proof = asked.header("dpop")?;
    let header = jsonwebtoken::decode_header(proof).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(header.typ.as_deref(), Some("dpop+jwt"));
    let key = jsonwebtoken::DecodingKey::from_jwk(&header.jwk.unwrap()).unwrap();
    let mut rules = jsonwebtoken::Validation::new(jsonwebtoken::Algorithm::ES256);
    rules.required_spec_claims.clear();
    rules.validate_exp = false;
    crate::crypto::install();
    Some(jsonwebtoken::decode::<Value>(proof, &key, &rules).unwrap().claims)
}

/// A world that binds tokens, and wants nonces at both ends.
async fn bound(nonces: bool, token_type: &'static str) -> World {
    let seen = Mutex::new(Vec::<Value>::new());
    World::twisted(move |asked, places| match asked.path.as_str() {
        "/.well-known/oauth-authorization-server" => {
            let mut document = metadata(&places.issuer);
            document["dpop_signing_alg_values_supported"] = value!(["ES256"]);
            Some(json(200, &document))
        }
        "/token" => {
            let claims = claims(asked).unwrap();
            assert_eq!(
                (&claims["htm"], &claims["htu"]),
                (&value!("POST"), &value!(format!("{}/token", places.issuer)))
            );
            if nonces && claims["nonce"] != "as-1" {
                let refusal = json(400, &value!({ "error": "use_dpop_nonce" }));
                return Some(with(refusal, "dpop-nonce", "as-1"));
            }
            Some(json(200, &value!({ "access_token": "bound", "token_type": token_type })))
        }
        "/mcp" if asked.header("authorization") == Some("DPoP bound") => {
            let claims = claims(asked).unwrap();
            assert_eq!(claims["ath"], BASE64URL_NOPAD.encode(&Sha256::digest(b"bound")));
            assert_eq!(claims["htu"], format!("{}/mcp", places.server));
            let mut seen = seen.lock().unwrap();
            assert!(!seen.contains(&claims["jti"]), "a proof is good once");
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
async fn a_bound_token_comes_with_a_new_proof_each_time() {
    let world = bound(false, "DPoP").await;
    let credentials: Credentials = oauth().into();
    for _ in 0..3 {
        assert_eq!(world.call(&credentials, "").await.unwrap(), 200);
    }
    assert!(world.issuer.asked("/authorize")[0].query.contains_key("dpop_jkt"));
}

#[tokio::test]
async fn nonces_of_both_ends_are_used_and_remembered() {
    let world = bound(true, "DPoP").await;
    let credentials: Credentials = oauth().into();
    assert_eq!(world.call(&credentials, "").await.unwrap(), 200);
    assert_eq!(world.issuer.asked("/token").len(), 2);
    assert_eq!(world.server.asked("/mcp").len(), 3);
    assert_eq!(world.call(&credentials, "").await.unwrap(), 200);
    assert_eq!(world.server.asked("/mcp").len(), 4, "the nonce was remembered");
    assert_eq!(world.visits(), 1);
}

#[tokio::test]
async fn a_server_that_always_wants_another_nonce_is_left() {
    let world = World::twisted(|asked, _| {
        asked.header("authorization").filter(|_| asked.path == "/mcp")?;
        let challenge = with(reply(401, ""), "www-authenticate", "DPoP error=\"use_dpop_nonce\"");
        Some(with(challenge, "dpop-nonce", "again"))
    })
    .await;
    let error = world.call(&oauth().into(), "").await.unwrap_err();
    assert!(error.to_string().contains("times in a row"), "{error}");
    assert_eq!(world.visits(), 1);
}

#[tokio::test]
async fn whoever_demands_bound_tokens_takes_no_others() {
    let world = bound(false, "Bearer").await;
    let error = world.call(&oauth().dpop(Dpop::Required).into(), "").await.unwrap_err();
    assert!(error.to_string().contains("not bound"), "{error}");
    let off = World::new().await;
    off.call(&oauth().dpop(Dpop::Off).into(), "").await.unwrap();
    assert!(off.issuer.asked("/token")[0].header("dpop").is_none());
}
