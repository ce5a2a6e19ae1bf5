//! `papertape index DIR`: a folder of Markdown to an index, and what was done to words.

mod fault;

use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use papertape_servers::blog::embed::Choice;
use papertape_servers::blog::folder::Folder;
use papertape_servers::blog::ingest;
use papertape_servers::blog::store::{StoreError, Summary};
use serde_json::json;

use crate::args::{Index, Output};
use crate::bar::Bar;
use crate::exit::{self, Failure};
use crate::print::indexed::{self, Places};
use crate::print::{self, Look};
use crate::signals::Signals;
use crate::threads;

pub(crate) fn run(args: &Index) -> Result<(), Failure> {
    let parallel = threads::parallel();
    let runtime = threads::runtime(parallel, 2 * parallel)?;
    let result = runtime.block_on(async {
        let mut signals = Signals::listen().context("cannot listen for signals")?;
        tokio::select! {
            result = index(args) => result,
            // What is not committed never was.
            number = signals.next() => Err(Failure::Signal(number)),
        }
    });
    runtime.shutdown_background();
    if !args.quiet && matches!(result, Err(Failure::Signal(_))) {
        exit::say("interrupted: what was indexed before is still there and can be searched");
    }
    result
}

async fn index(args: &Index) -> Result<(), Failure> {
    let began = Instant::now();
    let folder = Folder::open(&args.folder)
        .map_err(|error| Failure::usage(format!("{}: {error}", args.folder.display())))?;
    let options = args.options();
    let place = options.index();
    let place = args.search.store.is_none().then_some(place.as_path());
    let failed = |error: StoreError| fault::failed(error, place);
    if args.verify {
        let index = options.embedded().map_err(failed)?;
        return verified(args, &index.verify().await.map_err(failed)?);
    }
    if args.rebuild {
        options.repair().await.map_err(failed)?;
    }
    let wrong = |error| Failure::usage(format!("--embed: {error}"));
    let embedder = options.embedder().map_err(wrong)?;
    if let (Some(model), Some(Choice::Local { .. })) = (&embedder, &options.embed) {
        // A service may be back in a moment; a folder that is no model will not be one then.
        model.identify().await.map_err(wrong)?;
    }
    let library = options.open().map_err(|error| Failure::usage(error.to_string()))?;
    // An index within its folder is of that folder, however much has changed there.
    let careful = !args.rebuild && options.is_elsewhere();
    let wanted =
        ingest::Options { reembed: args.reembed, full: args.rebuild, careful, ..ingest::Options::default() };
    let report = {
        let bar = Bar::new(!args.quiet && args.output == Output::Text);
        let embedder = library.embedder().map(|embedder| &**embedder);
        let progress = |progress| bar.show(&progress);
        ingest::run_with(&folder, &**library.store(), embedder, wanted, &progress).await.map_err(failed)?
    };
    let (time, given) = (began.elapsed(), given(args));
    let has_model = args.search.embed.is_some();
    let places = Places { folder: &args.folder, index: place, options: &given, has_model };
    match args.output {
        Output::Json => print::document(&indexed::document(&report, time, places))?,
        Output::Text => {
            print::err(&indexed::warnings(&report, Look::of_stderr()));
            if !args.quiet {
                print::out(indexed::in_words(&report, time, places, Look::of_stdout()))?;
            }
        }
    }
    Ok(())
}

/// An index that was verified is sealed by this user: no other is opened.
fn verified(args: &Index, summary: &Summary) -> Result<(), Failure> {
    let Summary { generation, files, chunks, vectors, .. } = summary;
    match args.output {
        Output::Json => {
            let document = json!({"generation": generation, "files": files, "chunks": chunks, "vectors": vectors, "sealed": true});
            print::document(&document)?;
        }
        Output::Text if args.quiet => {}
        Output::Text => print::out("the index is whole, and its seal is valid\n")?,
    }
    Ok(())
}

/// What `papertape serve blog` must be told to serve the same.
fn given(args: &Index) -> String {
    let folder = args.folder.to_string_lossy();
    let mut options = vec!["--content", &folder];
    let index = args.out.as_deref().map(Path::to_string_lossy);
    if let Some(index) = &index {
        options.extend(["--index", index]);
    }
    if args.search.store.is_some() {
        // There may be a password in it.
        options.extend(["--store", "URL"]);
    }
    if let Some(embed) = &args.search.embed {
        options.extend(["--embed", &embed.typed]);
    }
    if let Some(url) = &args.search.embed_url {
        options.extend(["--embed-url", shown(url)]);
    }
    if let Some(timeout) = &args.search.embed_timeout {
        options.extend(["--embed-timeout", &timeout.typed]);
    }
    if args.search.embed_insecure_http {
        options.push("--embed-insecure-http");
    }
    shell_words::join(options)
}

/// The address of a service, unless it has a name or a password in it.
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
