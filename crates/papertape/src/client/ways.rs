//! Requests that go each their own way, as on HTTP, to what becomes of them.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::session::{Answer, Mirrored, Session, Trouble, Waiting, Way};
use crate::outbox::OUTBOX;
use crate::wire::Id;

impl Session {
    /// From now on each request goes its own way.
    pub(crate) fn go_own_ways(&self) {
        self.state().own_ways = true;
    }

    /// A request sets out. What it gets is told when it has been answered; nothing if nobody waits for it any more.
    pub(crate) fn set_out(&self, id: i64) -> Option<Arc<Notify>> {
        let mut state = self.state();
        if !state.waiting.contains_key(&id) {
            return None;
        }
        let left = Arc::new(Notify::new());
        let way = Way { task: None, left: Arc::clone(&left), reached: "there was no connection yet" };
        state.ways.insert(id, way);
        Some(left)
    }

    /// This carries it, and is stopped when nobody waits for it any more.
    pub(crate) fn carried_by(&self, id: i64, task: AbortHandle) {
        match self.state().ways.get_mut(&id) {
            Some(way) => way.task = Some(task),
            None => task.abort(),
        }
    }

    /// So far it has got.
    pub(crate) fn has_reached(&self, id: i64, reached: &'static str) {
        if let Some(way) = self.state().ways.get_mut(&id) {
            way.reached = reached;
        }
    }

    /// Until when somebody waits for it, if that has an end.
    pub(crate) fn deadline(&self, id: i64) -> Option<Instant> {
        match self.state().waiting.get(&id) {
            Some(Waiting::Call(call)) => Some(call.until),
            _ => None,
        }
    }

    /// Whether somebody waits for its answer.
    pub(crate) fn awaits(&self, id: i64) -> bool {
        self.state().waiting.contains_key(&id)
    }

    /// The server cannot answer anything any more; why, if that is known.
    pub(crate) fn lose(&self, problem: Option<String>) {
        if let Some(problem) = problem {
            self.state().fault.get_or_insert((problem, Vec::new()));
        }
        self.end();
    }

    /// It came to nothing.
    pub(crate) fn fail_request(&self, id: i64, trouble: Trouble) {
        self.give_answer(id, Answer::Failed(trouble));
    }

    /// It was answered with an error that does not say which request it is about.
    pub(crate) fn refuse_request(&self, id: i64, error: crate::wire::RpcError) {
        self.give_answer(id, Answer::Error(error));
    }

    /// An answer that may be one too many.
    fn give_answer(&self, id: i64, answer: Answer) {
        if self.state().waiting.contains_key(&id) {
            self.answered(Some(&Id::Integer(id)), answer);
        }
    }

    /// Waits until what waits to be written is little enough to go on reading.
    pub(crate) async fn has_room(&self) {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            if self.pending() < OUTBOX {
                return;
            }
            room.await;
        }
    }

    /// What of a tool's arguments is mirrored in headers.
    pub(crate) fn mirrored(&self, tool: &str) -> Option<Mirrored> {
        self.state().mirrored.get(tool).cloned()
    }

    /// As long as this is held, time does not count against the server: our own side takes it.
    pub(crate) fn excuse(self: &Arc<Self>) -> Excuse {
        let mut state = self.state();
        state.excused += 1;
        state.count_answering();
        drop(state);
        Excuse(Arc::clone(self))
    }
}

/// Time that is not the server's.
pub(crate) struct Excuse(Arc<Session>);

impl Drop for Excuse {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.excused = state.excused.saturating_sub(1);
        state.count_answering();
    }
}
