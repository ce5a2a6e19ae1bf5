//! The servers that come with papertape, written on its public interface alone.
//!
//! - [`grammar`]: a tutor for twenty English verbs
//! - [`text`]: echo and word count
//! - [`all`]: both of them in one
//!
//! Each module has one function, `server()`, whose [`Server`] can be served over any transport.

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
    pub make: fn() -> Server,
}

/// Every bundled server.
pub const ALL: [Bundled; 3] = [
    Bundled {
        name: "grammar",
        about: "a tutor for twenty English verbs: forms, Spanish readings, agreement, drills",
        make: grammar::server,
    },
    Bundled { name: "text", about: "echo and word count", make: text::server },
    Bundled { name: "all", about: "grammar and text in one", make: all::server },
];
