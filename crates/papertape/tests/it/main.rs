//! The integration tests of the library, in one binary.

mod fixture;
mod peer;
mod tapes;
