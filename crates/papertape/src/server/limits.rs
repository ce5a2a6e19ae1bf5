//! The limits of one client.

use std::time::Duration;

use crate::wire::message::Bounds;

/// Bounds on what a peer can make a server hold or do.
/// Over a limit, the peer gets an error at once and the connection lives on.
///
/// ```
/// use std::time::Duration;
///
/// use papertape::Server;
/// use papertape::server::Limits;
///
/// let limits = Limits { grace: Duration::from_secs(60), ..Limits::default() };
/// let server = Server::new("slow", "1.0.0").limits(limits);
/// ```
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of one frame.
    pub frame: usize,
    /// Arrays and objects inside each other; no more than 127.
    pub depth: usize,
    /// Messages in one batch.
    pub batch: usize,
    /// Requests running at once on one connection.
    pub in_flight: usize,
    /// Bytes of the requests running at once.
    pub bytes_in_flight: usize,
    /// Bytes that the arguments of one call may take in memory, where that is over 20 times their JSON: a small object
    /// takes a hundred times its text.
    pub tree: usize,
    /// Tasks running at once.
    pub tasks: usize,
    /// Tasks of one principal running at once, where principals are known.
    pub tasks_per_principal: usize,
    /// Time to live of a task (`ttlMs`): after it a task that still runs is ended, and its result is forgotten.
    pub task_ttl: Duration,
    /// Time that a client gets to respond to a request of the server's, and to an input request of a task.
    pub answer: Duration,
    /// Open `subscriptions/listen` requests on one connection, and resources that one of them, or a client of an older
    /// revision, may watch.
    pub subscriptions: usize,
    /// Members on one page of a list. A list that fits on one page is in the order of registration, a longer one in that of
    /// names or URIs.
    pub page: usize,
    /// Time that running requests get to finish once the input has ended, and that a client which reads nothing is waited
    /// for then: one that reads, however slowly, gets all its responses.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame: 16 * 1024 * 1024,
            depth: 127,
            batch: 100,
            in_flight: 1_000,
            bytes_in_flight: 256 * 1024 * 1024,
            tree: 64 * 1024 * 1024,
            tasks: 1_000,
            tasks_per_principal: 100,
            task_ttl: Duration::from_secs(60 * 60),
            answer: Duration::from_secs(10 * 60),
            subscriptions: 100,
            page: 1_000,
            grace: Duration::from_secs(10),
        }
    }
}

/// What the JSON parser can take.
const MOST_DEPTH: usize = 127;

impl Limits {
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds { depth: self.depth.min(MOST_DEPTH), batch: self.batch }
    }
}
