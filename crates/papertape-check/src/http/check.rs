//! The check of a server at a URL, from the connection to its end.

use reqwest::Url;
use serde_json::Value;

use crate::code::http::{PT0801, PT0812, PT0824};
use crate::definitions::{self, Lists};
use crate::drive::{LATEST_LEGACY, MODERN, OLDER};
use crate::evidence::Evidence;
use crate::finding::{Finding, Severity};
use crate::hosts::affected;
use crate::http::calls;
use crate::http::channel::{Channel, HttpSession, initialize, stateless};
use crate::http::client::{Client, PROBE, shown};
use crate::http::exchange::Exchange;
use crate::http::inspect::{
    authorization, connection, endpoint, origin, response, session, stateless as headers, token,
};
use crate::http::lists;
use crate::http::redactor::Redactor;
use crate::http::sse::SseStream;
use crate::inspect::capabilities::{of_refused_ping, of_wrong_type, wrong_type};
use crate::inspect::quote;
use crate::options::Options;
use crate::report::{Report, ServerSummary};

/// How many redirects are followed.
const REDIRECTS: usize = 5;

/// Connects to a server at a URL, drives it through what hosts do, and reports what is wrong with it. `headers` go with each
/// request to its host; their values are in no report.
///
/// It must be called in a tokio runtime with I/O and time.
pub async fn check_http(url: &str, headers: &[(String, String)], options: &Options) -> Report {
    let client = match Client::new(url, headers, options) {
        Ok(client) => client,
        Err(why) => {
            let finding = Finding::new(PT0801, format!("the URL cannot be used: {why}"))
                .evidence(Evidence::fact("nothing was sent"))
                .remedy("write the whole URL: http://HOST:PORT/mcp, or https://");
            let mut report = Report::new(vec![finding], ServerSummary::default());
            report.skipped.push("everything: nothing was sent".to_owned());
            return report;
        }
    };
    let mut check = Check { client, options, found: Found::default() };
    Box::pin(check.run()).await;
    check.found.report(&check.client.redactor)
}

/// What was found out so far.
#[derive(Debug, Default)]
struct Found {
    findings: Vec<Finding>,
    summary: ServerSummary,
    steps: Vec<String>,
    skipped: Vec<String>,
    /// The definitions as the newest revision lists them.
    lists: Option<Lists>,
    /// Lists that could be read in a revision.
    works: Vec<&'static str>,
    /// The findings about lists that were refused in a revision.
    refused: Vec<(&'static str, Finding)>,
}

#[derive(Debug)]
struct Check<'a> {
    client: Client,
    options: &'a Options,
    found: Found,
}

impl Check<'_> {
    async fn run(&mut self) {
        self.found.findings.extend(token::in_url(&self.client.url));
        self.options.step("connecting");
        let Some(opening) = self.connect().await else { return };
        if opening.status() == Some(401) {
            let (findings, _) = Box::pin(authorization::inspect(&self.client, &opening)).await;
            self.found.findings.extend(findings);
            if self.client.is_authenticated()
                && let Some(response) = opening.response()
            {
                self.found.findings.push(response::refused(&opening, response));
            }
            self.found.steps.push("`initialize`: authorization is required".to_owned());
            self.found
                .skipped
                .push("everything behind authorization: give a token that the server accepts".to_owned());
            return;
        }
        self.options.step("opening without a session");
        let discovered = self.client.send(stateless(&self.client, "server/discover", None, MODERN)).await;
        let is_legacy = protocol_version(&opening).is_some();
        let is_modern = supports_modern(&discovered);
        self.step("`initialize`", LATEST_LEGACY, &opening, protocol_version(&opening));
        self.step("`server/discover`", MODERN, &discovered, is_modern.then_some(MODERN));
        if !is_legacy && !is_modern {
            self.without_streamable_http(&opening).await;
            return;
        }
        self.found.summary.first_response =
            Some(if is_legacy { opening.elapsed } else { discovered.elapsed });
        if is_modern {
            self.drive_modern(&discovered).await;
        }
        if is_legacy {
            self.drive_legacy(opening).await;
        }
        self.options.step("`Origin` and `Host`");
        self.found.findings.extend(Box::pin(origin::inspect(&self.client, is_legacy)).await);
        if self.client.is_authenticated() {
            self.options.step("authorization");
            self.found.findings.extend(Box::pin(token::inspect(&self.client, is_legacy)).await);
        }
    }

    /// Sends the first request, wherever it is redirected to: the exchange, unless there is no response.
    async fn connect(&mut self) -> Option<Exchange> {
        for _ in 0..=REDIRECTS {
            let exchange = self.client.send(initialize(&self.client, LATEST_LEGACY)).await;
            let response = match &exchange.outcome {
                Ok(response) => response,
                Err(failure) => {
                    let finding = connection::inspect(&self.client, &exchange, failure).await;
                    self.found.findings.push(finding);
                    self.found.skipped.push("everything: there is no response".to_owned());
                    return None;
                }
            };
            let location = response.header("location").filter(|_| (300..400).contains(&response.status));
            let Some(next) = location.and_then(|to| self.client.url.join(to).ok()) else {
                return Some(exchange);
            };
            if !matches!(next.scheme(), "http" | "https") {
                return Some(exchange);
            }
            let finding = redirected(&self.client.url, &next, &exchange, response.status);
            self.found.findings.push(finding);
            self.client.go_to(next);
        }
        self.found.findings.push(
            Finding::new(PT0812, "the URL redirects again and again")
                .severity(Severity::Breaks)
                .remedy("give hosts a URL that does not redirect"),
        );
        self.found.skipped.push("everything: the URL redirects again and again".to_owned());
        None
    }

    fn step(&mut self, tried: &str, revision: &str, exchange: &Exchange, opened: Option<&str>) {
        let how = match (opened, exchange.status()) {
            (Some(opened), _) => format!("opened in {opened}"),
            (None, Some(status)) => format!("refused with HTTP {status}"),
            (None, None) => "not answered".to_owned(),
        };
        self.found.steps.push(format!("{tried} in {revision}: {how}"));
    }

    /// A server that opens in no revision of Streamable HTTP.
    async fn without_streamable_http(&mut self, opening: &Exchange) {
        self.options.step("opening over HTTP+SSE");
        let wait = self.client.wait.min(PROBE);
        let Some(stream) = SseStream::open(&self.client, wait).await else {
            let finding = Box::pin(endpoint::inspect(&self.client, opening)).await;
            self.found.findings.push(finding);
            self.found.skipped.push("everything else: the server does not open".to_owned());
            return;
        };
        let message =
            format!("{} speaks HTTP+SSE of 2024-11-05 only, which is deprecated", shown(&self.client.url));
        self.found.findings.push(opening.proves(
            Finding::new(PT0824, message).affects(affected(PT0824.name)).remedy(
                "serve Streamable HTTP, too; until then, choose the type `sse` in the configuration of hosts",
            ),
        ));
        self.drive_sse(stream).await;
    }

    async fn drive_sse(&mut self, mut stream: SseStream) {
        let params = initialize(&self.client, "2024-11-05").params();
        let opened = Box::pin(stream.call(&self.client, "initialize", params)).await;
        self.step("`initialize` over HTTP+SSE", "2024-11-05", &opened, protocol_version(&opened));
        self.found.summary.first_response = Some(opened.elapsed);
        self.take_revision(protocol_version(&opened));
        self.found.findings.extend(response::inspect(&opened));
        let Some(capabilities) = self.take_info(&opened) else { return };
        drop(stream.notify(&self.client, "notifications/initialized").await);
        self.use_channel(Channel::Sse(Box::new(stream)), "2024-11-05", &capabilities).await;
    }

    async fn drive_modern(&mut self, discovered: &Exchange) {
        self.take_revision(Some(MODERN));
        self.found.findings.extend(response::inspect(discovered));
        let Some(capabilities) = self.take_info(discovered) else { return };
        self.use_channel(Channel::Stateless, MODERN, &capabilities).await;
        self.options.step("headers of stateless requests");
        self.found.findings.extend(headers::inspect(&self.client).await);
    }

    async fn drive_legacy(&mut self, opening: Exchange) {
        let Some(revision) = protocol_version(&opening).map(str::to_owned) else { return };
        self.take_revision(Some(&revision));
        self.found.findings.extend(response::inspect(&opening));
        let Some(capabilities) = self.take_info(&opening) else { return };
        let id = opening.response().and_then(|response| {
            let id = response.headers.get("mcp-session-id")?;
            Some(String::from_utf8_lossy(id.as_bytes()).into_owned())
        });
        let session = HttpSession { revision, id };
        let notify = session.mark(self.client.notify("notifications/initialized"));
        let notified = self.client.send(notify).await;
        self.found.findings.extend(session::notification(&notified));
        let channel = Channel::Session(session.clone());
        let (event_id, failed) = self.use_channel(channel, &session.revision, &capabilities).await;
        if failed {
            self.found.skipped.push("the session: a request has no response".to_owned());
            return;
        }
        self.options.step("the session");
        let found = session::inspect(&self.client, &session, &opening, event_id.as_deref());
        self.found.findings.extend(Box::pin(found).await);
        for older in OLDER {
            self.options.step(&format!("opening in {older}"));
            let opened = self.client.send(initialize(&self.client, older)).await;
            self.step("`initialize`", older, &opened, protocol_version(&opened));
            self.take_revision(protocol_version(&opened));
            origin::end(&self.client, &opened).await;
        }
    }

    /// Reads the lists, keeps those of the first channel that has any, and calls the tools in it: an id of an event, and whether
    /// a request failed.
    async fn use_channel(
        &mut self,
        mut channel: Channel,
        revision: &str,
        capabilities: &Value,
    ) -> (Option<String>, bool) {
        if !matches!(channel, Channel::Stateless) {
            let exchange = Box::pin(channel.call(&self.client, "ping", None)).await;
            let error = exchange.message().and_then(|message| message.get("error"));
            if let Some(error) = error.filter(|_| exchange.denied().is_none()) {
                self.found.findings.push(exchange.proves(of_refused_ping(error)));
            }
        }
        self.options.step("lists");
        let read = Box::pin(lists::read(&self.client, &mut channel, capabilities)).await;
        for found in read.findings {
            if !self.found.findings.iter().any(|finding| finding.code == found.code) {
                self.found.findings.push(found);
            }
        }
        self.found.skipped.extend(read.skipped);
        self.found.works.extend(read.works);
        self.found.refused.extend(read.refused);
        if self.found.lists.is_none() && !read.lists.is_empty() {
            if !read.failed {
                let calls = calls::run(&self.client, &mut channel, revision, &read.lists.tools, self.options);
                let calls = Box::pin(calls).await;
                self.found.findings.extend(calls.findings);
                self.found.steps.extend(calls.steps);
                self.found.skipped.extend(calls.skipped);
            }
            self.found.lists = Some(read.lists);
        }
        (read.event_id, read.failed)
    }

    fn take_revision(&mut self, revision: Option<&str>) {
        let revisions = &mut self.found.summary.revisions;
        revisions.extend(revision.map(str::to_owned));
        revisions.sort();
        revisions.dedup();
    }

    /// Takes what the server says about itself in the result that opens it: its capabilities.
    fn take_info(&mut self, opened: &Exchange) -> Option<Value> {
        let result = opened.result()?;
        let info = result
            .get("serverInfo")
            .or_else(|| result.get("_meta")?.get("io.modelcontextprotocol/serverInfo"));
        let text = |member: &str| info.and_then(|info| info.get(member)?.as_str()).map(str::to_owned);
        let summary = &mut self.found.summary;
        summary.name = summary.name.take().or_else(|| text("name"));
        summary.version = summary.version.take().or_else(|| text("version"));
        let capabilities = result.get("capabilities").cloned().unwrap_or_default();
        if let Some(fault) = wrong_type(&capabilities) {
            let finding = opened.proves(of_wrong_type(&opened.what, fault));
            if !self.found.findings.iter().any(|known| known.code == finding.code) {
                self.found.findings.push(finding);
            }
        }
        Some(capabilities)
    }
}

impl Found {
    fn report(mut self, redactor: &Redactor) -> Report {
        let mut refused: Vec<Finding> = Vec::new();
        for (_, finding) in self.refused.into_iter().filter(|(method, _)| !self.works.contains(method)) {
            if !refused.iter().any(|known| known.subject == finding.subject) {
                refused.push(finding);
            }
        }
        self.findings.extend(refused);
        let lists = self.lists.unwrap_or_default();
        self.findings.extend(definitions::inspect(&lists));
        for finding in &mut self.findings {
            redactor.redact_finding(finding);
        }
        let summary = ServerSummary {
            tools: lists.tools.len(),
            resources: lists.resources.len(),
            templates: lists.templates.len(),
            prompts: lists.prompts.len(),
            list_bytes: lists.bytes,
            ..self.summary
        };
        let mut report = Report::new(self.findings, summary);
        report.steps = self.steps;
        report.skipped = self.skipped;
        report.skipped.extend(lists.cut.iter().map(|what| format!("inspection of {what}")));
        report
    }
}

/// The revision that `initialize` was answered with.
fn protocol_version(opened: &Exchange) -> Option<&str> {
    opened.result()?.get("protocolVersion")?.as_str().filter(|_| opened.is_accepted())
}

fn supports_modern(discovered: &Exchange) -> bool {
    let versions = discovered.result().and_then(|result| result.get("supportedVersions")?.as_array());
    versions.is_some_and(|versions| versions.iter().any(|version| version == MODERN))
}

/// A redirect.
fn redirected(from: &Url, to: &Url, exchange: &Exchange, status: u16) -> Finding {
    let (from, to) = (shown(from), quote(&shown(to)));
    let loses = !matches!(status, 307 | 308);
    let why = if loses { ", which turns a POST into a GET in many clients" } else { "" };
    let severity = if loses { Severity::Warning } else { Severity::Note };
    exchange.proves(
        Finding::new(PT0812, format!("{from} redirects to {to} with HTTP {status}{why}"))
            .severity(severity)
            .affects(if loses { affected(PT0812.name) } else { Vec::new() })
            .remedy(format!("give hosts the URL {to}")),
    )
}
