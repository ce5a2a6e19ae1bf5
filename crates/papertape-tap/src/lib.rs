//! Records what crosses between MCP hosts and servers, on tapes.
//!
//! A [`Recorder`] takes bytes and writes them, on a thread of its own, as [records](papertape::wire::tape): recording never waits
//! for a disk. [`stdio::run`] is a proxy that is put in front of a server process and records every byte; [`http::serve`] is one in
//! front of a server at a URL.
//!
//! ```no_run
//! use papertape::stdio::ServerCommand;
//! use papertape_tap::{Recorder, RecorderOptions, stdio};
//!
//! #[tokio::main]
//! async fn main() -> std::io::Result<()> {
//!     let recorder = Recorder::create("session.tape".as_ref(), &RecorderOptions::default())?;
//!     let no_signal = async || std::future::pending().await;
//!     let status = stdio::run(&ServerCommand::new("my-server"), &recorder, no_signal).await?;
//!     recorder.finish()?;
//!     std::process::exit(status.code().unwrap_or(1));
//! }
//! ```

#![cfg(unix)]

mod frames;
pub mod http;
mod item;
mod pump;
mod queue;
mod recorder;
mod standard_streams;
pub mod stdio;
mod tape_file;
mod writer;

pub use item::{Parts, Source, Stream};
pub use recorder::{LEAST_SIZE, Recorder, RecorderOptions};

/// A limit of the size of files (`ulimit -f`) is an error of the write then, and does not kill this process.
fn ignore_file_size_limit() -> std::io::Result<tokio::signal::unix::Signal> {
    use tokio::signal::unix::{SignalKind, signal};
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))
}

/// The example in the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
