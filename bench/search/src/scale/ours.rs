//! The embedded store: built from chunks that are made on the way, then asked.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use papertape_search::analysis::{self, Language};
use papertape_search::store::embedded::Embedded;
use papertape_search::store::{ChunkId, Embedding, Entry, FileRecord, Lines, Query, Stamp, Store, VectorKey};
use rayon::prelude::{
    IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator, IntoParallelRefMutIterator,
    ParallelIterator,
};

use super::corpus::{Corpus, PER_FILE, TestQuery};
use super::step::{Figures, Setting, Watch, size};
use super::{RECALL_AT, SEED};
use crate::process::memory;

/// How many vectors are made at once.
const BATCH: usize = 8_192;

/// The path of the file that a chunk is in.
pub(crate) fn path(file: usize) -> String {
    format!("notes/{:03}/{file:06}.md", file / 1_000)
}

fn id(chunk: usize) -> ChunkId {
    ChunkId::of(&path(chunk / PER_FILE), u32::try_from(chunk % PER_FILE).unwrap_or_default())
}

fn key(chunk: usize) -> VectorKey {
    VectorKey(chunk as u64)
}

/// Makes the index, the vectors as a file for numpy, and the relevant results.
pub(crate) async fn build(setting: &Setting) -> Result<Figures> {
    let corpus = Corpus::new(setting.chunks, setting.dimension, SEED);
    let store = Embedded::open(&setting.at("index"))?;
    let mut figures = Figures::default();
    let lexical = write_lexical(&corpus, &store).await?;
    figures.time("index lexical", lexical);
    figures.bytes("lexical bytes", size(&setting.at("index")));
    let (vectors, truth) = write_vectors(&corpus, &store, setting).await?;
    figures.time("index vectors", vectors);
    figures.bytes("bytes", size(&setting.at("index")));
    figures.bytes("index peak", memory().peak);
    let mut file = BufWriter::new(File::create(setting.at("truth"))?);
    for best in truth {
        let line: Vec<String> = best.iter().map(|(_, chunk)| chunk.to_string()).collect();
        writeln!(file, "{}", line.join(" "))?;
    }
    file.flush()?;
    Ok(figures)
}

/// Puts every file; what it takes to make up its text does not count.
async fn write_lexical(corpus: &Corpus, store: &Embedded) -> Result<Duration> {
    let start = Instant::now();
    let mut writer = store.write().await?;
    let mut busy = start.elapsed();
    let files = corpus.chunks.div_ceil(PER_FILE);
    for first in (0..files).step_by(256) {
        let batch: Vec<usize> = (first..(first + 256).min(files)).collect();
        let made: Vec<_> = batch.par_iter().map(|file| made(corpus, *file)).collect();
        let start = Instant::now();
        let ready: Vec<_> = made.into_par_iter().map(ready).collect();
        for (record, entries) in ready {
            writer.put(record, entries).await?;
        }
        busy += start.elapsed();
    }
    let start = Instant::now();
    writer.commit().await?;
    Ok(busy + start.elapsed())
}

struct Made {
    file: usize,
    title: String,
    chunks: Vec<(usize, String, String)>,
}

fn made(corpus: &Corpus, file: usize) -> Made {
    let chunks = file * PER_FILE..((file + 1) * PER_FILE).min(corpus.chunks);
    let chunks = chunks.map(|chunk| (chunk, corpus.heading(chunk, 0), corpus.text(chunk))).collect();
    Made { file, title: corpus.heading(file * PER_FILE, 1), chunks }
}

/// What `ingest` does with a file that is read.
fn ready(made: Made) -> (FileRecord, Vec<Entry>) {
    let path = path(made.file);
    let mut entries = Vec::with_capacity(made.chunks.len());
    for ((chunk, heading, text), index) in made.chunks.into_iter().zip(0..) {
        let headings = vec![heading];
        let bag = analysis::bag(&path, &made.title, &headings, &text, Language::English);
        entries.push(Entry { index, headings, text, bag, key: key(chunk), lines: Lines::default() });
    }
    let record = FileRecord {
        path,
        stamp: Stamp::default(),
        digest: [0; 32],
        title: made.title,
        date: None,
        tags: Vec::new(),
        language: Language::English,
        chunks: u32::try_from(entries.len()).unwrap_or_default(),
        size: entries.iter().map(|entry| entry.text.len() as u64).sum(),
    };
    (record, entries)
}

type Best = Vec<(f32, usize)>;

/// Attaches every vector, and finds the relevant results on the way.
async fn write_vectors(
    corpus: &Corpus,
    store: &Embedded,
    setting: &Setting,
) -> Result<(Duration, Vec<Best>)> {
    let queries: Vec<TestQuery> = (0..setting.queries).map(|number| corpus.query(number)).collect();
    let mut truth: Vec<Best> = vec![Best::new(); queries.len()];
    let mut file = BufWriter::new(File::create(setting.at("vectors.f32"))?);
    let start = Instant::now();
    let mut writer = store.write().await?;
    let model = Embedding {
        model: "made-up".to_owned(),
        dimension: u32::try_from(corpus.dimension)?,
        digest: "made-up".to_owned(),
        knows_language: true,
        judged_on: corpus.chunks as u64,
    };
    writer.set_embedding(Some(model)).await?;
    let mut busy = start.elapsed();
    for first in (0..corpus.chunks).step_by(BATCH) {
        let batch: Vec<usize> = (first..(first + BATCH).min(corpus.chunks)).collect();
        let vectors: Vec<(VectorKey, Vec<f32>)> =
            batch.par_iter().map(|chunk| (key(*chunk), corpus.vector(*chunk))).collect();
        truth.par_iter_mut().enumerate().for_each(|(number, best)| {
            let Some(query) = queries.get(number) else { return };
            best.extend(vectors.iter().map(|(key, vector)| {
                (dot(&query.vector, vector), usize::try_from(key.0).unwrap_or_default())
            }));
            best.sort_by(|a, b| b.0.total_cmp(&a.0));
            best.truncate(RECALL_AT);
        });
        for value in vectors.iter().flat_map(|(_, vector)| vector) {
            file.write_all(&value.to_le_bytes())?;
        }
        let start = Instant::now();
        writer.attach(vectors).await?;
        busy += start.elapsed();
    }
    file.flush()?;
    let start = Instant::now();
    writer.commit().await?;
    Ok((busy + start.elapsed(), truth))
}

/// Eight sums at once, which the compiler makes into one instruction.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 8];
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    sums.iter().sum()
}

/// Opens the index and asks.
pub(crate) async fn ask(setting: &Setting) -> Result<Figures> {
    let corpus = Corpus::new(setting.chunks, setting.dimension, SEED);
    let queries: Vec<TestQuery> = (0..setting.queries).map(|number| corpus.query(number)).collect();
    drop(corpus);
    let truth = std::fs::read_to_string(setting.at("truth")).context("no relevant results: build first")?;
    let before = memory();
    let mut figures = Figures::default();
    let watch = Watch::start();
    let store = Embedded::open(&setting.at("index"))?;
    let summary = store.summary().await?;
    figures.spread("open", &[watch.stop()]);
    for (name, with_vector) in [("lexical", false), ("hybrid", true)] {
        let mut times = Vec::with_capacity(queries.len());
        let mut right = 0_u32;
        for (query, truth) in queries.iter().zip(truth.lines()) {
            let vector = with_vector.then(|| query.vector.clone());
            let watch = Watch::start();
            let terms = analysis::query_terms(&query.text, &summary.languages);
            let query = Query { terms, vector, top_k: 5, ..Query::default() };
            let found = store.search(&query).await?;
            times.push(watch.stop());
            let best: Vec<ChunkId> = found.semantic.iter().take(RECALL_AT).map(|(chunk, _)| *chunk).collect();
            let wanted = truth.split(' ').filter_map(|chunk| chunk.parse().ok()).map(id);
            right += u32::try_from(wanted.filter(|chunk| best.contains(chunk)).count())?;
        }
        if let Some(first) = times.first() {
            figures.time(&format!("{name} first"), first.wall);
        }
        figures.spread(name, &times);
        if with_vector {
            let of = u32::try_from(queries.len() * RECALL_AT)?;
            figures.set("recall", f64::from(right) / f64::from(of));
        }
        let now = memory();
        figures.bytes(&format!("{name} own"), now.own.saturating_sub(before.own));
        figures.bytes(&format!("{name} resident"), now.resident);
    }
    Ok(figures)
}
