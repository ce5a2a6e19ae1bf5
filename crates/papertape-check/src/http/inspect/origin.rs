//! `Origin` and `Host` that are not checked: a web page can use the server (DNS rebinding).

use crate::code::http::{PT0819, PT0820, PT0823};
use crate::drive::{LATEST_LEGACY, MODERN};
use crate::finding::{Finding, Severity};
use crate::http::channel::{HttpSession, initialize, stateless};
use crate::http::client::{Client, PROBE, Request, is_local};
use crate::http::exchange::Exchange;
use crate::http::inspect::finding;

/// An origin that no server knows.
const EVIL_ORIGIN: &str = "http://evil.example";
const EVIL_HOST: &str = "evil.example";

/// What is wrong with the checks of `Origin` and `Host`.
pub(crate) async fn inspect(client: &Client, is_legacy: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let origin = open(client, is_legacy, |request| request.header("origin", EVIL_ORIGIN)).await;
    let is_local = is_local(&client.url);
    if origin.is_accepted() {
        let allowed = origin.response().and_then(|response| response.header("access-control-allow-origin"));
        let readable = matches!(allowed, Some("*" | EVIL_ORIGIN));
        let severity = if is_local { Severity::Warning } else { Severity::Note };
        let message = match (is_local, readable) {
            (true, true) => {
                "a request from a web page of any origin is served, and CORS headers let the page read the response: any website can use this server"
            }
            (true, false) => {
                "a request from a web page of any origin is served: with DNS rebinding, any website can use this server"
            }
            (false, _) => "a request from a web page of any origin is served",
        };
        findings.push(origin.proves(
            finding(PT0819, message)
                .severity(severity)
                .remedy("refuse requests with an `Origin` that is not in a list with 403; requests without one come from other clients"),
        ));
        if allowed.is_none() && !is_local {
            findings.push(origin.proves(
                finding(PT0823, "hosts in a browser cannot read the responses: there are no CORS headers")
                    .remedy("if pages of some origins are to use the server, send `Access-Control-Allow-Origin` for these"),
            ));
        }
    }
    // On other servers the name is what the proxy in front of it selects the server by.
    if is_local && client.url.scheme() == "http" {
        let host = open(client, is_legacy, |request| request.header("host", EVIL_HOST)).await;
        if host.is_accepted() {
            findings.push(host.proves(
                finding(
                    PT0820,
                    "a request for another host is served: after DNS rebinding, a web page reaches the server under the name of the page",
                )
                .remedy("accept `localhost`, `127.0.0.1` and `[::1]` as `Host`, and refuse the rest with 403"),
            ));
        }
    }
    findings
}

/// Opens the server with another header, and ends the session that this opens.
async fn open(client: &Client, is_legacy: bool, with: impl Fn(Request) -> Request) -> Exchange {
    let request = if is_legacy {
        initialize(client, LATEST_LEGACY)
    } else {
        stateless(client, "server/discover", None, MODERN)
    };
    let exchange = client.send(with(request).within(PROBE)).await;
    end(client, &exchange).await;
    exchange
}

/// Ends the session that `initialize` has opened.
pub(crate) async fn end(client: &Client, opened: &Exchange) {
    let response = opened.response().filter(|response| response.is_success());
    if let Some(id) = response.and_then(|response| response.header("mcp-session-id")) {
        let revision = opened
            .result()
            .and_then(|result| result.get("protocolVersion")?.as_str())
            .unwrap_or(LATEST_LEGACY);
        let session = HttpSession { revision: revision.to_owned(), id: Some(id.to_owned()) };
        client.send(session.end(client, &client.url).within(PROBE)).await;
    }
}
