//! rmcp as its README writes a tools-only server: one annotated block, `stdio()`, a multi-thread runtime.

use peers::EchoArgs;
use rmcp::{ServiceExt, handler::server::wrapper::Parameters, tool, tool_router, transport::stdio};

#[derive(Clone)]
struct Echo;

#[tool_router(server_handler)]
impl Echo {
    #[tool(description = "Returns the text unchanged.")]
    async fn echo(&self, Parameters(EchoArgs { text }): Parameters<EchoArgs>) -> String {
        text
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    Echo.serve(stdio()).await?.waiting().await?;
    Ok(())
}
