//! Servers that are not reached.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::{check, check_url, evidence, is_only, only};
use crate::finding::Severity;
use crate::http::client::Client;
use crate::http::failure::{Failure, FailureKind};
use crate::http::inspect::connection::tls as tls_failure;
use crate::http::tests::server::{Reply, Server};
use crate::options::Options;

/// A server that sends these bytes, whatever it is sent, and closes the connection.
async fn raw(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            drop(stream.read(&mut [0; 4096]).await);
            drop(stream.write_all(bytes).await);
        }
    });
    address.to_string()
}

#[tokio::test]
async fn a_url_that_is_none() {
    for url in ["htp://127.0.0.1/mcp", "127.0.0.1:80", ""] {
        let report = check_url(url, &[]).await;
        is_only(&report, "PT0801", Severity::Breaks, "cannot be used");
    }
}

#[tokio::test]
async fn a_token_over_plain_http() {
    let report = check_url("http://192.0.2.1/mcp", &[("authorization", "Bearer secret-token")]).await;
    is_only(&report, "PT0801", Severity::Breaks, "plain http");
}

#[tokio::test]
async fn a_name_that_does_not_resolve() {
    let report = check_url("http://no-such-host.invalid/mcp", &[]).await;
    is_only(&report, "PT0802", Severity::Breaks, "no-such-host.invalid");
}

#[tokio::test]
async fn a_port_on_which_nothing_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let report = check_url(&format!("http://{address}/mcp"), &[]).await;
    is_only(&report, "PT0803", Severity::Breaks, &format!("nothing listens on port {}", address.port()));
    assert_eq!(report.exit_code(), 4);
}

#[tokio::test]
async fn https_where_http_is_spoken() {
    let address = raw(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
    let report = check_url(&format!("https://{address}/mcp"), &[]).await;
    is_only(&report, "PT0805", Severity::Breaks, "begins with https://");
    assert!(only(&report, "PT0805").remedy.contains(&format!("http://{address}/mcp")));
}

/// The keys are for tests alone; the key of the CA was discarded.
fn tls() -> TlsAcceptor {
    let chain = include_bytes!("../../../../papertape/tests/http_client/tls/server.pem");
    let key = include_bytes!("../../../../papertape/tests/http_client/tls/server.key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(chain).unwrap()],
            PrivateKeyDer::from_pem_slice(key).unwrap(),
        )
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

#[tokio::test]
async fn certificates() {
    let server = Server::behind(Some(tls()), |_| None).await;
    let url = server.url("/mcp").replace("http://", "https://");
    let report = check_url(&url, &[]).await;
    is_only(&report, "PT0804", Severity::Breaks, "an authority that is not known");
    let ca = include_bytes!("../../../../papertape/tests/http_client/tls/ca.pem");
    let options = Options::default().root_certificates(ca.to_vec());
    let report = crate::check_http(&url, &[], &options).await;
    assert_eq!((report.count(Severity::Breaks), report.server.tools), (0, 1), "{:#?}", report.findings);
}

/// What rustls says of certificates.
#[tokio::test]
async fn errors_of_certificates_are_told_apart() {
    let client = Client::new("https://tools.example/mcp", &[], &Options::default()).unwrap();
    for (cause, says) in [
        (
            "invalid peer certificate: certificate expired: verification time 2 (UNIX), but certificate is not valid after 1",
            "has expired",
        ),
        ("invalid peer certificate: certificate not valid for name \"tools.example\"", "another name"),
        ("invalid peer certificate: UnknownIssuer", "self-signed"),
        ("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))", "self-signed"),
        ("invalid peer certificate: BadSignature", "is not accepted"),
        ("received fatal alert: HandshakeFailure", "the TLS handshake"),
    ] {
        let failure = Failure { kind: FailureKind::Tls, cause: cause.to_owned() };
        let found = tls_failure(&client, &failure).await;
        assert_eq!(found.code.name(), "PT0804");
        assert!(found.message.contains(says), "{}", found.message);
    }
}

#[tokio::test]
async fn http_where_https_is_spoken() {
    let address = raw(b"\x15\x03\x01\x00\x02\x02\x46").await;
    let report = check_url(&format!("http://{address}/mcp"), &[]).await;
    is_only(&report, "PT0805", Severity::Breaks, "begins with http://");
    // Some servers say so in an error page.
    let report =
        check(|_| Some(Reply::text(400, "text/html", "The plain HTTP request was sent to HTTPS port"))).await;
    is_only(&report, "PT0805", Severity::Breaks, "begins with http://");
}

#[tokio::test]
async fn another_service_on_the_port() {
    let address = raw(b"SSH-2.0-OpenSSH_9.6\r\n").await;
    let report = check_url(&format!("http://{address}/mcp"), &[]).await;
    is_only(&report, "PT0806", Severity::Breaks, "an SSH server");
    assert!(evidence(only(&report, "PT0806")).contains("SSH-2.0-OpenSSH_9.6"));
}

#[tokio::test]
async fn a_connection_that_is_closed() {
    let address = raw(b"").await;
    let report = check_url(&format!("http://{address}/mcp"), &[]).await;
    is_only(&report, "PT0806", Severity::Breaks, "closes the connection");
}
