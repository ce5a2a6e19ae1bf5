//! The server that the proxy is in front of, and the connections to it.

use std::error::Error;
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::HOST;
use ::http::uri::{Authority, Scheme};
use ::http::{HeaderValue, Request, Response, Uri, Version, request};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::exchange::RecordedBody;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(30);

/// A server at a URL, with its pool of connections.
pub struct Upstream {
    client: Client<HttpsConnector<HttpConnector>, RecordedBody>,
    url: Uri,
    scheme: Scheme,
    authority: Authority,
    host: HeaderValue,
}

impl Upstream {
    /// The server at a URL, which is trusted by the certificates of the system and those in `ca` (PEM).
    ///
    /// # Errors
    /// If it is not an http or https URL, has credentials in it, or the certificates cannot be read.
    pub fn new(url: &str, ca: Option<&[u8]>) -> io::Result<Self> {
        let invalid = |why: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{url}: {why}"));
        let uri: Uri = url.parse().map_err(|error| invalid(&format!("{error}")))?;
        let (Some(scheme), Some(authority)) = (uri.scheme().cloned(), uri.authority().cloned()) else {
            return Err(invalid("it is not a URL: write https://HOST/PATH"));
        };
        if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
            return Err(invalid("a URL of a server begins with http:// or https://"));
        }
        if authority.as_str().contains('@') {
            return Err(invalid(
                "it has a user name or password, which is not sent: let the client send a header",
            ));
        }
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| invalid("its host is invalid"))?;
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls(ca)?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { client, url: uri, scheme, authority, host })
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        self.url.to_string()
    }

    /// The path of its URL.
    #[must_use]
    pub fn path(&self) -> &str {
        self.url.path()
    }

    /// Sends a request to it. The error says why there is no response.
    pub(super) async fn send(
        &self,
        mut head: request::Parts,
        body: RecordedBody,
    ) -> Result<Response<Incoming>, String> {
        let path = head.uri.path_and_query().cloned();
        let mut uri = ::http::uri::Parts::default();
        uri.scheme = Some(self.scheme.clone());
        uri.authority = Some(self.authority.clone());
        uri.path_and_query = Some(path.unwrap_or_else(|| ::http::uri::PathAndQuery::from_static("/")));
        head.uri = Uri::from_parts(uri).map_err(|error| error.to_string())?;
        head.version = Version::HTTP_11;
        head.headers.insert(HOST, self.host.clone());
        let sent = self.client.request(Request::from_parts(head, body)).await;
        sent.map_err(|error| {
            let remedy =
                if error.is_connect() { "; is the server running, and is its URL right?" } else { "" };
            format!("no response from {}://{}: {}{remedy}", self.scheme, self.authority, chain(&error))
        })
    }
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upstream").field("url", &self.url).finish_non_exhaustive()
    }
}

fn tls(ca: Option<&[u8]>) -> io::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for certificate in ca.into_iter().flat_map(CertificateDer::pem_slice_iter) {
        let certificate =
            certificate.map_err(|error| io::Error::other(format!("not a certificate in PEM: {error}")))?;
        roots.add(certificate).map_err(io::Error::other)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// An error with its causes.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // Writing to a `String` cannot fail.
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}
