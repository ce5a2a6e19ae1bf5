//! How much one connection, and all of them together, may take.

use std::time::Duration;

/// Bounds on the connections of a server on HTTP.
/// Over a limit, the peer is told why where that is still possible, and the connection closes.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// Connections open at once. When there are as many, the oldest that waits for a request makes room for a new one; if all
    /// are at work, the new one is answered with 503. There are never more than the process has file descriptors for, with a
    /// reserve for everything else ([`raise_open_file_limit`](crate::http::raise_open_file_limit)).
    pub connections: usize,
    /// Bytes of the head of a request: its first line and its headers.
    pub header_block: usize,
    /// Headers of a request.
    pub headers: usize,
    /// Bytes of the target of a request, the part between method and version.
    pub url: usize,
    /// Time until the head of a request is complete, from the first moment of a connection or, later on, from the first byte
    /// of the request.
    pub header_time: Duration,
    /// Time without a byte of a body that is waited for.
    pub body_idle: Duration,
    /// Bytes per second that a body has to bring while it is waited for; the first 10 s are free.
    pub body_rate: u64,
    /// Time without the peer taking a byte of what waits to be written.
    pub reader_stall: Duration,
    /// Time between an answer and the first byte of the next request.
    pub keep_alive: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            header_block: 64 * 1024,
            headers: 100,
            url: 8 * 1024,
            header_time: Duration::from_secs(10),
            body_idle: Duration::from_secs(30),
            body_rate: 1024,
            reader_stall: Duration::from_secs(60),
            keep_alive: Duration::from_secs(75),
        }
    }
}
