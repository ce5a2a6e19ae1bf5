//! Faults of requests, and their status codes.

/// Why a request is rejected: the error response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Fault {
    /// Status code and reason phrase.
    pub(in super::super) status: &'static str,
    pub(in super::super) why: &'static str,
}

/// A fault, and how many bytes before it are valid.
#[derive(Debug)]
pub(super) struct Stop {
    pub(super) at: usize,
    pub(super) fault: Fault,
}

impl Fault {
    pub(super) fn at(self, at: usize) -> Stop {
        Stop { at, fault: self }
    }

    pub(in super::super) const fn bad(why: &'static str) -> Self {
        Self { status: "400 Bad Request", why }
    }

    pub(in super::super) const fn late(why: &'static str) -> Self {
        Self { status: "408 Request Timeout", why }
    }

    pub(super) const fn url(why: &'static str) -> Self {
        Self { status: "414 URI Too Long", why }
    }

    pub(super) const fn headers(why: &'static str) -> Self {
        Self { status: "431 Request Header Fields Too Large", why }
    }

    pub(super) const fn unknown(why: &'static str) -> Self {
        Self { status: "501 Not Implemented", why }
    }

    pub(in super::super) const fn overloaded(why: &'static str) -> Self {
        Self { status: "503 Service Unavailable", why }
    }

    pub(super) const fn version(why: &'static str) -> Self {
        Self { status: "505 HTTP Version Not Supported", why }
    }
}

pub(super) const BARE_LF: Fault = Fault::bad("a line ends with LF alone; lines end with CR LF");
pub(super) const BARE_CR: Fault = Fault::bad("a CR without an LF after it");
pub(super) const CONTROL: Fault = Fault::bad("a control character in the head of the request");
