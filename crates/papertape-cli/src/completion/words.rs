//! A `papertape` command line that is being typed: what its current word may become, by clap's completion engine.
//!
//! The engine knows the commands, the options and their values. Servers, tools, arguments, URIs and prompts depend on the words
//! before; they are added to the arguments of the commands here, and not where these are defined.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::Builder;
use std::time::{Duration, Instant};

use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};
use papertape::Client;
use papertape::client::config::ServersFile;
use papertape_check::Code;

use super::cache::CacheFile;
use super::candidates::{self, Candidate};
use super::catalog::{Catalog, List};
use super::server_values::ValueQuery;
use crate::args::{self, Args, BundledServer, Connect};
use crate::connect::with_server_in_silence;
use crate::exit::Failure;
use crate::servers_file::DEFAULT;
use crate::target;

/// How long a shell may be kept waiting.
const LIMIT: Duration = Duration::from_secs(2);

/// The timeout of each step with a server, in seconds.
const TIMEOUT: f64 = 1.5;

/// How long a server may ignore `server/discover` before `initialize` is sent.
const PROBE: f64 = 0.3;

/// The candidates for the word at `index`, within the time that a shell may be kept waiting.
pub(crate) fn candidates(words: Vec<OsString>, index: usize) -> Vec<Candidate> {
    let typed = words.get(index).and_then(|word| word.to_str()).unwrap_or_default().to_owned();
    let before = Arc::new(Before::parse(&words, index));
    let mut command = Args::command();
    for (path, argument, complete) in PLACES {
        let before = Arc::clone(&before);
        let completer = move |current: &OsStr| {
            let found = current.to_str().map(|current| complete(&before, current));
            found.unwrap_or_default().into_iter().map(offered).collect()
        };
        let completer = ArgValueCompleter::new(completer);
        command = extended(command, path, argument, &completer);
    }
    let directory = std::env::current_dir().ok();
    let found = complete(&mut command, words, index, directory.as_deref()).unwrap_or_default();
    let mut found: Vec<Candidate> = found.iter().filter_map(read_back).collect();
    // Options are offered once their dash is typed, or if there is nothing else.
    if !typed.starts_with('-') && found.iter().any(|candidate| !candidate.word.starts_with('-')) {
        found.retain(|candidate| !candidate.word.starts_with('-'));
    }
    found
}

/// The command with a completer for an argument of one of its subcommands.
fn extended(command: Command, path: &[&str], argument: &str, completer: &ArgValueCompleter) -> Command {
    match path {
        [name, path @ ..] => command.mut_subcommand(name, |inner| extended(inner, path, argument, completer)),
        // Not `mut_arg`, which moves the argument behind the others.
        [] => command.mut_args(|arg| if arg.get_id() == argument { arg.add(completer.clone()) } else { arg }),
    }
}

type Complete = fn(&Before, &str) -> Vec<Candidate>;

/// The arguments of commands whose values depend on the words before.
const PLACES: [(&[&str], &str, Complete); 15] = [
    (&["list"], "target", |before, typed| servers(before.config(), typed)),
    (&["shell"], "target", |before, typed| servers(before.config(), typed)),
    (&["bridge"], "target", |before, typed| servers(before.config(), typed)),
    (&["replay"], "target", |before, typed| servers(before.config(), typed)),
    (&["page"], "target", |before, typed| servers(before.config(), typed)),
    (&["check"], "target", |before, typed| servers(before.config(), typed)),
    (&["check"], "explain", |_, typed| codes(typed)),
    (&["call"], "words", call),
    (&["read"], "words", read),
    (&["prompt"], "words", prompt),
    (&["task", "get"], "words", task),
    (&["task", "wait"], "words", task),
    (&["task", "cancel"], "words", task),
    (&["login"], "url", |before, typed| configured(before.config(), typed)),
    (&["logout"], "url", |before, typed| configured(before.config(), typed)),
];

/// The words before the current one, as far as they can be parsed.
struct Before {
    deadline: Instant,
    /// The server and what belongs to it.
    words: Vec<String>,
    connect: Option<Connect>,
    /// `--config`, of any command.
    config: Option<PathBuf>,
}

impl Before {
    fn parse(words: &[OsString], index: usize) -> Self {
        let (before, after) = words.split_at_checked(index).unwrap_or((words, &[]));
        // A command after `--` is the server, also when the cursor is before it.
        let command = after.iter().skip(1).skip_while(|word| *word != "--");
        let parsed = Args::command().ignore_errors(true).try_get_matches_from(before.iter().chain(command));
        let matches = parsed.unwrap_or_default();
        let deadline = Instant::now() + LIMIT;
        let Some((name, matches)) = innermost(&matches) else {
            return Self { deadline, words: Vec::new(), connect: None, config: None };
        };
        let (words, connect) = match name {
            "call" => split(matches, |call: args::Call| (call.words, call.connect)),
            "read" => split(matches, |read: args::Read| (read.words, read.connect)),
            "prompt" => split(matches, |prompt: args::Prompt| (prompt.words, prompt.connect)),
            "get" | "wait" | "cancel" => split(matches, |task: args::TaskTarget| (task.words, task.connect)),
            _ => (Vec::new(), None),
        };
        let config = matches.try_get_one("config").ok().flatten().cloned();
        Self { deadline, words, connect, config }
    }

    fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// The words after the server; `None` if the server itself is to be completed.
    fn after_server(&self) -> Option<&[String]> {
        match self.connect.as_ref()?.command.is_empty() {
            true => self.words.get(1..),
            false => Some(&self.words),
        }
    }
}

/// The command that is typed: `get` of `task get`.
fn innermost(matches: &ArgMatches) -> Option<(&str, &ArgMatches)> {
    let (name, inner) = matches.subcommand()?;
    Some(innermost(inner).unwrap_or((name, inner)))
}

fn split<A: FromArgMatches>(
    matches: &ArgMatches,
    take: impl FnOnce(A) -> (Vec<String>, Connect),
) -> (Vec<String>, Option<Connect>) {
    match A::from_arg_matches(matches).map(take) {
        Ok((words, connect)) => (words, Some(connect)),
        Err(_) => (Vec::new(), None),
    }
}

/// Bundled servers, and those of an `mcpServers` file.
fn servers(config: Option<&Path>, typed: &str) -> Vec<Candidate> {
    let mut found = configured(config, typed);
    if config.is_none() {
        let names = BundledServer::names().into_iter().filter(|name| name.starts_with(typed));
        let bundled: Vec<_> = names.filter_map(|name| Candidate::new(name, "bundled server")).collect();
        found.retain(|candidate| bundled.iter().all(|other| other.word != candidate.word));
        found.extend(bundled);
    }
    found
}

/// The servers of `--config`, or of the file in the current directory.
fn configured(config: Option<&Path>, typed: &str) -> Vec<Candidate> {
    let path = config.unwrap_or_else(|| Path::new(DEFAULT));
    // A pipe is read once, and by the command.
    let Some(file) = path.is_file().then(|| ServersFile::read(path).ok()).flatten() else {
        return Vec::new();
    };
    let names = file.names().filter(|name| name.starts_with(typed));
    let about = format!("server of {}", file.path().display());
    names.filter_map(|name| Candidate::new(name, &about)).collect()
}

fn call(before: &Before, typed: &str) -> Vec<Candidate> {
    match before.after_server() {
        None => servers(before.config(), typed),
        Some([]) => candidates::names(&catalog(before, List::Tools).tools, typed),
        Some([name, given @ ..]) => {
            let catalog = catalog(before, List::Tools);
            let tool = catalog.tools.iter().find(|tool| tool.name == *name);
            tool.map(|tool| candidates::arguments(&tool.arguments, given, typed)).unwrap_or_default()
        }
    }
}

fn read(before: &Before, typed: &str) -> Vec<Candidate> {
    match before.after_server() {
        None => servers(before.config(), typed),
        Some([]) => {
            let catalog = catalog(before, List::Resources);
            let mut found = candidates::uris(&catalog.resources, &catalog.templates, typed);
            if catalog.completes_values && found.is_empty() {
                found = values(before, ValueQuery::of_templates(&catalog.templates, typed));
            }
            found
        }
        Some(_) => Vec::new(),
    }
}

fn prompt(before: &Before, typed: &str) -> Vec<Candidate> {
    match before.after_server() {
        None => servers(before.config(), typed),
        Some([]) => candidates::names(&catalog(before, List::Prompts).prompts, typed),
        Some([name, given @ ..]) => {
            let catalog = catalog(before, List::Prompts);
            let Some(prompt) = catalog.prompts.iter().find(|prompt| prompt.name == *name) else {
                return Vec::new();
            };
            match ValueQuery::of_prompt(name, given, typed) {
                Some(query) if catalog.completes_values => values(before, vec![query]),
                _ => candidates::arguments(&prompt.arguments, given, typed),
            }
        }
    }
}

/// The codes of findings, with their titles.
fn codes(typed: &str) -> Vec<Candidate> {
    let codes = Code::groups().into_iter().flat_map(|(_, codes)| codes);
    let fits =
        |code: &&Code| code.name().get(..typed.len()).is_some_and(|head| head.eq_ignore_ascii_case(typed));
    codes.filter(fits).filter_map(|code| Candidate::new(code.name(), code.title())).collect()
}

/// The server of a task. The protocol has no list of tasks.
fn task(before: &Before, typed: &str) -> Vec<Candidate> {
    match before.after_server() {
        None => servers(before.config(), typed),
        Some(_) => Vec::new(),
    }
}

/// What the server lists: from the last minute, or from the server; empty if it fails.
fn catalog(before: &Before, list: List) -> Catalog {
    let directory = std::env::current_dir().ok();
    let server = before
        .words
        .first()
        .filter(|_| before.connect.as_ref().is_some_and(|connect| connect.command.is_empty()));
    let key = (format!("{:?}", before.connect), server, directory, list);
    let cache = CacheFile::of(&key);
    if let Some(catalog) = cache.as_ref().and_then(CacheFile::load) {
        return catalog;
    }
    let catalog = in_session(before, async move |client| Catalog::request(&client, &[list]).await);
    let catalog = catalog.unwrap_or_default();
    if let Some(cache) = cache.filter(|_| !catalog.is_empty())
        && let Err(error) = cache.save(&catalog)
    {
        tracing::debug!("the completions cannot be kept: {error}");
    }
    catalog
}

fn values(before: &Before, queries: Vec<ValueQuery>) -> Vec<Candidate> {
    if queries.is_empty() {
        return Vec::new();
    }
    let found = in_session(before, async move |client| {
        let mut found = Vec::new();
        for query in queries {
            found.extend(query.candidates(&client).await);
        }
        found
    });
    found.unwrap_or_default()
}

/// Runs `work` in a session with the server of the command line, until the deadline.
fn in_session<T: Send + 'static>(
    before: &Before,
    work: impl AsyncFnOnce(Client) -> T + Send + 'static,
) -> Option<T> {
    let mut connect = before.connect.clone()?;
    connect.tape = None;
    connect.trace = false;
    connect.timeout = Some(connect.timeout.unwrap_or(TIMEOUT).min(TIMEOUT));
    connect.probe = connect.probe.min(PROBE);
    let words = before.words.clone();
    let (found, result) = sync_channel(1);
    // In a thread of its own: what blocks, such as a slow disk or a server that does not exit, must not delay the shell. The end
    // of this process ends the thread, and then the server too.
    let session = move || {
        let (target, _) = target::split(words, connect.command.clone(), &connect.from_file)?;
        with_server_in_silence(&connect, &target, async |client| {
            // The receiver may have reached its deadline.
            drop(found.send(work(client).await));
            Ok::<_, Failure>(())
        })
    };
    Builder::new().spawn(session).ok()?;
    result.recv_timeout(before.deadline.saturating_duration_since(Instant::now())).ok()
}

fn offered(candidate: Candidate) -> CompletionCandidate {
    CompletionCandidate::new(candidate.word).help(Some(candidate.about.into()))
}

fn read_back(candidate: &CompletionCandidate) -> Option<Candidate> {
    let about = candidate.get_help().map(ToString::to_string).unwrap_or_default();
    Candidate::of_escaped(candidate.get_value().to_str()?, about)
}
