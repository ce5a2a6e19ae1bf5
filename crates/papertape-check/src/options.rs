//! What a check may do, and how long it waits.

use std::time::Duration;

/// What a check may do, and how long it waits.
#[derive(Debug, Clone)]
#[must_use]
pub struct Options {
    pub(crate) timeout: Duration,
    pub(crate) call_all: bool,
    pub(crate) calls: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(30), call_all: false, calls: Vec::new() }
    }
}

impl Options {
    /// How long to wait for the first response of the server, and for each response after it.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Calls these tools, too, even if they are not declared as read-only.
    pub fn call(mut self, tools: impl IntoIterator<Item = String>) -> Self {
        self.calls.extend(tools);
        self
    }

    /// Calls every tool, even those that are not declared as read-only.
    pub fn call_all(mut self, all: bool) -> Self {
        self.call_all = all;
        self
    }
}
