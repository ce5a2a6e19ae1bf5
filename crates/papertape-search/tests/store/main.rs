//! The embedded store on real files: what it finds, and what it does when files, disks and writers fail.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test, a panic is a finding; clippy knows test functions, but not their helpers"
)]

mod basics;
mod concurrency;
mod crash;
mod damage;
mod disk;
mod exact;
mod filters;
mod growth;
mod history;
mod phrases;
mod power_loss;
mod seal;
mod support;
mod tools;
