//! How fast, how large: the embedded store with made-up chunks, beside others with the same ones.

mod corpus;
#[cfg(feature = "engines")]
mod engines;
mod folder;
mod numpy;
mod ours;
mod step;

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use self::step::{Figures, Setting};

/// The same chunks in every run.
const SEED: u64 = 6;

/// How many of the nearest must be found.
const RECALL_AT: usize = 10;

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct Scale {
    /// How many chunks
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 100_000, 1_000_000])]
    chunks: Vec<usize>,
    /// How many numbers a vector has
    #[arg(long, default_value_t = 768)]
    dimension: usize,
    /// How many queries are asked
    #[arg(long, default_value_t = 200)]
    queries: usize,
    /// Without tantivy, SQLite and numpy beside ours
    #[arg(long)]
    alone: bool,
    /// Where files go (default: the system's directory for temporary files; 8 GB for a million chunks)
    #[arg(long)]
    dir: Option<PathBuf>,
}

/// A measurement in a process of its own.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Step {
    Build,
    Ask,
    Folder,
    Tantivy,
    Sqlite,
}

/// Runs one step, and reports to the parent process.
pub(crate) async fn step(step: Step, setting: &Setting) -> Result<()> {
    let figures = match step {
        Step::Build => ours::build(setting).await?,
        Step::Ask => ours::ask(setting).await?,
        Step::Folder => folder::keep(setting).await?,
        #[cfg(feature = "engines")]
        Step::Tantivy => engines::tantivy(setting)?,
        #[cfg(feature = "engines")]
        Step::Sqlite => engines::sqlite(setting)?,
        #[cfg(not(feature = "engines"))]
        Step::Tantivy | Step::Sqlite => Figures::default(),
    };
    figures.print()
}

pub(crate) use step::Setting as StepSetting;

/// Measures everything and says it.
pub(crate) fn run(scale: &Scale, say: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
    if cfg!(debug_assertions) {
        bail!("a debug build measures nothing: cargo run --profile dist -p bench -- scale");
    }
    let parent = scale.dir.clone().unwrap_or_else(std::env::temp_dir);
    for chunks in &scale.chunks {
        let dir = tempfile::Builder::new().prefix("papertape-bench-").tempdir_in(&parent)?;
        let setting = Setting {
            chunks: *chunks,
            dimension: scale.dimension,
            queries: scale.queries,
            dir: dir.path().to_owned(),
        };
        let built = step::run("build", &setting)?;
        let asked = step::run("ask", &setting)?;
        say(&ours(&setting, &built, &asked)?)?;
        if !scale.alone {
            say(&others(&setting)?)?;
        }
    }
    let dir = tempfile::Builder::new().prefix("papertape-bench-").tempdir_in(&parent)?;
    let setting = Setting { chunks: 1, dimension: 1, queries: 1, dir: dir.path().to_owned() };
    say(&kept(&step::run("folder", &setting)?)?)
}

fn ours(setting: &Setting, built: &Figures, asked: &Figures) -> Result<String> {
    let mut text = String::new();
    writeln!(
        text,
        "\n{} chunks, vectors of {} numbers, {} queries",
        setting.chunks, setting.dimension, setting.queries
    )?;
    writeln!(text, "{:<28} {:>10} {:>10} {:>10} {:>10}", "", "p50", "p99", "CPU", "first")?;
    for name in ["lexical", "hybrid"] {
        let of = |part: &str| milliseconds(asked.get(&format!("{name} {part}")));
        writeln!(
            text,
            "{:<28} {:>10} {:>10} {:>10} {:>10}",
            format!("papertape, {name}"),
            of("p50"),
            of("p99"),
            of("CPU"),
            of("first")
        )?;
    }
    writeln!(text, "  recall@{RECALL_AT} of exact cosines: {:.4}", asked.get("recall").unwrap_or_default())?;
    writeln!(
        text,
        "  opens in {} (CPU {})",
        milliseconds(asked.get("open p50")),
        milliseconds(asked.get("open CPU"))
    )?;
    writeln!(
        text,
        "  memory of its own while answering: lexical {}, hybrid {}; resident with mapped files {}",
        megabytes(asked.get("lexical own")),
        megabytes(asked.get("hybrid own")),
        megabytes(asked.get("hybrid resident")),
    )?;
    writeln!(
        text,
        "  indexed in {} (lexical) + {} (vectors), peak memory {}; on disk {}, {} of it without vectors",
        milliseconds(built.get("index lexical")),
        milliseconds(built.get("index vectors")),
        megabytes(built.get("index peak")),
        megabytes(built.get("bytes")),
        megabytes(built.get("lexical bytes")),
    )?;
    Ok(text)
}

fn others(setting: &Setting) -> Result<String> {
    let mut text = String::new();
    let mut line = |name: &str, kind: &str, figures: &Figures| {
        writeln!(
            text,
            "{name:<28} {:>10} {:>10} {:>10}   indexed in {}, {} on disk, memory of its own {}",
            milliseconds(figures.get(&format!("{kind} p50"))),
            milliseconds(figures.get(&format!("{kind} p99"))),
            milliseconds(figures.get(&format!("{kind} CPU"))),
            milliseconds(figures.get("index")),
            megabytes(figures.get("bytes")),
            megabytes(figures.get("own")),
        )
    };
    if cfg!(feature = "engines") {
        line("plain tantivy, lexical", "lexical", &step::run("tantivy", setting)?)?;
        line("plain SQLite FTS5, lexical", "lexical", &step::run("sqlite", setting)?)?;
    } else {
        writeln!(
            text,
            "plain tantivy and SQLite FTS5: not built in; cargo run --profile dist -p bench --features engines -- scale"
        )?;
    }
    match numpy::numpy(setting)? {
        Some(figures) => writeln!(
            text,
            "{:<28} {:>10} {:>10} {:>10}   all vectors in memory: {}",
            "numpy, exact cosines",
            milliseconds(figures.get("semantic p50")),
            milliseconds(figures.get("semantic p99")),
            milliseconds(figures.get("semantic CPU")),
            megabytes(figures.get("own")),
        )?,
        None => writeln!(text, "numpy, exact cosines: python3 (or $PYTHON) has no numpy")?,
    }
    Ok(text)
}

fn kept(figures: &Figures) -> Result<String> {
    let mut text = String::new();
    writeln!(
        text,
        "\nA directory of {} files: indexed in {}; looked over when nothing has changed {} (CPU {}), when one file has {} (CPU {})",
        folder::FILES,
        milliseconds(figures.get("first")),
        milliseconds(figures.get("unchanged p50")),
        milliseconds(figures.get("unchanged CPU")),
        milliseconds(figures.get("changed p50")),
        milliseconds(figures.get("changed CPU")),
    )?;
    Ok(text)
}

fn milliseconds(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value >= 10_000.0 => format!("{:.1} s", value / 1_000.0),
        Some(value) if value >= 100.0 => format!("{value:.0} ms"),
        Some(value) => format!("{value:.2} ms"),
    }
}

fn megabytes(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{:.1} MB", value / 1e6))
}
