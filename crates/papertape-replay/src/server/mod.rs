//! As the server of a host.

mod player;
mod sequence;
mod serve;

pub use player::{Pace, Player};
pub use serve::{Ended, Faults, serve};
