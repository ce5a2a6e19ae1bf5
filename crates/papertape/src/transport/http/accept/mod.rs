//! Connections: accepted, bounded, timed, and drained.
//!
//! Under hyper lies a `wire` that reads every byte first. Its `scan` knows where requests begin and end, so that it can refuse
//! what hyper would forgive, and tell its `pulse` what the peer owes us and by when. There are no timers per connection: the
//! `crowd` is looked over a few times a second, and whoever is late is woken to see for itself. Nothing here knows MCP.

mod clock;
mod connection;
mod crowd;
mod descriptors;
mod farewell;
mod limits;
mod listen;
mod pace;
mod pulse;
mod scan;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use descriptors::most_connections;
pub use descriptors::raise_open_file_limit;
pub use limits::ConnectionLimits;
pub(crate) use listen::run;
