//! Replays recorded MCP sessions (tapes, which `docs/tape.md` describes).
//!
//! - `script`: [`Script`], the messages of a tape; `call`: what a message asks for; `splice`: ids replaced in their JSON
//! - `server`: as the server of a host: [`Player`] is what it does, [`serve`] does that on two byte streams, [`serve_http`] over HTTP
//! - `host`: as the host of a server, whose responses are compared with those of the tape

mod call;
mod host;
mod script;
mod server;
mod splice;

pub use call::Call;
pub use host::{
    DiffLine, Failure, HostOptions, Replayed, Report, Step, Updated, Verdict, lines, replay, update,
};
pub use papertape_tape::{Difference, Volatile};
pub use script::{Script, ScriptError};
pub use server::{Ended, Faults, Pace, Player, serve, serve_http};

/// The example in the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
