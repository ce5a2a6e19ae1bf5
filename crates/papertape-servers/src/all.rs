//! The other servers mounted in one, with a prefix for each.

use std::time::Duration;

use papertape::Server;
use papertape::protocol::CacheScope;

use crate::{grammar, text};

/// Grammar and text together, ready to be served.
#[must_use]
pub fn server() -> Server {
    Server::new("papertape-all", env!("CARGO_PKG_VERSION"))
        .title("English grammar tutor and text tools")
        // The lists never change and are the same for all clients.
        .cache(Duration::from_secs(3600), CacheScope::Public)
        .mount("grammar", grammar::server())
        .mount("text", text::server())
        // After the mounts, in place of their instructions, which use the names without prefix.
        .instructions(
            "grammar_*: look verb forms up here instead of recalling them: every answer comes from a checked table of \
             twenty English verbs. A verb outside the table is out of scope; say so rather than guess its forms. To \
             practise with the user, start grammar_drill; to read all forms at once, read grammar://table.\n\n\
             text_*: count words with text_word_count rather than by eye; text_echo is there to test a connection.",
        )
}
