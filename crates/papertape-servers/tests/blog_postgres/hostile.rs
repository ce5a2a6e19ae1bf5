//! Servers that lie.
