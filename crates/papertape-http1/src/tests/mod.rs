//! The listener over real sockets.

mod bodies;
mod caps;
mod deadlines;
mod drain;
mod h1spec;
mod heads;
mod scanner;
mod support;
