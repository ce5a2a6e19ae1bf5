//! Where the bytes come from and go to.

#[cfg(unix)]
mod child;
mod connection;
#[cfg(feature = "http")]
pub mod http;
pub mod memory;
mod pump;
#[cfg(unix)]
pub mod stdio;
mod tap;
#[cfg(unix)]
mod thread;
#[cfg(unix)]
mod watchdog;
#[cfg(unix)]
mod wire;
mod writing;

pub use connection::{Undelivered, serve};
pub use pump::connect;
pub(crate) use tap::OnFrame;
pub use tap::{Frame, create_tape};
