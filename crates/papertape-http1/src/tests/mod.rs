//! Real sockets against what the connection layer promises.

mod bodies;
mod caps;
mod deadlines;
mod drain;
mod h1spec;
mod heads;
mod scanner;
mod support;
