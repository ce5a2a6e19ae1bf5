//! Completion of names, arguments and URIs, for shells and for `papertape shell`.
//!
//! - `line`: the words of a command line that is not finished
//! - `catalog`: what a server lists, as far as completion needs it
//! - `candidates`: what the current word may become, by the catalog
//! - `server_values`: values that the server completes (`completion/complete`)
//! - `words`: a whole `papertape` command line, by clap's engine; `cache`: the catalogs of servers, for a minute

pub(crate) mod cache;
pub(crate) mod candidates;
pub(crate) mod catalog;
pub(crate) mod line;
pub(crate) mod server_values;
pub(crate) mod words;
