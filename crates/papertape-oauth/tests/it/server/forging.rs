//! Forged and malformed tokens.

use data_encoding::BASE64URL_NOPAD;
use jsonwebtoken::{Algorithm as Signed, EncodingKey, Header};
use serde_json::{Value, json};

use super::{StubIssuer, admitted, invalid, one_issuer, trusting, trusting_with};
use papertape_oauth::server::Algorithm;
use papertape_testing::oauth::StubResponse;
use papertape_testing::oauth::{TokenSigner, claims, claims_with, encode_jwt};

#[tokio::test]
async fn tokens_without_a_signature_are_rejected() {
    let (issuer, signer, auth) = one_issuer().await;
    for algorithm in ["none", "None", "NONE", "nOnE", ""] {
        let header = json!({"alg": algorithm, "typ": "JWT", "kid": signer.id});
        invalid(&auth, &encode_jwt(&header, &claims(&issuer), b""), "not a JWT").await;
    }
    // Marked as signed, but not.
    let header = json!({"alg": "ES256", "typ": "JWT", "kid": signer.id});
    for signature in [&b""[..], &[0; 64], &[0; 63], &[0xff; 64]] {
        invalid(&auth, &encode_jwt(&header, &claims(&issuer), signature), "signature").await;
    }
}

#[tokio::test]
async fn a_public_key_is_not_accepted_as_a_shared_secret() {
    let rsa = TokenSigner::rsa(Signed::RS256);
    let (ec, jwk) = (TokenSigner::es256(1), rsa.jwk());
    let issuer = StubIssuer::start().await;
    let secret =
        json!({"kty": "oct", "kid": "shared", "k": BASE64URL_NOPAD.encode(b"secret"), "alg": "HS256"});
    issuer.respond_with_keys(StubResponse::Json(json!({"keys": [secret, jwk, ec.jwk()]})));
    let auth = trusting(&issuer);
    let modulus = BASE64URL_NOPAD.decode(jwk["n"].as_str().unwrap().as_bytes()).unwrap();
    let text = jwk.to_string();
    for (secret, id) in
        [(&modulus[..], &rsa.id), (text.as_bytes(), &rsa.id), (b"secret", &"shared".to_owned())]
    {
        for algorithm in [Signed::HS256, Signed::HS384, Signed::HS512] {
            let header = Header { kid: Some(id.clone()), ..Header::new(algorithm) };
            let token =
                jsonwebtoken::encode(&header, &claims(&issuer), &EncodingKey::from_secret(secret)).unwrap();
            invalid(&auth, &token, "not accepted").await;
        }
    }
    admitted(&auth, &ec.sign(&claims(&issuer))).await;
}

#[tokio::test]
async fn a_key_is_used_only_as_its_jwk_allows() {
    let signer = TokenSigner::es256(1);
    let issuer = StubIssuer::start().await;
    for (member, value) in [
        ("use", json!("enc")),
        ("key_ops", json!(["encrypt"])),
        ("alg", json!("ES384")),
        ("alg", json!("RSA-OAEP")),
        ("crv", json!("P-384")),
        ("crv", json!("P-521")),
    ] {
        let mut jwk = signer.jwk();
        jwk[member] = value.clone();
        issuer.respond_with_keys(StubResponse::Json(json!({"keys": [jwk, TokenSigner::eddsa(1).jwk()]})));
        invalid(&trusting(&issuer), &signer.sign(&claims(&issuer)), "does not publish").await;
    }
    for (member, value) in
        [("use", json!("sig")), ("key_ops", json!(["verify"])), ("x", signer.jwk()["x"].clone())]
    {
        let mut jwk = signer.jwk();
        jwk[member] = value;
        issuer.respond_with_keys(StubResponse::Json(json!({"keys": [jwk]})));
        admitted(&trusting(&issuer), &signer.sign(&claims(&issuer))).await;
    }
}

#[tokio::test]
async fn only_configured_algorithms_are_accepted() {
    let (ec, ed) = (TokenSigner::es256(1), TokenSigner::eddsa(1));
    let issuer = StubIssuer::start().await;
    issuer.publish(&[&ec, &ed]);
    let auth = trusting_with(&issuer, |oauth| oauth.algorithms([Algorithm::EdDsa]));
    admitted(&auth, &ed.sign(&claims(&issuer))).await;
    invalid(&auth, &ec.sign(&claims(&issuer)), "not accepted").await;
}

#[tokio::test]
async fn a_signature_of_another_key_is_rejected() {
    let (issuer, signer, auth) = one_issuer().await;
    let mut forger = TokenSigner::es256(2);
    forger.id = signer.id.clone();
    invalid(&auth, &forger.sign(&claims(&issuer)), "signature").await;
    // Without `kid`, all keys of the algorithm are tried.
    let nameless = Header { kid: None, ..signer.header() };
    admitted(&auth, &signer.sign_with(&nameless, &claims(&issuer))).await;
    invalid(&auth, &forger.sign_with(&nameless, &claims(&issuer)), "signature").await;
    // A key in the header of the token is not trusted.
    let jwk = serde_json::from_value(forger.jwk()).unwrap();
    let header = Header { jwk: Some(jwk), jku: Some("http://127.0.0.1:1/keys".to_owned()), ..nameless };
    invalid(&auth, &forger.sign_with(&header, &claims(&issuer)), "signature").await;
    assert_eq!(issuer.requests(), ["/keys"]);
}

#[tokio::test]
async fn every_modification_of_a_token_is_detected() {
    let (issuer, signer, auth) = one_issuer().await;
    let token = signer.sign(&claims(&issuer));
    admitted(&auth, &token).await;
    for at in (0..token.len()).step_by(7) {
        let mut changed = token.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        if changed != token {
            invalid(&auth, &changed, "token").await;
        }
    }
}

#[tokio::test]
async fn other_jwts_of_the_issuer_are_rejected() {
    let (issuer, signer, auth) = one_issuer().await;
    for typ in ["at+jwt", "application/at+jwt", "AT+JWT", "jwt"] {
        let header = Header { typ: Some(typ.to_owned()), ..signer.header() };
        admitted(&auth, &signer.sign_with(&header, &claims(&issuer))).await;
    }
    for typ in ["dpop+jwt", "logout+jwt", "oauth-id-jag+jwt", ""] {
        let header = Header { typ: Some(typ.to_owned()), ..signer.header() };
        invalid(&auth, &signer.sign_with(&header, &claims(&issuer)), "not an access token").await;
    }
    let header = Header { crit: Some(vec!["b64".to_owned()]), ..signer.header() };
    invalid(&auth, &signer.sign_with(&header, &claims(&issuer)), "critical").await;
    let bound = claims_with(&issuer, "cnf", json!({"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}));
    invalid(&auth, &signer.sign(&bound), "sender-constrained").await;
}

#[tokio::test]
async fn malformed_tokens_are_rejected() {
    let (issuer, signer, auth) = one_issuer().await;
    let good = signer.sign(&claims(&issuer));
    let (head, rest) = good.split_once('.').unwrap();
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let header = json!({"alg": "ES256", "typ": "JWT", "kid": signer.id});
    for garbage in [
        "a".to_owned(),
        ".".to_owned(),
        "..".to_owned(),
        "...".to_owned(),
        "a.b.c".to_owned(),
        format!("{good}."),
        format!("{good}.{good}"),
        format!(".{rest}"),
        format!("{head}..{}", rest.split_once('.').unwrap().1),
        format!("{head}.{}.x", BASE64URL_NOPAD.encode(deep.as_bytes())),
        encode_jwt(&header, &Value::Null, &[1; 64]),
        encode_jwt(&header, &json!([1, 2]), &[1; 64]),
        encode_jwt(&json!({"alg": 7}), &claims(&issuer), &[1; 64]),
        encode_jwt(&json!("ES256"), &claims(&issuer), &[1; 64]),
    ] {
        invalid(&auth, &garbage, "token").await;
    }
}
