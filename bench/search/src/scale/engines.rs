//! Other engines with the same chunks and queries: plain tantivy, plain SQLite.

use std::time::Instant;

use anyhow::Result;
use tantivy::collector::TopDocs;
use tantivy::query::QueryParser;
use tantivy::schema::{STORED, Schema, TEXT};
use tantivy::{Index, TantivyDocument};

use super::SEED;
use super::corpus::{Corpus, PER_FILE};
use super::step::{Figures, Setting, Watch, size};
use crate::process::memory;

fn all(setting: &Setting) -> (Corpus, Vec<String>) {
    let corpus = Corpus::new(setting.chunks, setting.dimension, SEED);
    let queries = (0..setting.queries).map(|number| corpus.query(number).text).collect();
    (corpus, queries)
}

/// tantivy as its examples use it: its own tokenizer, title and body, one thread, texts stored.
pub(crate) fn tantivy(setting: &Setting) -> Result<Figures> {
    let (corpus, queries) = all(setting);
    let mut schema = Schema::builder();
    let title = schema.add_text_field("title", TEXT | STORED);
    let body = schema.add_text_field("body", TEXT | STORED);
    let folder = setting.at("tantivy");
    std::fs::create_dir_all(&folder)?;
    let index = Index::create_in_dir(&folder, schema.build())?;
    let mut writer = index.writer_with_num_threads(1, 100_000_000)?;
    let mut figures = Figures::default();
    let start = Instant::now();
    for chunk in 0..corpus.chunks {
        let mut document = TantivyDocument::new();
        document.add_text(title, corpus.heading(chunk / PER_FILE * PER_FILE, 1));
        document.add_text(body, format!("{}\n{}", corpus.heading(chunk, 0), corpus.text(chunk)));
        writer.add_document(document)?;
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    figures.time("index", start.elapsed());
    figures.bytes("bytes", size(&folder));
    let searcher = index.reader()?.searcher();
    let parser = QueryParser::for_index(&index, vec![title, body]);
    let mut times = Vec::new();
    for query in &queries {
        let watch = Watch::start();
        let parsed = parser.parse_query(query)?;
        for (_, place) in searcher.search(&parsed, &TopDocs::with_limit(5).order_by_score())? {
            let _document: TantivyDocument = searcher.doc(place)?;
        }
        times.push(watch.stop());
    }
    figures.spread("lexical", &times);
    figures.bytes("own", memory().own);
    Ok(figures)
}

/// SQLite as its manual shows full-text search: FTS5, its own tokenizer, any of the words, `bm25()`.
pub(crate) fn sqlite(setting: &Setting) -> Result<Figures> {
    let (corpus, queries) = all(setting);
    let path = setting.at("sqlite.db");
    let mut database = rusqlite::Connection::open(&path)?;
    database.execute_batch(
        "PRAGMA journal_mode = WAL; CREATE VIRTUAL TABLE chunks USING fts5(title, body, tokenize = 'unicode61')",
    )?;
    let mut figures = Figures::default();
    let start = Instant::now();
    let all = database.transaction()?;
    {
        let mut insert = all.prepare("INSERT INTO chunks (title, body) VALUES (?1, ?2)")?;
        for chunk in 0..corpus.chunks {
            let title = corpus.heading(chunk / PER_FILE * PER_FILE, 1);
            insert.execute((title, format!("{}\n{}", corpus.heading(chunk, 0), corpus.text(chunk))))?;
        }
    }
    all.commit()?;
    figures.time("index", start.elapsed());
    figures.bytes("bytes", size(&path) + size(&setting.at("sqlite.db-wal")));
    let mut select = database
        .prepare("SELECT title, body FROM chunks WHERE chunks MATCH ?1 ORDER BY bm25(chunks) LIMIT 5")?;
    let mut times = Vec::new();
    for query in &queries {
        let words: Vec<String> = query.split(' ').map(|word| format!("\"{word}\"")).collect();
        let watch = Watch::start();
        let mut rows = select.query([words.join(" OR ")])?;
        while let Some(row) = rows.next()? {
            let _body: String = row.get(1)?;
        }
        times.push(watch.stop());
    }
    figures.spread("lexical", &times);
    figures.bytes("own", memory().own);
    Ok(figures)
}
