//! What the pages of the tools share, for hosts with MCP Apps: their colours, and the messages to and from the host.

use papertape::protocol::Csp;
use papertape::server::App;

/// The beginning of every page: `host` in its script is the host.
const HEAD: &str = include_str!("head.html");

/// A page: its title, its own style, its body and its script. It loads nothing from elsewhere.
pub(crate) fn page(uri: &str, rest: &str) -> App {
    App::new(uri, [HEAD, rest].concat()).csp(Csp::none()).prefers_border(true)
}
