//! Where the bytes come from and go to.

mod connection;
#[cfg(unix)]
pub mod stdio;
mod tap;
#[cfg(unix)]
mod wire;
mod writing;

pub use connection::serve;
