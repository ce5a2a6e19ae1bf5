//! Several servers as one: the servers of an `mcp.json`, their tools in OpenAI's format, and a call.
//!
//! ```sh
//! cargo run -p papertape-examples --example several_servers -- mcp.json
//! cargo run -p papertape-examples --example several_servers -- mcp.json grammar_lookup_spanish '{"english_form": "ate"}'
//! ```

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command for the terminal")]

use std::env;

use papertape::client::Clients;
use papertape::client::model_api::ModelApi;
use papertape::protocol::RawJson;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = env::args().skip(1);
    let clients = Clients::from_config(arguments.next().unwrap_or("mcp.json".to_owned())).await?;
    for failure in clients.failures() {
        eprintln!("{}: {}", failure.server, failure.error);
    }
    match arguments.next() {
        Some(tool) => {
            let arguments = RawJson::new(arguments.next().unwrap_or("{}".to_owned()))?;
            println!("{}", clients.call(&tool, arguments).await?.text());
        }
        None => println!("{:#}", ModelApi::OpenAiChat.declare(clients.tools().await.items()).tools()),
    }
    clients.close().await;
    Ok(())
}
