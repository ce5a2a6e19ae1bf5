//! Limits on connections.

use std::time::Duration;

/// Limits on the connections of a server. Over a limit, the peer gets an error response if that is still possible, and the
/// connection closes.
///
/// ```
/// use papertape_http1::ConnectionLimits;
/// let limits = ConnectionLimits::new().connections(1_000).headers(50);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
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

impl ConnectionLimits {
    /// The defaults: 10,000 connections, heads of 64 KiB in 10 s, bodies of at least 1 KiB/s.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`connections`](Self#structfield.connections).
    #[must_use]
    pub fn connections(mut self, limit: usize) -> Self {
        self.connections = limit;
        self
    }

    /// Sets [`header_block`](Self#structfield.header_block).
    #[must_use]
    pub fn header_block(mut self, limit: usize) -> Self {
        self.header_block = limit;
        self
    }

    /// Sets [`headers`](Self#structfield.headers).
    #[must_use]
    pub fn headers(mut self, limit: usize) -> Self {
        self.headers = limit;
        self
    }

    /// Sets [`url`](Self#structfield.url).
    #[must_use]
    pub fn url(mut self, limit: usize) -> Self {
        self.url = limit;
        self
    }

    /// Sets [`header_time`](Self#structfield.header_time).
    #[must_use]
    pub fn header_time(mut self, limit: Duration) -> Self {
        self.header_time = limit;
        self
    }

    /// Sets [`body_idle`](Self#structfield.body_idle).
    #[must_use]
    pub fn body_idle(mut self, limit: Duration) -> Self {
        self.body_idle = limit;
        self
    }

    /// Sets [`body_rate`](Self#structfield.body_rate).
    #[must_use]
    pub fn body_rate(mut self, limit: u64) -> Self {
        self.body_rate = limit;
        self
    }

    /// Sets [`reader_stall`](Self#structfield.reader_stall).
    #[must_use]
    pub fn reader_stall(mut self, limit: Duration) -> Self {
        self.reader_stall = limit;
        self
    }

    /// Sets [`keep_alive`](Self#structfield.keep_alive).
    #[must_use]
    pub fn keep_alive(mut self, limit: Duration) -> Self {
        self.keep_alive = limit;
        self
    }
}
