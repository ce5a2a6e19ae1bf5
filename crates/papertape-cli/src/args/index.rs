//! What was typed to index a folder of Markdown.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueHint;
use papertape_servers::blog;
use papertape_servers::blog::embed::Choice;

use super::{Output, after_help};

/// Make a folder of Markdown searchable, or bring its index up to date.
///
/// Reads every Markdown and MDX file that no .gitignore takes out, cuts them along their headings and keeps the words of each
/// piece; only what has changed since the last time is read again. Until all is done the old index serves; interrupted at any
/// moment, it stays as it was.
///
/// An index is sealed with your key (papertape/index.key in $XDG_DATA_HOME or ~/.local/share); one that another user has made,
/// such as one in a cloned folder, is not used but made again.
///
/// `papertape serve blog` does the same by itself. This is for large folders, for models, and to see what is left out.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(EXAMPLES, false), arg_required_else_help = true)]
pub(crate) struct Index {
    /// The folder.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,
    /// The folder for the index [default: .papertape within DIR].
    #[arg(long, alias = "index", value_name = "PATH", value_hint = ValueHint::DirPath, conflicts_with = "store")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) search: Search,
    /// Make all vectors anew, with another model than before.
    #[arg(long, requires = "embed")]
    pub(crate) reembed: bool,
    /// Read everything again, in place of what another folder or user left there; what is left of a broken index is thrown away.
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Only check that the index is sealed by you and that every byte is what was written; change nothing.
    #[arg(long, conflicts_with_all = ["reembed", "rebuild", "store"])]
    pub(crate) verify: bool,
    /// Say nothing unless something is wrong.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// For people, or one JSON document for programs (errors too).
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Output::Text)]
    pub(crate) output: Output,
}

/// Where an index is if not in a folder, and how meaning is found.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Search {
    /// A PostgreSQL database with pgvector in place of an index in a folder, such as postgres://user@host/name.
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) store: Option<String>,
    /// Search by meaning too, with a model: ollama, ollama:MODEL, openai:MODEL, or the folder of a sentence-transformers model.
    #[arg(long, value_name = "MODEL", value_parser = Embed::parse)]
    pub(crate) embed: Option<Embed>,
    /// Where the model's service is [default: where Ollama and OpenAI usually are].
    #[arg(long, value_name = "URL", requires = "embed", value_hint = ValueHint::Url)]
    pub(crate) embed_url: Option<String>,
    /// Seconds that a request to the model's service may take; for a model that is slow, or long to load [default: 30].
    #[arg(long, value_name = "SECONDS", requires = "embed", value_parser = EmbedTimeout::parse)]
    pub(crate) embed_timeout: Option<EmbedTimeout>,
    /// Let OPENAI_API_KEY go to another machine by plain http, where others can read it.
    #[arg(long, requires = "embed")]
    pub(crate) embed_insecure_http: bool,
}

impl Index {
    pub(crate) fn options(&self) -> blog::Options {
        let (content, index) = (Some(self.folder.clone()), self.out.clone());
        // Whoever indexes by hand knows what else uses the database.
        blog::Options { content, index, upgrade: true, ..self.search.clone().options() }
    }
}

impl Search {
    pub(crate) fn options(self) -> blog::Options {
        let Search { store, embed, embed_url, embed_timeout, embed_insecure_http } = self;
        blog::Options {
            store,
            embed: embed.map(|embed| embed.choice),
            embed_url,
            embed_timeout: embed_timeout.map(|timeout| timeout.time),
            embed_insecure_http,
            ..blog::Options::default()
        }
    }
}

/// A model, and how it was said.
#[derive(Debug, Clone)]
pub(crate) struct Embed {
    pub(crate) typed: String,
    choice: Choice,
}

impl Embed {
    fn parse(typed: &str) -> Result<Self, String> {
        Ok(Self { typed: typed.to_owned(), choice: Choice::parse(typed)? })
    }
}

/// How long a service may take, and how it was said.
#[derive(Debug, Clone)]
pub(crate) struct EmbedTimeout {
    pub(crate) typed: String,
    time: Duration,
}

impl EmbedTimeout {
    fn parse(typed: &str) -> Result<Self, String> {
        match typed.parse::<f64>() {
            Ok(seconds) if (1.0..=3_600.0).contains(&seconds) => {
                Ok(Self { typed: typed.to_owned(), time: Duration::from_secs_f64(seconds) })
            }
            _ => Err("give a number of seconds from 1 to 3600".to_owned()),
        }
    }
}

const EXAMPLES: &str = "  \
  papertape index notes
  papertape index notes --embed ollama
  papertape index notes --store postgres://localhost/notes
  papertape call 'blog --content notes' search_blog query='what I was looking for'";
