//! Connections: accepted, bounded, timed, and drained.
