//! A URL at which MCP does not answer.

use reqwest::Url;

use crate::code::http::{PT0807, PT0808};
use crate::drive::LATEST_LEGACY;
use crate::evidence::Evidence;
use crate::finding::Finding;
use crate::http::channel::{initialize, stateless};
use crate::http::client::{Client, PROBE, shown};
use crate::http::exchange::{Exchange, Response};
use crate::http::inspect::connection::wrong_scheme;
use crate::http::inspect::{finding, response};
use crate::http::sse::SseStream;
use crate::inspect::quote;

/// Paths at which servers are.
const PATHS: [&str; 3] = ["/mcp", "/sse", "/"];

/// Servers with TLS that answer plain HTTP with an error page say so.
const TLS_EXPECTED: [&str; 3] =
    ["sent to HTTPS port", "HTTP request to an HTTPS server", "speaking plain HTTP to an SSL-enabled"];

/// What is wrong with a server that opens in no revision.
pub(crate) async fn inspect(client: &Client, opening: &Exchange) -> Finding {
    let Some(response) = opening.response() else {
        return finding(PT0807, "no response");
    };
    let text = String::from_utf8_lossy(&response.body).into_owned();
    if client.url.scheme() == "http" && TLS_EXPECTED.iter().any(|says| text.contains(says)) {
        return opening.proves(wrong_scheme(&client.url, "http", "https"));
    }
    let is_html = response.media_type() == "text/html";
    // An error without the id of the request may come from a server of MCP at another path.
    let is_mcp = opening.message().is_some();
    if (is_html || matches!(response.status, 404 | 405 | 410 | 501)) && !is_mcp {
        return nothing(client, opening, response).await;
    }
    if let Some(error) = opening.message().and_then(|message| message.get("error")) {
        let says = error.get("message").and_then(serde_json::Value::as_str).unwrap_or_default();
        let message = format!("`initialize` is refused, and `server/discover`, too: {}", quote(says));
        return opening.proves(finding(PT0808, message).remedy(
            "answer `initialize` with a revision that the server supports, whatever the client proposes",
        ));
    }
    match response::inspect(opening) {
        Some(found) => found,
        // An error without the id of the request.
        None => response::refused(opening, response),
    }
}

/// Something answers, but not as MCP.
async fn nothing(client: &Client, opening: &Exchange, response: &Response) -> Finding {
    let url = shown(&client.url);
    let what = if response.is_success() && response.media_type() == "text/html" {
        "with a page in HTML".to_owned()
    } else {
        format!("with HTTP {}{}", response.status, response::says(response))
    };
    let mut remedy = None;
    for path in PATHS {
        let mut other = client.url.clone();
        other.set_path(path);
        if other.path() != client.url.path()
            && let Some(how) = answers(client, &other).await
        {
            remedy = Some(format!("use {}: {how} answers there", shown(&other)));
            break;
        }
    }
    let tried =
        remedy.is_none().then(|| Evidence::fact("`/mcp`, `/sse` and `/` do not answer as MCP, either"));
    let remedy = remedy.unwrap_or_else(|| {
        "check the path of the URL, and what is in front of the server: a proxy that does not forward the path, or a login page".to_owned()
    });
    let mut found = opening.proves(
        finding(PT0807, format!("there is no MCP endpoint at {url}: it answers {what}")).remedy(remedy),
    );
    found.evidence.extend(tried);
    found
}

/// Which transport answers at a URL, if any.
async fn answers(client: &Client, url: &Url) -> Option<&'static str> {
    if url.path().ends_with("/sse") {
        let open = SseStream::open_at(client, url, PROBE).await;
        return open.map(|_| "HTTP+SSE");
    }
    for request in
        [initialize(client, LATEST_LEGACY), stateless(client, "server/discover", None, crate::drive::MODERN)]
    {
        let exchange = client.send(request.at(url.clone()).within(PROBE)).await;
        if exchange.result().is_some() {
            let id = exchange.response().and_then(|response| response.header("mcp-session-id"));
            if let Some(id) = id {
                let end = client.request(reqwest::Method::DELETE, url.clone()).header("mcp-session-id", id);
                client.send(end.within(PROBE)).await;
            }
            return Some("MCP");
        }
    }
    None
}
