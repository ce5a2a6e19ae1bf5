//! Reads files, chunks, the summary, and chunks without vector.

use std::sync::Arc;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::fault::Fault;
use super::meta::Meta;
use super::read::Read;
use super::rows::{count, get, rows};
use super::text::file_number;
use super::{Chunk, FileRecord, Lines, Stamp, Summary, VectorKey};
use crate::analysis::Language;

/// Chunks `c` of files `f`, in the columns that [`chunk`] reads.
pub(super) const CHUNK: &str = "SELECT f.path, c.index, f.title, c.headings, c.text, c.key, c.id,
                                c.first_line, c.last_line
                                FROM papertape.chunks c JOIN papertape.files f ON f.id = c.file";

/// A row to a chunk.
pub(super) fn chunk(row: &Row) -> Result<Chunk, Fault> {
    let line = |column| Ok::<_, Fault>(u32::try_from(get::<i32>(row, column)?).unwrap_or_default());
    Ok(Chunk {
        source: get(row, 0)?,
        index: u32::try_from(get::<i32>(row, 1)?).unwrap_or_default(),
        title: get(row, 2)?,
        headings: get(row, 3)?,
        text: get(row, 4)?,
        key: VectorKey(get::<i64>(row, 5)?.cast_unsigned()),
        lines: Lines { start: line(7)?, end: line(8)? },
    })
}

fn chunks(rows: &[Row]) -> Result<Vec<Chunk>, Fault> {
    rows.iter().map(chunk).collect()
}

/// The summary.
#[derive(Debug)]
pub(super) struct Overview;

impl Read for Overview {
    type Output = Summary;

    async fn read(&self, _: &Client, meta: &Meta) -> Result<Summary, Fault> {
        Ok(meta.summary.clone())
    }
}

/// One chunk of a file.
#[derive(Debug)]
pub(super) struct OneChunk<'a>(pub(super) &'a str, pub(super) u32);

impl Read for OneChunk<'_> {
    type Output = Option<Chunk>;

    async fn read(&self, client: &Client, _: &Meta) -> Result<Option<Chunk>, Fault> {
        let (file, index) = (file_number(self.0), i64::from(self.1));
        let sql = format!("{CHUNK} WHERE c.file = $1 AND c.index = $2");
        let rows = rows(client, &sql, &[(&file, Type::INT8), (&index, Type::INT8)]).await?;
        rows.first().map(chunk).transpose()
    }
}

/// The chunks of a file.
#[derive(Debug)]
pub(super) struct ChunksOf<'a>(pub(super) &'a str);

impl Read for ChunksOf<'_> {
    type Output = Vec<Chunk>;

    async fn read(&self, client: &Client, _: &Meta) -> Result<Vec<Chunk>, Fault> {
        let sql = format!("{CHUNK} WHERE c.file = $1 ORDER BY c.index");
        chunks(&rows(client, &sql, &[(&file_number(self.0), Type::INT8)]).await?)
    }
}

/// Chunks without vector.
#[derive(Debug)]
pub(super) struct WithoutVector(pub(super) usize);

impl Read for WithoutVector {
    type Output = Vec<Chunk>;

    async fn read(&self, client: &Client, meta: &Meta) -> Result<Vec<Chunk>, Fault> {
        let limit = i64::try_from(self.0).unwrap_or(i64::MAX);
        // Before the first model is chosen, no chunk has a vector, and the table of those without is empty.
        let (table, id) = match meta.summary.embedding {
            Some(_) => ("papertape.wanting", "chunk"),
            None => ("papertape.chunks", "id"),
        };
        // From key to next key in the index, so that the cost depends on the limit, and neither on the table's
        // size nor on how many chunks share a key. Only as many steps are made as rows are taken.
        let sql = format!(
            "WITH RECURSIVE firsts (key, id) AS (
                (SELECT key, {id} FROM {table} ORDER BY key LIMIT 1)
                UNION ALL
                SELECT next.key, next.id FROM firsts, LATERAL (
                    SELECT t.key, t.{id} AS id FROM {table} t WHERE t.key > firsts.key ORDER BY t.key LIMIT 1
                ) AS next
             )
             {CHUNK} JOIN (SELECT id FROM firsts LIMIT $1) AS few ON few.id = c.id"
        );
        chunks(&rows(client, &sql, &[(&limit, Type::INT8)]).await?)
    }
}

/// Every file, unless the generation is one that is known already.
#[derive(Debug)]
pub(super) struct Files {
    /// The generation whose files are known.
    pub(super) known: Option<u64>,
}

impl Read for Files {
    /// The generation and its files; none if they are known.
    type Output = (u64, Option<Arc<[FileRecord]>>);

    async fn read(&self, client: &Client, meta: &Meta) -> Result<Self::Output, Fault> {
        let generation = meta.summary.generation;
        if self.known == Some(generation) {
            return Ok((generation, None));
        }
        let sql = "SELECT path, stamp, digest, title, date, tags, language, chunks::bigint, size
                   FROM papertape.files ORDER BY path";
        let files = rows(client, sql, &[]).await?.iter().map(file).collect::<Result<Arc<[_]>, _>>()?;
        Ok((generation, Some(files)))
    }
}

fn file(row: &Row) -> Result<FileRecord, Fault> {
    let invalid = || Fault::other("the database's record of a file is invalid");
    let [size, modified, changed, inode] =
        <[i64; 4]>::try_from(get::<Vec<i64>>(row, 1)?).map_err(|_| invalid())?;
    Ok(FileRecord {
        path: get(row, 0)?,
        stamp: Stamp { size: size.cast_unsigned(), modified, changed, inode: inode.cast_unsigned() },
        digest: get::<&[u8]>(row, 2)?.try_into().map_err(|_| invalid())?,
        title: get(row, 3)?,
        date: get(row, 4)?,
        tags: get(row, 5)?,
        language: Language::from_code(get(row, 6)?).unwrap_or_default(),
        chunks: u32::try_from(count(row, 7)?).unwrap_or(u32::MAX),
        size: get::<i64>(row, 8)?.cast_unsigned(),
    })
}
