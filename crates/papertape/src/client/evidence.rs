//! What is known about a server when a request fails: its exit status, its stderr, and what it wrote to stdout that was not
//! a message.

use std::collections::VecDeque;
use std::process::ExitStatus;
use std::sync::Mutex;

use crate::sync::lock;
use crate::wire::error::excerpt;

/// The end of stderr that is kept, in bytes.
const STDERR: usize = 64 * 1024;

/// What is known about a server when a request fails.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    /// The exit status of its process, if that has exited.
    pub(crate) exit: Option<ExitStatus>,
    /// The end of its stderr.
    pub(crate) stderr: String,
    /// Why it is not started again, if it was to be.
    pub(crate) given_up: Option<String>,
    /// What it wrote to stdout that was not a message.
    pub(crate) stray: StrayOutput,
}

/// Exit status and stderr of a server process, as they become known.
#[derive(Debug, Default)]
pub(crate) struct ProcessRecord {
    exit: Mutex<Option<ExitStatus>>,
    stderr: Mutex<VecDeque<u8>>,
    given_up: Mutex<Option<String>>,
}

impl ProcessRecord {
    pub(crate) fn set_exit(&self, status: ExitStatus) {
        *lock(&self.exit) = Some(status);
    }

    /// The process is started again.
    #[cfg(unix)]
    pub(crate) fn forget_exit(&self) {
        *lock(&self.exit) = None;
    }

    /// The process is not started again, for this reason.
    #[cfg(unix)]
    pub(crate) fn give_up(&self, why: String) {
        *lock(&self.given_up) = Some(why);
    }

    pub(super) fn given_up(&self) -> Option<String> {
        lock(&self.given_up).clone()
    }

    pub(crate) fn exit(&self) -> Option<ExitStatus> {
        *lock(&self.exit)
    }

    /// Appends to stderr, of which only the end is kept.
    pub(crate) fn push_stderr(&self, bytes: &[u8]) {
        let mut tail = lock(&self.stderr);
        let bytes = bytes.get(bytes.len().saturating_sub(STDERR)..).unwrap_or_default();
        let excess = (tail.len() + bytes.len()).saturating_sub(STDERR);
        let excess = excess.min(tail.len());
        tail.drain(..excess);
        tail.extend(bytes);
    }

    /// Forgets what is known of stderr.
    pub(crate) fn forget_stderr(&self) {
        lock(&self.stderr).clear();
    }

    pub(super) fn stderr(&self) -> String {
        let mut tail = lock(&self.stderr);
        let text = String::from_utf8_lossy(tail.make_contiguous());
        // Replacement characters may make the text longer than the bytes.
        let mut start = text.len().saturating_sub(STDERR);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        text.get(start..).unwrap_or_default().to_owned()
    }
}

/// Output of a server that was not a message.
#[derive(Debug, Clone, Default)]
pub(crate) struct StrayOutput {
    /// How many lines.
    pub(crate) count: u64,
    /// The beginning of the first of them.
    pub(crate) first: Vec<u8>,
    /// It was the last output, and had no line end.
    pub(crate) unfinished: bool,
}

impl StrayOutput {
    /// How many bytes of a stray line are kept.
    pub(crate) const KEPT: usize = 1024;

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.count += 1;
        if self.first.is_empty() {
            self.first = bytes.get(..Self::KEPT).unwrap_or(bytes).to_vec();
        }
    }

    /// What the output was, and how to fix it.
    pub(super) fn advice(&self) -> Option<String> {
        if self.count == 0 {
            let text = String::from_utf8_lossy(&self.first);
            let first = excerpt(&text);
            let remedy = "each message must end with a line end";
            return (!self.first.is_empty())
                .then(|| format!("it wrote {first} to stdout without a line end: {remedy}"));
        }
        let lines = match self.count {
            1 => "1 line to stdout that is not an MCP message".to_owned(),
            count => format!("{count} lines to stdout that are not MCP messages"),
        };
        let text = String::from_utf8_lossy(&self.first);
        let has_message = text.contains("\"jsonrpc\"");
        let why = if self.first.starts_with(b"\xff\xfe") || self.first.contains(&0) {
            "it looks like UTF-16, and MCP is UTF-8"
        } else if self.unfinished && self.count == 1 {
            "its output ended in the middle of a line"
        } else if has_message && text.trim_start().starts_with('{') {
            "something follows a message on the same line: each message must be a line of its own, and logs belong on stderr"
        } else if has_message {
            "text precedes a message on the same line: end it with a line end, or better print it to stderr"
        } else if matches!(text.trim(), "{" | "[") {
            "it looks like JSON over several lines, and a message must be one line"
        } else {
            "logs belong on stderr"
        };
        let first = excerpt(text.trim_end());
        Some(format!("it wrote {lines}, the first is {first}: {why}"))
    }
}
