//! As the server of a host.

mod http;
mod player;
mod sequence;
mod serve;

pub use http::serve_http;
pub use player::{Pace, Player};
pub use serve::{Ended, Faults, serve};
