//! Fields that a server sends to clients of revisions that do not have them.

use serde_json::Value;

use crate::code::opening::PT0324;
use crate::drive::run::{Opening, Run};
use crate::drive::{Drive, LATEST_LEGACY, MODERN};
use crate::finding::Finding;
use crate::hosts::affected;
use crate::inspect::messages::response_bytes;

/// The first revision of MCP.
const OLDEST: &str = "2024-11-05";

/// Where fields are, what they are called, and the first revision that has them.
const TOOL: [(&str, &str); 6] = [
    ("annotations", "2025-03-26"),
    ("title", "2025-06-18"),
    ("outputSchema", "2025-06-18"),
    ("_meta", "2025-06-18"),
    ("icons", "2025-11-25"),
    ("execution", "2025-11-25"),
];
const SERVER: [(&str, &str); 4] = [
    ("title", "2025-06-18"),
    ("icons", "2025-11-25"),
    ("description", "2025-11-25"),
    ("websiteUrl", "2025-11-25"),
];
const RESULT: [(&str, &str); 3] = [("resultType", MODERN), ("ttlMs", MODERN), ("cacheScope", MODERN)];

/// Fields of newer revisions, in all session-based runs.
pub(crate) fn inspect(drive: &Drive) -> Option<Finding> {
    let mut named: Vec<String> = Vec::new();
    let mut evidence = None;
    // The oldest revision has the most of them.
    for run in
        drive.opened().filter(|run| run.opening != Opening::Modern).collect::<Vec<_>>().into_iter().rev()
    {
        let Some(revision) =
            run.opened.as_deref().filter(|revision| (OLDEST..=LATEST_LEGACY).contains(revision))
        else {
            continue;
        };
        for (field, since, response) in fields(run, revision) {
            let name = format!("{field} ({since})");
            if !named.contains(&name) {
                named.push(name);
                evidence.get_or_insert_with(|| (revision.to_owned(), response_bytes(run, response)));
            }
        }
    }
    let (revision, evidence) = evidence?;
    let message = format!(
        "the server sends fields to clients of older revisions, down to {revision}, that these do not have: {}",
        named.join(", ")
    );
    Some(
        Finding::new(PT0324, message)
            .evidence(evidence)
            .remedy("nothing for clients that ignore what they do not know, as most do; otherwise leave out what the negotiated revision does not have")
            .affects(affected("PT0324")),
    )
}

type Found<'a> = (String, &'static str, &'a crate::stdio::session::Response);

fn fields<'a>(run: &'a Run, revision: &str) -> Vec<Found<'a>> {
    let mut found: Vec<Found<'a>> = Vec::new();
    for exchange in &run.exchanges {
        let (Some(result), Some(response)) = (exchange.result(), exchange.response.as_ref()) else {
            continue;
        };
        let mut add = |value: Option<&Value>, of: &str, fields: &[(&'static str, &'static str)]| {
            for (field, since) in fields {
                if revision < *since && value.is_some_and(|value| value.get(*field).is_some()) {
                    found.push((format!("`{field}` of {of}"), since, response));
                }
            }
        };
        add(Some(result), "results", &RESULT);
        add(result.get("serverInfo"), "`serverInfo`", &SERVER);
        if exchange.method == "tools/list" {
            // The entries are not kept in the response.
            run.lists.tools.iter().for_each(|tool| add(Some(tool), "tools", &TOOL));
        }
    }
    found
}
