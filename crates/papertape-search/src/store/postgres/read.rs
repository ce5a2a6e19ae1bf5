//! Reads from one generation, within a timeout, and again if a connection breaks.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use deadpool::managed::{Object, Pool, PoolError, TimeoutType};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_postgres::Client;

use super::StoreError;
use super::connect::{Connector, Maker, OPENING, OpenConnection};
use super::fault::Fault;
use super::meta::Meta;

/// The most connections for reading.
const POOL: usize = 8;

/// How long to wait for one of them.
const WAIT: Duration = Duration::from_secs(2);

/// How long a transaction may take to begin: a connection that takes longer is closed, and another one tried.
const BEGIN: Duration = Duration::from_secs(1);

/// How long a read may take in all.
const WHOLE: Duration = Duration::from_millis(4800);

/// How often a read is tried when connections break or the database aborts it.
const TRIES: u32 = 3;

/// How long to wait before the second time; four times that before the third.
const PAUSE: Duration = Duration::from_millis(100);

/// A read-only transaction that sees one generation. The timeouts of the server are shorter than ours.
const BEGIN_READING: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 4500; \
                             SET LOCAL lock_timeout = 2000; SET LOCAL work_mem = '64MB'; SET LOCAL jit = off";

/// Something that can be read from a generation.
pub(super) trait Read: Sync {
    /// What is read.
    type Output: Send;

    /// Reads it. May be called again, on another connection.
    fn read(&self, client: &Client, meta: &Meta) -> impl Future<Output = Result<Self::Output, Fault>> + Send;
}

/// The connections for reading.
#[derive(Debug)]
pub(super) struct Reader {
    pool: Pool<Maker>,
    connector: Arc<Connector>,
    place: String,
}

impl Reader {
    pub(super) fn new(connector: &Arc<Connector>) -> Result<Self, StoreError> {
        let pool = Pool::builder(Maker(Arc::clone(connector)))
            .max_size(POOL)
            .runtime(deadpool::Runtime::Tokio1)
            .wait_timeout(Some(WAIT))
            .create_timeout(Some(connector.address.connect_timeout + 2 * OPENING))
            .recycle_timeout(Some(BEGIN))
            .build()
            .map_err(|error| StoreError::Other(error.to_string()))?;
        Ok(Self { pool, connector: Arc::clone(connector), place: connector.address.place() })
    }

    /// Reads something, and tries again if that may help.
    pub(super) async fn read<R: Read>(&self, what: &R) -> Result<R::Output, StoreError> {
        let end = Instant::now() + WHOLE;
        let mut pause = PAUSE;
        for attempt in 1.. {
            let fault = match timeout_at(end, self.once(what)).await {
                Ok(Ok(read)) => return Ok(read),
                Ok(Err(fault)) => fault,
                Err(_) => return Err(Fault::late("the response", WHOLE).into_error(&self.place)),
            };
            if attempt == TRIES || !fault.may_pass() || Instant::now() + pause >= end {
                return Err(fault.into_error(&self.place));
            }
            sleep(pause).await;
            pause *= 4;
        }
        Err(StoreError::Unreachable("it was not tried".to_owned()))
    }

    async fn once<R: Read>(&self, what: &R) -> Result<R::Output, Fault> {
        let object = self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(fault) => fault,
            PoolError::Timeout(TimeoutType::Wait) => Fault::Final(StoreError::Unreachable(format!(
                "all {POOL} connections to it are busy: try again later"
            ))),
            PoolError::Timeout(_) => Fault::Lost("connecting took too long".to_owned()),
            _ => Fault::other("the connections to the database are closed"),
        })?;
        let begun = Instant::now();
        let mut lease = Lease { object: Some(object), connector: &self.connector };
        let read = without_panic(lease.read(what)).await.map_err(|fault| lease.explain(fault));
        match &read {
            Ok(_) => lease.put_back().await,
            // The server itself reported the error: its connection is still good.
            Err(fault) if !matches!(fault, Fault::Lost(_) | Fault::Crossed(_)) => lease.put_back().await,
            Err(Fault::Lost(_)) => self.forget_idle(begun),
            Err(_) => {}
        }
        read
    }

    /// Closes the connections that have not been used since then: what broke another one may have broken them, too, and a
    /// query has no time to try each.
    fn forget_idle(&self, since: Instant) {
        let _closed = self.pool.retain(|_, metrics| metrics.last_used() < since.elapsed());
    }
}

/// A connection in use. Unless it is returned it is closed, and its query cancelled: so a cancelled read occupies neither
/// the pool nor the server.
struct Lease<'a> {
    object: Option<Object<Maker>>,
    connector: &'a Arc<Connector>,
}

impl Lease<'_> {
    async fn read<R: Read>(&self, what: &R) -> Result<R::Output, Fault> {
        let Some(connection) = self.object.as_deref() else {
            return Err(Fault::Lost("no connection".to_owned()));
        };
        let client = &connection.client;
        let begun = async { tokio::join!(client.batch_execute(BEGIN_READING), Meta::read(client)) };
        let (begun, meta) = timeout(BEGIN, begun).await.map_err(|_| silent())?;
        begun?;
        what.read(client, &meta?).await
    }

    /// A fault, with why the connection ended if it did.
    fn explain(&self, fault: Fault) -> Fault {
        match self.object.as_deref() {
            Some(connection) => connection.end.explain(fault),
            None => fault,
        }
    }

    /// Ends the transaction and returns the connection to the pool.
    async fn put_back(&mut self) {
        let Some(connection) = self.object.as_deref() else { return };
        if let Ok(Ok(())) = timeout(BEGIN, connection.client.batch_execute("ROLLBACK")).await {
            self.object = None;
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if let Some(object) = self.object.take() {
            let connection: OpenConnection = Object::take(object);
            if !connection.client.is_closed() {
                self.connector.cancel(&connection);
            }
        }
    }
}

/// A connection that is open and does not respond.
fn silent() -> Fault {
    Fault::Lost(format!(
        "there was no first response in {} s; if there is a pooler in front of it, give that more connections \
         (default_pool_size)",
        BEGIN.as_secs()
    ))
}

/// Turns a panic of the driver over a malformed message into an error.
async fn without_panic<T>(work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let mut work = pin!(work);
    std::future::poll_fn(move |cx| {
        catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))).unwrap_or_else(|_| {
            std::task::Poll::Ready(Err(Fault::Lost(
                "the driver panicked over a message of the server".to_owned(),
            )))
        })
    })
    .await
}
