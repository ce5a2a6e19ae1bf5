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
    pub(crate) root_certificates: Option<Vec<u8>>,
    pub(crate) allow_http: bool,
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
        Self {
            timeout: Duration::from_secs(30),
            call_all: false,
            calls: Vec::new(),
            root_certificates: None,
            allow_http: false,
            on_step,
        }
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

    /// Trusts these CA certificates (PEM) besides those of the system, at a URL.
    pub fn root_certificates(mut self, pem: Vec<u8>) -> Self {
        self.root_certificates = Some(pem);
        self
    }

    /// Allows `Authorization` to be sent to another machine over plain http, where others can read it.
    pub fn allow_http(mut self, allow: bool) -> Self {
        self.allow_http = allow;
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
