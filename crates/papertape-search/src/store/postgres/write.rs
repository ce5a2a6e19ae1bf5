//! The next generation, in one transaction.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use tokio::sync::watch;
use tokio::time::timeout;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::batch::{Batch, Totals};
use super::connect::{Connector, EndReason, OpenConnection};
use super::fault::Fault;
use super::meta::{Meta, Vectors};
use super::rows::{get, row, rows};
use super::text::clean;
use super::{
    Embedding, Entry, FileRecord, StoreError, StoreFuture, Summary, VectorKey, Writer, advance, schema,
    vectors,
};

/// The `NOTIFY` channel for new generations.
pub(super) const CHANNEL: &str = "papertape_blog";

/// The advisory lock of the writer. The number is `papertap` in ASCII.
const LOCK: i64 = 0x7061_7065_7274_6170;

/// How long one step of writing may take. Building an HNSW index is a step.
const STEP: Duration = Duration::from_secs(900);

/// How long opening a transaction may take, with the wait for the lock.
const BEGIN: Duration = Duration::from_secs(10);

/// Joins over a few rows of large tables: each is looked up in its index, whatever the statistics say.
const BEGIN_WRITING: &str = "BEGIN; SET LOCAL lock_timeout = 900; SET LOCAL jit = off; \
    SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL statement_timeout = 0; \
    SET LOCAL idle_in_transaction_session_timeout = '15min'";

/// After this many new chunks the tables are analysed again.
const WORTH_COUNTING: usize = 1000;

/// How long those may take.
const SETTLE: Duration = Duration::from_secs(120);

/// Builds the next generation.
pub(super) struct Next {
    connection: OpenConnection,
    place: String,
    generations: Arc<watch::Sender<u64>>,
    /// The generation before.
    meta: Meta,
    batch: Batch,
    totals: Totals,
    embedding: Option<Embedding>,
}

/// A writer, if there is none yet anywhere.
pub(super) async fn begin(
    connector: &Arc<Connector>,
    generations: Arc<watch::Sender<u64>>,
    upgrade: bool,
) -> Result<Next, StoreError> {
    let place = connector.address.place();
    let begun = async {
        let connection = open(connector).await?;
        let meta = prepare(&connection.client, &place, upgrade)
            .await
            .map_err(|fault| connection.end.explain(fault))?;
        Ok((connection, meta))
    };
    let begun = timeout(BEGIN, begun).await.unwrap_or_else(|_| Err(Fault::late("beginning to write", BEGIN)));
    let (connection, meta) = begun.map_err(|fault| fault.into_error(&place))?;
    let embedding = meta.summary.embedding.clone();
    let (batch, totals) = (Batch::default(), Totals::default());
    Ok(Next { connection, place, generations, meta, batch, totals, embedding })
}

/// The generation before, in tables that can be written by us alone.
async fn prepare(client: &Client, place: &str, upgrade: bool) -> Result<Meta, Fault> {
    lock(client, place).await?;
    schema::prepare(client, upgrade).await?;
    client.batch_execute("SET LOCAL lock_timeout = '10s'").await?;
    let meta = Meta::read(client).await?;
    vectors::tidy(client, &meta).await?;
    Ok(meta)
}

/// Drops all tables, damaged or not, so that they can be rebuilt. Generations go on from where they were,
/// because replicas ignore a number that they have seen. If it cannot be read, the milliseconds since 1970 are above it.
pub(super) async fn clear(connector: &Arc<Connector>) -> Result<(), StoreError> {
    let place = connector.address.place();
    let cleared = async {
        let connection = open(connector).await?;
        let client = &connection.client;
        lock(client, &place).await?;
        client.batch_execute("SET LOCAL lock_timeout = '10s'; SAVEPOINT readable").await?;
        let generation = match row(client, "SELECT generation FROM papertape.meta", &[]).await {
            Ok(row) => get::<i64>(&row, 0)?,
            Err(_) => {
                UNIX_EPOCH.elapsed().map_or(0, |time| i64::try_from(time.as_millis()).unwrap_or_default())
            }
        };
        let drop = "ROLLBACK TO SAVEPOINT readable; DROP SCHEMA IF EXISTS papertape CASCADE";
        client.batch_execute(drop).await?;
        schema::prepare(client, false).await?;
        let keep = format!(
            "UPDATE papertape.meta SET generation = $1 + 1 RETURNING pg_notify('{CHANNEL}', generation::text)::text"
        );
        rows(client, &keep, &[(&generation, Type::INT8)]).await?;
        Ok(client.batch_execute("COMMIT").await?)
    };
    let cleared = timeout(STEP, cleared).await.unwrap_or_else(|_| Err(Fault::late("clearing", STEP)));
    cleared.map_err(|fault| fault.into_error(&place))
}

/// A transaction to write in. The server detects a dead client by keepalives, because the lock must not outlive it.
async fn open(connector: &Arc<Connector>) -> Result<OpenConnection, Fault> {
    let connection = connector.connect().await?;
    let sql = format!("{BEGIN_WRITING}; {}", connector.address.keepalive.sql());
    connection.client.batch_execute(&sql).await.map_err(|error| connection.end.explain(error.into()))?;
    Ok(connection)
}

async fn lock(client: &Client, place: &str) -> Result<(), Fault> {
    client.batch_execute("SAVEPOINT free").await?;
    let Err(fault) = rows(client, "SELECT pg_advisory_xact_lock($1)", &[(&LOCK, Type::INT8)]).await else {
        return Ok(());
    };
    let Fault::Crossed(_) = fault else { return Err(fault) };
    client.batch_execute("ROLLBACK TO SAVEPOINT free").await?;
    let sql = "SELECT l.pid, a.application_name FROM pg_catalog.pg_locks l
               LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
               WHERE l.locktype = 'advisory' AND l.granted AND l.classid = ($1::bigint >> 32)::oid
                 AND l.objid = ($1 & 4294967295)::oid
                 AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())";
    let found = rows(client, sql, &[(&LOCK, Type::INT8)]).await?;
    let by = match found.first() {
        Some(row) => {
            let name = get::<Option<String>>(row, 1)?.unwrap_or_default();
            format!("{name}, session {} of the database", get::<i32>(row, 0)?)
        }
        None => "another process".to_owned(),
    };
    Err(Fault::Final(StoreError::Locked { place: place.to_owned(), by }))
}

impl Next {
    /// Adds to an error of a step the address, and why the connection ended if it did.
    fn about(&self) -> (String, EndReason) {
        (self.place.clone(), self.connection.end.clone())
    }

    async fn put(&mut self, file: FileRecord, chunks: Vec<Entry>) -> Result<(), Fault> {
        if self.batch.has(&file.path) {
            self.flush().await?;
        }
        self.batch.put(file, chunks);
        if self.batch.is_full() { self.flush().await } else { Ok(()) }
    }

    async fn touch(&mut self, file: FileRecord) -> Result<(), Fault> {
        if self.batch.has(&file.path) {
            self.flush().await?;
        }
        self.batch.touch(file);
        if self.batch.is_full() { self.flush().await } else { Ok(()) }
    }

    async fn remove(&mut self, path: &str) -> Result<(), Fault> {
        if self.batch.has(path) {
            self.flush().await?;
        }
        self.batch.remove(path);
        if self.batch.is_full() { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> Result<(), Fault> {
        let batch = std::mem::take(&mut self.batch);
        batch.write(&self.connection.client, self.meta.vectors.as_ref(), &mut self.totals).await
    }

    async fn attach(&mut self, given: Vec<(VectorKey, Vec<f32>)>) -> Result<(), Fault> {
        self.flush().await?;
        let Some(vectors) = &self.meta.vectors else {
            let what = "vectors came before the model that they are of".to_owned();
            return Err(Fault::Final(StoreError::Mismatch(what)));
        };
        vectors::attach(&self.connection.client, vectors, given).await
    }

    async fn set_embedding(&mut self, embedding: Option<Embedding>) -> Result<(), Fault> {
        self.flush().await?;
        let same = match (&self.embedding, &embedding) {
            (Some(old), Some(new)) => {
                (&old.model, old.dimension, &old.digest) == (&new.model, new.dimension, &new.digest)
            }
            (None, None) => true,
            _ => false,
        };
        if !same {
            self.meta.vectors = match &embedding {
                Some(new) => {
                    Some(vectors::create(&self.connection.client, &mut self.meta.table, new.dimension).await?)
                }
                None => None,
            };
        }
        self.embedding = embedding;
        Ok(())
    }

    async fn finish(&mut self) -> Result<Summary, Fault> {
        self.flush().await?;
        let client = &self.connection.client;
        self.totals.vocabulary.write(client).await?;
        let totals = &self.totals;
        if let Some(vectors) = &mut self.meta.vectors {
            vectors::forget(client, vectors, &totals.idle_keys).await?;
            vectors::create_hnsw_index(client, vectors).await?;
        }
        let graph = self.meta.vectors.as_ref().is_some_and(|vectors: &Vectors| vectors.graph);
        let embedding = self.embedding.as_ref();
        let model = embedding.map(|it| clean(&it.model));
        let digest = embedding.map(|it| clean(&it.digest));
        let dimension = embedding.and_then(|it| i32::try_from(it.dimension).ok());
        let knows_language = embedding.map(|it| it.knows_language);
        let judged = embedding.and_then(|it| i64::try_from(it.judged_on).ok());
        let sql = format!(
            "UPDATE papertape.meta SET generation = generation + 1, chunks = chunks + $1, length = length + $2,
             model = $3, dimension = $4, digest = $5, knows_language = $6, judged_on = $7, vectors = $8, graph = $9,
             files = (SELECT count(*) FROM papertape.files),
             wanting = (SELECT count(*) FROM papertape.wanting),
             languages = (SELECT coalesce(array_agg(language), '{{}}')
                FROM (SELECT language, sum(chunks) AS many, max(sum(chunks)) OVER () AS most
                    FROM papertape.files GROUP BY language) AS each
                WHERE many > 0 AND many * 10 >= most)
             RETURNING pg_notify('{CHANNEL}', generation::text)::text"
        );
        let values = [
            (&totals.chunks as _, Type::INT8),
            (&totals.length as _, Type::INT8),
            (&model as _, Type::TEXT),
            (&dimension as _, Type::INT4),
            (&digest as _, Type::TEXT),
            (&knows_language as _, Type::BOOL),
            (&judged as _, Type::INT8),
            (&self.meta.table as _, Type::INT4),
            (&graph as _, Type::BOOL),
        ];
        row(client, &sql, &values).await?;
        let meta = Meta::read(client).await?;
        client.batch_execute("COMMIT").await?;
        advance(&self.generations, meta.summary.generation);
        if totals.written >= WORTH_COUNTING {
            self.settle().await;
        }
        Ok(meta.summary)
    }

    /// Updates the statistics and the visibility map, for index-only scans. Autovacuum would do so within minutes.
    async fn settle(&self) {
        let sql = "VACUUM (ANALYZE) papertape.files, papertape.chunks, papertape.words, papertape.postings";
        if !matches!(timeout(SETTLE, self.connection.client.batch_execute(sql)).await, Ok(Ok(()))) {
            tracing::debug!("failed to vacuum the tables after a commit");
        }
    }
}

/// One step, within its time.
async fn step<T>(
    (place, end): (String, EndReason),
    work: impl Future<Output = Result<T, Fault>>,
) -> Result<T, StoreError> {
    let done = timeout(STEP, work).await.unwrap_or_else(|_| Err(Fault::late("writing", STEP)));
    done.map_err(|fault| end.explain(fault).into_error(&place))
}

impl Writer for Next {
    fn put(&mut self, file: FileRecord, chunks: Vec<Entry>) -> StoreFuture<'_, ()> {
        let about = self.about();
        Box::pin(async move { step(about, Self::put(self, file, chunks)).await })
    }

    fn touch(&mut self, file: FileRecord) -> StoreFuture<'_, ()> {
        let about = self.about();
        Box::pin(async move { step(about, Self::touch(self, file)).await })
    }

    fn remove<'a>(&'a mut self, path: &'a str) -> StoreFuture<'a, ()> {
        let about = self.about();
        Box::pin(async move { step(about, Self::remove(self, path)).await })
    }

    fn attach(&mut self, vectors: Vec<(VectorKey, Vec<f32>)>) -> StoreFuture<'_, ()> {
        let about = self.about();
        Box::pin(async move { step(about, Self::attach(self, vectors)).await })
    }

    fn set_embedding(&mut self, embedding: Option<Embedding>) -> StoreFuture<'_, ()> {
        let about = self.about();
        Box::pin(async move { step(about, Self::set_embedding(self, embedding)).await })
    }

    fn commit(mut self: Box<Self>) -> StoreFuture<'static, Summary> {
        Box::pin(async move {
            let about = self.about();
            step(about, self.finish()).await
        })
    }
}
