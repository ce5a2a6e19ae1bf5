//! Background work: what runs while a server is served, however many clients and transports it has.

use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::server::handler::error::log_internal;
use crate::sync::lock;

type Start = dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync;

/// The background work of a server.
#[derive(Clone, Default)]
pub(crate) struct BackgroundWork(Vec<Arc<Start>>);

impl BackgroundWork {
    pub(crate) fn add<F, Fut>(&mut self, work: F)
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.0.push(Arc::new(move || Box::pin(work())));
    }

    /// Adds that of a mounted server.
    pub(crate) fn mount(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    fn start(&self) -> Vec<JoinHandle<()>> {
        let spawn = |start: &Arc<Start>| {
            let start = Arc::clone(start);
            tokio::spawn(async move { guarded(&*start).await })
        };
        self.0.iter().map(spawn).collect()
    }
}

impl fmt::Debug for BackgroundWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BackgroundWork").field(&self.0.len()).finish()
    }
}

/// Runs work to its end. A panic is logged, and ends this work alone.
async fn guarded(start: &Start) {
    let Ok(mut work) = catch_unwind(AssertUnwindSafe(start)) else { return log_panic() };
    let ended = poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    });
    if let Err(panic) = ended.await {
        // Dropping either may panic again.
        std::mem::forget((panic, work));
        log_panic();
    }
}

fn log_panic() {
    // The message of the panic itself is printed by the panic hook.
    log_internal(
        "background work",
        &*Box::<dyn std::error::Error>::from("it panicked, and is not started again"),
    );
}

/// The work of a service, and how often that is being served.
#[derive(Debug, Default)]
pub(crate) struct Background {
    work: BackgroundWork,
    running: Mutex<Running>,
}

#[derive(Debug, Default)]
struct Running {
    served: usize,
    tasks: Vec<JoinHandle<()>>,
}

/// The service is being served as long as this exists.
#[derive(Debug)]
pub(crate) struct Serving(Option<Arc<Background>>);

impl Background {
    pub(crate) fn new(work: BackgroundWork) -> Arc<Self> {
        Arc::new(Self { work, running: Mutex::default() })
    }

    /// The service is served from now on, within a runtime: the first to serve it starts the work.
    pub(crate) fn serve(self: &Arc<Self>) -> Serving {
        if self.work.0.is_empty() {
            return Serving(None);
        }
        let mut running = lock(&self.running);
        running.served += 1;
        if running.served == 1 {
            running.tasks = self.work.start();
        }
        Serving(Some(Arc::clone(self)))
    }
}

impl Serving {
    /// The service is not served any more. False if its work has not ended by itself within this time: it does not await.
    #[cfg_attr(not(unix), allow(dead_code, reason = "only stdio ends its process"))]
    pub(crate) async fn end(mut self, patience: Duration) -> bool {
        let tasks = self.stop();
        let all = async {
            for task in tasks {
                drop(task.await);
            }
        };
        timeout(patience, all).await.is_ok()
    }

    /// The last one ends the work, which is returned.
    fn stop(&mut self) -> Vec<JoinHandle<()>> {
        let Some(background) = self.0.take() else { return Vec::new() };
        let mut running = lock(&background.running);
        running.served -= 1;
        if running.served > 0 {
            return Vec::new();
        }
        let tasks = std::mem::take(&mut running.tasks);
        tasks.iter().for_each(JoinHandle::abort);
        tasks
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop();
    }
}
