//! The first line of a request: a method, a target and a version, as strict as RFC 9112 allows.

use super::fault::{BARE_CR, BARE_LF, CONTROL, Fault, Stop};
use super::short::Short;
use super::token::{is_target, is_token};

/// The longest method; the longest registered one has 17 letters.
const METHOD: usize = 24;

#[derive(Debug)]
pub(super) struct RequestLine {
    at: At,
    method: Short<METHOD>,
    /// Bytes of the target so far, and the first of them, which decide its form.
    target: usize,
    start: Short<8>,
    /// Bytes of the version so far.
    version: usize,
}

#[derive(Debug, Clone, Copy)]
enum At {
    Method,
    Target,
    Version,
    Lf,
}

impl RequestLine {
    pub(super) fn new() -> Self {
        Self { at: At::Method, method: Short::new(), target: 0, start: Short::new(), version: 0 }
    }

    pub(super) fn reset(&mut self) {
        self.at = At::Method;
        self.method.clear();
        self.target = 0;
        self.start.clear();
        self.version = 0;
    }

    /// Scans bytes; returns how many belong to the line, and whether it is complete.
    pub(super) fn step(&mut self, bytes: &[u8], longest_url: usize) -> Result<(usize, bool), Stop> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let rest = bytes.get(at..).unwrap_or_default();
            match self.at {
                At::Method => at += self.method(rest).map_err(|stop| stop.fault.at(at + stop.at))?,
                At::Target => {
                    at += self.target(rest, longest_url).map_err(|stop| stop.fault.at(at + stop.at))?
                }
                At::Version => {
                    self.version(byte).map_err(|fault| fault.at(at))?;
                    at += 1;
                }
                At::Lf if byte == b'\n' => return Ok((at + 1, true)),
                At::Lf => return Err(BARE_CR.at(at)),
            }
        }
        Ok((at, false))
    }

    fn method(&mut self, rest: &[u8]) -> Result<usize, Stop> {
        let end = rest.iter().position(|byte| !is_token(*byte)).unwrap_or(rest.len());
        if end > self.method.room() {
            return Err(Fault::unknown("the method is too long").at(self.method.room()));
        }
        self.method.push(rest.get(..end).unwrap_or_default());
        match rest.get(end) {
            None => Ok(end),
            Some(b' ') if !self.method.is_empty() => {
                self.at = At::Target;
                Ok(end + 1)
            }
            Some(b'\n') => Err(BARE_LF.at(end)),
            Some(_) => Err(Fault::bad("a request begins with a method and one space").at(end)),
        }
    }

    fn target(&mut self, rest: &[u8], longest: usize) -> Result<usize, Stop> {
        let end = rest.iter().position(|byte| !is_target(*byte)).unwrap_or(rest.len());
        let room = longest.saturating_sub(self.target);
        if end > room {
            return Err(Fault::url("the target of the request is too long").at(room));
        }
        self.start.fill(rest.get(..end).unwrap_or_default());
        self.target += end;
        match rest.get(end) {
            None => Ok(end),
            Some(b' ') => {
                self.check_target().map_err(|fault| fault.at(end))?;
                self.at = At::Version;
                Ok(end + 1)
            }
            Some(b'\r') => Err(NO_VERSION.at(end)),
            Some(b'\n') => Err(BARE_LF.at(end)),
            Some(_) => {
                Err(Fault::bad("the target of the request has characters that need percent-encoding").at(end))
            }
        }
    }

    fn check_target(&self) -> Result<(), Fault> {
        let start = self.start.get().unwrap_or_default();
        let begins =
            |with: &[u8]| start.get(..with.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(with));
        let connects = self.method.get() == Some(b"CONNECT");
        let everything = self.target == 1 && start == b"*" && self.method.get() == Some(b"OPTIONS");
        if begins(b"/")
            || begins(b"http://")
            || begins(b"https://")
            || everything
            || (connects && self.target > 0)
        {
            Ok(())
        } else {
            Err(Fault::bad("the target of the request is neither a path nor a URL"))
        }
    }

    /// Checks one byte of the version, so that hyper sees no invalid one.
    fn version(&mut self, byte: u8) -> Result<(), Fault> {
        let wanted = VERSION.get(self.version).copied().unwrap_or(b'\r');
        if byte == wanted {
            self.version += 1;
            if byte == b'\r' {
                self.at = At::Lf;
            }
            return Ok(());
        }
        match byte {
            b'\n' => Err(BARE_LF),
            b'\r' if self.version == 0 => Err(NO_VERSION),
            _ if byte.is_ascii_control() => Err(CONTROL),
            _ if wanted.is_ascii_digit() && byte.is_ascii_digit() => Err(OTHER_VERSION),
            _ => Err(Fault::bad("the first line is not a method, a target and a version")),
        }
    }
}

const VERSION: &[u8] = b"HTTP/1.1";
const NO_VERSION: Fault = Fault::bad("the first line has no HTTP version");
const OTHER_VERSION: Fault = Fault::version("this server supports HTTP/1.1 only");
