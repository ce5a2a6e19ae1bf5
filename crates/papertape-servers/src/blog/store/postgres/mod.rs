//! The store in PostgreSQL, which many replicas share: words and vectors are searched in the database.
//!
//! - `address`, `connect`, `alive`, `guard`: a URL to connections, which bear whatever a server does
//! - `ask`, `fault`: a question to an answer within its time, on another connection if the first one breaks
//! - `meta`, `lookup`, `search`: what is asked
//! - `check`: are the tables all there?
//! - `schema`, `write`, `batch`, `vocabulary`, `vectors`: the next generation
//! - `listen`: news of generations that others made
//!
//! **Connections.** Opening a store connects to nothing, so that a server starts without its database. Questions share a
//! pool of 8; the writer and the listener have one each. Every call ends within 5 s. Without `sslmode` in the URL the
//! connection is plain to this machine and TLS to every other; with TLS the certificate and the name are always
//! checked, against the system's roots or `sslrootcert=FILE`.
//!
//! **Words** are rows `(word, chunk, times, length)`, because PostgreSQL's own ranking is no BM25. One statement sums up
//! what each chunk scores, from an index that carries all it needs.
//!
//! **Vectors** are kept with length 1 and 16 bits a number, as in the other store. Up to 10,000 candidates are compared
//! each; beyond that an HNSW index gives 200, of which the question's full precision takes the best. A model has a table of its own, so that readers of the old one
//! are not in the way of the new one; the next writer drops it.

mod address;
mod alive;
mod ask;
mod batch;
mod check;
mod connect;
mod fault;
mod guard;
mod listen;
mod lookup;
mod meta;
mod schema;
mod search;
mod text;
mod vectors;
mod vocabulary;
mod write;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::{
    Answer, Chunk, ChunkId, DEPTH, Embedding, Entry, FileRecord, Filter, Found, Hit, Query, Stamp, Store,
    StoreError, Summary, VectorKey, Writer,
};
use address::Address;
use ask::Asker;
use connect::Connector;
use lookup::{ChunksOf, Files, OneChunk, Overview, Wanting};
use search::Search;

/// A store in PostgreSQL.
pub struct Postgres {
    connector: Arc<Connector>,
    asker: Asker,
    upgrade: bool,
    news: Arc<watch::Sender<u64>>,
    files: Mutex<Option<(u64, Arc<[FileRecord]>)>>,
    listener: AbortHandle,
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Postgres").field(&self.connector.address.place()).finish()
    }
}

impl Postgres {
    /// The store at a URL such as `postgres://USER:PASSWORD@HOST/DATABASE?sslmode=require`. Nothing is connected to yet: the
    /// database may come and go. Needs a Tokio runtime, on which it listens for what others commit.
    ///
    /// # Errors
    /// If the URL is none, or there is no runtime.
    pub fn open(url: &str) -> Result<Self, StoreError> {
        let connector = Arc::new(Connector::new(Address::parse(url)?));
        let asker = Asker::new(&connector)?;
        let news = Arc::new(watch::Sender::new(0));
        let runtime = tokio::runtime::Handle::try_current()
            .map_err(|_| StoreError::Other("the store in PostgreSQL needs a Tokio runtime".to_owned()))?;
        let listener =
            runtime.spawn(listen::listen(Arc::clone(&connector), Arc::clone(&news))).abort_handle();
        Ok(Self { connector, asker, upgrade: false, news, files: Mutex::new(None), listener })
    }

    /// Lets its writers bring tables of an older version up to date, as `papertape index` does: nobody else may, because
    /// replicas of the older version can read them no more then.
    #[must_use]
    pub fn upgrading(mut self) -> Self {
        self.upgrade = true;
        self
    }

    /// Empties the index, whatever is wrong with it, so that it can be made anew.
    ///
    /// # Errors
    /// If somebody is writing, or the database cannot be reached.
    pub async fn clear(&self) -> Result<(), StoreError> {
        write::clear(&self.connector).await?;
        *self.files.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    /// Empties the index if it is broken, so that it can be made anew. One that is whole, or of another version, stays.
    ///
    /// # Errors
    /// If the tables are somebody else's, somebody is writing, or the database cannot be reached.
    pub async fn repair(&self) -> Result<(), StoreError> {
        match check::check(&self.connector).await {
            Err(StoreError::Corrupt { .. }) => self.clear().await,
            other => other,
        }
    }

    /// Where it is, for people: without user and password.
    #[must_use]
    pub fn place(&self) -> String {
        self.connector.address.place()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl Store for Postgres {
    fn summary(&self) -> Answer<'_, Summary> {
        Box::pin(self.asker.ask(&Overview))
    }

    fn search<'a>(&'a self, query: &'a Query) -> Answer<'a, Found> {
        Box::pin(async move { self.asker.ask(&Search(query)).await })
    }

    fn chunk<'a>(&'a self, source: &'a str, index: u32) -> Answer<'a, Option<Chunk>> {
        Box::pin(async move { self.asker.ask(&OneChunk(source, index)).await })
    }

    fn chunks<'a>(&'a self, source: &'a str) -> Answer<'a, Vec<Chunk>> {
        Box::pin(async move { self.asker.ask(&ChunksOf(source)).await })
    }

    fn files(&self) -> Answer<'_, Arc<[FileRecord]>> {
        Box::pin(async move {
            let kept = self.files.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let known = kept.as_ref().map(|(generation, _)| *generation);
            match (self.asker.ask(&Files { known }).await?, kept) {
                ((generation, Some(files)), _) => {
                    let mut kept = self.files.lock().unwrap_or_else(PoisonError::into_inner);
                    *kept = Some((generation, Arc::clone(&files)));
                    Ok(files)
                }
                ((_, None), Some((_, files))) => Ok(files),
                ((_, None), None) => Ok(Arc::from([])),
            }
        })
    }

    fn wanting(&self, limit: usize) -> Answer<'_, Vec<Chunk>> {
        Box::pin(async move { self.asker.ask(&Wanting(limit)).await })
    }

    fn write(&self) -> Answer<'_, Box<dyn Writer>> {
        Box::pin(async move {
            let next = write::begin(&self.connector, Arc::clone(&self.news), self.upgrade).await?;
            Ok(Box::new(next) as Box<dyn Writer>)
        })
    }

    fn generations(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }
}

/// Tells of a generation, unless a newer one is known.
fn advance(news: &watch::Sender<u64>, generation: u64) {
    news.send_if_modified(|newest| {
        let newer = generation > *newest;
        *newest = generation.max(*newest);
        newer
    });
}
