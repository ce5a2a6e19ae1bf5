//! Files and chunks to rows, many at once.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::pin::pin;

use tokio_postgres::Client;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};

use super::fault::Fault;
use super::meta::Vectors;
use super::rows::{get, row, rows};
use super::text::{clean, clean_all, file_number, stored_term};
use super::vocabulary::Vocabulary;
use super::{ChunkId, Entry, FileRecord};
use crate::rank::bm25::rounded_length;
use crate::store::filter::folded_path;

/// Chunks that are written or taken out at once, at most.
const CHUNKS: usize = 1000;

/// Files likewise.
const FILES: usize = 1000;

/// Bytes of text likewise.
const BYTES: usize = 8 << 20;

/// Takes chunks and all that is known by them out, and says what went.
const TAKE_OUT: &str = "
    WITH gone AS (DELETE FROM papertape.chunks WHERE id = ANY($1) RETURNING id, key, length, words),
         parts AS (SELECT gone.id, part.word FROM gone, unnest(gone.words) AS part(word)),
         unposted AS (DELETE FROM papertape.postings p USING parts WHERE p.word = parts.word AND p.chunk = parts.id),
         unwanted AS (DELETE FROM papertape.wanting w USING gone WHERE w.chunk = gone.id),
         counted AS (SELECT word, -count(*)::integer AS change FROM parts GROUP BY word)
    SELECT (SELECT count(*) FROM gone), (SELECT coalesce(sum(length), 0)::bigint FROM gone),
           (SELECT coalesce(array_agg(key), '{}') FROM gone),
           (SELECT coalesce(array_agg(word), '{}') FROM counted),
           (SELECT coalesce(array_agg(change), '{}') FROM counted)";

/// Selects the ids of terms, inserting new terms.
const NUMBER_WORDS: &str = "
    WITH said AS (SELECT word FROM unnest($1::text[]) AS s(word)),
         known AS (SELECT w.id, w.word FROM said JOIN papertape.words w ON w.word = said.word COLLATE \"C\"),
         fresh AS (INSERT INTO papertape.words (word, chunks) SELECT word, 0 FROM said
                   WHERE NOT EXISTS (SELECT 1 FROM papertape.words w WHERE w.word = said.word COLLATE \"C\")
                   RETURNING id, word)
    SELECT id, word FROM known UNION ALL SELECT id, word FROM fresh";

/// What is to be written.
#[derive(Debug, Default)]
pub(super) struct Batch {
    paths: HashSet<String>,
    /// Files that get a new record.
    files: Vec<FileRecord>,
    /// Files whose chunks, if they have any, go.
    cleared: Vec<i64>,
    /// Files whose record goes.
    gone: Vec<i64>,
    /// Chunks that come, with the number of their file.
    chunks: Vec<(i64, ChunkId, Entry)>,
    bytes: usize,
}

/// What has changed since the generation before.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) chunks: i64,
    pub(super) length: i64,
    pub(super) written: usize,
    /// The terms met so far.
    pub(super) vocabulary: Vocabulary,
    /// The vector keys of deleted chunks.
    pub(super) idle_keys: Vec<i64>,
}

impl Batch {
    /// Whether something is to be done with this file already.
    pub(super) fn has(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    pub(super) fn is_full(&self) -> bool {
        self.chunks.len() >= CHUNKS || self.paths.len() >= FILES || self.bytes >= BYTES
    }

    /// A file with all its chunks.
    pub(super) fn put(&mut self, file: FileRecord, chunks: Vec<Entry>) {
        let number = self.remove(&file.path);
        for entry in chunks {
            self.bytes += entry.text.len();
            self.chunks.push((number, ChunkId::of(&file.path, entry.index), entry));
        }
        self.files.push(file);
    }

    /// A file's record alone.
    pub(super) fn touch(&mut self, file: FileRecord) {
        self.gone.push(file_number(&file.path));
        self.paths.insert(file.path.clone());
        self.files.push(file);
    }

    /// Nothing of a file, unless it is put again: its number.
    pub(super) fn remove(&mut self, path: &str) -> i64 {
        let number = file_number(path);
        self.cleared.push(number);
        self.gone.push(number);
        self.paths.insert(path.to_owned());
        number
    }

    /// Writes all of it.
    pub(super) async fn write(
        self,
        client: &Client,
        vectors: Option<&Vectors>,
        totals: &mut Totals,
    ) -> Result<(), Fault> {
        if self.paths.is_empty() {
            return Ok(());
        }
        if !self.cleared.is_empty() {
            take_out(client, &self.cleared, totals).await?;
        }
        let sql = "DELETE FROM papertape.files WHERE id = ANY($1)";
        rows(client, sql, &[(&self.gone, Type::INT8_ARRAY)]).await?;
        copy_files(client, &self.files).await?;
        if self.chunks.is_empty() {
            return Ok(());
        }
        let numbers = term_ids(client, &self.chunks, &mut totals.vocabulary).await?;
        copy_chunks(client, &self.chunks, &numbers).await?;
        copy_postings(client, &self.chunks, &numbers).await?;
        if let Some(vectors) = vectors {
            want(client, &self.chunks, vectors).await?;
        }
        totals.written += self.chunks.len();
        totals.chunks += i64::try_from(self.chunks.len()).unwrap_or_default();
        totals.length += self.chunks.iter().map(|(_, _, entry)| i64::from(entry.bag.length())).sum::<i64>();
        Ok(())
    }
}

/// Takes out the chunks of files, in pieces: a thousand files may have any number of chunks, and what went comes back in
/// one message.
async fn take_out(client: &Client, files: &[i64], totals: &mut Totals) -> Result<(), Fault> {
    let sql = "SELECT id FROM papertape.chunks WHERE file = ANY($1)";
    let found = rows(client, sql, &[(&files, Type::INT8_ARRAY)]).await?;
    let chunks = found.iter().map(|row| get(row, 0)).collect::<Result<Vec<i64>, _>>()?;
    for piece in chunks.chunks(CHUNKS) {
        let out = row(client, TAKE_OUT, &[(&piece, Type::INT8_ARRAY)]).await?;
        totals.chunks -= get::<i64>(&out, 0)?;
        totals.length -= get::<i64>(&out, 1)?;
        totals.idle_keys.extend(get::<Vec<i64>>(&out, 2)?);
        totals.vocabulary.count(get::<Vec<i32>>(&out, 3)?.into_iter().zip(get::<Vec<i32>>(&out, 4)?));
        if totals.vocabulary.is_full() {
            totals.vocabulary.write(client).await?;
        }
    }
    Ok(())
}

/// Rows into a table, in PostgreSQL's binary format.
async fn copy<'a>(
    client: &Client,
    into: &str,
    types: &[Type],
    rows: impl Iterator<Item = Vec<Box<dyn ToSql + Sync + Send + 'a>>>,
) -> Result<(), Fault> {
    let sink = client.copy_in(&format!("COPY {into} FROM STDIN (FORMAT binary)")).await?;
    let mut writer = pin!(BinaryCopyInWriter::new(sink, types));
    for row in rows {
        let values: Vec<&(dyn ToSql + Sync)> =
            row.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
        writer.as_mut().write(&values).await?;
    }
    writer.finish().await?;
    Ok(())
}

async fn copy_files(client: &Client, files: &[FileRecord]) -> Result<(), Fault> {
    if files.is_empty() {
        return Ok(());
    }
    let into = "papertape.files (id, path, stamp, digest, title, date, tags, folded_tags, language, chunks, size, folded_path, folded_title)";
    let types = [
        Type::INT8,
        Type::TEXT,
        Type::INT8_ARRAY,
        Type::BYTEA,
        Type::TEXT,
        Type::TEXT,
        Type::TEXT_ARRAY,
        Type::TEXT_ARRAY,
        Type::TEXT,
        Type::INT4,
        Type::INT8,
        Type::TEXT,
        Type::TEXT,
    ];
    let rows = files.iter().map(|file| {
        let stamp = &file.stamp;
        let stamp = vec![stamp.size.cast_signed(), stamp.modified, stamp.changed, stamp.inode.cast_signed()];
        let folded: Vec<String> =
            file.tags.iter().map(|tag| clean(&tag.to_lowercase()).into_owned()).collect();
        let row: Vec<Box<dyn ToSql + Sync + Send + '_>> = vec![
            Box::new(file_number(&file.path)),
            Box::new(clean(&file.path)),
            Box::new(stamp),
            Box::new(file.digest.as_slice()),
            Box::new(clean(&file.title)),
            Box::new(file.date.as_deref().map(clean)),
            Box::new(clean_all(&file.tags)),
            Box::new(folded),
            Box::new(file.language.code()),
            Box::new(i32::try_from(file.chunks).unwrap_or(i32::MAX)),
            Box::new(file.size.cast_signed()),
            Box::new(clean(&folded_path(&file.path)).into_owned()),
            Box::new(clean(&file.title.to_lowercase()).into_owned()),
        ];
        row
    });
    copy(client, into, &types, rows).await
}

/// The terms of a chunk as they are stored: two long ones may become the same.
fn spelled(entry: &Entry) -> BTreeMap<Cow<'_, str>, i32> {
    let mut terms: BTreeMap<_, i32> = BTreeMap::new();
    for (said, times) in entry.bag.iter() {
        let sum = terms.entry(stored_term(said)).or_default();
        *sum = sum.saturating_add(i32::try_from(times).unwrap_or(i32::MAX));
    }
    terms
}

/// The term ids of each chunk and their frequencies.
async fn term_ids(
    client: &Client,
    chunks: &[(i64, ChunkId, Entry)],
    known: &mut Vocabulary,
) -> Result<Vec<Vec<(i32, i32)>>, Fault> {
    let spelled: Vec<_> = chunks.iter().map(|(_, _, entry)| spelled(entry)).collect();
    let all: BTreeSet<&str> = spelled.iter().flat_map(BTreeMap::keys).map(AsRef::as_ref).collect();
    let unknown: Vec<&str> = all.into_iter().filter(|term| !known.numbers.contains_key(*term)).collect();
    if !unknown.is_empty() {
        for row in &rows(client, NUMBER_WORDS, &[(&unknown, Type::TEXT_ARRAY)]).await? {
            known.numbers.insert(get::<String>(row, 1)?, get(row, 0)?);
        }
    }
    let number = |(term, times): (&Cow<'_, str>, &i32)| Some((*known.numbers.get(term.as_ref())?, *times));
    let numbered: Vec<Vec<_>> =
        spelled.iter().map(|terms| terms.iter().filter_map(number).collect()).collect();
    known.count(numbered.iter().flatten().map(|(term, _)| (*term, 1)));
    if known.is_full() {
        known.write(client).await?;
    }
    Ok(numbered)
}

async fn copy_chunks(
    client: &Client,
    chunks: &[(i64, ChunkId, Entry)],
    numbers: &[Vec<(i32, i32)>],
) -> Result<(), Fault> {
    let into =
        "papertape.chunks (id, file, index, headings, text, key, length, words, first_line, last_line)";
    let types = [
        Type::INT8,
        Type::INT8,
        Type::INT4,
        Type::TEXT_ARRAY,
        Type::TEXT,
        Type::INT8,
        Type::INT4,
        Type::INT4_ARRAY,
        Type::INT4,
        Type::INT4,
    ];
    let rows = chunks.iter().zip(numbers).map(|((file, id, entry), terms)| {
        let terms: Vec<i32> = terms.iter().map(|(term, _)| *term).collect();
        let row: Vec<Box<dyn ToSql + Sync + Send + '_>> = vec![
            Box::new(id.0.cast_signed()),
            Box::new(*file),
            Box::new(i32::try_from(entry.index).unwrap_or(i32::MAX)),
            Box::new(clean_all(&entry.headings)),
            Box::new(clean(&entry.text)),
            Box::new(entry.key.0.cast_signed()),
            Box::new(i32::try_from(entry.bag.length()).unwrap_or(i32::MAX)),
            Box::new(terms),
            Box::new(i32::try_from(entry.lines.start).unwrap_or_default()),
            Box::new(i32::try_from(entry.lines.end).unwrap_or_default()),
        ];
        row
    });
    copy(client, into, &types, rows).await
}

async fn copy_postings(
    client: &Client,
    chunks: &[(i64, ChunkId, Entry)],
    numbers: &[Vec<(i32, i32)>],
) -> Result<(), Fault> {
    let mut postings: Vec<(i32, i64, i32, i32)> = Vec::new();
    for ((_, id, entry), terms) in chunks.iter().zip(numbers) {
        let length = i32::try_from(rounded_length(entry.bag.length())).unwrap_or(i32::MAX);
        postings.extend(terms.iter().map(|(term, times)| (*term, id.0.cast_signed(), *times, length)));
    }
    // In the order of the index, which then changes page by page.
    postings.sort_unstable();
    let sql = "COPY papertape.postings (chunk, word, times, length) FROM STDIN (FORMAT binary)";
    let types = [Type::INT8, Type::INT4, Type::INT4, Type::INT4];
    let mut writer = pin!(BinaryCopyInWriter::new(client.copy_in(sql).await?, &types));
    for (term, chunk, times, length) in &postings {
        writer.as_mut().write(&[chunk, term, times, length]).await?;
    }
    writer.finish().await?;
    Ok(())
}

/// Notes which of these chunks have no vector.
async fn want(client: &Client, chunks: &[(i64, ChunkId, Entry)], vectors: &Vectors) -> Result<(), Fault> {
    let (ids, keys): (Vec<i64>, Vec<i64>) =
        chunks.iter().map(|(_, id, entry)| (id.0.cast_signed(), entry.key.0.cast_signed())).unzip();
    let sql = format!(
        "INSERT INTO papertape.wanting (chunk, key) SELECT chunk, key
         FROM unnest($1::bigint[], $2::bigint[]) AS given(chunk, key)
         WHERE NOT EXISTS (SELECT 1 FROM {} v WHERE v.key = given.key)",
        vectors.table
    );
    rows(client, &sql, &[(&ids, Type::INT8_ARRAY), (&keys, Type::INT8_ARRAY)]).await?;
    Ok(())
}
