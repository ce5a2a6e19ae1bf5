//! The arguments of `papertape serve`: one subcommand for each bundled server, each with its own options.

mod http;

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};
use papertape_search as blog;
use papertape_servers::blog::{ChatGpt, Extras};

pub(crate) use http::Http;

use super::after_help;
use super::index::{Search, split};
use super::values::{seconds, tape_file};

/// Run a bundled server over stdio, for any MCP host, or over HTTP.
///
/// Over stdio the server reads requests from stdin and writes responses to stdout, one JSON message per line, or with
/// Content-Length headers if the first message has them. It exits when stdin is closed.
///
/// Over HTTP the endpoint is /mcp. It serves clients of every protocol revision, with and without sessions. Secure by
/// default: Host and Origin are restricted to loopback unless others are allowed. On SIGTERM running requests finish and
/// streams are closed.
///
/// All servers support every protocol revision from 2024-11-05 to 2026-07-28; the client chooses.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(EXAMPLES, false), arg_required_else_help = true)]
#[command(
    subcommand_value_name = "SERVER",
    subcommand_help_heading = "Servers",
    disable_help_subcommand = true
)]
pub(crate) struct Serve {
    #[command(subcommand)]
    pub(crate) server: BundledServer,
}

/// A bundled server and its options.
#[derive(Debug, Subcommand)]
pub(crate) enum BundledServer {
    /// Full-text and semantic search over a directory of Markdown.
    #[command(after_help = after_help(BLOG_EXAMPLES, false))]
    Blog(Box<Blog>),
    /// A tutor for twenty English verbs: forms, Spanish translations, agreement, drills.
    #[command(after_help = after_help(GRAMMAR_EXAMPLES, false))]
    Grammar(Box<Transport>),
    /// Echo and word count.
    #[command(after_help = after_help(TEXT_EXAMPLES, false))]
    Text(Box<Transport>),
    /// The servers grammar and text in one.
    #[command(after_help = after_help(ALL_EXAMPLES, false))]
    All(Box<Transport>),
}

impl BundledServer {
    /// The names of all bundled servers, as they are typed.
    pub(crate) fn names() -> Vec<String> {
        let serve = Self::augment_subcommands(clap::Command::new("serve"));
        serve.get_subcommands().map(|server| server.get_name().to_owned()).collect()
    }

    /// Whether an option of a server has a path as its value.
    pub(crate) fn takes_path(server: &str, option: &str) -> bool {
        let name = option.trim_start_matches('-');
        let is_path = |argument: &clap::Arg| {
            matches!(argument.get_value_hint(), ValueHint::FilePath | ValueHint::DirPath)
                && argument.get_long_and_visible_aliases().is_some_and(|names| names.contains(&name))
        };
        let serve = Self::augment_subcommands(clap::Command::new("serve"));
        let server = serve.find_subcommand(server);
        option.starts_with("--") && server.is_some_and(|server| server.get_arguments().any(is_path))
    }

    /// Whether the blog server has an option of this name that the other servers do not have.
    pub(crate) fn is_blog_option(option: &str) -> bool {
        let name = option.trim_start_matches('-');
        let has =
            |server: &clap::Command| server.get_arguments().any(|argument| argument.get_long() == Some(name));
        let serve = Self::augment_subcommands(clap::Command::new("serve"));
        let of = |server| serve.find_subcommand(server).is_some_and(has);
        of("blog") && !of("text")
    }
}

/// The transport of a server.
#[derive(Debug, clap::Args)]
pub(crate) struct Transport {
    /// Record every frame, in both directions, to FILE (an existing one is renamed to FILE.old; a FIFO is refused).
    #[arg(long, value_name = "FILE", value_parser = tape_file(), value_hint = ValueHint::FilePath)]
    pub(crate) tape: Option<PathBuf>,
    /// Seconds that running requests get to finish after stdin is closed.
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub(crate) grace: f64,
    /// Keep serving when the parent process has died, as long as stdin is open.
    #[arg(long, conflicts_with = "http")]
    pub(crate) outlive_parent: bool,
    #[command(flatten)]
    pub(crate) http: Http,
}

/// The options of the blog server.
#[derive(Debug, clap::Args)]
pub(crate) struct Blog {
    /// The directory of Markdown [default: the current one, unless --index or --store is given]. It may be repeated: the paths
    /// of files then begin with the name of their directory.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) content: Vec<PathBuf>,
    /// The directory of the index [default: .papertape within the directory of Markdown, or .papertape-DIGEST within the first of
    /// several].
    #[arg(long, alias = "out", value_name = "PATH", value_hint = ValueHint::DirPath, conflicts_with = "store")]
    pub(crate) index: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) search: Search,
    /// Watch the directories, and index what changes while they are served.
    #[arg(long)]
    pub(crate) watch: bool,
    /// Also offer the tools `search` and `fetch`, which the connectors and deep research of ChatGPT require.
    #[arg(long)]
    pub(crate) chatgpt: bool,
    /// With --chatgpt: the site of the directory. The links of results are URL, a slash and the path of the file.
    #[arg(long, value_name = "URL", requires = "chatgpt", value_parser = site, value_hint = ValueHint::Url)]
    pub(crate) base_url: Option<String>,
    /// Also give the files of hits as links to resources, for hosts that open them. LangChain passes such links to model APIs
    /// that refuse them.
    #[arg(long)]
    pub(crate) resource_links: bool,
    #[command(flatten)]
    pub(crate) transport: Transport,
}

impl Blog {
    pub(crate) fn options(&self) -> blog::Options {
        let ((content, further), index) = (split(&self.content), self.index.clone());
        blog::Options { content, further, index, watch: self.watch, ..self.search.clone().options() }
    }

    pub(crate) fn extras(&self) -> Extras {
        let chatgpt = self.chatgpt.then(|| ChatGpt { base_url: self.base_url.clone() });
        Extras { chatgpt, resource_links: self.resource_links }
    }
}

fn site(text: &str) -> Result<String, &'static str> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_site = rest.is_some_and(|rest| !rest.is_empty() && !text.contains(char::is_whitespace));
    if is_site { Ok(text.to_owned()) } else { Err("write it as https://HOST or https://HOST/PATH") }
}

const EXAMPLES: &str = "  \
  papertape serve grammar
  papertape serve blog --content notes --watch
  papertape serve blog --help";

const BLOG_EXAMPLES: &str = "  \
  papertape serve blog --content notes --watch
  papertape serve blog --content notes --content ../blog/posts --watch
  papertape serve blog --content notes --embed ollama
  papertape serve blog --content notes --chatgpt --http 8080
  papertape serve blog --store postgres://localhost/notes --http 127.0.0.1:8080";

const GRAMMAR_EXAMPLES: &str = "  \
  papertape serve grammar
  papertape serve grammar --tape session.tape
  papertape serve grammar --http 8080";

const TEXT_EXAMPLES: &str = "  \
  papertape serve text
  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}' | papertape serve text";

const ALL_EXAMPLES: &str = "  \
  papertape serve all
  papertape serve all --http 127.0.0.1:8080 --health --metrics";

#[cfg(test)]
mod tests {
    use super::BundledServer;

    #[test]
    fn names_are_the_subcommands() {
        assert_eq!(BundledServer::names(), ["blog", "grammar", "text", "all"]);
    }

    #[test]
    fn options_with_paths_are_known() {
        for option in ["--content", "--index", "--tape"] {
            assert!(BundledServer::takes_path("blog", option), "{option}");
        }
        for (server, option) in
            [("blog", "--embed"), ("blog", "content"), ("text", "--content"), ("x", "--tape")]
        {
            assert!(!BundledServer::takes_path(server, option), "{server} {option}");
        }
    }

    #[test]
    fn blog_options_differ_from_shared_ones() {
        for option in ["--content", "--index", "--store", "--embed", "--embed-url", "--watch"] {
            assert!(BundledServer::is_blog_option(option), "{option}");
        }
        for option in ["--tape", "--http", "--grace", "--contents", "--help", "content "] {
            assert!(!BundledServer::is_blog_option(option), "{option}");
        }
    }
}
