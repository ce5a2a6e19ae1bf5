//! Starts a server process again that has exited by itself, in the same session.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::{ServerCommand, ServerProcess, is_true};
use crate::client::{
    ClientError, ErrorKind, Failure, NOT_SENT, OpenError, Opener, ProcessRecord, Restart, RestartBudget,
    Session,
};
use crate::protocol::Revision;
use crate::transport::streams::client::Settings;

/// Watches the process of a session, and starts it again.
pub(super) struct Restarts {
    command: ServerCommand,
    settings: Settings,
    /// Opens the session in the revision that was negotiated at first.
    opener: Opener,
    budget: RestartBudget,
    session: Arc<Session>,
    record: Arc<ProcessRecord>,
    /// Set when no process is left, and none will be started.
    all_gone: watch::Sender<bool>,
}

impl Restarts {
    pub(super) fn new(
        (command, settings): (ServerCommand, Settings),
        policy: Restart,
        revision: Revision,
        process: &ServerProcess,
        all_gone: watch::Sender<bool>,
    ) -> Self {
        process.session.allow_restarts();
        Self {
            command,
            opener: Opener { revision: Some(revision), ..settings.opener.clone() },
            settings,
            budget: RestartBudget::new(policy),
            session: Arc::clone(&process.session),
            record: Arc::clone(&process.record),
            all_gone,
        }
    }

    /// Runs until the session has ended. `gone` is set when no process of the first server is left.
    pub(super) async fn run(mut self, mut gone: watch::Receiver<bool>) {
        loop {
            is_true(gone).await;
            let Some(next) = self.start_again().await else { break };
            gone = next;
        }
        // Nothing waits for another process any more.
        self.session.end();
        self.all_gone.send_replace(true);
    }

    /// Starts the process until it can be negotiated with; `None` if the session has ended, or there were too many restarts.
    async fn start_again(&mut self) -> Option<watch::Receiver<bool>> {
        let mut is_first = true;
        let exited = Failure::new(ErrorKind::Closed, NOT_SENT);
        let mut why = self.session.error("keeping the session open", exited);
        while !self.session.has_ended() && !self.session.is_closing() {
            let Some(delay) = self.budget.next_delay() else {
                let spent = self.budget.spent();
                if !self.budget.reports() {
                    tracing::warn!("the server process has exited, and is not started again: {spent}");
                }
                self.record.give_up(spent);
                return None;
            };
            if delay > self.budget.longest_wait() {
                self.session.set_restart(Some(Instant::now() + delay));
            }
            self.budget.failed(why, delay);
            tokio::select! {
                () = sleep(delay) => {}
                _ = self.session.close_requested() => return None,
            }
            self.session.set_restart(None);
            if std::mem::take(&mut is_first) {
                // What the last process has written is not the cause of later failures.
                self.record.forget_stderr();
            }
            match self.open().await {
                Ok(process) => {
                    let gone = process.gone.clone();
                    process.keep();
                    tracing::info!("the server process has exited and was started again");
                    let (session, meta) = (Arc::clone(&self.session), self.meta());
                    tokio::spawn(async move { session.resume(meta).await });
                    self.budget.succeeded();
                    return Some(gone);
                }
                Err(error) => {
                    if !self.budget.reports() {
                        tracing::warn!(%error, "the server process could not be started again");
                    }
                    why = error;
                }
            }
        }
        None
    }

    /// Starts the process once. If the session does not open, it is ended.
    async fn open(&self) -> Result<ServerProcess, ClientError> {
        self.record.forget_exit();
        let session = (Arc::clone(&self.session), Arc::clone(&self.record));
        let mut process = ServerProcess::start_in(&self.command, &self.settings, session)?;
        process.stdin = None;
        let deadline = self.opener.deadline();
        let opening = self.opener.open(&self.session, std::future::ready(()), deadline);
        let opened = tokio::select! {
            opened = opening => opened.map_err(OpenError::into_error),
            _ = self.session.close_requested() => {
                let failure = Failure::new(ErrorKind::Closed, "the session was closed");
                Err(self.session.error("starting the server again", failure))
            }
        };
        match opened {
            Ok(_) => Ok(process),
            Err(error) => {
                process.stop().await;
                Err(error)
            }
        }
    }

    /// The `_meta` of requests, if the revision is a stateless one.
    fn meta(&self) -> serde_json::Map<String, serde_json::Value> {
        let revision = self.opener.revision.filter(|revision| !revision.opens_with_handshake());
        revision.map(|revision| self.opener.meta(revision)).unwrap_or_default()
    }
}
