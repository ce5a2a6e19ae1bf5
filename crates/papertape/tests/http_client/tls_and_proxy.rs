//! TLS with a custom CA, and proxies.

use std::path::Path;
use std::sync::Arc;

use papertape::Client;
use papertape::client::{ClientError, ClientOptions, ErrorKind};
use papertape::http::{Endpoint, connect_with};
use serde_json::json;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::scripted::{Seen, Server, Step, discovered, json, response, run, text, text_of, within};

fn act(seen: &Seen) -> Vec<Step> {
    match &seen.what()[..] {
        "server/discover" => discovered(seen),
        _ => json("200 OK", &text(seen, "ok")),
    }
}

async fn connect(endpoint: Endpoint) -> Result<Client, ClientError> {
    within(connect_with(endpoint, ClientOptions::new())).await
}

/// The keys are for this test alone; the CA's key was discarded.
fn tls() -> TlsAcceptor {
    let chain = CertificateDer::from_pem_slice(include_bytes!("tls/server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/server.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![chain], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

#[test]
fn a_custom_ca_is_trusted_if_configured() {
    run(async {
        let server = Server::behind(Some(tls()), act).await;
        let ca = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http_client/tls/ca.pem");
        let client = connect(Endpoint::new(&server.url).ca(ca)).await.unwrap();
        assert_eq!(text_of(&client.call("t", json!({})).await.unwrap()), "ok");
        let failed = connect(Endpoint::new(&server.url)).await.unwrap_err();
        assert!(matches!(failed.kind(), ErrorKind::Unreachable(_)), "{failed:?}");
        assert!(
            failed.to_string().contains("certificate") && failed.to_string().contains("name its CA"),
            "{failed}"
        );
    });
}

#[test]
fn https_to_an_http_server_is_reported() {
    run(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/mcp", listener.local_addr().unwrap());
        let answering = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let answer = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
                drop(tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await);
                drop(tokio::io::copy(&mut stream, &mut tokio::io::sink()).await);
            }
        });
        let failed = connect(Endpoint::new(&url)).await.unwrap_err();
        assert!(failed.to_string().contains("is it http:// rather than https://?"), "{failed}");
        answering.abort();
    });
}

#[test]
fn a_proxy_is_used() {
    run(async {
        let proxy = Server::new(act).await;
        let endpoint = Endpoint::new("http://tools.invalid/mcp").proxy(proxy.url.trim_end_matches("/mcp"));
        let client = connect(endpoint).await.unwrap();
        client.call("t", json!({})).await.unwrap();
        assert!(
            proxy.seen().iter().all(|seen| seen.path == "http://tools.invalid/mcp"),
            "{:?}",
            proxy.seen()
        );
    });
}

#[test]
fn loopback_bypasses_the_proxy() {
    run(async {
        let proxy = Server::new(|_| response("502 Bad Gateway", "", "")).await;
        let server = Server::new(act).await;
        connect(Endpoint::new(&server.url).proxy(&proxy.url)).await.unwrap();
        assert_eq!(proxy.seen().len(), 0);
    });
}
