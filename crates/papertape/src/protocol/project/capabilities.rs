//! Identities and capabilities of servers and clients.

use serde_json::Value;

use crate::protocol::Revision;
use crate::protocol::capabilities::{
    Abilities, ClientCapabilities, ElicitationCapability, Implementation, ServerCapabilities, TASKS,
};

/// The identity of a server or client.
#[must_use]
pub(crate) fn implementation(mut info: Implementation, revision: Revision) -> Implementation {
    if !revision.has_structured_output() {
        info.title = None;
    }
    if !revision.has_icons() {
        info.description = None;
        info.website_url = None;
        info.icons.clear();
    }
    info
}

/// The capabilities of a server.
#[must_use]
pub(crate) fn server_capabilities(mut offered: ServerCapabilities, revision: Revision) -> ServerCapabilities {
    if !revision.announces_completions() {
        offered.completions = None;
    }
    if revision.opens_with_handshake() {
        offered.extensions = None;
    }
    offered
}

/// The capabilities of a client.
#[must_use]
pub(crate) fn client_capabilities(mut offered: ClientCapabilities, revision: Revision) -> ClientCapabilities {
    offered.elicitation = match offered.elicitation {
        // Forms were the only mode, and were implied.
        Some(ways) if !revision.elicitation_has_modes() => {
            (ways.form.is_some() && revision.has_elicitation()).then(ElicitationCapability::default)
        }
        ways => ways,
    };
    // MCP Apps declares itself in `initialize` of any revision; we show no pages where tools have no `_meta`.
    if !revision.has_structured_output() {
        offered.extensions = None;
    }
    if revision.opens_with_handshake()
        && let Some(extensions) = &mut offered.extensions
    {
        extensions.shift_remove(TASKS);
        if extensions.is_empty() {
            offered.extensions = None;
        }
    }
    if let Some(model) = &mut offered.sampling {
        model.tools = model.tools.filter(|_| revision.sampling_has_tools());
    }
    offered
}

/// The abilities of a client that a revision has.
#[must_use]
pub(crate) fn abilities(said: Abilities, revision: Revision) -> Abilities {
    Abilities {
        form: said.form && revision.has_elicitation(),
        url: said.url && revision.elicitation_has_modes(),
        sampling_tools: said.sampling_tools && revision.sampling_has_tools(),
        tasks: said.tasks && !revision.opens_with_handshake(),
        // A tool names its page in its `_meta`.
        apps: said.apps && revision.has_structured_output(),
        ..said
    }
}

/// The arguments that are set already when another one is completed.
#[must_use]
pub(crate) fn completion_context(context: Option<Value>, revision: Revision) -> Option<Value> {
    context.filter(|_| revision.has_structured_output())
}
