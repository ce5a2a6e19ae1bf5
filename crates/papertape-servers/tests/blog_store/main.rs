//! The embedded store on real files: what it finds, and what it does when files, disks and writers fail.

mod basics;
mod support;
