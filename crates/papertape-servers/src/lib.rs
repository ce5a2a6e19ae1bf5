//! The servers that come with papertape, written on its public interface alone.
//!
//! - [`blog`]: a folder of Markdown, searchable
//! - [`grammar`]: a tutor for twenty English verbs
//! - [`text`]: echo and word count
//! - [`all`]: the last two in one
//!
//! Each module has a function `server`, whose [`Server`] can be served over any transport.

pub mod all;
pub mod blog;
pub mod grammar;
pub mod text;

use papertape::Server;

/// A bundled server.
#[derive(Debug, Clone, Copy)]
pub struct Bundled {
    /// As a user types it.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Makes it.
    pub make: Make,
}

/// How a bundled server is made.
#[derive(Debug, Clone, Copy)]
pub enum Make {
    /// From nothing.
    Alone(fn() -> Server),
    /// From [`blog::Options`], by [`blog::server`].
    Blog,
}

/// Every bundled server.
pub const ALL: [Bundled; 4] = [
    Bundled {
        name: "blog",
        about: "search in a folder of Markdown, by words and by meaning",
        make: Make::Blog,
    },
    Bundled {
        name: "grammar",
        about: "a tutor for twenty English verbs: forms, Spanish readings, agreement, drills",
        make: Make::Alone(grammar::server),
    },
    Bundled { name: "text", about: "echo and word count", make: Make::Alone(text::server) },
    Bundled { name: "all", about: "grammar and text in one", make: Make::Alone(all::server) },
];
