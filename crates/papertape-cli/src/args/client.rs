//! The arguments of `list`, `call`, `read`, `prompt` and `shell`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ValueEnum, ValueHint};
use papertape::client::model_api::ModelApi;
use papertape::protocol::Revision;

use super::server::{RemoteServer, ServerProcess};
use super::values::{revision, seconds, tape_file, variable};
use super::{Framing, Output, after_help};

/// List the tools of a server with their arguments, its resources and its prompts.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(LIST_EXAMPLES, true), arg_required_else_help = true)]
#[command(
    override_usage = "papertape list [OPTIONS] TARGET\n       papertape list [OPTIONS] -- COMMAND [ARGUMENT]..."
)]
pub(crate) struct List {
    /// A bundled server (grammar, text, 'blog --content DIR'), a URL, unix:SOCKET, the name of a server in .mcp.json or --config, or a
    /// quoted command line, which is split like a shell does and run without one.
    #[arg(value_name = "TARGET", value_hint = ValueHint::CommandString)]
    pub(crate) target: Option<String>,
    /// Print only the tools, as JSON: the declarations for the API of a model. What the API does not accept is named on
    /// stderr.
    #[arg(long = "as", value_enum, value_name = "API")]
    pub(crate) declare: Option<Api>,
    /// With --as openai or openai-responses: declare in strict mode the tools whose schemas allow it.
    #[arg(long, requires = "declare")]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

/// The API of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Api {
    /// OpenAI's Chat Completions, and endpoints compatible with it.
    #[value(name = "openai")]
    OpenAi,
    /// OpenAI's Responses.
    #[value(name = "openai-responses")]
    OpenAiResponses,
    /// Anthropic's Messages.
    Anthropic,
    /// Gemini's generateContent.
    Gemini,
}

impl From<Api> for ModelApi {
    fn from(api: Api) -> Self {
        match api {
            Api::OpenAi => Self::OpenAiChat,
            Api::OpenAiResponses => Self::OpenAiResponses,
            Api::Anthropic => Self::Anthropic,
            Api::Gemini => Self::Gemini,
        }
    }
}

/// Call a tool.
///
/// Text goes to stdout unchanged. Structured content is printed if there is no text. Images, audio and other binary content
/// are saved in the directory of --out. If the tool returns an error, it goes to stderr and the exit code is 1.
///
/// If the server turns the call into a task, its result is waited for; Ctrl-C cancels the task.
///
/// The tool's input schema decides the type of VALUE: string, number, boolean. A NAME that is repeated appends to a list, and
/// a.b=VALUE sets a member of an object. NAME:=JSON is sent unchanged.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(CALL_EXAMPLES, true), arg_required_else_help = true)]
#[command(override_usage = "papertape call [OPTIONS] TARGET TOOL [NAME=VALUE]...\n       \
    papertape call [OPTIONS] TOOL [NAME=VALUE]... -- COMMAND [ARGUMENT]...")]
pub(crate) struct Call {
    /// The server (see `papertape list --help`), the tool, and its arguments.
    #[arg(value_name = "TARGET TOOL NAME=VALUE")]
    pub(crate) words: Vec<String>,
    /// The arguments as one JSON object: inline, @FILE, or - for stdin; NAME=VALUE takes precedence.
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub(crate) json: Option<String>,
    /// If the call becomes a task, print its id instead of waiting for its result; see `papertape task`.
    #[arg(long)]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) task: TaskLimit,
    #[command(flatten)]
    pub(crate) save: Save,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

/// Read a resource.
///
/// Text goes to stdout, and so does binary content unless stdout is a terminal.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(READ_EXAMPLES, true), arg_required_else_help = true)]
#[command(override_usage = "papertape read [OPTIONS] TARGET URI\n       \
    papertape read [OPTIONS] URI -- COMMAND [ARGUMENT]...")]
pub(crate) struct Read {
    /// The server (see `papertape list --help`), and the resource.
    #[arg(value_name = "TARGET URI")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) save: Save,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

/// Get a prompt with its arguments filled in.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(PROMPT_EXAMPLES, true), arg_required_else_help = true)]
#[command(override_usage = "papertape prompt [OPTIONS] TARGET PROMPT [NAME=VALUE]...\n       \
    papertape prompt [OPTIONS] PROMPT [NAME=VALUE]... -- COMMAND [ARGUMENT]...")]
pub(crate) struct Prompt {
    /// The server (see `papertape list --help`), the prompt, and its arguments.
    #[arg(value_name = "TARGET PROMPT NAME=VALUE")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) save: Save,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

/// Send any request, such as one of an extension, and print its result as JSON.
///
/// A VALUE that looks like JSON is JSON, any other is a string. A NAME is a member of the params as it is, with its dots:
/// what is within an object is written as JSON, such as arguments='{"text": "a"}'. What the revision requires in `_meta` is added.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(REQUEST_EXAMPLES, true), arg_required_else_help = true)]
#[command(override_usage = "papertape request [OPTIONS] TARGET METHOD [NAME=VALUE]...\n       \
    papertape request [OPTIONS] METHOD [NAME=VALUE]... -- COMMAND [ARGUMENT]...")]
pub(crate) struct Request {
    /// The server (see `papertape list --help`), the method, and its params.
    #[arg(value_name = "TARGET METHOD NAME=VALUE")]
    pub(crate) words: Vec<String>,
    /// The params as one JSON object: inline, @FILE, or - for stdin; NAME=VALUE takes precedence.
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub(crate) json: Option<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

/// Open a session with a server, and type commands in it.
///
/// Lists, calls, reads and gets prompts in one session, with Tab completion and history; `help` lists the commands. A server that
/// keeps a state, such as a browser or a transaction, keeps it from call to call. Ctrl-C cancels the running call, Ctrl-D
/// exits. If stdin is not a terminal, commands are read from it line by line, and the exit code is that of the first failure.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(SHELL_EXAMPLES, true), arg_required_else_help = true)]
#[command(
    override_usage = "papertape shell [OPTIONS] TARGET\n       papertape shell [OPTIONS] -- COMMAND [ARGUMENT]..."
)]
pub(crate) struct Shell {
    /// The server (see `papertape list --help`).
    #[arg(value_name = "TARGET", value_hint = ValueHint::CommandString)]
    pub(crate) target: Option<String>,
    /// Neither read nor write the history of commands (papertape/shell-history in $XDG_DATA_HOME or ~/.local/share). A line that
    /// begins with a space is never written to it.
    #[arg(long)]
    pub(crate) no_history: bool,
    #[command(flatten)]
    pub(crate) save: Save,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

/// Get, wait for or cancel a task: a call that continues on the server.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help(TASK_EXAMPLES, true), arg_required_else_help = true)]
pub(crate) struct Task {
    #[command(subcommand)]
    pub(crate) command: TaskCommand,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum TaskCommand {
    /// Print the state of a task.
    #[command(arg_required_else_help = true)]
    #[command(override_usage = "papertape task get [OPTIONS] TARGET ID\n       \
        papertape task get [OPTIONS] ID -- COMMAND [ARGUMENT]...")]
    Get(TaskTarget),
    /// Wait for the result of a task, and print it as `papertape call` does. Ctrl-C ends the waiting; the task continues.
    #[command(arg_required_else_help = true)]
    #[command(override_usage = "papertape task wait [OPTIONS] TARGET ID\n       \
        papertape task wait [OPTIONS] ID -- COMMAND [ARGUMENT]...")]
    Wait(TaskWait),
    /// Cancel a task. It may still complete.
    #[command(arg_required_else_help = true)]
    #[command(override_usage = "papertape task cancel [OPTIONS] TARGET ID\n       \
        papertape task cancel [OPTIONS] ID -- COMMAND [ARGUMENT]...")]
    Cancel(TaskTarget),
}

impl Task {
    pub(crate) fn output(&self) -> Output {
        match &self.command {
            TaskCommand::Get(task) | TaskCommand::Cancel(task) => task.connect.output,
            TaskCommand::Wait(wait) => wait.task.connect.output,
        }
    }
}

/// A server and a task.
#[derive(Debug, clap::Args)]
pub(crate) struct TaskTarget {
    /// The server (see `papertape list --help`), and the id of the task.
    #[arg(value_name = "TARGET ID")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TaskWait {
    #[command(flatten)]
    pub(crate) task: TaskTarget,
    #[command(flatten)]
    pub(crate) limit: TaskLimit,
    #[command(flatten)]
    pub(crate) save: Save,
}

/// How long to wait for a task.
#[derive(Debug, clap::Args)]
pub(crate) struct TaskLimit {
    /// The timeout of a call that has become a task.
    #[arg(long, value_name = "SECONDS", default_value_t = 3600.0, value_parser = seconds)]
    pub(crate) task_timeout: f64,
}

/// Where binary content is saved.
#[derive(Debug, clap::Args)]
pub(crate) struct Save {
    /// Save images, audio and other binary content as new files in this directory.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
}

/// How to connect to a server, and what to print.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Connect {
    /// A command in place of TARGET: the server is started with exactly these arguments.
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
    /// Text for people, or one JSON document for programs (errors too), with every digit as the server sent it and invisible
    /// characters as \u escapes.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Output::Text)]
    pub(crate) output: Output,
    /// Print every frame to stderr as it is sent or received, and each line that the server process writes to its stderr.
    #[arg(long)]
    pub(crate) trace: bool,
    /// Record every frame, in both directions, to FILE (an existing one is renamed to FILE.old; a FIFO is refused).
    #[arg(long, value_name = "FILE", value_parser = tape_file(), value_hint = ValueHint::FilePath)]
    pub(crate) tape: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) from_file: FromFile,
    /// Use only this protocol revision [default: the newest that the server supports].
    #[arg(long, value_name = "REVISION", value_parser = revision(), help_heading = "Server")]
    pub(crate) revision: Option<Revision>,
    /// The framing of messages to the server; its own may be either [default: line].
    #[arg(long, value_enum, value_name = "FRAMING", help_heading = "Server process (stdio)")]
    pub(crate) framing: Option<Framing>,
    /// Offer this directory to the server as a root, for servers that request roots; may be repeated.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Server")]
    pub(crate) root: Vec<PathBuf>,
    /// The timeout of the server [default: 30 for opening the session, 60 for each response].
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = "Server")]
    pub(crate) timeout: Option<f64>,
    /// How long the server may take to respond to server/discover (2026-07-28), once it has read it, before `initialize` of an
    /// older revision is tried too.
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = seconds, help_heading = "Server")]
    pub(crate) probe: f64,
    #[command(flatten)]
    pub(crate) process: ServerProcess,
    #[command(flatten)]
    pub(crate) remote: RemoteServer,
}

/// A file of servers, and the values that it leaves to its user.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct FromFile {
    /// Look up the server in this file ({"mcpServers": {NAME: ..}}, or VS Code's "servers"). ${VAR} and ${VAR:-default} in it
    /// are replaced from the environment [default: .mcp.json in the current directory, if it exists].
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Server")]
    pub(crate) config: Option<PathBuf>,
    /// The value of ${input:ID} in that file; may be repeated. Inputs without a value are asked for on the terminal.
    #[arg(long, value_name = "ID=VALUE", value_parser = variable, help_heading = "Server")]
    pub(crate) input: Vec<(String, String)>,
    /// The values of inputs in FILE (ID=VALUE lines, as in --env-file); may be repeated. --input takes precedence.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Server")]
    pub(crate) input_file: Vec<PathBuf>,
}

impl FromFile {
    /// An option that was given and is only for servers of a file.
    pub(crate) fn given(&self) -> Option<String> {
        let config = self.config.as_ref().map(|path| format!("--config {}", path.display()));
        config.or_else(|| self.values_given().map(str::to_owned))
    }

    /// An option that was given and has values of inputs.
    pub(crate) fn values_given(&self) -> Option<&'static str> {
        let given = [("--input", !self.input.is_empty()), ("--input-file", !self.input_file.is_empty())];
        given.into_iter().find_map(|(name, given)| given.then_some(name))
    }
}

impl Connect {
    /// An option that was given and is only for servers that are started.
    pub(crate) fn process_only_option(&self) -> Option<&'static str> {
        self.framing.map(|_| "--framing").or_else(|| self.process.given())
    }
}

const LIST_EXAMPLES: &str = "  \
  papertape list grammar
  papertape list 'python3 server.py --flag'
  papertape list https://tools.example/mcp --bearer-file token.txt
  papertape list --config ~/.config/mcp.json github
  papertape list --trace -- npx -y @modelcontextprotocol/server-everything
  papertape list grammar --output json | jq '.tools[].name'
  papertape list grammar --as openai";

const CALL_EXAMPLES: &str = "  \
  papertape call grammar conjugate verb=eat tense='past simple' person=3sg
  papertape call text word_count --json '{\"text\": \"one two\"}'
  papertape call text echo --json - < arguments.json
  papertape call draw size:=[3,4] --out pictures -- ./my-server --fast
  papertape call grammar lookup_spanish english_form=ate --tape session.tape --trace";

const TASK_EXAMPLES: &str = "  \
  papertape call https://tools.example/mcp report year=2026 --detach
  papertape task get https://tools.example/mcp 5f1c0a6e
  papertape task wait https://tools.example/mcp 5f1c0a6e --output json
  papertape task cancel https://tools.example/mcp 5f1c0a6e";

const REQUEST_EXAMPLES: &str = "  \
  papertape request grammar tools/list
  papertape request ./target/release/notes com.example/rename from=a to=b
  papertape request https://tools.example/mcp vendor/search --json '{\"query\": \"mcp\"}' --output json";

const READ_EXAMPLES: &str = "  \
  papertape read 'python3 server.py' file:///notes/today.md
  papertape read demo://image.png --env TOKEN=x -- ./my-server > image.png";

const PROMPT_EXAMPLES: &str = "  \
  papertape prompt 'python3 server.py' review language=rust
  papertape prompt review language=rust --output json -- ./my-server";

const SHELL_EXAMPLES: &str = "  \
  papertape shell grammar
  papertape shell -- npx -y @playwright/mcp
  printf 'conjugate verb=eat tense=infinitive person=3sg\\nping\\n' | papertape shell grammar";
