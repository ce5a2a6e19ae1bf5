//! Transports: how messages travel between a client and a server.
//!
//! [`streams`] reads and writes frames on any pair of byte streams. [`stdio`] uses it for this process's own standard
//! streams and for those of a server `process`, `unix` for Unix domain sockets; [`memory`] connects a client and a server in one process; `http` maps
//! messages to HTTP requests and responses. Every frame of every transport passes the `tap`, which records tapes.

#[cfg(any(feature = "http-client", feature = "http-server"))]
pub mod http;
pub mod memory;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
pub mod stdio;
pub mod streams;
mod tap;
mod thread;
#[cfg(unix)]
pub mod unix;

pub(crate) use tap::OnFrame;
pub use tap::{Frame, create_tape};
