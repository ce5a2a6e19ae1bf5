//! Headers of the stateless revision that are not compared with the body.

use crate::code::http::{PT0818, PT0821};
use crate::drive::MODERN;
use crate::finding::Finding;
use crate::http::channel::stateless;
use crate::http::client::{Client, PROBE};
use crate::http::inspect::finding;

/// A revision that there is not.
pub(crate) const UNKNOWN: &str = "1999-01-01";

/// What is wrong with the checks of headers.
pub(crate) async fn inspect(client: &Client) -> Vec<Finding> {
    let discover = || stateless(client, "server/discover", None, MODERN);
    let faults = [
        (
            discover().header("mcp-method", "tools/list"),
            "whose `Mcp-Method` names another method than the body",
        ),
        (discover().without("mcp-method"), "without `Mcp-Method`"),
        (
            stateless(client, "server/discover", None, UNKNOWN).header("mcp-protocol-version", MODERN),
            "whose `MCP-Protocol-Version` names another revision than the body",
        ),
    ];
    let mut findings = Vec::new();
    for (request, fault) in faults {
        let exchange = client.send(request.within(PROBE)).await;
        if exchange.is_accepted() && exchange.result().is_some() {
            findings.push(
                exchange.proves(
                    finding(PT0821, format!("a request {fault} is served"))
                        .remedy("compare the headers with the body, and answer 400 with the error -32020"),
                ),
            );
        }
    }
    let exchange = client.send(stateless(client, "server/discover", None, UNKNOWN).within(PROBE)).await;
    if exchange.is_accepted() && exchange.result().is_some() {
        findings.push(
            exchange.proves(
                finding(
                    PT0818,
                    format!("a stateless request in the revision {UNKNOWN}, which there is not, is served"),
                )
                .remedy("answer 400 with the error -32022, whose data names the supported revisions"),
            ),
        );
    }
    findings
}
