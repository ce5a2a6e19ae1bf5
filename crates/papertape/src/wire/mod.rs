//! Bytes to messages and back.
//!
//! A byte becomes a [frame] (or, on HTTP, an [event](sse)), a frame becomes a [message]; the [tape] is the text in which both
//! directions are kept.
//! Nothing here does I/O, is async, reads a clock, or knows MCP.

pub mod error;
pub mod frame;
pub mod id;
pub mod message;
pub mod number;
pub mod shown;
pub mod sse;
pub mod tape;

pub use error::RpcError;
pub use frame::{Decoder, Framing};
pub use id::Id;
pub use message::{Message, Payload};
