//! The thread of a stdio connection, and its replacement.
//!
//! One thread reads, runs handlers up to their first pending point, and writes. A handler that blocks that thread (it does
//! blocking I/O, or computes for long) would delay every other request. So, while a handler runs, the connection is parked in
//! a [`Handoff`]; a second thread that sees it parked for too long takes the connection and continues. The first thread
//! finishes the handler and ends.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Handle, Runtime, RuntimeFlavor};
use tokio::sync::oneshot;

use crate::server::Call;
use crate::server::session::Ticket;
use crate::sync::lock;
use crate::transport::streams::server::{Connection, Ended};
use crate::transport::thread::spawn;

/// A handler that has blocked the I/O thread for once to twice this time loses the connection to another thread.
const MAX_BLOCKING: Duration = Duration::from_millis(5);

/// A connection and everything that a thread needs to continue it.
pub(super) struct IoThread {
    pub(super) connection: Connection,
    /// Waits for bytes, timers and signals. Handlers are polled outside of it: only then may they do all that they may do on
    /// their own runtime, such as `tokio::task::block_in_place`.
    pub(super) runtime: Runtime,
    pub(super) reader: Box<dyn AsyncRead + Send + Unpin>,
    pub(super) writer: Box<dyn AsyncWrite + Send + Unpin>,
    pub(super) stop: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// The runtime of the handlers.
    pub(super) handlers: Handle,
    /// Receives how the connection ended.
    pub(super) done: oneshot::Sender<Ended>,
}

impl IoThread {
    /// Runs the connection on a thread of its own.
    pub(super) fn start(self) -> io::Result<()> {
        spawn("io", move || Box::new(self).drive()).map(drop)
    }

    /// Runs the connection until it ends, or another thread takes it over.
    fn drive(mut self: Box<Self>) {
        let handlers = self.handlers.clone();
        // Timers, sockets and tasks that handlers start belong to the runtime of the handlers.
        let _entered = handlers.enter();
        let handoff = Handoff::watched();
        // The only thread of a single-threaded runtime must not be blocked either: this thread, at least, can be replaced.
        let multi_threaded = handlers.runtime_flavor() == RuntimeFlavor::MultiThread;
        loop {
            while let Some(mut call) = self.connection.next_call() {
                if multi_threaded && call.is_slow() {
                    call.spawn_slow();
                    continue;
                }
                handoff.park(self, &call.call);
                let outcome = call.first_poll();
                self = match handoff.reclaim() {
                    Ok(io) => {
                        call.conclude(outcome);
                        io
                    }
                    Err(ticket) => return call.conclude_tracked(ticket, outcome),
                };
            }
            let IoThread { connection, runtime, reader, writer, stop, .. } = &mut *self;
            if !runtime.block_on(connection.exchange(reader, writer, stop.as_mut())) {
                break;
            }
        }
        handoff.end();
        let IoThread { mut connection, runtime, mut writer, done, .. } = *self;
        let ended = runtime.block_on(connection.close(&mut writer));
        // A blocking read of a terminal or a file may be pending; it must not keep the process alive.
        runtime.shutdown_background();
        // The receiver may have been dropped.
        drop(done.send(ended));
    }
}

/// Where the connection is while a handler runs.
struct Handoff {
    slot: Mutex<Slot>,
    /// How many times it was parked.
    count: AtomicU64,
    /// The watcher sleeps until the next time.
    idle: AtomicBool,
    ended: AtomicBool,
    watcher: Mutex<Option<Thread>>,
}

enum Slot {
    Empty,
    Parked(Box<IoThread>, Arc<Call>),
    /// Another thread continues the connection; the call that was running has been registered.
    Taken(Ticket),
}

impl Handoff {
    /// A handoff with a thread that watches it; without one, if no more threads can be started.
    fn watched() -> Arc<Self> {
        let handoff = Arc::new(Self {
            slot: Mutex::new(Slot::Empty),
            count: AtomicU64::new(0),
            idle: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            watcher: Mutex::new(None),
        });
        let watched = Arc::clone(&handoff);
        if let Err(error) = spawn("io-watch", move || watched.watch()) {
            tracing::warn!(%error, "a handler that blocks will delay other requests");
        }
        handoff
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        lock(&self.slot)
    }

    fn park(&self, io: Box<IoThread>, call: &Arc<Call>) {
        *self.slot() = Slot::Parked(io, Arc::clone(call));
        self.count.fetch_add(1, Ordering::SeqCst);
        if self.idle.load(Ordering::SeqCst) {
            self.wake();
        }
    }

    /// The connection, or, if it was taken over, the ticket of the call that was running.
    fn reclaim(&self) -> Result<Box<IoThread>, Ticket> {
        match std::mem::replace(&mut *self.slot(), Slot::Empty) {
            Slot::Parked(io, _) => Ok(io),
            Slot::Taken(ticket) => Err(ticket),
            // It was parked by the thread that reclaims it.
            Slot::Empty => Err(Ticket::MAX),
        }
    }

    fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.wake();
    }

    fn wake(&self) {
        self.idle.store(false, Ordering::SeqCst);
        if let Some(watcher) = &*lock(&self.watcher) {
            watcher.unpark();
        }
    }

    /// Watches until the connection ends, or is parked for too long: then takes it over.
    fn watch(&self) {
        *lock(&self.watcher) = Some(thread::current());
        while !self.ended.load(Ordering::SeqCst) {
            let (count, began) = (self.count.load(Ordering::SeqCst), Instant::now());
            // A late wake-up may end the wait at once.
            while let Some(left) = MAX_BLOCKING.checked_sub(began.elapsed()) {
                thread::park_timeout(left);
            }
            if self.count.load(Ordering::SeqCst) != count {
                continue;
            }
            if let Some(io) = self.take_over() {
                return io.drive();
            }
            self.rest(count);
        }
    }

    /// Sleeps until the connection is parked again.
    fn rest(&self, count: u64) {
        self.idle.store(true, Ordering::SeqCst);
        // `park` counts first and then checks for a sleeper; this does it the other way round, so that one sees the other.
        let unchanged = || self.count.load(Ordering::SeqCst) == count && !self.ended.load(Ordering::SeqCst);
        while self.idle.load(Ordering::SeqCst) && unchanged() {
            thread::park();
        }
        self.idle.store(false, Ordering::SeqCst);
    }

    fn take_over(&self) -> Option<Box<IoThread>> {
        let mut slot = self.slot();
        let (io, call) = match std::mem::replace(&mut *slot, Slot::Empty) {
            Slot::Parked(io, call) => (io, call),
            other => {
                *slot = other;
                return None;
            }
        };
        // From here on the call is like any that runs on the handlers' runtime, and later calls of its tool begin there.
        call.feature.pace().set_slow();
        *slot = Slot::Taken(call.session.track(&call));
        drop(slot);
        tracing::info!(
            name = call.feature.name(),
            "a handler blocks the I/O thread: another thread continues the connection"
        );
        Some(io)
    }
}
