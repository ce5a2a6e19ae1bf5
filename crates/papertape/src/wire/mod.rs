//! Bytes to messages and back.
//!
//! Bytes become [frames](frame) (or, on HTTP, [events](sse)), frames become [messages](message); a [tape] records both
//! directions as text.
//! Nothing here does I/O, is async, reads a clock, or knows MCP.

pub mod error;
pub mod frame;
pub mod id;
pub(crate) mod members;
pub mod message;
pub mod number;
pub mod shown;
pub mod sse;
pub mod tape;

pub use error::RpcError;
pub use frame::{Decoder, Framing};
pub use id::Id;
pub use message::{Message, Payload};
