//! A tape that is read, and may still be written.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::Thread;

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::filter::Filter;
use crate::index::Index;
use crate::search::Searches;
use crate::segments::Segments;
use crate::sync::{lock, read, write};

/// A tape, shared by the thread that reads it and those that answer requests.
#[derive(Debug)]
pub(crate) struct Tape {
    /// Its file name, or the target.
    name: String,
    pub(crate) index: RwLock<Index>,
    pub(crate) segments: Segments,
    pub(crate) searches: Searches,
    status: Mutex<Status>,
    /// Counts what has changed.
    generation: watch::Sender<u64>,
    /// The thread that reads it.
    follower: Mutex<Option<Thread>>,
    stopped: AtomicBool,
    /// The rows of the last filter.
    listed: Mutex<Option<Listed>>,
}

#[derive(Debug)]
struct Listed {
    filter: Filter,
    generation: u64,
    rows: Arc<Vec<u32>>,
}

#[derive(Debug, Clone)]
struct Status {
    state: State,
    problem: Option<String>,
    /// Counts the times that another recording has begun in the same place.
    epoch: u64,
}

/// How far it has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Reading,
    /// All of it was read, and it is followed.
    Live,
    Complete,
    /// The last line is incomplete.
    Cut,
    /// There is no `end`.
    Open,
    /// It is not a tape, or cannot be read any further.
    Failed,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Reading => "reading",
            State::Live => "live",
            State::Complete => "complete",
            State::Cut => "cut",
            State::Open => "open",
            State::Failed => "failed",
        }
    }
}

impl Tape {
    pub(crate) fn new(name: String) -> Arc<Self> {
        Arc::new(Self {
            name,
            index: RwLock::default(),
            segments: Segments::default(),
            searches: Searches::default(),
            status: Mutex::new(Status { state: State::Reading, problem: None, epoch: 0 }),
            generation: watch::Sender::new(1),
            follower: Mutex::default(),
            stopped: AtomicBool::new(false),
            listed: Mutex::default(),
        })
    }

    /// Tells the page that something has changed.
    pub(crate) fn changed(&self) {
        self.generation.send_modify(|generation| *generation += 1);
    }

    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }

    /// How far it has been read; tells the page.
    pub(crate) fn set_state(&self, state: State) {
        lock(&self.status).state = state;
        self.changed();
    }

    /// Why it cannot be read, or not all of it. The first reason stays.
    pub(crate) fn set_problem(&self, problem: String) {
        lock(&self.status).problem.get_or_insert(problem);
        self.changed();
    }

    /// Another recording has begun in the same place.
    pub(crate) fn begin_again(&self) {
        *write(&self.index) = Index::default();
        self.segments.clear();
        self.searches.clear();
        let mut status = lock(&self.status);
        status.epoch += 1;
        status.problem = None;
    }

    pub(crate) fn set_follower(&self, thread: Thread) {
        *lock(&self.follower) = Some(thread);
    }

    /// More has been written.
    pub(crate) fn wake(&self) {
        if let Some(thread) = &*lock(&self.follower) {
            thread.unpark();
        }
    }

    /// Ends the thread that reads it.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Relaxed);
        self.wake();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// Waits until the record with this number was read, or the tape has ended.
    pub(crate) async fn read_up_to(&self, number: u64) {
        let mut changes = self.watch();
        loop {
            changes.mark_unchanged();
            if read(&self.index).last_record >= number
                || !matches!(self.state(), State::Reading | State::Live)
            {
                return;
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    pub(crate) fn state(&self) -> State {
        lock(&self.status).state
    }

    /// The rows that a filter lists.
    pub(crate) fn rows(&self, filter: &Filter) -> std::io::Result<Arc<Vec<u32>>> {
        let generation = *self.generation.borrow();
        if let Some(listed) = &*lock(&self.listed)
            && listed.generation == generation
            && listed.filter == *filter
        {
            return Ok(Arc::clone(&listed.rows));
        }
        let end = read(&self.index).rows.last().map_or(0, |row| row.place.offset + 1);
        let found = match filter.text.as_str() {
            "" => None,
            text => Some(self.searches.find(&self.segments, text, end)?),
        };
        let rows = Arc::new(filter.rows(&read(&self.index), found.as_deref()));
        let listed = Listed { filter: filter.clone(), generation, rows: Arc::clone(&rows) };
        *lock(&self.listed) = Some(listed);
        Ok(rows)
    }

    /// What the header shows.
    pub(crate) fn summary(&self) -> Value {
        const MOST_METHODS: usize = 100;
        let generation = *self.generation.borrow();
        let Status { state, problem, epoch } = lock(&self.status).clone();
        let index = read(&self.index);
        let totals = index.recording.totals();
        let peer = |peer: Option<&papertape_tape::Peer>| {
            use papertape::wire::tape::escaped;
            peer.map(|peer| {
                json!({"name": escaped(peer.name.as_bytes()), "version": escaped(peer.version.as_bytes())})
            })
        };
        let mut methods: Vec<_> = index.methods.iter().map(|(name, count)| (&**name, *count)).collect();
        methods.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
        methods.truncate(MOST_METHODS);
        let title = index.subject.as_deref().unwrap_or(&self.name);
        json!({
            "generation": generation,
            "epoch": epoch,
            "title": papertape::wire::tape::escaped(title.as_bytes()),
            "file": self.name,
            "state": state.name(),
            "problem": problem,
            "client": peer(index.recording.client()),
            "server": peer(index.recording.server()),
            "revision": index.recording.revision(),
            "duration": index.duration(),
            "frames": totals.frames_to_server + totals.frames_to_client,
            "rows": index.rows.len(),
            "bytes": totals.bytes_to_server + totals.bytes_to_client + totals.stderr_bytes,
            "errors": index.errors,
            "findings": index.findings.len(),
            "lost": index.lost,
            "started": index.started,
            "slowest": index.slowest,
            "methods": methods,
        })
    }
}
