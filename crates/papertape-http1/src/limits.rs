//! Limits on connections.

use std::time::Duration;

/// Limits on the connections of a server. Over a limit, the peer gets an error response if that is still possible, and the
/// connection closes.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// Open connections. At the limit, the connection that has been idle longest is closed for a new one; if none is idle, the
    /// new one gets a 503. There are never more than the process has file descriptors for, less a reserve ([`raise_open_file_limit`](crate::raise_open_file_limit)).
    pub connections: usize,
    /// Bytes of the request line and the headers.
    pub header_block: usize,
    /// Number of headers.
    pub headers: usize,
    /// Bytes of the request target.
    pub url: usize,
    /// Time until the head of a request is complete, from the start of the connection or, for later requests, from the first byte.
    pub header_time: Duration,
    /// Time without a byte of a body that the handler reads.
    pub body_idle: Duration,
    /// Bytes per second of a body that the handler reads, after the first 10 s.
    pub body_rate: u64,
    /// Time in which the peer reads no byte of a response.
    pub reader_stall: Duration,
    /// Time between a response and the first byte of the next request.
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
