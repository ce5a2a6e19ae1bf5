//! What the races over HTTP share: servers that say where they are, requests made beforehand, and answers taken apart.

pub mod cores;
pub mod process;
pub mod request;
pub mod response;
