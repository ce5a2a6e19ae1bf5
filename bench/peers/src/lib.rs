//! What papertape is measured against: rmcp's echo server, as its macros are documented but with its router made
//! once instead of once per call, and a floor.

pub mod floor;

use rmcp::{
    ServerHandler,
    handler::server::{router::tool::ToolRouter, wrapper::Parameters},
    tool, tool_handler, tool_router,
};

/// What `echo` takes.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub struct EchoArgs {
    /// The text to return.
    pub text: String,
}

/// An rmcp server with one tool, `echo`.
#[derive(Debug, Clone)]
pub struct Echo {
    tool_router: ToolRouter<Self>,
}

impl Default for Echo {
    fn default() -> Self {
        Self { tool_router: Self::tool_router() }
    }
}

#[tool_router]
impl Echo {
    #[tool(description = "Returns the text unchanged.")]
    async fn echo(&self, Parameters(EchoArgs { text }): Parameters<EchoArgs>) -> String {
        text
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Echo {}
