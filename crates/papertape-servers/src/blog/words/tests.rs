//! Chunks and questions meet.
