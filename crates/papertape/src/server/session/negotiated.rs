//! What a client and the server have agreed on: revision, capabilities, log level.

use std::sync::Arc;

use super::Session;
use crate::protocol::Revision;
use crate::protocol::capabilities::{Abilities, Implementation};
use crate::protocol::logging::LogLevel;

/// Of an exchange, only what the last request and unreadable ones need: the rest is agreed in its parent.
#[derive(Default)]
pub(super) struct Negotiated {
    /// The revision that `initialize` led to.
    pub(super) legacy: Option<Revision>,
    /// The client has sent `notifications/initialized`.
    pub(super) initialized: bool,
    /// It has not, and that has been logged.
    pub(super) logged_uninitialized: bool,
    /// The stateless revision of the last request that named one.
    pub(super) modern: Option<Revision>,
    /// A revision is in use whose errors omit the id of an unreadable request.
    pub(super) omits_unreadable_id: bool,
    /// The capabilities of a session-based client.
    pub(super) abilities: Abilities,
    /// Its name and version.
    pub(super) client: Option<Arc<Implementation>>,
    /// The level that a session-based client has set.
    pub(super) log_level: Option<LogLevel>,
}

impl Session {
    /// The session-based revision that was agreed.
    pub(crate) fn legacy(&self) -> Option<Revision> {
        self.parent().state().negotiated.legacy
    }

    /// The same for a request. One before `notifications/initialized` is served, but logged.
    pub(crate) fn legacy_request(&self) -> Option<Revision> {
        let negotiated = &mut self.parent().state().negotiated;
        let revision = negotiated.legacy?;
        if !negotiated.initialized && !std::mem::replace(&mut negotiated.logged_uninitialized, true) {
            tracing::info!("the client has not sent `notifications/initialized`; it is served all the same");
        }
        Some(revision)
    }

    pub(crate) fn set_legacy(&self, revision: Revision) {
        let negotiated = &mut self.parent().state().negotiated;
        negotiated.legacy = Some(revision);
        negotiated.omits_unreadable_id |= revision.omits_unreadable_id();
    }

    pub(crate) fn set_initialized(&self) {
        let negotiated = &mut self.parent().state().negotiated;
        negotiated.initialized = negotiated.legacy.is_some();
    }

    /// A request of a stateless revision has been seen.
    pub(crate) fn note_modern(&self, revision: Revision) {
        let negotiated = &mut self.state().negotiated;
        negotiated.modern = Some(revision);
        negotiated.omits_unreadable_id |= revision.omits_unreadable_id();
    }

    /// The stateless revision of the last request that named one.
    pub(crate) fn modern(&self) -> Option<Revision> {
        self.state().negotiated.modern
    }

    pub(crate) fn set_abilities(&self, abilities: Abilities) {
        self.parent().state().negotiated.abilities = abilities;
    }

    pub(crate) fn abilities(&self) -> Abilities {
        self.parent().state().negotiated.abilities
    }

    pub(crate) fn set_client(&self, client: Option<Implementation>) {
        self.parent().state().negotiated.client = client.map(Arc::new);
    }

    /// The name and version of a session-based client.
    pub(crate) fn client(&self) -> Option<Arc<Implementation>> {
        self.parent().state().negotiated.client.clone()
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        self.parent().state().negotiated.log_level = Some(level);
    }

    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        self.parent().state().negotiated.log_level
    }
}
