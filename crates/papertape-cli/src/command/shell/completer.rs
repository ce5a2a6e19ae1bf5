//! Tab in the shell.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use papertape::Client;
use rustyline::completion::Pair;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::instruction::COMMANDS;
use crate::completion::candidates::{self, Candidate};
use crate::completion::catalog::{Callable, Catalog, List};
use crate::completion::line::{Quote, UnfinishedLine, quoted};
use crate::completion::server_values::ValueQuery;
use crate::print::{Look, above_line, style};
use crate::server_log;
use crate::sync::lock;

/// How long Tab waits for the server.
const LIMIT: Duration = Duration::from_secs(1);

/// How long lists are used: servers do not always say when they change.
const AGE: Duration = Duration::from_secs(30);

/// The most candidates that are shown.
const MOST: usize = 1_000;

/// The session that is completed in, and what its server has listed.
#[derive(Debug, Default)]
pub(super) struct Known {
    client: Mutex<Option<Client>>,
    catalog: Mutex<Option<(Instant, Arc<Catalog>)>>,
}

impl Known {
    /// Another session, or none.
    pub(super) fn set_client(&self, client: Option<Client>) {
        *lock(&self.client) = client;
        self.forget();
    }

    /// The lists have changed.
    pub(super) fn forget(&self) {
        *lock(&self.catalog) = None;
    }
}

/// The completer of the editor, on whose thread it runs.
pub(super) struct Completer {
    known: Arc<Known>,
    /// The runtime that drives the session.
    runtime: Handle,
    active: bool,
}

impl Completer {
    pub(super) fn new(known: Arc<Known>, runtime: Handle) -> Self {
        Self { known, runtime, active: true }
    }

    /// Values for forms of the server are not completed.
    pub(super) fn set_active(&mut self, active: bool) {
        self.active = active;
    }

    fn catalog(&self) -> Arc<Catalog> {
        let cached = lock(&self.known.catalog).clone();
        match cached {
            Some((since, catalog)) if since.elapsed() < AGE => return catalog,
            _ => {}
        }
        let Some(client) = lock(&self.known.client).clone() else { return Arc::default() };
        let request = async { timeout(LIMIT, Catalog::request(&client, &List::ALL)).await };
        match self.runtime.block_on(request) {
            Ok(catalog) => {
                let catalog = Arc::new(catalog);
                *lock(&self.known.catalog) = Some((Instant::now(), Arc::clone(&catalog)));
                catalog
            }
            // Older lists are better than none.
            Err(_) => cached.map(|(_, catalog)| catalog).unwrap_or_default(),
        }
    }

    fn values(&self, queries: Vec<ValueQuery>) -> Vec<Candidate> {
        let Some(client) = lock(&self.known.client).clone() else { return Vec::new() };
        let requests = async {
            let mut found = Vec::new();
            for query in queries {
                found.extend(query.candidates(&client).await);
            }
            found
        };
        self.runtime.block_on(async { timeout(LIMIT, requests).await }).unwrap_or_default()
    }

    fn candidates(&self, words: &[String], typed: &str) -> Vec<Candidate> {
        let catalog = self.catalog();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            [] => [commands(typed), candidates::names(&catalog.tools, typed)].concat(),
            ["help"] => [candidates::names(&catalog.tools, typed), commands(typed)].concat(),
            ["call"] => candidates::names(&catalog.tools, typed),
            ["call", tool, given @ ..] => arguments(&catalog.tools, tool, given, typed),
            ["read" | "subscribe" | "unsubscribe"] => self.uris(&catalog, typed),
            ["prompt"] => candidates::names(&catalog.prompts, typed),
            ["prompt" | "complete", prompt, given @ ..] => {
                self.prompt_arguments(&catalog, prompt, given, typed)
            }
            ["complete"] => {
                let templates = catalog.templates.iter().filter(|template| template.uri.starts_with(typed));
                let templates =
                    templates.filter_map(|template| Candidate::new(&template.uri, &template.name));
                candidates::names(&catalog.prompts, typed).into_iter().chain(templates).collect()
            }
            ["log-level"] => {
                let levels = server_log::names().into_iter().filter(|level| level.starts_with(typed));
                levels.filter_map(|level| Candidate::new(level, "")).collect()
            }
            [name, ..] if COMMANDS.iter().any(|(command, ..)| command == name) => Vec::new(),
            [tool, given @ ..] => arguments(&catalog.tools, tool, given, typed),
        }
    }

    fn uris(&self, catalog: &Catalog, typed: &str) -> Vec<Candidate> {
        let found = candidates::uris(&catalog.resources, &catalog.templates, typed);
        if found.is_empty() && catalog.completes_values {
            return self.values(ValueQuery::of_templates(&catalog.templates, typed));
        }
        found
    }

    fn prompt_arguments(&self, catalog: &Catalog, name: &str, given: &[&str], typed: &str) -> Vec<Candidate> {
        let given = owned(given);
        match ValueQuery::of_prompt(name, &given, typed) {
            Some(query) if catalog.completes_values => self.values(vec![query]),
            _ => arguments_of(&catalog.prompts, name, &given, typed),
        }
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn commands(typed: &str) -> Vec<Candidate> {
    let fits = COMMANDS.iter().filter(|(name, ..)| name.starts_with(typed));
    fits.filter_map(|(name, _, about)| Candidate::new(*name, about)).collect()
}

fn arguments(tools: &[Callable], name: &str, given: &[&str], typed: &str) -> Vec<Candidate> {
    arguments_of(tools, name, &owned(given), typed)
}

fn arguments_of(list: &[Callable], name: &str, given: &[String], typed: &str) -> Vec<Candidate> {
    let found = list.iter().find(|callable| callable.name == name);
    found.map(|found| candidates::arguments(&found.arguments, given, typed)).unwrap_or_default()
}

impl rustyline::completion::Completer for Completer {
    type Candidate = Pair;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let Some(typed) = line.get(..at).filter(|_| self.active) else { return Ok((at, Vec::new())) };
        let UnfinishedLine { words, current, start, .. } = UnfinishedLine::parse(typed);
        let pair = |Candidate { word, .. }: Candidate| {
            let space = if Candidate::continues(&word) { "" } else { " " };
            // What comes after the `=` is what there is to choose.
            let display = match word.split_once('=') {
                Some((_, value)) if !value.is_empty() => value.to_owned(),
                _ => word.clone(),
            };
            Pair { display, replacement: quoted(&word, Quote::None) + space }
        };
        Ok((start, self.candidates(&words, &current).into_iter().take(MOST).map(pair).collect()))
    }
}

impl Highlighter for Completer {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Owned(Look::of_stderr().paint(style::NAME, prompt))
    }

    /// Called for every key; nothing is highlighted.
    fn highlight_char(&self, line: &str, cursor: usize, _: CmdKind) -> bool {
        above_line::update(line, cursor);
        false
    }
}

impl Hinter for Completer {
    type Hint = String;

    /// Called whenever the line is drawn; there are no hints.
    fn hint(&self, line: &str, cursor: usize, _: &Context<'_>) -> Option<String> {
        above_line::update(line, cursor);
        None
    }
}

impl Validator for Completer {}

impl Helper for Completer {}
