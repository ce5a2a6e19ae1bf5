//! The wire's thread, and who takes its place.
//!
//! One thread reads, runs functions as far as they get at once, and writes. A function that keeps that thread (it blocks,
//! or computes for long) would hold everybody up; so, while a function runs, the wire is lent out, and a second thread
//! that has watched it for too long takes the wire and goes on with it. The first thread finishes what it is at, and ends.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Handle, Runtime, RuntimeFlavor};
use tokio::sync::oneshot;

use super::connection::{Connection, Ended};
use super::thread::spawn;
use crate::link::Ticket;
use crate::server::Call;

/// A function that has kept the wire's thread for once to twice this time loses the wire.
const PATIENCE: Duration = Duration::from_millis(5);

/// A connection and all that is needed to go on with it, on whichever thread.
pub(super) struct Wire {
    pub(super) connection: Connection,
    /// Waits for bytes, time and signals. Functions are polled outside of it: only so may they do all that they may do on
    /// their own runtime, such as `tokio::task::block_in_place`.
    pub(super) runtime: Runtime,
    pub(super) reader: Box<dyn AsyncRead + Send + Unpin>,
    pub(super) writer: Box<dyn AsyncWrite + Send + Unpin>,
    pub(super) stop: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// The runtime of the functions.
    pub(super) handlers: Handle,
    /// Told at the end how it was.
    pub(super) done: oneshot::Sender<Ended>,
}

impl Wire {
    /// Drives the wire on a thread of its own.
    pub(super) fn start(self) -> io::Result<()> {
        spawn("wire", move || Box::new(self).drive()).map(drop)
    }

    /// Goes on with the wire until it ends, or is taken over.
    fn drive(mut self: Box<Self>) {
        let handlers = self.handlers.clone();
        // Functions may start timers, sockets and tasks: those belong to their own runtime.
        let _entered = handlers.enter();
        let lending = Lending::watched();
        // The only thread of a runtime is not to be kept either: better the wire's, which can be replaced.
        let threads_to_spare = handlers.runtime_flavor() == RuntimeFlavor::MultiThread;
        loop {
            while let Some(mut call) = self.connection.next_call() {
                if threads_to_spare && call.belongs_elsewhere() {
                    call.run_as_suspect();
                    continue;
                }
                lending.lend(self, &call.call);
                let outcome = call.first_poll();
                self = match lending.reclaim() {
                    Ok(wire) => {
                        call.conclude(outcome);
                        wire
                    }
                    Err(ticket) => return call.conclude_tracked(ticket, outcome),
                };
            }
            let Wire { connection, runtime, reader, writer, stop, .. } = &mut *self;
            if !runtime.block_on(connection.exchange(reader, writer, stop.as_mut())) {
                break;
            }
        }
        lending.end();
        let Wire { mut connection, runtime, mut writer, done, .. } = *self;
        let ended = runtime.block_on(connection.close(&mut writer));
        // A blocking read of a terminal or a file may still be under way; it must not keep the process.
        runtime.shutdown_background();
        // Nobody may be waiting any more.
        drop(done.send(ended));
    }
}

/// Where the wire is while a function runs.
struct Lending {
    slot: Mutex<Slot>,
    /// Counts the times it was lent.
    count: AtomicU64,
    /// The watcher has nothing to watch and sleeps.
    resting: AtomicBool,
    ended: AtomicBool,
    watcher: Mutex<Option<Thread>>,
}

enum Slot {
    Empty,
    Lent(Box<Wire>, Arc<Call>),
    /// Somebody else goes on with the wire; the call it was lent for has been noted as running.
    Taken(Ticket),
}

impl Lending {
    /// A lending with a thread that watches it; without one, if there can be no more threads.
    fn watched() -> Arc<Self> {
        let lending = Arc::new(Self {
            slot: Mutex::new(Slot::Empty),
            count: AtomicU64::new(0),
            resting: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            watcher: Mutex::new(None),
        });
        let watched = Arc::clone(&lending);
        if let Err(error) = spawn("watch", move || watched.watch()) {
            tracing::warn!(%error, "a tool that blocks will delay others");
        }
        lending
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lend(&self, wire: Box<Wire>, call: &Arc<Call>) {
        *self.slot() = Slot::Lent(wire, Arc::clone(call));
        self.count.fetch_add(1, Ordering::SeqCst);
        if self.resting.load(Ordering::SeqCst) {
            self.wake();
        }
    }

    /// The wire, or, if it was taken over, the ticket of the call for which it was lent.
    fn reclaim(&self) -> Result<Box<Wire>, Ticket> {
        match std::mem::replace(&mut *self.slot(), Slot::Empty) {
            Slot::Lent(wire, _) => Ok(wire),
            Slot::Taken(ticket) => Err(ticket),
            // It was lent by the one who reclaims it.
            Slot::Empty => Err(Ticket::MAX),
        }
    }

    fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.wake();
    }

    fn wake(&self) {
        self.resting.store(false, Ordering::SeqCst);
        if let Some(watcher) = &*self.watcher.lock().unwrap_or_else(PoisonError::into_inner) {
            watcher.unpark();
        }
    }

    /// Watches until the wire ends, or is lent for too long: then takes it over.
    fn watch(&self) {
        *self.watcher.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current());
        while !self.ended.load(Ordering::SeqCst) {
            let (count, began) = (self.count.load(Ordering::SeqCst), Instant::now());
            // A wake-up that comes late may end the wait at once.
            while let Some(left) = PATIENCE.checked_sub(began.elapsed()) {
                thread::park_timeout(left);
            }
            if self.count.load(Ordering::SeqCst) != count {
                continue;
            }
            if let Some(wire) = self.take_over() {
                return wire.drive();
            }
            self.rest(count);
        }
    }

    /// Sleeps until the wire is lent again.
    fn rest(&self, count: u64) {
        self.resting.store(true, Ordering::SeqCst);
        // Whoever lends counts first and looks for a sleeper then; this is the other way round, so that one sees the other.
        let idle = || self.count.load(Ordering::SeqCst) == count && !self.ended.load(Ordering::SeqCst);
        while self.resting.load(Ordering::SeqCst) && idle() {
            thread::park();
        }
        self.resting.store(false, Ordering::SeqCst);
    }

    fn take_over(&self) -> Option<Box<Wire>> {
        let mut slot = self.slot();
        let (wire, call) = match std::mem::replace(&mut *slot, Slot::Empty) {
            Slot::Lent(wire, call) => (wire, call),
            other => {
                *slot = other;
                return None;
            }
        };
        // From here on the call is like any that runs elsewhere, and others of its tool begin there.
        call.target.pace().suspect();
        *slot = Slot::Taken(call.link.track(&call));
        drop(slot);
        tracing::info!(name = call.target.name(), "a function keeps the wire's thread: another goes on");
        Some(wire)
    }
}
