//! The page of `papertape page`: a tape in a browser, followed while it is written, with forms that call a server's tools.
//!
//! ```text
//! tape ─▶ follow ─▶ Index (rows, pairs, findings) ─▶ filter ─▶ site ─▶ the page: rows that are seen, bytes that are opened
//!           ▲
//!           └── recorder ◀── a client of the server (Try it)
//! ```
//!
//! - `page`: [`Page`], what is shown, and its server
//! - `site`: the routes; `guard` and `token` are what each request must pass, `reply` the responses, `files` the static files
//! - `tape`: a tape that is followed; `follow` reads it, `segments` are its files, `query` answers questions about it
//! - `index`, `row`, `finding`, `filter`, `search`, `overview`: what is known of it
//! - `recorder`: frames of a client to a tape; `try_it`: the client, its lists and calls; `app_pages`: pages of the server (MCP
//!   Apps)
//!
//! The files of the page are in `page/`: one HTML file, one style sheet, and modules that are served as they are.
//!
//! # Security
//!
//! The page starts programs, so a web page elsewhere must not reach it: the server listens on loopback only, `Host` must be
//! its own, `Origin` too, and each request has a token in a header, which comes in the fragment of the URL that is printed.
//! Which program is started, and which file is read, comes from the caller of this crate alone.

mod app_pages;
mod files;
mod filter;
mod finding;
mod follow;
mod guard;
mod index;
mod overview;
mod page;
mod query;
mod recorder;
mod reply;
mod row;
mod search;
mod segments;
mod site;
mod sync;
mod tape;
mod token;
mod try_it;
mod uri_template;

pub use page::{Connect, Page, Target};
