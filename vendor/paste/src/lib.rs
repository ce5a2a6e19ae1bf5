//! `paste!`, as `pastey` has it: for dependencies that ask for the unmaintained crate `paste` (RUSTSEC-2024-0436).

pub use pastey::paste;
