//! The page's server as HTTP clients see it, and its files as they are.

mod attacks;
mod client;
mod files;
mod queries;
mod trying;
