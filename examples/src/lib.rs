//! The programs are in `examples/`, one file each; see the README.
