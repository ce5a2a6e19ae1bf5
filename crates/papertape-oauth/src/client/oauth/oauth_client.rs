//! The client as an authorization server knows it, and client authentication at the token endpoint.

use std::fmt;

use data_encoding::BASE64;
use http::{HeaderMap, header};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use p256::pkcs8::{DecodePrivateKey, EncodePrivateKey};
use ring::signature::RsaKeyPair;
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::pkce;
use super::secret::Secret;
use super::unix_time;
use crate::client::credentials::authorization;
use crate::client::error::{AuthError, AuthStep};
use crate::oauth::install_crypto_provider;

/// Lifetime of a client assertion, in seconds.
const ASSERTION_LIFETIME: u64 = 120;

/// A client that is registered with an authorization server.
///
/// ```
/// use papertape_oauth::client::{OAuth, OAuthClient};
///
/// let client = OAuthClient::new("nightly-job").secret("s3cret").issuer("https://login.example.com");
/// let oauth = OAuth::client_credentials(client);
/// ```
#[derive(Clone)]
pub struct OAuthClient {
    pub(super) id: String,
    pub(super) issuer: Option<String>,
    pub(super) credential: ClientCredential,
}

/// What a client authenticates with.
#[derive(Clone)]
pub(super) enum ClientCredential {
    /// Nothing: a public client.
    None,
    Secret(Secret),
    /// `private_key_jwt`.
    Key(Algorithm, EncodingKey),
}

/// A client as it is stored with its tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RegisteredClient {
    pub(super) id: String,
    pub(super) secret: Option<Secret>,
    /// The `token_endpoint_auth_method` that the authorization server has assigned.
    pub(super) method: Option<String>,
    pub(super) redirect_uri: Option<String>,
    /// When the secret expires (Unix time); 0 is never.
    pub(super) secret_expires_at: u64,
    /// Registered dynamically, so that it can be registered again.
    pub(super) dynamic: bool,
}

impl OAuthClient {
    /// A public client.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), issuer: None, credential: ClientCredential::None }
    }

    /// The client secret.
    #[must_use]
    pub fn secret(mut self, secret: impl Into<Secret>) -> Self {
        self.credential = ClientCredential::Secret(secret.into());
        self
    }

    /// The private key for `private_key_jwt` with ES256, in PEM (PKCS #8, curve P-256).
    ///
    /// # Errors
    /// If it is not such a key.
    pub fn ec_key(self, pem: &[u8]) -> Result<Self, AuthError> {
        let key = match PrivateKeyDer::from_pem_slice(pem) {
            Ok(PrivateKeyDer::Pkcs8(der)) => p256::SecretKey::from_pkcs8_der(der.secret_pkcs8_der()).ok(),
            _ => None,
        };
        // ring requires the public key in the document, so it is encoded again.
        let key = key.and_then(|key| key.to_pkcs8_der().ok());
        let key = key.map(|der| EncodingKey::from_ec_der(der.as_bytes()));
        self.key(Algorithm::ES256, key, "an EC key on P-256 in PKCS #8 PEM")
    }

    /// The private key for `private_key_jwt` with RS256, in PEM (PKCS #8 or PKCS #1, 2048 to 4096 bits).
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
        self.credential = ClientCredential::Key(algorithm, key.ok_or_else(wrong)?);
        Ok(self)
    }

    /// The issuer that the client is registered with. If the server trusts another one only, authorization fails. Without
    /// this, the client id and the secret go to the first authorization server in the metadata of the server.
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

/// Client authentication at a token endpoint (RFC 6749, section 2.3).
pub(super) struct ClientAuthentication {
    pub(super) form: Vec<(&'static str, String)>,
    pub(super) headers: HeaderMap,
    /// What must not appear in an error.
    pub(super) secret: Option<Secret>,
}

impl RegisteredClient {
    /// A client from the options.
    pub(super) fn given(client: &OAuthClient, redirect_uri: Option<String>) -> Self {
        let secret = match &client.credential {
            ClientCredential::Secret(secret) => Some(secret.clone()),
            ClientCredential::None | ClientCredential::Key(..) => None,
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

    /// Whether the secret has expired.
    pub(super) fn is_expired(&self) -> bool {
        self.secret_expires_at != 0 && self.secret_expires_at <= unix_time()
    }

    /// Authenticates the client with a method that the authorization server supports; `audience` is who an assertion is for.
    pub(super) fn authenticate(
        &self,
        credential: Option<&ClientCredential>,
        audience: &str,
        supported: Option<&[String]>,
    ) -> Result<ClientAuthentication, AuthError> {
        let mut authentication =
            ClientAuthentication { form: Vec::new(), headers: HeaderMap::new(), secret: self.secret.clone() };
        let form = &mut authentication.form;
        if let Some(ClientCredential::Key(algorithm, key)) = credential {
            form.push(("client_id", self.id.clone()));
            form.push((
                "client_assertion_type",
                "urn:ietf:params:oauth:client-assertion-type:jwt-bearer".to_owned(),
            ));
            form.push(("client_assertion", assertion(&self.id, audience, *algorithm, key)?));
            return Ok(authentication);
        }
        let secret = self.secret.as_ref().map(Secret::reveal);
        match (secret, self.auth_method(supported)) {
            (Some(secret), "client_secret_basic") => {
                let encode =
                    |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
                let pair = format!("{}:{}", encode(&self.id), encode(secret));
                let value = authorization("Basic", &BASE64.encode(pair.as_bytes()))?;
                authentication.headers.insert(header::AUTHORIZATION, value);
            }
            (Some(secret), "client_secret_post") => {
                form.push(("client_id", self.id.clone()));
                form.push(("client_secret", secret.to_owned()));
            }
            _ => form.push(("client_id", self.id.clone())),
        }
        Ok(authentication)
    }

    fn auth_method<'a>(&'a self, supported: Option<&'a [String]>) -> &'a str {
        if let Some(method) = &self.method {
            return method;
        }
        let Some(supported) = supported else { return "client_secret_basic" };
        ["client_secret_basic", "client_secret_post"]
            .into_iter()
            .find(|known| supported.iter().any(|method| method == known))
            .unwrap_or("none")
    }
}

/// A client assertion (RFC 7523, section 2.2).
fn assertion(id: &str, audience: &str, algorithm: Algorithm, key: &EncodingKey) -> Result<String, AuthError> {
    install_crypto_provider();
    let now = unix_time();
    let claims = json!({
        "iss": id,
        "sub": id,
        "aud": audience,
        "jti": pkce::nonce()?,
        "iat": now,
        "exp": now.saturating_add(ASSERTION_LIFETIME),
    });
    jsonwebtoken::encode(&Header::new(algorithm), &claims, key).map_err(|e| {
        AuthError::new(
            AuthStep::Token,
            format!("cannot sign with the key of the client ({algorithm:?}): {e}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(method: Option<&str>) -> RegisteredClient {
        let given = OAuthClient::new("https://id.example/x").secret("p w:1");
        RegisteredClient { method: method.map(str::to_owned), ..RegisteredClient::given(&given, None) }
    }

    #[test]
    fn a_secret_is_sent_by_a_supported_method() {
        let basic = ["client_secret_post".to_owned(), "client_secret_basic".to_owned()];
        let post = ["client_secret_post".to_owned()];
        let none = ["none".to_owned()];
        for (method, methods) in
            [(None, None), (None, Some(&basic[..])), (Some("client_secret_basic"), Some(&post[..]))]
        {
            let authentication = client(method).authenticate(None, "i", methods).unwrap();
            let value = authentication.headers[header::AUTHORIZATION]
                .to_str()
                .unwrap()
                .strip_prefix("Basic ")
                .unwrap();
            let pair = String::from_utf8(BASE64.decode(value.as_bytes()).unwrap()).unwrap();
            assert_eq!(pair, "https%3A%2F%2Fid.example%2Fx:p+w%3A1");
            assert!(authentication.form.is_empty());
        }
        let authentication = client(None).authenticate(None, "i", Some(&post)).unwrap();
        assert_eq!(authentication.form[1], ("client_secret", "p w:1".to_owned()));
        for (method, methods) in [(None, Some(&none[..])), (Some("none"), Some(&basic[..]))] {
            let authentication = client(method).authenticate(None, "i", methods).unwrap();
            assert_eq!(authentication.form, [("client_id", "https://id.example/x".to_owned())]);
            assert!(authentication.headers.is_empty());
        }
    }

    #[test]
    fn debug_output_has_no_secret() {
        let given = OAuthClient::new("id").secret("hush-hush");
        let text = format!("{given:?} {:?}", RegisteredClient::given(&given, None));
        assert!(text.contains("id") && !text.contains("hush"), "{text}");
    }

    #[test]
    fn private_keys_are_read_in_every_documented_encoding() {
        const RSA: &[u8] = papertape_testing::oauth::RSA_PRIVATE_KEY;
        let PrivateKeyDer::Pkcs8(der) = PrivateKeyDer::from_pem_slice(RSA).unwrap() else { panic!() };
        // PKCS #8 wraps PKCS #1, in a header that has the same length for every key of this size.
        let inner = BASE64.encode(&der.secret_pkcs8_der()[26..]);
        let pkcs1 = format!("-----BEGIN RSA PRIVATE KEY-----\n{inner}\n-----END RSA PRIVATE KEY-----\n");
        let keys = [
            OAuthClient::new("id").rsa_key(RSA),
            OAuthClient::new("id").rsa_key(pkcs1.as_bytes()),
            OAuthClient::new("id").ec_key(papertape_testing::oauth::EC_PRIVATE_KEY),
        ];
        for client in keys {
            let ClientCredential::Key(algorithm, key) = client.unwrap().credential else { panic!() };
            let signed = assertion("id", "https://as.example", algorithm, &key).unwrap();
            assert_eq!(signed.split('.').count(), 3);
        }
        assert!(OAuthClient::new("id").ec_key(RSA).is_err());
    }

    #[test]
    fn an_invalid_key_is_rejected() {
        let error = OAuthClient::new("id").ec_key(b"hush-hush").unwrap_err().to_string();
        assert!(error.contains("P-256") && !error.contains("hush"), "{error}");
        assert!(OAuthClient::new("id").rsa_key(b"x").is_err());
    }
}
