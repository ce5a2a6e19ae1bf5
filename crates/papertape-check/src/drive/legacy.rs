//! Opens a server with `initialize`.

use std::io;
use std::time::Duration;

use papertape::stdio::ServerCommand;
use serde_json::{Value, json};

use crate::drive::ending::Ending;
use crate::drive::run::{Opening, Progress, Run};
use crate::drive::{LATEST_LEGACY, MODERN, lists, modern, silence};
use crate::stdio::process::ServerProcess;
use crate::stdio::session::{Framing, NoResponse, Session};

/// How long a server that ignores `initialize` may take for `server/discover`.
const OTHER_ERA: Duration = Duration::from_secs(2);

/// Starts a server, opens it with `initialize`, and reads its lists.
///
/// # Errors
/// If it cannot be started.
pub(crate) async fn run(
    command: &ServerCommand,
    opening: Opening,
    framing: Framing,
    wait: Duration,
    ending: Ending,
) -> io::Result<Run> {
    let mut session = Session::new(ServerProcess::start(command)?);
    session.framing = framing;
    let mut progress = Progress::default();
    progress.failure = drive(&mut session, opening, &mut progress, wait).await.err();
    Ok(Run::finish(opening, session, progress, ending).await)
}

async fn drive(
    session: &mut Session,
    opening: Opening,
    progress: &mut Progress,
    wait: Duration,
) -> Result<(), NoResponse> {
    let revision = match opening {
        Opening::Legacy(revision) | Opening::Headers(revision) | Opening::Older(revision) => revision,
        Opening::Modern => LATEST_LEGACY,
    };
    let opened = initialize(session, revision, wait).await;
    if let Err(failure) = opened {
        if failure != NoResponse::Exited {
            progress.silence = Some(silence::observe(session, wait).await);
        }
        if failure == NoResponse::Timeout && !matches!(opening, Opening::Headers(_)) {
            // One that knows nothing but stateless revisions should have refused `initialize`.
            let meta = json!({"_meta": modern::meta(MODERN)});
            let _ = session.request("server/discover", Some(meta), OTHER_ERA).await;
        }
        return Err(failure);
    }
    let Ok(Some(result)) = opened else { return Ok(()) };
    progress.opened = result.get("protocolVersion").and_then(Value::as_str).map(str::to_owned);
    session.notify("notifications/initialized", None).await?;
    let capabilities = match opening {
        // Enough to see whether a session in this revision works.
        Opening::Older(_) => only_tools(result.get("capabilities")),
        _ => result.get("capabilities").cloned().unwrap_or_default(),
    };
    lists::read(session, &mut progress.lists, &capabilities, None, wait).await
}

fn only_tools(capabilities: Option<&Value>) -> Value {
    match capabilities.and_then(|capabilities| capabilities.get("tools")) {
        Some(tools) => json!({"tools": tools}),
        None => json!({}),
    }
}

/// Sends `initialize`: its result, or nothing if the response is an error.
///
/// # Errors
/// If there is no response.
pub(crate) async fn initialize(
    session: &mut Session,
    revision: &str,
    wait: Duration,
) -> Result<Option<Value>, NoResponse> {
    let params = json!({
        "protocolVersion": revision,
        "capabilities": {},
        "clientInfo": {"name": "papertape-check", "version": env!("CARGO_PKG_VERSION")},
    });
    let index = session.request("initialize", Some(params), wait).await?;
    Ok(session.exchanges.get(index).and_then(|exchange| exchange.result()).cloned())
}
