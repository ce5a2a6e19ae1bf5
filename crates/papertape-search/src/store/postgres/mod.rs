//! The store in PostgreSQL, which replicas share: both searches run in the database.
//!
//! - `address`, `connect`, `keepalive`, `guard`: a URL to connections, which survive whatever a server does
//! - `read`, `fault`: reads within a timeout, retried on another connection if the first one breaks
//! - `meta`, `lookup`, `search`: queries
//! - `rows`: a statement to its rows, and those to values
//! - `check`: whether the tables are complete
//! - `schema`, `write`, `batch`, `vocabulary`, `vectors`: the next generation
//! - `listen`: notifications of generations that other processes commit
//!
//! **Connections.** Opening a store connects to nothing, so that a server starts without its database. Queries share a
//! pool of 8; the writer and the listener have one each. Every call ends within 5 s. Without `sslmode` in the URL the
//! connection is plain to this machine and TLS to every other; with TLS the certificate and the name are always
//! checked, against the system's roots or `sslrootcert=FILE`.
//!
//! **Postings** are rows `(word, chunk, times, length)`, because PostgreSQL's own ranking is not BM25. One statement sums
//! up what each chunk scores, from an index that carries all it needs.
//!
//! **Vectors** are kept with length 1 and 16 bits a number, as in the other store. Up to 10,000 candidates are compared
//! each; beyond that an HNSW index gives 200, which are re-ranked by full precision. A model has a table of its own, so
//! that readers of the old one are not in the way of the new one; the next writer drops it.

mod address;
mod batch;
mod check;
mod connect;
mod correct;
mod fault;
mod guard;
mod keepalive;
mod listen;
mod lookup;
mod meta;
mod read;
mod rows;
mod schema;
mod search;
mod text;
mod vectors;
mod vocabulary;
mod write;

use std::fmt;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::{
    Chunk, ChunkId, Correction, DEPTH, Embedding, Entry, FileRecord, Filter, Hit, Lines, Matches, Query,
    Stamp, Store, StoreError, StoreFuture, Summary, VectorKey, Writer,
};
use crate::sync::lock;
use address::Address;
use connect::Connector;
use lookup::{ChunksOf, Files, OneChunk, Overview, WithoutVector};
use read::Reader;
use search::Search;

/// A store in PostgreSQL.
pub struct Postgres {
    connector: Arc<Connector>,
    reader: Reader,
    upgrade: bool,
    generations: Arc<watch::Sender<u64>>,
    files: Mutex<Option<(u64, Arc<[FileRecord]>)>>,
    listener: AbortHandle,
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Postgres").field(&self.connector.address.place()).finish()
    }
}

impl Postgres {
    /// The store at a URL such as `postgres://USER:PASSWORD@HOST/DATABASE?sslmode=require`. Nothing is connected to yet:
    /// the database may come and go. Needs a Tokio runtime, on which it listens for what others commit.
    ///
    /// # Errors
    /// If the URL is invalid, or there is no runtime.
    pub fn open(url: &str) -> Result<Self, StoreError> {
        let connector = Arc::new(Connector::new(Address::parse(url)?));
        let reader = Reader::new(&connector)?;
        let generations = Arc::new(watch::Sender::new(0));
        let runtime = tokio::runtime::Handle::try_current()
            .map_err(|_| StoreError::Other("the store in PostgreSQL needs a Tokio runtime".to_owned()))?;
        let listener =
            runtime.spawn(listen::listen(Arc::clone(&connector), Arc::clone(&generations))).abort_handle();
        Ok(Self { connector, reader, upgrade: false, generations, files: Mutex::new(None), listener })
    }

    /// Lets its writers bring tables of an older version up to date, as `papertape index` does: no other process may,
    /// because replicas of the older version can read them no more then.
    #[must_use]
    pub fn upgrading(mut self) -> Self {
        self.upgrade = true;
        self
    }

    /// Empties the index, damaged or not, so that it can be rebuilt.
    ///
    /// # Errors
    /// If another process is writing, or the database cannot be reached.
    pub async fn clear(&self) -> Result<(), StoreError> {
        write::clear(&self.connector).await?;
        *lock(&self.files) = None;
        Ok(())
    }

    /// Empties the index if it is damaged, so that it can be rebuilt. An intact one, or one of another version, stays.
    ///
    /// # Errors
    /// If the tables are not ours, another process is writing, or the database cannot be reached.
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
    fn summary(&self) -> StoreFuture<'_, Summary> {
        Box::pin(self.reader.read(&Overview))
    }

    fn search<'a>(&'a self, query: &'a Query) -> StoreFuture<'a, Matches> {
        Box::pin(async move { self.reader.read(&Search(query)).await })
    }

    fn chunk<'a>(&'a self, source: &'a str, index: u32) -> StoreFuture<'a, Option<Chunk>> {
        Box::pin(async move { self.reader.read(&OneChunk(source, index)).await })
    }

    fn chunks<'a>(&'a self, source: &'a str) -> StoreFuture<'a, Vec<Chunk>> {
        Box::pin(async move { self.reader.read(&ChunksOf(source)).await })
    }

    fn files(&self) -> StoreFuture<'_, Arc<[FileRecord]>> {
        Box::pin(async move {
            let kept = lock(&self.files).clone();
            let known = kept.as_ref().map(|(generation, _)| *generation);
            match (self.reader.read(&Files { known }).await?, kept) {
                ((generation, Some(files)), _) => {
                    let mut kept = lock(&self.files);
                    *kept = Some((generation, Arc::clone(&files)));
                    Ok(files)
                }
                ((_, None), Some((_, files))) => Ok(files),
                ((_, None), None) => Ok(Arc::from([])),
            }
        })
    }

    fn without_vector(&self, limit: usize) -> StoreFuture<'_, Vec<Chunk>> {
        Box::pin(async move { self.reader.read(&WithoutVector(limit)).await })
    }

    fn write(&self) -> StoreFuture<'_, Box<dyn Writer>> {
        Box::pin(async move {
            let next = write::begin(&self.connector, Arc::clone(&self.generations), self.upgrade).await?;
            Ok(Box::new(next) as Box<dyn Writer>)
        })
    }

    fn repair(&self) -> StoreFuture<'_, ()> {
        Box::pin(Postgres::repair(self))
    }

    fn generations(&self) -> watch::Receiver<u64> {
        self.generations.subscribe()
    }
}

/// Publishes a generation to subscribers, unless a newer one is known.
fn advance(generations: &watch::Sender<u64>, generation: u64) {
    generations.send_if_modified(|newest| {
        let newer = generation > *newest;
        *newest = generation.max(*newest);
        newer
    });
}
