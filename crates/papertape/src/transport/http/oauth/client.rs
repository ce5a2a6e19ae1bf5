//! Who the client is to an authorization server, and how it shows that.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::BASE64;
use http::{HeaderMap, HeaderValue, header};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use p256::pkcs8::{DecodePrivateKey, EncodePrivateKey};
use ring::signature::RsaKeyPair;
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::super::auth::crypto;
use super::error::{AuthError, AuthStep};
use super::issuer::Issuer;
use super::random;
use super::secret::Secret;

/// For how long a client's own assertion is good.
const ASSERTION: u64 = 120;

/// A client that an authorization server knows already.
#[derive(Clone)]
pub struct OAuthClient {
    pub(crate) id: String,
    pub(crate) issuer: Option<String>,
    pub(crate) proof: Proof,
}

/// How a client shows that it is the one.
#[derive(Clone)]
pub(crate) enum Proof {
    /// It cannot: a public client.
    None,
    Secret(Secret),
    /// By signing (private_key_jwt).
    Key(Algorithm, EncodingKey),
}

/// A client as an authorization server knows it; kept with its tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Registered {
    pub(crate) id: String,
    pub(crate) secret: Option<Secret>,
    /// How the server said that the client shows itself (`token_endpoint_auth_method`).
    pub(crate) method: Option<String>,
    /// Where browsers are sent back to.
    pub(crate) redirect_uri: Option<String>,
    /// When the secret ends, in seconds since 1970; 0 is never.
    pub(crate) secret_expires_at: u64,
    /// The server made this client for us, and would make another.
    pub(crate) dynamic: bool,
}

impl OAuthClient {
    /// A client without a secret.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), issuer: None, proof: Proof::None }
    }

    /// Its secret.
    #[must_use]
    pub fn secret(mut self, secret: impl Into<Secret>) -> Self {
        self.proof = Proof::Secret(secret.into());
        self
    }

    /// Its private key, in PEM (PKCS #8): on the curve P-256 for ES256.
    ///
    /// # Errors
    /// If it is not such a key.
    pub fn ec_key(self, pem: &[u8]) -> Result<Self, AuthError> {
        let key = match PrivateKeyDer::from_pem_slice(pem) {
            Ok(PrivateKeyDer::Pkcs8(der)) => p256::SecretKey::from_pkcs8_der(der.secret_pkcs8_der()).ok(),
            _ => None,
        };
        // Written again with its public half, without which ring takes none.
        let key = key.and_then(|key| key.to_pkcs8_der().ok());
        let key = key.map(|der| EncodingKey::from_ec_der(der.as_bytes()));
        self.key(Algorithm::ES256, key, "an EC key on P-256 in PKCS #8 PEM")
    }

    /// Its private key, in PEM (PKCS #8 or PKCS #1): RSA of 2048 to 4096 bits for RS256.
    ///
    /// # Errors
    /// If it is not such a key.
    pub fn rsa_key(self, pem: &[u8]) -> Result<Self, AuthError> {
        let key = match PrivateKeyDer::from_pem_slice(pem) {
            Ok(PrivateKeyDer::Pkcs8(der)) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der())
                .is_ok()
                .then(|| EncodingKey::from_rsa_der(der.secret_pkcs8_der())),
            Ok(PrivateKeyDer::Pkcs1(der)) => RsaKeyPair::from_der(der.secret_pkcs1_der())
                .is_ok()
                .then(|| EncodingKey::from_rsa_der(der.secret_pkcs1_der())),
            _ => None,
        };
        self.key(Algorithm::RS256, key, "an RSA key of 2048 to 4096 bits in PEM")
    }

    fn key(mut self, algorithm: Algorithm, key: Option<EncodingKey>, what: &str) -> Result<Self, AuthError> {
        let wrong = || AuthError::new(AuthStep::Token, format!("the private key is not {what}"));
        self.proof = Proof::Key(algorithm, key.ok_or_else(wrong)?);
        Ok(self)
    }

    /// The authorization server that knows this client. If the MCP server trusts another one, nothing is sent there.
    /// Without it the client's id and secret go to whichever authorization server the MCP server names first.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }
}

impl fmt::Debug for OAuthClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthClient")
            .field("id", &self.id)
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

/// How to show at a token endpoint who asks: what goes into the form and what into the headers.
pub(crate) struct Shown {
    pub(crate) form: Vec<(&'static str, String)>,
    pub(crate) headers: HeaderMap,
    /// What must not come back in an error's text.
    pub(crate) secret: Option<Secret>,
}

/// Shows who asks, in a way that the server takes.
pub(crate) fn show(
    client: &Registered,
    proof: Option<&Proof>,
    issuer: &str,
    methods: Option<&[String]>,
) -> Result<Shown, AuthError> {
    let mut shown = Shown { form: Vec::new(), headers: HeaderMap::new(), secret: client.secret.clone() };
    if let Some(Proof::Key(algorithm, key)) = proof {
        shown.form.push(("client_id", client.id.clone()));
        shown.form.push((
            "client_assertion_type",
            "urn:ietf:params:oauth:client-assertion-type:jwt-bearer".to_owned(),
        ));
        shown.form.push(("client_assertion", assertion(&client.id, issuer, *algorithm, key)?));
        return Ok(shown);
    }
    let secret = client.secret.as_ref().map(Secret::reveal);
    match (secret, method(client, methods)) {
        (Some(secret), "client_secret_basic") => {
            let encode =
                |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
            let pair = format!("{}:{}", encode(&client.id), encode(secret));
            let mut value = HeaderValue::from_str(&format!("Basic {}", BASE64.encode(pair.as_bytes())))
                .map_err(|_| AuthError::new(AuthStep::Token, "the client's secret is no header"))?;
            value.set_sensitive(true);
            shown.headers.insert(header::AUTHORIZATION, value);
        }
        (Some(secret), "client_secret_post") => {
            shown.form.push(("client_id", client.id.clone()));
            shown.form.push(("client_secret", secret.to_owned()));
        }
        _ => shown.form.push(("client_id", client.id.clone())),
    }
    Ok(shown)
}

/// The method that the server gave to the client; else the best that it takes; else what RFC 6749 has everybody take.
fn method<'a>(client: &'a Registered, methods: Option<&'a [String]>) -> &'a str {
    if let Some(method) = &client.method {
        return method;
    }
    let Some(methods) = methods else { return "client_secret_basic" };
    ["client_secret_basic", "client_secret_post"]
        .into_iter()
        .find(|known| methods.iter().any(|method| method == known))
        .unwrap_or("none")
}

fn assertion(id: &str, audience: &str, algorithm: Algorithm, key: &EncodingKey) -> Result<String, AuthError> {
    crypto::install();
    let now = now();
    let claims = json!({
        "iss": id,
        "sub": id,
        "aud": audience,
        "jti": random::name()?,
        "iat": now,
        "exp": now.saturating_add(ASSERTION),
    });
    jsonwebtoken::encode(&Header::new(algorithm), &claims, key).map_err(|e| {
        AuthError::new(AuthStep::Token, format!("the client's key does not sign ({algorithm:?}): {e}"))
    })
}

impl Registered {
    /// A client that was given to us.
    pub(crate) fn given(client: &OAuthClient, redirect_uri: Option<String>) -> Self {
        let secret = match &client.proof {
            Proof::Secret(secret) => Some(secret.clone()),
            Proof::None | Proof::Key(..) => None,
        };
        Self {
            id: client.id.clone(),
            secret,
            method: None,
            redirect_uri,
            secret_expires_at: 0,
            dynamic: false,
        }
    }

    /// Whether its secret has ended.
    pub(crate) fn expired(&self) -> bool {
        self.secret_expires_at != 0 && self.secret_expires_at <= now()
    }

    /// Shows itself at an issuer's token endpoint.
    pub(crate) fn show(&self, proof: Option<&Proof>, issuer: &Issuer) -> Result<Shown, AuthError> {
        show(self, proof, &issuer.name, issuer.methods.as_deref())
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|d| d.as_secs()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(method: Option<&str>) -> Registered {
        let given = OAuthClient::new("https://id.example/x").secret("p w:1");
        Registered { method: method.map(str::to_owned), ..Registered::given(&given, None) }
    }

    #[test]
    fn a_secret_goes_where_the_server_takes_it() {
        let basic = ["client_secret_post".to_owned(), "client_secret_basic".to_owned()];
        let post = ["client_secret_post".to_owned()];
        let none = ["none".to_owned()];
        for (method, methods) in
            [(None, None), (None, Some(&basic[..])), (Some("client_secret_basic"), Some(&post[..]))]
        {
            let shown = show(&client(method), None, "i", methods).unwrap();
            let value =
                shown.headers[header::AUTHORIZATION].to_str().unwrap().strip_prefix("Basic ").unwrap();
            let pair = String::from_utf8(BASE64.decode(value.as_bytes()).unwrap()).unwrap();
            assert_eq!(pair, "https%3A%2F%2Fid.example%2Fx:p+w%3A1");
            assert!(shown.form.is_empty());
        }
        let shown = show(&client(None), None, "i", Some(&post)).unwrap();
        assert_eq!(shown.form[1], ("client_secret", "p w:1".to_owned()));
        for (method, methods) in [(None, Some(&none[..])), (Some("none"), Some(&basic[..]))] {
            let shown = show(&client(method), None, "i", methods).unwrap();
            assert_eq!(shown.form, [("client_id", "https://id.example/x".to_owned())]);
            assert!(shown.headers.is_empty());
        }
    }

    #[test]
    fn nothing_secret_is_shown_by_accident() {
        let given = OAuthClient::new("id").secret("hush-hush");
        let text = format!("{given:?} {:?}", Registered::given(&given, None));
        assert!(text.contains("id") && !text.contains("hush"), "{text}");
    }

    #[test]
    fn a_key_signs_whichever_way_it_is_written() {
        const RSA: &[u8] = include_bytes!("../auth/tests/rsa-for-tests.pem");
        let PrivateKeyDer::Pkcs8(der) = PrivateKeyDer::from_pem_slice(RSA).unwrap() else { panic!() };
        // PKCS #1 is what PKCS #8 wraps, after a head that has the same length for every key of this size.
        let inner = BASE64.encode(&der.secret_pkcs8_der()[26..]);
        let pkcs1 = format!("-----BEGIN RSA PRIVATE KEY-----\n{inner}\n-----END RSA PRIVATE KEY-----\n");
        let keys = [
            OAuthClient::new("id").rsa_key(RSA),
            OAuthClient::new("id").rsa_key(pkcs1.as_bytes()),
            OAuthClient::new("id").ec_key(include_bytes!("../../../../tests/oauth/key.pem")),
        ];
        for client in keys {
            let Proof::Key(algorithm, key) = client.unwrap().proof else { panic!() };
            let signed = assertion("id", "https://as.example", algorithm, &key).unwrap();
            assert_eq!(signed.split('.').count(), 3);
        }
        assert!(OAuthClient::new("id").ec_key(RSA).is_err());
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let error = OAuthClient::new("id").ec_key(b"hush-hush").unwrap_err().to_string();
        assert!(error.contains("P-256") && !error.contains("hush"), "{error}");
        assert!(OAuthClient::new("id").rsa_key(b"x").is_err());
    }
}
