//! A folder of Markdown, searchable: `search_blog`, `read_chunk`, every file a resource.
//!
//! The modules stand in the order a file meets them on its way to a hit:
//!
//! - [`folder`]: a folder to the files in it that are worth reading
//! - [`document`]: a file's bytes to a title, tags and chunks
//! - [`words`]: a chunk, or a question, to the words it is found by
//! - [`embed`]: a text to a vector, if there is a model
//! - [`store`]: where all that is kept, and found again: in files of our own, or in PostgreSQL
//! - [`rank`]: two lists of candidates to one
//! - [`ingest`]: what changed in the folder to a new generation of the store
//! - [`library`]: a question to hits, whatever is broken
//! - [`Options`]: what a user says about all that, and [`server`]: all of it as an MCP server

mod background;
pub mod document;
pub mod embed;
pub mod folder;
pub mod ingest;
pub mod library;
mod options;
pub mod rank;
mod serve;
pub mod store;
mod warnings;
pub mod words;

pub use options::Options;
pub use serve::server;
pub use warnings::Warnings;
