//! SQLite's full-text search over the same chunks, as its manual shows it: stems of English, any of the words, `bm25()`.

use anyhow::Result;
use rusqlite::Connection;

use super::chunks::Chunks;
use super::subject::DEPTH;

/// An index in memory: a row for each chunk, by its number.
#[derive(Debug)]
pub(crate) struct Fts5 {
    database: Connection,
}

impl Fts5 {
    /// Of chunks: their titles, headings and words in one column.
    pub(crate) fn of(chunks: &Chunks) -> Result<Self> {
        let mut database = Connection::open_in_memory()?;
        database
            .execute_batch("CREATE VIRTUAL TABLE chunks USING fts5(body, tokenize = 'porter unicode61')")?;
        let all = database.transaction()?;
        {
            let mut insert = all.prepare("INSERT INTO chunks (rowid, body) VALUES (?1, ?2)")?;
            for (number, chunk) in chunks.all.iter().enumerate() {
                insert.execute((i64::try_from(number)?, chunk.whole()))?;
            }
        }
        all.commit()?;
        Ok(Self { database })
    }

    /// The numbers of chunks with any of the words, best first.
    pub(crate) fn search(&self, ask: &str) -> Result<Vec<usize>> {
        let words = ask.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let words: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let mut select = self.database.prepare_cached(
            "SELECT rowid FROM chunks WHERE chunks MATCH ?1 ORDER BY bm25(chunks), rowid LIMIT ?2",
        )?;
        let rows =
            select.query_map((words.join(" OR "), i64::try_from(DEPTH)?), |row| row.get::<_, i64>(0))?;
        rows.map(|row| Ok(usize::try_from(row?)?)).collect()
    }
}
