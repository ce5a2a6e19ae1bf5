//! Why there is no response to the first request.

use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::code::http::{PT0802, PT0803, PT0804, PT0805, PT0806, PT0809};
use crate::evidence::{Evidence, Stream};
use crate::finding::Finding;
use crate::http::client::{Client, is_local, shown};
use crate::http::exchange::Exchange;
use crate::http::failure::{Failure, FailureKind};
use crate::http::inspect::finding;
use crate::inspect::{quote, time};

/// How long it is waited for what listens.
const PEEK: Duration = Duration::from_secs(3);

/// The first bytes of a TLS alert.
const ALERT: [u8; 2] = [0x15, 3];

/// Why the first request has no response.
pub(crate) async fn inspect(client: &Client, exchange: &Exchange, failure: &Failure) -> Finding {
    let url = shown(&client.url);
    let host = client.url.host_str().unwrap_or_default();
    let port = client.url.port_or_known_default().unwrap_or_default();
    let cause = quote(&failure.cause);
    let fact = || Evidence::fact(failure.cause.clone());
    match failure.kind {
        FailureKind::Name => finding(PT0802, format!("the name `{host}` does not resolve: {cause}")).evidence(fact())
            .remedy("check the spelling of the host; if it is a name in a private network, connect to that first"),
        FailureKind::Refused => finding(PT0803, format!("nothing listens on port {port} of {host}: {cause}")).evidence(fact())
            .remedy(if is_local(&client.url) {
                "start the server, and compare the port with the one that it says it listens on"
            } else {
                "compare the port; the server must listen on an address that is reached from other machines, and a container must publish its port"
            }),
        FailureKind::Unreachable => {
            finding(PT0803, format!("there is no connection to {host}:{port}: {cause}")).evidence(fact()).remedy(
                "check the address, the firewall and the proxy settings: a refused connection would have been reported at once",
            )
        }
        FailureKind::Tls => tls(client, failure).await,
        FailureKind::Timeout => exchange.proves(
            finding(PT0809, format!("{url} does not answer `initialize` within {}", time(client.wait)))
                .remedy("look at the log of the server; it accepts the connection, and must answer before anything that may block"),
        ),
        FailureKind::Invalid | FailureKind::Closed => not_http(client, exchange, &cause).await,
    }
}

/// No TLS on a connection.
pub(crate) async fn tls(client: &Client, failure: &Failure) -> Finding {
    let host = client.url.host_str().unwrap_or_default();
    let text = failure.cause.to_lowercase();
    if text.contains("invalidcontenttype") {
        let found = wrong_scheme(&client.url, "https", "http");
        return match peek(&client.url).await {
            Some(bytes) if bytes.starts_with(b"HTTP/") => {
                found.evidence(Evidence::bytes(Stream::Http, 0, &bytes))
            }
            _ => found.evidence(Evidence::fact(failure.cause.clone())),
        };
    }
    let (why, remedy) = if text.contains("certificate expired") || text.contains("certificate: expired") {
        ("has expired", "renew the certificate")
    } else if text.contains("not valid for name") || text.contains("notvalidforname") {
        ("is for another name", "use the name that the certificate is for, or get one for this name")
    } else if text.contains("not valid yet") || text.contains("notvalidyet") {
        ("is not valid yet", "compare the clocks of both machines")
    } else if text.contains("unknownissuer") || text.contains("causedasendentity") {
        (
            "is self-signed, or signed by an authority that is not known here",
            "use a certificate of a public authority, send the intermediate certificates along, or give the authority's certificate to each client (`SSL_CERT_FILE`, `NODE_EXTRA_CA_CERTS`)",
        )
    } else if text.contains("certificate") {
        ("is not accepted", "look at it with `openssl s_client`")
    } else {
        let message = format!("the TLS handshake with {host} fails: {}", quote(&failure.cause));
        return finding(PT0804, message).remedy("the server must speak TLS 1.2 or 1.3 on this port");
    };
    finding(PT0804, format!("the certificate of {host} {why}"))
        .evidence(Evidence::fact(failure.cause.clone()))
        .remedy(remedy)
}

/// What listens is not HTTP, or closes the connection.
async fn not_http(client: &Client, exchange: &Exchange, cause: &str) -> Finding {
    let host = client.url.host_str().unwrap_or_default();
    let port = client.url.port_or_known_default().unwrap_or_default();
    let bytes = if client.url.scheme() == "http" { peek(&client.url).await } else { None };
    let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else {
        return exchange.proves(
            finding(PT0806, format!("{host}:{port} closes the connection without a response: {cause}"))
                .remedy("look at the log of the server: it may crash on the request"),
        );
    };
    let evidence = Evidence::bytes(Stream::Http, 0, &bytes).in_hex();
    if bytes.starts_with(&ALERT) {
        return wrong_scheme(&client.url, "http", "https").evidence(evidence);
    }
    if bytes.starts_with(b"HTTP/") {
        return exchange
            .proves(
                finding(PT0806, format!("the response of {host}:{port} is not valid HTTP: {cause}"))
                    .remedy("look at the log of the server, and at the proxies in front of it"),
            )
            .evidence(evidence);
    }
    let what = if bytes.starts_with(b"SSH-") { "an SSH server" } else { "another service" };
    finding(PT0806, format!("{what} listens on port {port} of {host}, not an HTTP server"))
        .evidence(evidence)
        .remedy("compare the port with the one that the server says it listens on")
}

/// A URL with the wrong scheme.
pub(crate) fn wrong_scheme(url: &Url, is: &str, should_be: &str) -> Finding {
    let mut other = url.clone();
    _ = other.set_scheme(should_be);
    let speaks = if should_be == "https" { "TLS" } else { "HTTP without TLS" };
    finding(PT0805, format!("the URL begins with {is}://, and the port speaks {speaks}"))
        .remedy(format!("use {}", shown(&other)))
}

/// What comes back for a request in plain HTTP.
async fn peek(url: &Url) -> Option<Vec<u8>> {
    let address = (url.host_str()?.trim_matches(['[', ']']), url.port_or_known_default()?);
    timeout(PEEK, async {
        let mut stream = TcpStream::connect(address).await.ok()?;
        let request = format!("GET / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", url.host_str()?);
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut bytes = vec![0; 256];
        let length = stream.read(&mut bytes).await.ok()?;
        bytes.truncate(length);
        Some(bytes)
    })
    .await
    .ok()
    .flatten()
}
