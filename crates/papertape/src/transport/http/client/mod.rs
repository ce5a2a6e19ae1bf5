//! A client on HTTP: frames out as requests, frames in from responses.
