//! What a check may do, and how long it waits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What a check may do, and how long it waits.
#[derive(Debug, Clone)]
#[must_use]
pub struct Options {
    pub(crate) timeout: Duration,
    pub(crate) call_all: bool,
    pub(crate) calls: Vec<String>,
    on_step: OnStep,
}

#[derive(Clone)]
struct OnStep(Arc<dyn Fn(&str) + Send + Sync>);

impl fmt::Debug for OnStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnStep(..)")
    }
}

impl Default for Options {
    fn default() -> Self {
        let on_step = OnStep(Arc::new(|_| {}));
        Self { timeout: Duration::from_secs(30), call_all: false, calls: Vec::new(), on_step }
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

    /// Calls this when a step begins, for a progress indicator: `opening in 2025-11-25`.
    pub fn on_step(mut self, callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_step = OnStep(Arc::new(callback));
        self
    }

    /// A step begins.
    pub(crate) fn step(&self, step: &str) {
        (self.on_step.0)(step);
    }
}
