//! `papertape index DIR`: indexes a directory of Markdown, and reports what was done.

pub(in crate::command) mod failure;

use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use papertape_search::corpus::folder::Folder;
use papertape_search::embed::Choice;
use papertape_search::index;
use papertape_search::store::{StoreError, Summary};
use serde_json::json;

use crate::args::{Index, Output};
use crate::exit::{self, Failure};
use crate::index_progress::IndexProgress;
use crate::print::index_report::{self, Places};
use crate::print::{self, Look};
use crate::runtime;
use crate::signals::Signals;

pub(crate) fn run(args: &Index) -> Result<(), Failure> {
    let parallel = runtime::parallelism();
    let runtime = runtime::build(parallel, 2 * parallel)?;
    let result = runtime.block_on(async {
        let mut signals = Signals::listen().context("cannot listen for signals")?;
        tokio::select! {
            result = index(args) => result,
            // Without a commit the index is unchanged.
            number = signals.next() => Err(Failure::Signal(number)),
        }
    });
    runtime.shutdown_background();
    if !args.quiet && matches!(result, Err(Failure::Signal(_))) {
        exit::note("interrupted: the previous index is unchanged and can be searched");
    }
    result
}

async fn index(args: &Index) -> Result<(), Failure> {
    let began = Instant::now();
    for folder in &args.folders {
        // A server goes on without one that is away, but here it was named just now.
        Folder::open(folder).map_err(|error| Failure::usage(format!("{}: {error}", folder.display())))?;
    }
    if let Some(why) = Folder::conflict(&args.folders) {
        return Err(Failure::usage(why));
    }
    let folder = Folder::open_all(&args.folders).map_err(|error| Failure::usage(error.to_string()))?;
    let options = args.options();
    let place = options.index();
    let place = args.search.store.is_none().then_some(place.as_path());
    let failed = |error: StoreError| failure::failed(error, place);
    if args.verify {
        let index = options.embedded().map_err(failed)?;
        return verified(args, &index.verify().await.map_err(failed)?);
    }
    if args.search.store.is_some() {
        // An invalid URL, or a build without PostgreSQL, is wrong usage, also with --rebuild.
        options.open().map_err(|error| Failure::usage(error.to_string()))?;
    }
    if args.rebuild {
        options.repair().await.map_err(failed)?;
    }
    let wrong = |error| Failure::usage(format!("--embed: {error}"));
    let embedder = options.embedder().map_err(wrong)?;
    if let (Some(model), Some(Choice::Local { .. })) = (&embedder, &options.embed) {
        // A service may come back; a directory that is not a model stays invalid.
        model.identify().await.map_err(wrong)?;
    }
    let library = options.open().map_err(|error| Failure::usage(error.to_string()))?;
    // An index within its directory belongs to that directory, however much has changed there.
    let same_folder_only = !args.rebuild && options.is_elsewhere();
    let wanted = index::Options {
        reembed: args.reembed,
        full: args.rebuild,
        same_folder_only,
        // One of several may be a disk that is not mounted.
        never_empty: !args.rebuild && args.folders.len() > 1,
        ..index::Options::default()
    };
    let report = {
        let bar = IndexProgress::new(!args.quiet && args.output == Output::Text);
        let embedder = library.embedder().map(|embedder| &**embedder);
        let progress = |progress| bar.show(&progress);
        index::run_with(&folder, &**library.store(), embedder, wanted, &progress).await.map_err(failed)?
    };
    let (time, given) = (began.elapsed(), serve_options(args));
    let has_model = args.search.embed.is_some();
    let places = Places { folders: &args.folders, index: place, options: &given, has_model };
    match args.output {
        Output::Json => print::document(&index_report::document(&report, time, places))?,
        Output::Text => {
            print::err(&index_report::warnings(&report, Look::of_stderr()));
            if !args.quiet {
                print::out(index_report::as_text(&report, time, places, Look::of_stdout()))?;
            }
        }
    }
    Ok(())
}

/// An index that was verified is authenticated with this user's key: no other is opened.
fn verified(args: &Index, summary: &Summary) -> Result<(), Failure> {
    let Summary { generation, files, chunks, vectors, .. } = summary;
    match args.output {
        Output::Json => {
            let document = json!({"generation": generation, "files": files, "chunks": chunks, "vectors": vectors, "sealed": true});
            print::document(&document)?;
        }
        Output::Text if args.quiet => {}
        Output::Text => print::out("the index is intact, and its authentication tag is valid\n")?,
    }
    Ok(())
}

/// The options of `papertape serve blog` that serve the same index.
fn serve_options(args: &Index) -> String {
    let folders: Vec<_> = args.folders.iter().map(|folder| folder.to_string_lossy()).collect();
    let mut options: Vec<&str> = folders.iter().flat_map(|folder| ["--content", folder]).collect();
    let index = args.out.as_deref().map(Path::to_string_lossy);
    if let Some(index) = &index {
        options.extend(["--index", index]);
    }
    if args.search.store.is_some() {
        // There may be a password in it.
        options.extend(["--store", "URL"]);
    }
    if let Some(embed) = &args.search.embed {
        options.extend(["--embed", &embed.text]);
    }
    if let Some(url) = &args.search.embed_url {
        options.extend(["--embed-url", shown(url)]);
    }
    if let Some(timeout) = &args.search.embed_timeout {
        options.extend(["--embed-timeout", &timeout.text]);
    }
    if args.search.embed_insecure_http {
        options.push("--embed-insecure-http");
    }
    shell_words::join(options)
}

/// The URL of a service, unless it contains credentials.
fn shown(url: &str) -> &str {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') { "URL" } else { url }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn no_password_is_shown() {
        for url in ["http://localhost:11434", "https://host/a@b", "host:1", ""] {
            assert_eq!(shown(url), url);
        }
        for url in ["https://ada:secret@host/v1", "https://key@host", "ada:secret@host/v1"] {
            assert_eq!(shown(url), "URL");
        }
    }
}
