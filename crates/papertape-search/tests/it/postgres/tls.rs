//! Connections to a database over TLS: trusted and untrusted certificates.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use papertape_search::store::Store;
use papertape_search::store::postgres::Postgres;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::corpus::{file, lexical_query, places, put};
use super::server::Server;

/// The certificates that the searcher's own tests use.
fn certificates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../papertape/tests/http_client/tls")
}

fn acceptor() -> TlsAcceptor {
    let chain = vec![CertificateDer::from_pem_file(certificates().join("server.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(certificates().join("server.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// A TLS proxy that accepts PostgreSQL's `SSLRequest`, before the server at this port. Returns its port.
async fn encrypted(port: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut asked = [0; 8];
                stream.read_exact(&mut asked).await.unwrap();
                assert_eq!(asked, [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
                stream.write_all(b"S").await.unwrap();
                let Ok(mut stream) = acceptor().accept(stream).await else { return };
                let mut behind = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                drop(copy_bidirectional(&mut stream, &mut behind).await);
            });
        }
    });
    here
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn a_store_is_used_through_tls() {
    let server = Server::start(&[]);
    let port = encrypted(server.port()).await;
    let roots = certificates().join("ca.pem");
    let roots = roots.display();
    let url =
        format!("postgres://tester:right@127.0.0.1:{port}/postgres?sslmode=verify-full&sslrootcert={roots}");
    let store = Postgres::open(&url).unwrap();
    put(&store, &[file("a.md", &["apples"])]).await.unwrap();
    assert_eq!(places(&store, &lexical_query("apples")).await, ["a.md#0"]);
}

#[tokio::test]
async fn an_untrusted_certificate_is_rejected() {
    let port = encrypted(1).await;
    for mode in ["require", "verify-ca", "verify-full", "prefer"] {
        let store = Postgres::open(&format!("postgres://me@127.0.0.1:{port}/db?sslmode={mode}")).unwrap();
        let error = store.summary().await.unwrap_err().to_string();
        assert!(error.contains("sslrootcert=FILE"), "{error}");
    }
    let nothing = format!("postgres://me@127.0.0.1:{port}/db?sslmode=require&sslrootcert=/nowhere/ca.pem");
    let error = Postgres::open(&nothing).unwrap().summary().await.unwrap_err().to_string();
    assert_eq!(error, "the file that sslrootcert names has no certificate that can be read");
}

#[tokio::test]
async fn a_server_without_tls_gets_no_password() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut all = vec![0; 8];
        stream.read_exact(&mut all).await.unwrap();
        stream.write_all(b"N").await.unwrap();
        stream.read_to_end(&mut all).await.unwrap();
        all
    });
    let store = Postgres::open(&format!("postgres://me:secret@127.0.0.1:{port}/db?sslmode=require")).unwrap();
    let error = store.summary().await.unwrap_err().to_string();
    assert!(error.contains("has no TLS"), "{error}");
    assert_eq!(heard.await.unwrap().len(), 8, "nothing but the `SSLRequest`");
}
