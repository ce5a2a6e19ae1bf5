//! Directories to stores and queries to hits: with real files, the real store in files, and models that misbehave.

mod changing;
mod files;
mod interrupted;
mod models;
mod searcher;
mod service;
mod shipped;
mod support;
mod syntax;
mod vectors;
mod warnings;
