//! Folders to stores and questions to hits: with real files, the real store in files, and models that misbehave.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test, a panic is a finding; clippy knows test functions, but not their helpers"
)]

mod changing;
mod files;
mod interrupted;
mod library;
mod models;
mod odd;
mod service;
mod shipped;
mod support;
mod vectors;
