//! The client that the official conformance suite starts: one scenario per run, on papertape's public API.
//!
//!     conformance_client URL
//!
//! The suite says in the environment which scenario it is (`MCP_CONFORMANCE_SCENARIO`) and what it is about
//! (`MCP_CONFORMANCE_CONTEXT`, JSON). The client negotiates the revision itself.

mod auth;
mod scenarios;
mod skills;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use papertape::client::ClientOptions;
use papertape::http::{self, Endpoint};
use papertape::protocol::{ElicitResult, FormRequest, Role, Root, SamplingResult};
use serde_json::{Map, Value, json};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The suite cannot end a client that takes longer than it waits, which is half a minute by default.
/// `interop/conformance/run` says two minutes.
const LONGEST: Duration = Duration::from_secs(110);

#[tokio::main]
async fn main() -> ExitCode {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let context = serde_json::from_str(&variable("MCP_CONFORMANCE_CONTEXT")).unwrap_or(Value::Null);
    let scenario = variable("MCP_CONFORMANCE_SCENARIO");
    let Some(url) = std::env::args().next_back().filter(|url| url.starts_with("http")) else {
        drop(writeln!(io::stderr(), "usage: conformance_client URL"));
        return ExitCode::from(2);
    };
    let done = tokio::time::timeout(LONGEST, run(&url, &scenario, &context)).await;
    let done = done.unwrap_or_else(|_| Err("it took too long".into()));
    match judged(done, auth::reason_to_stop(&scenario)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(io::stderr(), "{scenario}: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Where the client must stop, it has done well if it did, and for that reason.
fn judged(done: Result<(), Failure>, must_stop: Option<&str>) -> Result<(), Failure> {
    let Some(reason) = must_stop else { return done };
    match done {
        Err(error) if error.to_string().contains(reason) => Ok(()),
        Err(error) => Err(format!("it stopped, but not because {reason}: {error}").into()),
        Ok(()) => Err("it got through, and must not".into()),
    }
}

async fn run(url: &str, scenario: &str, context: &Value) -> Result<(), Failure> {
    let endpoint = Endpoint::new(url).credentials(auth::credentials(scenario, context)?);
    let client = http::connect_with(endpoint, options()).await?;
    let done = match skills::run(scenario, &client).await {
        Some(done) => done.map_err(Failure::from),
        None => scenarios::run(scenario, &client, context).await,
    };
    client.close().await;
    done
}

/// A client that can be asked anything.
fn options() -> ClientOptions {
    let root = Root::new("file:///conformance");
    ClientOptions::new()
        .identity("papertape-conformance-client", "1.0.0")
        .timeout(Duration::from_secs(60))
        .roots(vec![root])
        .on_form(|form| async move { fill_in(&form) })
        .on_sampling(|_| async {
            let content = json!({"type": "text", "text": "a model would say something here"});
            let mut result = SamplingResult::new(Role::Assistant, content, "none");
            result.stop_reason = Some("endTurn".to_owned());
            Ok(result)
        })
}

/// A user who accepts what is proposed, and types something where nothing is.
fn fill_in(form: &FormRequest) -> ElicitResult {
    let typed = |schema: &Value| match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => json!(true),
        Some("integer" | "number") => json!(1),
        Some("array") => json!([]),
        _ => schema.get("enum").and_then(|choices| choices.get(0)).cloned().unwrap_or(json!("yes")),
    };
    let properties = form.requested_schema.get("properties").and_then(Value::as_object);
    let filled: Map<String, Value> = properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| (name.clone(), schema.get("default").cloned().unwrap_or_else(|| typed(schema))))
        .collect();
    ElicitResult::accept(filled)
}
