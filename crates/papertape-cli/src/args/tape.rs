//! The arguments of `papertape tape`.

use std::path::PathBuf;

use clap::{ValueEnum, ValueHint};
use papertape::wire::tape::Direction;

use super::{Output, ReportFormat, after_help_with};

/// Read, search, compare and convert tapes.
///
/// A tape is a recorded session: a text file with one line for each frame, which `papertape tap` and --tape write. These commands
/// go on after lines that cannot be read, and say which those are; a tape that was cut, or is still being written, is read up to
/// its last complete line. A tape named - is stdin.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help_with(EXAMPLES, CODES), arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct Tape {
    #[command(subcommand)]
    pub(crate) command: TapeCommand,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum TapeCommand {
    Cat(Cat),
    Stats(Stats),
    Grep(Grep),
    Diff(Diff),
    Raw(Raw),
    Check(CheckTape),
    ToHar(ToHar),
    ToJsonl(ToJsonl),
    Redact(Redact),
}

impl TapeCommand {
    /// The format of errors.
    pub(crate) fn output(&self) -> Output {
        match self {
            Self::Stats(stats) => stats.output,
            Self::Diff(diff) => diff.output,
            Self::Check(check) => check.output.of_errors(),
            _ => Output::Text,
        }
    }
}

/// Print a tape for people, in colours on a terminal.
///
/// Each record is a line: direction and number, the HTTP exchange in brackets, seconds, bytes. Bytes that are not text are
/// hexadecimal between ⟦ and ⟧. Heads of HTTP messages are a line for each header.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help_with(CAT_EXAMPLES, CODES), arg_required_else_help = true)]
pub(crate) struct Cat {
    /// The tape; - is stdin.
    #[arg(value_name = "TAPE", value_hint = ValueHint::FilePath)]
    pub(crate) tape: PathBuf,
    /// Go on as the tape grows, until its event `end`, or until interrupted; a tape that was rotated is followed to the new file.
    ///
    /// Tapes of clients and servers that record themselves (--tape) have no `end`.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Print only what went in this direction.
    #[arg(long, value_enum, value_name = "DIRECTION")]
    pub(crate) direction: Option<Side>,
    /// Print only messages with this method, and the responses to them; may be repeated. A name may end in *, for any end.
    #[arg(long, value_name = "METHOD")]
    pub(crate) only: Vec<String>,
    /// Print only what belongs to this HTTP exchange.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) exchange: Option<u64>,
}

/// Print numbers about a tape: latencies, sizes and errors by method.
///
/// A latency is the time between the records that complete a request and its response. Tools and prompts have rows of their own.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help_with(STATS_EXAMPLES, CODES), arg_required_else_help = true)]
pub(crate) struct Stats {
    /// The tape; - is stdin.
    #[arg(value_name = "TAPE", value_hint = ValueHint::FilePath)]
    pub(crate) tape: PathBuf,
    /// Text for people, or one JSON document.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Output::Text)]
    pub(crate) output: Output,
}

/// Search a tape for a regular expression.
///
/// Searched are frames, without the escapes of the tape and also if they crossed in parts, HTTP heads, stderr and events. Printed
/// are number, direction, time, and what is around the first match.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help_with(GREP_EXAMPLES, GREP_CODES), arg_required_else_help = true)]
pub(crate) struct Grep {
    /// The regular expression; look-around and back-references are allowed.
    #[arg(value_name = "PATTERN")]
    pub(crate) pattern: String,
    /// The tape; - is stdin.
    #[arg(value_name = "TAPE", value_hint = ValueHint::FilePath)]
    pub(crate) tape: PathBuf,
    /// Ignore case.
    #[arg(long, short)]
    pub(crate) ignore_case: bool,
    /// PATTERN is a text and not a regular expression.
    #[arg(long, short = 'F')]
    pub(crate) fixed: bool,
    /// Search only what went in this direction.
    #[arg(long, value_enum, value_name = "DIRECTION")]
    pub(crate) direction: Option<Side>,
    /// Print only how many frames match.
    #[arg(long, short)]
    pub(crate) count: bool,
    /// Print all of a frame that matches, and not only what is around the match.
    #[arg(long, short)]
    pub(crate) whole: bool,
}

/// Compare two tapes.
///
/// Requests are aligned by direction, method and name (the tool, the prompt, the URI), the first with the first; what is aligned
/// is compared member by member. Not compared is what differs in any two recordings: JSON-RPC ids, progress tokens, cursors, ids of
/// tasks, sessions and subscriptions, timestamps, trace context, and how many progress notifications there are.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help_with(DIFF_EXAMPLES, DIFF_CODES), arg_required_else_help = true)]
pub(crate) struct Diff {
    /// The old tape; - is stdin.
    #[arg(value_name = "OLD", value_hint = ValueHint::FilePath)]
    pub(crate) old: PathBuf,
    /// The new tape; - is stdin.
    #[arg(value_name = "NEW", value_hint = ValueHint::FilePath)]
    pub(crate) new: PathBuf,
    /// Do not compare this either: a JSON pointer from the root of the message, in which * is any member or element
    /// (/result/content/*/text), or the name of a member anywhere (etag); may be repeated.
    #[arg(long, value_name = "POINTER")]
    pub(crate) ignore: Vec<String>,
    /// Compare ids, tokens and times, too.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Text for people, or one JSON document.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Output::Text)]
    pub(crate) output: Output,
}

/// Write the exact bytes of one direction to stdout.
///
/// They are the bytes that crossed, with all framing; on HTTP heads and bodies, without the chunks of a chunked body.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help_with(RAW_EXAMPLES, CODES), arg_required_else_help = true)]
pub(crate) struct Raw {
    /// The tape; - is stdin.
    #[arg(value_name = "TAPE", value_hint = ValueHint::FilePath)]
    pub(crate) tape: PathBuf,
    /// Which bytes.
    #[arg(long, value_enum, value_name = "DIRECTION")]
    pub(crate) direction: Side,
    /// Only those of this HTTP exchange.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) exchange: Option<u64>,
    /// Leave out the heads of HTTP messages.
    #[arg(long)]
    pub(crate) no_heads: bool,
}

/// Find out what is wrong with the server of a tape.
///
/// These are the findings of `papertape check` that a recording can prove: on what it wrote to stdout, on how it opened, on its
/// messages and on what it lists. What a server does with input that is not on the tape is not known: `papertape check TARGET`
/// tries that.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help_with(CHECK_EXAMPLES, CHECK_CODES), arg_required_else_help = true)]
pub(crate) struct CheckTape {
    /// The tape; - is stdin.
    #[arg(value_name = "TAPE", value_hint = ValueHint::FilePath)]
    pub(crate) tape: PathBuf,
    /// Text for people, one JSON document, a SARIF 2.1.0 log for code scanning, or JUnit XML for continuous integration.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = ReportFormat::Text)]
    pub(crate) output: ReportFormat,
}

/// Convert a tape to an HTTP archive (HAR 1.2).
///
/// Browsers and HTTP debuggers read these. On HTTP an entry is an exchange; on stdio it is a request, whose method is in a URL such
/// as stdio://server/tools/call?name=add. Secrets are copied: redact the tape before you share the archive.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help_with(HAR_EXAMPLES, CODES), arg_required_else_help = true)]
pub(crate) struct ToHar {
    /// The tape; - is stdin.
    #[arg(value_name = "TAPE", value_hint = ValueHint::FilePath)]
    pub(crate) tape: PathBuf,
    /// Write to FILE, readable by its owner only, and not to stdout.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
}

/// Convert a tape to JSON, one object for each record.
///
/// Its members are number, time, source (to-server, to-client, stderr, event), exchange on HTTP, kind (frame, head, stderr, event),
/// text or, if it is not UTF-8, base64; message is what a frame is as JSON, at the record that completes it.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help_with(JSONL_EXAMPLES, CODES), arg_required_else_help = true)]
pub(crate) struct ToJsonl {
    /// The tape; - is stdin.
    #[arg(value_name = "TAPE", value_hint = ValueHint::FilePath)]
    pub(crate) tape: PathBuf,
}

/// Copy a tape without its secrets.
///
/// Replaced are Authorization, cookie, API key and session id headers, passwords and tokens by the names of their members,
/// parameters, options and environment variables, keys of well-known services, JSON Web Tokens, private keys, and passwords in
/// URLs. Frames that are JSON stay JSON, and the copy is a tape. A secret that looks like nothing else is not found: name it with
/// --also, and read the copy before you share it.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help_with(REDACT_EXAMPLES, CODES), arg_required_else_help = true)]
pub(crate) struct Redact {
    /// The tape; - is stdin.
    #[arg(value_name = "TAPE", value_hint = ValueHint::FilePath)]
    pub(crate) tape: PathBuf,
    /// Write to FILE, readable by its owner only, and not to stdout; an existing one is renamed to FILE.old.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
    /// Replace what this regular expression matches, too; may be repeated.
    #[arg(long, value_name = "REGEX")]
    pub(crate) also: Vec<String>,
}

/// One source of a tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Side {
    /// What the client sent.
    ToServer,
    /// What the server sent.
    ToClient,
    /// What the server wrote to stderr.
    Stderr,
}

impl Side {
    /// That of a frame.
    pub(crate) fn of(direction: Direction) -> Self {
        match direction {
            Direction::ToServer => Self::ToServer,
            Direction::ToClient => Self::ToClient,
        }
    }
}

const CODES: &str = "  \
  0  success
  1  the output cannot be written
  2  wrong usage, or a tape or some of its lines cannot be read";

const GREP_CODES: &str = "  \
  0  something matches
  1  nothing matches, or the output cannot be written
  2  wrong usage, or the tape or some of its lines cannot be read";

const DIFF_CODES: &str = "  \
  0  the tapes do not differ
  1  they differ, or the output cannot be written
  2  wrong usage, or a tape or some of its lines cannot be read";

const CHECK_CODES: &str = "  \
  0  no host would break on the server
  1  the output cannot be written
  2  wrong usage, or the tape cannot be read
  4  a host would break";

const EXAMPLES: &str = "  \
  papertape tape cat session.tape
  papertape tape stats session.tape
  papertape tape diff monday.tape tuesday.tape
  papertape tape redact session.tape --out shared.tape";

const CAT_EXAMPLES: &str = "  \
  papertape tape cat session.tape | less -R
  papertape tape cat --follow session.tape
  papertape tape cat --only 'tools/*' session.tape
  papertape tape cat --direction stderr session.tape";

const STATS_EXAMPLES: &str = "  \
  papertape tape stats session.tape
  papertape tape stats --output json session.tape | jq '.methods[] | select(.errors > 0)'";

const GREP_EXAMPLES: &str = "  \
  papertape tape grep isError session.tape
  papertape tape grep -i 'time.?out' --direction to-client session.tape
  papertape tape grep -F '\"id\":7,' --whole session.tape";

const DIFF_EXAMPLES: &str = "  \
  papertape tape diff old.tape new.tape
  papertape tape diff --ignore /result/serverInfo/version --ignore etag old.tape new.tape";

const RAW_EXAMPLES: &str = "  \
  papertape tape raw --direction to-client session.tape | xxd | less
  papertape tape raw --direction to-server session.tape | ./server
  papertape tape raw --direction to-client --exchange 7 --no-heads session.tape";

const CHECK_EXAMPLES: &str = "  \
  papertape tape check session.tape
  papertape tape check --output sarif session.tape > papertape.sarif";

const HAR_EXAMPLES: &str = "  \
  papertape tape to-har session.tape --out session.har
  papertape tape redact session.tape | papertape tape to-har - > session.har";

const JSONL_EXAMPLES: &str = "  \
  papertape tape to-jsonl session.tape | jq -r 'select(.message.method) | .message.method'
  papertape tape to-jsonl session.tape | jq 'select(.source == \"stderr\") | .text'";

const REDACT_EXAMPLES: &str = "  \
  papertape tape redact session.tape --out shared.tape
  papertape tape redact --also 'customer-\\d+' session.tape --out shared.tape";
