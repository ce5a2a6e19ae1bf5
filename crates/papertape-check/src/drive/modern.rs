//! Opens a server with `server/discover`, and sends what stateless revisions want in each request.

use std::io;
use std::time::Duration;

use papertape::stdio::ServerCommand;
use serde_json::{Value, json};

use crate::drive::ending::Ending;
use crate::drive::run::{Opening, Progress, Run};
use crate::drive::{LATEST_LEGACY, MODERN, legacy, lists};
use crate::stdio::process::ServerProcess;
use crate::stdio::session::{NoResponse, Session};

/// A server that did not respond to a probe may only be slow to start: `initialize` after it is waited for so long at least.
const PATIENCE: Duration = Duration::from_secs(20);

/// `_meta` of a request.
pub(crate) fn meta(revision: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientInfo": {"name": "papertape-check", "version": env!("CARGO_PKG_VERSION")},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// Starts a server, opens it with `server/discover`, and reads its lists. If it does not open, and `then` says how long that may
/// take, `initialize` follows in the same process, as from hosts that speak all revisions.
///
/// # Errors
/// If it cannot be started.
pub(crate) async fn run(
    command: &ServerCommand,
    wait: Duration,
    then: Option<Duration>,
    ending: Ending,
) -> io::Result<Run> {
    let mut session = Session::new(ServerProcess::start(command)?);
    let mut progress = Progress::default();
    progress.failure = drive(&mut session, &mut progress, wait).await.err();
    let over = matches!(progress.failure, Some(NoResponse::Exited | NoResponse::OutputEnded));
    if let (Some(wait), None, false) = (then, &progress.opened, over) {
        // What is wrong with it is seen in the exchange.
        drop(legacy::initialize(&mut session, LATEST_LEGACY, wait.max(PATIENCE)).await);
    }
    Ok(Run::finish(Opening::Modern, session, progress, ending).await)
}

async fn drive(session: &mut Session, progress: &mut Progress, wait: Duration) -> Result<(), NoResponse> {
    let meta = meta(MODERN);
    let index = session.request("server/discover", Some(json!({"_meta": meta})), wait).await?;
    let result =
        session.exchanges.get(index).and_then(|exchange| exchange.result()).cloned().unwrap_or_default();
    let supports = |versions: &Vec<Value>| versions.iter().any(|version| version == MODERN);
    if !result.get("supportedVersions").and_then(Value::as_array).is_some_and(supports) {
        return Ok(());
    }
    progress.opened = Some(MODERN.to_owned());
    let capabilities = result.get("capabilities").cloned().unwrap_or_default();
    progress.lists.is_modern = true;
    lists::read(session, &mut progress.lists, &capabilities, Some(&meta), wait).await
}
