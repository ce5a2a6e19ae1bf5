//! The server that the official conformance suite talks to: its tools, resources and prompts, on papertape's public API.
//!
//!     conformance_server --stdio              # on stdin and stdout
//!     conformance_server --listen ADDRESS     # on HTTP; prints its URL, so that the port may be 0
//!
//! What each thing must do is the suite's own contract; `interop/conformance/run` holds it to that over HTTP, and the tests
//! in `tests/conformance` over stdio. Names that look odd are the suite's.

mod elicitation;
mod mrtr;
mod prompts;
mod resources;
mod skills;
mod tasks;
mod tools;

use std::io::{self, Write};
use std::process::ExitCode;

use papertape::{Server, http, stdio};
use tokio::net::TcpListener;

/// Everything the suite asks for.
fn server() -> Server {
    let server = Server::new("papertape-conformance", "1.0.0").logging();
    // The first tool of the list must be callable without arguments.
    let server = tools::register(server);
    let server = elicitation::register(server);
    let server = mrtr::register(server);
    let server = tasks::register(server);
    let server = resources::register(server);
    let server = skills::register(server);
    prompts::register(server)
}

#[tokio::main]
async fn main() -> io::Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--stdio"] => stdio::serve(server()).await?,
        ["--listen", address] => {
            let listener = TcpListener::bind(address).await?;
            writeln!(io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
            http::serve(listener, server()).await?;
        }
        _ => {
            writeln!(io::stderr(), "conformance_server --stdio | --listen ADDRESS")?;
            return Ok(ExitCode::from(2));
        }
    }
    Ok(ExitCode::SUCCESS)
}
