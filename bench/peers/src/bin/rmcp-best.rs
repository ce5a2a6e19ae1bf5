//! rmcp in its best configuration: its pipes transport, one thread, the router made once.

use peers::Echo;
use rmcp::{ServiceExt, transport::stdio_pipes};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    Echo::default().serve(stdio_pipes()).await?.waiting().await?;
    Ok(())
}
