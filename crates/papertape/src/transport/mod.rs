//! Where the bytes come from and go to.

mod connection;
#[cfg(unix)]
pub mod stdio;
mod tap;
#[cfg(unix)]
mod wire;

pub use connection::serve;
