//! Files to documents.
