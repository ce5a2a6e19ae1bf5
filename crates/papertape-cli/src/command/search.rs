//! `papertape search DIR WORDS`: brings the index of a directory up to date, and prints what it has for the words.

mod editor;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use papertape_search::Options;
use papertape_search::analysis::MAX_QUERY_CHARS;
use papertape_search::corpus::folder::Folder;
use papertape_search::embed::Choice;
use papertape_search::index::{self, IndexError, Progress, RejectedTexts};
use papertape_search::query::Searcher;
use papertape_search::store::{Filter, StoreError};

use crate::args::{Output, Search};
use crate::command::index::failure;
use crate::exit::{self, Failure};
use crate::index_progress::IndexProgress;
use crate::print::hits::Found;
use crate::print::{self, Look};
use crate::runtime;
use crate::signals::Signals;

/// Indexing shows its progress after this time. Most often nothing has changed, and it is over by then.
const SHORT: Duration = Duration::from_millis(300);

/// How long a query waits for its embedding, unless an option says otherwise: a model may have to be loaded first.
const MODEL_WAIT: Duration = Duration::from_secs(30);

pub(crate) fn run(args: &Search) -> Result<(), Failure> {
    let parallel = runtime::parallelism();
    let runtime = runtime::build(parallel, 2 * parallel)?;
    let result = runtime.block_on(async {
        let mut signals = Signals::listen().context("cannot listen for signals")?;
        tokio::select! {
            found = search(args) => found,
            // Without a commit the index is unchanged.
            number = signals.next() => Err(Failure::Signal(number)),
        }
    });
    let result = result.and_then(|found| show(args, &found));
    runtime.shutdown_background();
    result
}

async fn search(args: &Search) -> Result<Found, Failure> {
    let query = args.query();
    if query.chars().count() > MAX_QUERY_CHARS {
        return Err(Failure::usage(format!("the words are longer than {MAX_QUERY_CHARS} characters")));
    }
    if let (Some(since), Some(until)) = (&args.since, &args.until)
        && since > until
    {
        return Err(Failure::usage(format!("--since {since} is after --until {until}: swap them")));
    }
    let folders = args.folders();
    for folder in &folders {
        // A server goes on without one that is away, but here it was named just now.
        Folder::open(folder).map_err(|error| Failure::usage(format!("{}: {error}", folder.display())))?;
    }
    let folder = Folder::open_all(&folders).map_err(|error| Failure::usage(error.to_string()))?;
    let options = args.options();
    let wrong = |error| Failure::usage(format!("--embed: {error}"));
    let embedder = options.embedder().map_err(wrong)?;
    if let (Some(model), Some(Choice::Local { .. })) = (&embedder, &options.embed) {
        // A service may come back; a directory that is not a model stays invalid.
        model.identify().await.map_err(wrong)?;
    }
    let searcher = options.open().map_err(|error| Failure::usage(error.to_string()))?;
    let searcher = searcher.waiting(options.embed_timeout.unwrap_or(MODEL_WAIT));
    let place = options.index();
    let place = options.store.is_none().then_some(place.as_path());
    let mut notes = update(args, &folder, &searcher, &options, place).await?;
    let filter = Filter::typed(
        args.path.as_deref(),
        args.tag.as_deref(),
        args.since.as_deref(),
        args.until.as_deref(),
    );
    let failed = |error| failure::failed(error, place);
    let result = searcher.search(&query, args.top_k.into(), &filter).await.map_err(failed)?;
    notes.splice(0..0, result.note.clone());
    let path = |source: &str| place_of(&folder, &folders, source);
    Ok(Found::new(query, &result, &notes, &path))
}

/// Where a file is, from the current directory, as the user named its directory.
fn place_of(folder: &Folder, folders: &[PathBuf], source: &str) -> PathBuf {
    let place = folder.place(source).and_then(|(number, rest)| Some((folders.get(number)?, rest)));
    match place {
        Some((folder, rest)) if folder != Path::new(".") => folder.join(rest),
        Some((_, rest)) => PathBuf::from(rest),
        None => PathBuf::from(source),
    }
}

/// Brings the index up to date, as far as possible: why it is not, if it can be searched all the same.
async fn update(
    args: &Search,
    folder: &Folder,
    searcher: &Searcher,
    options: &Options,
    place: Option<&Path>,
) -> Result<Vec<String>, Failure> {
    let bar = IndexProgress::new(args.output == Output::Text);
    let began = Instant::now();
    let progress = |progress: Progress| {
        if began.elapsed() > SHORT {
            bar.show(&progress);
        }
    };
    // An index within its directory belongs to that directory, however much has changed there. Warnings are for `index`.
    let run = index::Options {
        same_folder_only: options.is_elsewhere(),
        // One of several may be a disk that is not mounted.
        never_empty: options.is_elsewhere() || !options.further.is_empty(),
        warnings_logged: true,
        wait_for_writer: true,
        ..index::Options::default()
    };
    let absent = match index::lexical(folder, &**searcher.store(), run, &progress).await {
        Ok(report) => report.absent,
        Err(IndexError::OtherFolder(why)) => return Err(Failure::Output(why)),
        Err(IndexError::NoFiles(why)) => return Ok(vec![out_of_date(&why)]),
        Err(IndexError::Store(error)) => {
            let can_be_searched =
                searcher.summary().await.is_ok() && !matches!(error, StoreError::Unsealed { .. });
            if !can_be_searched {
                return Err(failure::failed(error, place));
            }
            return Ok(vec![out_of_date(&error.to_string())]);
        }
    };
    if let Some(embedder) = searcher.embedder() {
        let mut rejected = RejectedTexts::default();
        let made = index::vectors(&**searcher.store(), &**embedder, &mut rejected, &progress).await;
        // The search says so.
        searcher.set_vector_failure(match made {
            Ok(made) => made.failure.map(|error| error.to_string()),
            Err(error) => Some(error.to_string()),
        });
    }
    Ok(absent)
}

fn out_of_date(why: &str) -> String {
    format!("the index may be out of date: {why}")
}

fn show(args: &Search, found: &Found) -> Result<(), Failure> {
    match args.output {
        Output::Json => print::document(&found.document())?,
        Output::Text => {
            print::out(found.as_text(Look::of_stdout()))?;
            let look = Look::of_stderr();
            if look.terminal && !found.hits.is_empty() {
                print::err(&look.paint(print::style::DIM, &found.summary()));
            }
            for note in &found.notes {
                exit::note(note);
            }
        }
    }
    if found.hits.is_empty() {
        return Err(Failure::Negative);
    }
    let Some(number) = args.open else { return Ok(()) };
    let hit = found.hits.get(usize::from(number).saturating_sub(1)).ok_or_else(|| {
        Failure::usage(format!("--open={number}: the last passage is {}", found.hits.len()))
    })?;
    editor::open(&hit.path, hit.line)
}
