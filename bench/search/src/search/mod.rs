//! How often the expected chunk is found in a directory of Markdown: most relevance judgements are made of the directory
//! itself.
//!
//! - [`Subject`]: a directory and what searches it: the product, `textbook` (BM25), `fts5` (SQLite)
//! - `links` (with `resolve`), `headings`, `quotes`, `identifiers`, `misspelt`: a directory to queries
//! - `questions`: a file of questions to queries
//! - `vectors`: a model whose vectors stay
//! - `figures`, `report`: places of relevant chunks to tables

mod chunks;
mod contender;
mod figures;
#[cfg(feature = "sqlite")]
mod fts5;
mod headings;
mod identifiers;
mod links;
mod misspelt;
mod prose;
mod questions;
mod quotes;
mod report;
mod resolve;
mod sample;
mod subject;
mod textbook;
mod vectors;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;

use self::chunks::Query;
use self::contender::{Contender, Kind};
use self::questions::Questions;
use self::report::Measured;
use self::sample::sample;
use self::subject::{Setting, Subject};
use self::vectors::KeptVectors;

/// What to evaluate.
#[derive(Debug, Args)]
pub(crate) struct Search {
    /// Directories of Markdown: your notes, a site, a manual
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// A directory with a sentence-transformers model: evaluates meaning, too
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// Where the model's vectors stay, so that the next run need not make them again
    #[arg(long, value_name = "DIR", requires = "model")]
    vectors: Option<PathBuf>,
    /// Questions with their answers, for the directory that has all of the answers
    #[arg(long, value_name = "FILE")]
    questions: Vec<PathBuf>,
    /// Queries of these kinds only
    #[arg(long, value_delimiter = ',')]
    kinds: Vec<Kind>,
    /// How many queries of each kind are asked in each directory, at most
    #[arg(long, default_value_t = 300)]
    queries: usize,
    /// How many files of each directory are indexed, at most
    #[arg(long, default_value_t = usize::MAX, hide_default_value = true)]
    files: usize,
    /// Which queries and files are drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Shows so many queries of each kind and directory for which something else was found first, by words or hybrid
    #[arg(long, default_value_t = 0, value_name = "N")]
    misses: usize,
    /// Where every query with its places and every figure is written
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

type Say<'a> = dyn FnMut(&str) -> Result<()> + 'a;

/// Indexes the directories, asks, and says what was found.
pub(crate) async fn run(search: &Search, say: &mut Say<'_>) -> Result<()> {
    let mut questions = Vec::new();
    for file in &search.questions {
        questions.push(Questions::read(file)?);
    }
    let model = match &search.model {
        Some(model) => Some(Arc::new(KeptVectors::open(model, search.vectors.as_deref()).await?)),
        None => None,
    };
    let mut measured = Vec::new();
    for folder in &search.folders {
        let setting = Setting { files: search.files, seed: search.seed, model: model.as_ref() };
        let subject = Subject::index(folder, setting).await?;
        say(&subject.described())?;
        evaluate(search, subject, &mut questions, &mut measured, say).await?;
    }
    questions.iter().try_for_each(Questions::ensure_asked)?;
    if let Some(path) = &search.json {
        let json = report::json(&measured, search.seed)?;
        fs::write(path, json).with_context(|| path.display().to_string())?;
    }
    say(&report::tables(&measured, search.seed)?)
}

async fn evaluate(
    search: &Search,
    mut subject: Subject,
    questions: &mut [Questions],
    measured: &mut Vec<Measured>,
    say: &mut Say<'_>,
) -> Result<()> {
    let (most, seed) = (search.queries, search.seed);
    let is_wanted = |kind: Kind| search.kinds.is_empty() || search.kinds.contains(&kind);
    let chunks = &subject.chunks;
    let links = links::queries(&subject.files, chunks);
    let mut of_kind: BTreeMap<Kind, Vec<Query>> = BTreeMap::new();
    if is_wanted(Kind::Misspelt) {
        let mut correct = headings::in_place(chunks);
        correct.extend_from_slice(&links);
        of_kind.insert(Kind::Misspelt, misspelt::misspelt(&correct, &subject.textbook, most, seed));
    }
    of_kind.insert(Kind::Links, sample(links, most, seed, |query| &query.ask));
    if is_wanted(Kind::Quotes) {
        of_kind.insert(Kind::Quotes, quotes::quotes(chunks, most, seed));
    }
    if is_wanted(Kind::Identifiers) {
        of_kind.insert(Kind::Identifiers, identifiers::identifiers(chunks, most, seed));
    }
    let asked = questions.iter_mut().flat_map(|questions| questions.queries(chunks));
    of_kind.insert(Kind::Questions, asked.collect());
    for (kind, queries) in of_kind.into_iter().filter(|(kind, _)| is_wanted(*kind)) {
        measured.extend(ask(&subject, kind, &queries, search.misses, say).await?);
    }
    if is_wanted(Kind::Headings) {
        let held = headings::hold_out(&subject.files, most, seed);
        subject.replace(&held.files).await?;
        let queries = held.queries(&subject.chunks);
        measured.extend(ask(&subject, Kind::Headings, &queries, search.misses, say).await?);
    }
    Ok(())
}

/// Asks every engine; nothing if there are no queries.
async fn ask(
    subject: &Subject,
    kind: Kind,
    queries: &[Query],
    misses: usize,
    say: &mut Say<'_>,
) -> Result<Option<Measured>> {
    let mut places: BTreeMap<Contender, Vec<Option<usize>>> = BTreeMap::new();
    for contender in subject.contenders() {
        let mut left = if matches!(contender, Contender::Words | Contender::Hybrid) { misses } else { 0 };
        for query in queries {
            let found = subject.ask(contender, &query.ask).await?;
            places.entry(contender).or_default().push(query.place(&found));
            if left > 0
                && let Some(miss) = subject.miss(query, &found)
            {
                left -= 1;
                say(&format!("{} by {}:{miss}", kind.title(), contender.name()))?;
            }
        }
    }
    let queries: Vec<String> = queries.iter().map(|query| query.ask.clone()).collect();
    let measured = Measured { kind, corpus: subject.name.clone(), queries, places };
    Ok(Some(measured).filter(|measured| !measured.queries.is_empty()))
}
