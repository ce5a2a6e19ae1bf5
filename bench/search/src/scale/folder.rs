//! A directory of 10,000 files: indexed, looked over when nothing has changed, and when one file has.

use std::fs;
use std::time::Instant;

use anyhow::{Result, ensure};
use papertape_search::corpus::folder::Folder;
use papertape_search::index::{self, Report};
use papertape_search::store::embedded::Embedded;

use super::SEED;
use super::corpus::Corpus;
use super::ours::path;
use super::step::{Figures, Setting, Watch};

/// How many files.
pub(crate) const FILES: usize = 10_000;

/// How often each thing is done.
const TIMES: usize = 7;

/// What it takes to keep an index up to date.
pub(crate) async fn keep(setting: &Setting) -> Result<Figures> {
    let root = setting.at("folder");
    let corpus = Corpus::new(FILES, 8, SEED);
    for file in 0..FILES {
        let path = root.join(path(file));
        if file % 1_000 == 0 {
            fs::create_dir_all(path.parent().unwrap_or(&root))?;
        }
        let (title, heading) = (corpus.heading(file, 1), corpus.heading(file, 0));
        fs::write(path, format!("# {title}\n\n## {heading}\n\n{}\n", corpus.text(file)))?;
    }
    let folder = Folder::open(&root)?;
    let store = Embedded::open(&setting.at("folder-index"))?;
    let mut figures = Figures::default();
    let start = Instant::now();
    let report = run(&folder, &store).await?;
    figures.time("first", start.elapsed());
    ensure!(report.added == FILES as u64, "{} files were indexed, not {FILES}", report.added);
    let (mut unchanged, mut changed) = (Vec::new(), Vec::new());
    for time in 0..TIMES {
        let watch = Watch::start();
        run(&folder, &store).await?;
        unchanged.push(watch.stop());
        let file = time * 1_234;
        fs::write(root.join(path(file)), format!("# Changed {time}\n\n{}\n", corpus.text(file + 1)))?;
        let watch = Watch::start();
        let report = run(&folder, &store).await?;
        changed.push(watch.stop());
        ensure!(report.changed == 1, "{} files had changed, not 1", report.changed);
    }
    figures.spread("unchanged", &unchanged);
    figures.spread("changed", &changed);
    Ok(figures)
}

async fn run(folder: &Folder, store: &Embedded) -> Result<Report> {
    Ok(index::run(folder, store, None, &|_| ()).await?)
}
