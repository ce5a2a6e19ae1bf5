//! The arguments of `papertape index`.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueHint;
use papertape_search as blog;
use papertape_search::embed::Choice;

use super::values::seconds_within;
use super::{Output, after_help};

/// Index a directory of Markdown for search, or several together, or update their index.
///
/// Reads Markdown, HTML, notebooks and other texts that no .gitignore excludes, splits them into chunks at their headings and
/// indexes each chunk; only files that have changed are read again. The old index stays in use until the new one is complete,
/// also when this is interrupted.
///
/// An index is authenticated with your key (papertape/index.key in $XDG_DATA_HOME or ~/.local/share); an index of another
/// user, such as one in a cloned repository, is not used but rebuilt.
///
/// `papertape serve blog` also indexes its directory. This command is for large directories, for embedding models, and to see
/// which files are left out.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(EXAMPLES, false), arg_required_else_help = true)]
pub(crate) struct Index {
    /// The directory of Markdown. Of several, the paths of files begin with the name of their directory.
    #[arg(value_name = "DIR", required = true, value_hint = ValueHint::DirPath)]
    pub(crate) folders: Vec<PathBuf>,
    /// The directory of the index [default: .papertape within DIR, or .papertape-DIGEST within the first of several].
    #[arg(long, alias = "index", value_name = "PATH", value_hint = ValueHint::DirPath, conflicts_with = "store")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) search: Search,
    /// Recompute all embeddings, with a different model.
    #[arg(long, requires = "embed")]
    pub(crate) reembed: bool,
    /// Index everything again, also over an index of another directory or user; a corrupt index is discarded.
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Only verify the authentication tag and the checksums of the index; change nothing.
    #[arg(long, conflicts_with_all = ["reembed", "rebuild", "store"])]
    pub(crate) verify: bool,
    /// Print warnings and errors only.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Text for people, or one JSON document for programs (errors too).
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Output::Text)]
    pub(crate) output: Output,
}

/// The store and the embedding model.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Search {
    /// Use a PostgreSQL database with pgvector in place of an index directory, such as postgres://user@host/name (feature
    /// `postgres`).
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) store: Option<String>,
    /// Also use semantic search, with an embedding model: ollama, ollama:MODEL, openai:MODEL (any OpenAI-compatible embeddings
    /// endpoint), or the directory of a sentence-transformers model (feature `local-models`).
    #[arg(long, value_name = "MODEL", value_parser = model)]
    pub(crate) embed: Option<Typed<Choice>>,
    /// The base URL of the embeddings endpoint [default: that of Ollama or OpenAI].
    #[arg(long, value_name = "URL", requires = "embed", value_hint = ValueHint::Url)]
    pub(crate) embed_url: Option<String>,
    /// The timeout of a request for embeddings; for a model that is slow, or slow to load [default: 30].
    #[arg(long, value_name = "SECONDS", requires = "embed", value_parser = timeout)]
    pub(crate) embed_timeout: Option<Typed<Duration>>,
    /// Allow OPENAI_API_KEY to be sent over plain http, where others can read it.
    #[arg(long, requires = "embed")]
    pub(crate) embed_insecure_http: bool,
}

impl Index {
    pub(crate) fn options(&self) -> blog::Options {
        let (content, further) = split(&self.folders);
        // A user who indexes by hand knows which other programs use the database.
        blog::Options {
            content,
            further,
            index: self.out.clone(),
            upgrade: true,
            ..self.search.clone().options()
        }
    }
}

/// The first directory, and those after it.
pub(super) fn split(folders: &[PathBuf]) -> (Option<PathBuf>, Vec<PathBuf>) {
    folders
        .split_first()
        .map_or_else(Default::default, |(first, further)| (Some(first.clone()), further.to_vec()))
}

impl Search {
    pub(crate) fn options(self) -> blog::Options {
        let Search { store, embed, embed_url, embed_timeout, embed_insecure_http } = self;
        blog::Options {
            store,
            embed: embed.map(|embed| embed.value),
            embed_url,
            embed_timeout: embed_timeout.map(|timeout| timeout.value),
            embed_insecure_http,
            ..blog::Options::default()
        }
    }
}

/// A value, and its text as typed.
#[derive(Debug, Clone)]
pub(crate) struct Typed<T> {
    pub(crate) text: String,
    value: T,
}

fn model(text: &str) -> Result<Typed<Choice>, String> {
    Ok(Typed { text: text.to_owned(), value: Choice::parse(text)? })
}

fn timeout(text: &str) -> Result<Typed<Duration>, String> {
    let value = Duration::from_secs_f64(seconds_within(text, 1.0, 3_600.0)?);
    Ok(Typed { text: text.to_owned(), value })
}

const EXAMPLES: &str = "  \
  papertape index notes
  papertape index notes --embed ollama
  papertape index notes ../blog/posts
  papertape index notes --store postgres://localhost/notes
  papertape call 'blog --content notes' search_blog query='what I was looking for'";
