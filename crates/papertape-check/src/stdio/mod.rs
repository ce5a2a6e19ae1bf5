//! Servers on stdio: their process, the bytes of their stdout, and a session that goes on after a fault.

pub(crate) mod process;
pub(crate) mod processes;
pub(crate) mod recording;
pub(crate) mod scan;
pub(crate) mod scan_refused;
mod scan_utf16;
pub(crate) mod session;
