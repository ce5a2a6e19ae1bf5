//! One of the servers behind a bridge: its name, and the sessions with it.

use std::sync::Arc;

use papertape::protocol::capabilities::ServerCapabilities;
use papertape::{Cx, ToolError};

use crate::relay::{Output, Request, relay};
use crate::upstream::Upstream;

pub(crate) struct Member {
    name: String,
    /// What the names of its tools and prompts begin with; empty if it is the only one.
    prefix: String,
    first: Arc<Upstream>,
}

impl Member {
    pub(crate) fn new(name: String, prefix: String, first: Arc<Upstream>) -> Arc<Self> {
        Arc::new(Self { name, prefix, first })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The session that was opened first, which has the lists.
    pub(crate) fn first(&self) -> Arc<Upstream> {
        Arc::clone(&self.first)
    }

    /// The session for a call.
    #[expect(clippy::unused_async, reason = "a session may have to be opened")]
    pub(crate) async fn of(&self, _: &Cx) -> Result<Arc<Upstream>, ToolError> {
        Ok(self.first())
    }

    pub(crate) fn capabilities(&self) -> &ServerCapabilities {
        self.first.client.capabilities()
    }

    /// The name that the host sees.
    pub(crate) fn prefixed(&self, name: &str) -> String {
        if self.prefix.is_empty() || name.is_empty() {
            name.to_owned()
        } else {
            format!("{}_{name}", self.prefix)
        }
    }

    /// The name that the server knows.
    pub(crate) fn original<'a>(&self, name: &'a str) -> Option<&'a str> {
        if self.prefix.is_empty() {
            return Some(name);
        }
        name.strip_prefix(&*self.prefix)?.strip_prefix('_')
    }

    pub(crate) async fn relay(&self, request: Request, cx: &Cx) -> Result<Output, ToolError> {
        relay(&self.of(cx).await?, request, cx).await
    }
}
