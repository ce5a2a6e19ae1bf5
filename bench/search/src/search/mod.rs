//! How often the expected chunk is found in a directory of Markdown, without relevance judgements.

mod figures;
mod headings;
mod links;
mod memory;
mod report;
mod resolve;
mod subject;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use papertape_search::analysis::{self, Bag};
use papertape_search::corpus::document;

use self::links::LinkText;
use self::memory::{Memory, plain_bag, plain_words};
use self::report::Table;
use self::subject::{Lists, Subject};
use crate::random::Random;

/// What to evaluate.
#[derive(Debug, Args)]
pub(crate) struct Search {
    /// A directory of Markdown: your notes, a site, a manual
    folder: PathBuf,
    /// A directory with a sentence-transformers model: evaluates meaning, too
    #[arg(long)]
    model: Option<PathBuf>,
    /// Where the index stays, so that the next run need not make it again
    #[arg(long)]
    index: Option<PathBuf>,
    /// How many queries of each kind are asked, at most
    #[arg(long, default_value_t = 600)]
    queries: usize,
    /// Which queries are drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Shows so many link texts whose page was not the first hit, and what was
    #[arg(long, default_value_t = 0, value_name = "N")]
    misses: usize,
}

/// Indexes the directory, asks, and says what was found.
pub(crate) async fn run(search: &Search, say: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
    let mut subject =
        Subject::index(&search.folder, search.model.as_deref(), search.index.as_deref()).await?;
    ensure!(!subject.files.is_empty(), "there is no Markdown in {}", search.folder.display());
    say(&subject.described())?;

    let mut texts = links::link_texts(&subject.files);
    texts.retain(|text| text.targets.iter().any(|page| subject.has_chunks(page)));
    let all = texts.len();
    Random::new(search.seed).shuffle(&mut texts);
    texts.truncate(search.queries);
    if texts.is_empty() {
        say("\nNo file links to another one: no queries can be made of links.\n")?;
    } else {
        let mut table = Table::new(search.seed);
        variants(&subject, &texts, &mut table);
        let mut lists = Vec::with_capacity(texts.len());
        for text in &texts {
            lists.push(subject.ask(&text.text).await?);
        }
        measure(&mut table, &texts, &lists, |text, list| subject.page_place(text, list));
        say(&format!("\n{} of {all} link texts, searched for the page they lead to\n{table}", texts.len()))?;
        let best = lists.iter().map(|lists| lists.hybrid.as_ref().unwrap_or(&lists.lexical));
        let missed = texts.iter().zip(best).filter_map(|(text, list)| subject.miss(text, list));
        for miss in missed.take(search.misses) {
            say(&miss)?;
        }
    }

    let held = headings::hold_out(&subject.files, search.queries, search.seed);
    if held.headings.is_empty() {
        return say(
            "\nNo heading of two words is the only one of its kind: no queries can be made of headings.\n",
        );
    }
    subject.replace(&held.files).await?;
    let mut table = Table::new(search.seed);
    let mut lists = Vec::with_capacity(held.headings.len());
    for heading in &held.headings {
        lists.push(subject.ask(&heading.text).await?);
    }
    measure(&mut table, &held.headings, &lists, Subject::chunk_place);
    say(&format!(
        "\n{} headings, taken out of their files and searched for their section\n{table}",
        lists.len()
    ))
}

/// Fills a table with what the product found.
fn measure<Q>(
    table: &mut Table,
    queries: &[Q],
    lists: &[Lists],
    place: impl Fn(&Q, &[papertape_search::store::ChunkId]) -> Option<usize>,
) {
    let places = |list: fn(&Lists) -> Option<&[papertape_search::store::ChunkId]>| {
        let each = queries.iter().zip(lists).map(|(query, lists)| Some(place(query, list(lists)?)));
        each.collect::<Option<Vec<_>>>()
    };
    let lexical = places(|lists| Some(&lists.lexical));
    if let Some(lexical) = &lexical {
        table.add("lexical", lexical);
    }
    if let Some(semantic) = places(|lists| lists.semantic.as_deref()) {
        table.add("semantic", &semantic);
    }
    if let (Some(hybrid), Some(lexical)) = (places(|lists| lists.hybrid.as_deref()), lexical) {
        table.add("hybrid", &hybrid);
        table.compare("hybrid - lexical", &hybrid, &lexical);
    }
}

/// Lexical baselines with a simpler analysis than that of the product.
fn variants(subject: &Subject, texts: &[LinkText], table: &mut Table) {
    let (mut chunks, mut plain, mut stems): (Vec<_>, Vec<Bag>, Vec<Bag>) = Default::default();
    for (path, text) in &subject.files {
        let read = document::read(path, text.as_bytes());
        for (section, index) in read.chunks.iter().zip(0_u32..) {
            chunks.push(papertape_search::store::ChunkId::of(path, index));
            plain.push(plain_bag(&section.plain));
            stems.push(analysis::bag("", "", &[], &section.plain, read.language));
        }
    }
    let (plain, stems) = (Memory::new(&plain), Memory::new(&stems));
    let mut rank = |name: &str, found: &dyn Fn(&str) -> Vec<usize>| {
        let places = texts.iter().map(|text| {
            let found = found(&text.text).into_iter().filter_map(|chunk| chunks.get(chunk).copied());
            subject.page_place(text, &found.collect::<Vec<_>>())
        });
        table.add(name, &places.collect::<Vec<_>>());
    };
    rank("lexical, plain words, text alone", &|text| plain.search(&plain_words(text)));
    rank("lexical, stems or pairs, text alone", &|text| {
        stems.search(&analysis::query_terms(text, &subject.languages))
    });
}
