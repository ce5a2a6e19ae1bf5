//! The head of a request: its first line and its header fields, as strict as RFC 9112 allows. Trailers are fields too.

use std::net::Ipv6Addr;

use memchr::memchr2;

use super::fault::{BARE_CR, BARE_LF, CONTROL, Fault, Stop};

/// The longest method; the longest registered one has 17 letters.
const METHOD: usize = 24;

const VERSION: &[u8] = b"HTTP/1.1";
const NO_VERSION: Fault = Fault::bad("the first line has no HTTP version");
const OTHER_VERSION: Fault = Fault::version("this server supports HTTP/1.1 only");

/// The first line of a request: a method, a target and a version.
#[derive(Debug)]
pub(super) struct RequestLine {
    at: LineAt,
    method: Short<METHOD>,
    /// Bytes of the target so far, and the first of them, which decide its form.
    target: usize,
    start: Short<8>,
    /// Bytes of the version so far.
    version: usize,
}

#[derive(Debug, Clone, Copy)]
enum LineAt {
    Method,
    Target,
    Version,
    Lf,
}

impl RequestLine {
    pub(super) fn new() -> Self {
        Self { at: LineAt::Method, method: Short::new(), target: 0, start: Short::new(), version: 0 }
    }

    pub(super) fn reset(&mut self) {
        self.at = LineAt::Method;
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
                LineAt::Method => at += self.method(rest).map_err(|stop| stop.fault.at(at + stop.at))?,
                LineAt::Target => {
                    at += self.target(rest, longest_url).map_err(|stop| stop.fault.at(at + stop.at))?
                }
                LineAt::Version => {
                    self.version(byte).map_err(|fault| fault.at(at))?;
                    at += 1;
                }
                LineAt::Lf if byte == b'\n' => return Ok((at + 1, true)),
                LineAt::Lf => return Err(BARE_CR.at(at)),
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
                self.at = LineAt::Target;
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
                self.at = LineAt::Version;
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
                self.at = LineAt::Lf;
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

/// The longest value of a header that is parsed: a host name has at most 253 characters.
const KEPT: usize = 512;
const TWO_FRAMINGS: Fault = Fault::bad("both Content-Length and Transfer-Encoding");

/// The header fields of a request, or the trailers of its body: host and framing.
#[derive(Debug)]
pub(super) struct Fields {
    at: FieldAt,
    /// Whether these are the trailers of a chunked body.
    trailers: bool,
    count: usize,
    name: Short<17>,
    kind: FieldKind,
    value: Vec<u8>,
    host: bool,
    length: Option<u64>,
    chunked: bool,
}

#[derive(Debug, Clone, Copy)]
enum FieldAt {
    LineStart,
    Name,
    Value,
    LineLf,
    EndLf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldKind {
    Other,
    Host,
    Length,
    Coding,
}

/// The framing of a request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    None,
    Length(u64),
    Chunked,
}

impl Fields {
    pub(super) fn new() -> Self {
        Self {
            at: FieldAt::LineStart,
            trailers: false,
            count: 0,
            name: Short::new(),
            kind: FieldKind::Other,
            value: Vec::new(),
            host: false,
            length: None,
            chunked: false,
        }
    }

    pub(super) fn reset(&mut self, trailers: bool) {
        self.at = FieldAt::LineStart;
        self.trailers = trailers;
        self.count = 0;
        self.host = false;
        self.length = None;
        self.chunked = false;
    }

    /// Scans bytes; returns how many belong to the fields, and whether the empty line after them is complete.
    pub(super) fn step(&mut self, bytes: &[u8], most: usize) -> Result<(usize, bool), Stop> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.at {
                FieldAt::LineStart => {
                    if byte == b'\r' {
                        self.at = FieldAt::EndLf;
                        at += 1;
                    } else {
                        self.begin(byte, most).map_err(|fault| fault.at(at))?;
                    }
                }
                FieldAt::Name => {
                    at += self
                        .name(bytes.get(at..).unwrap_or_default())
                        .map_err(|stop| stop.fault.at(at + stop.at))?
                }
                FieldAt::Value => {
                    at += self
                        .value(bytes.get(at..).unwrap_or_default())
                        .map_err(|stop| stop.fault.at(at + stop.at))?
                }
                FieldAt::LineLf if byte == b'\n' => {
                    self.check_value().map_err(|fault| fault.at(at))?;
                    self.at = FieldAt::LineStart;
                    at += 1;
                }
                FieldAt::EndLf if byte == b'\n' => {
                    self.complete().map_err(|fault| fault.at(at))?;
                    return Ok((at + 1, true));
                }
                FieldAt::LineLf | FieldAt::EndLf => return Err(BARE_CR.at(at)),
            }
        }
        Ok((at, false))
    }

    /// The framing, once the headers are complete.
    pub(super) fn framing(&self) -> Framing {
        match self.length {
            _ if self.chunked => Framing::Chunked,
            Some(0) | None => Framing::None,
            Some(length) => Framing::Length(length),
        }
    }

    fn begin(&mut self, byte: u8, most: usize) -> Result<(), Fault> {
        match byte {
            b' ' | b'\t' => return Err(Fault::bad("a header line begins with white space")),
            b'\n' => return Err(BARE_LF),
            _ if self.count >= most => return Err(Fault::headers("too many headers")),
            _ => {}
        }
        self.count += 1;
        self.name.clear();
        self.value.clear();
        self.at = FieldAt::Name;
        Ok(())
    }

    fn name(&mut self, rest: &[u8]) -> Result<usize, Stop> {
        let end = rest.iter().position(|byte| !is_token(*byte)).unwrap_or(rest.len());
        self.name.push(rest.get(..end).unwrap_or_default());
        match rest.get(end) {
            None => Ok(end),
            Some(b':') if !self.name.is_empty() => {
                self.kind = kind(&self.name);
                self.check_name().map_err(|fault| fault.at(end))?;
                self.at = FieldAt::Value;
                Ok(end + 1)
            }
            Some(b' ' | b'\t') => Err(Fault::bad("white space in the name of a header").at(end)),
            Some(b'\n') => Err(BARE_LF.at(end)),
            Some(_) => Err(Fault::bad("a header line is not a name, a colon and a value").at(end)),
        }
    }

    fn check_name(&self) -> Result<(), Fault> {
        match self.kind {
            FieldKind::Other => Ok(()),
            _ if self.trailers => Err(Fault::bad("a trailer cannot name the host or frame a body")),
            FieldKind::Host if self.host => Err(Fault::bad("more than one Host header")),
            FieldKind::Length if self.length.is_some() => {
                Err(Fault::bad("more than one Content-Length header"))
            }
            FieldKind::Length if self.chunked => Err(TWO_FRAMINGS),
            FieldKind::Coding if self.chunked => Err(Fault::bad("more than one Transfer-Encoding header")),
            FieldKind::Coding if self.length.is_some() => Err(TWO_FRAMINGS),
            FieldKind::Host | FieldKind::Length | FieldKind::Coding => Ok(()),
        }
    }

    fn value(&mut self, rest: &[u8]) -> Result<usize, Stop> {
        let end = memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
        let run = rest.get(..end).unwrap_or_default();
        if let Some(bad) = first_control(run) {
            return Err(CONTROL.at(bad));
        }
        if self.kind != FieldKind::Other {
            // One byte over the limit is enough to detect it.
            let room = (KEPT + 1).saturating_sub(self.value.len());
            self.value.extend_from_slice(run.get(..room.min(end)).unwrap_or_default());
        }
        match rest.get(end) {
            None => Ok(end),
            Some(b'\r') => {
                self.at = FieldAt::LineLf;
                Ok(end + 1)
            }
            Some(_) => Err(BARE_LF.at(end)),
        }
    }

    /// Checks a complete field.
    fn check_value(&mut self) -> Result<(), Fault> {
        if self.value.len() > KEPT {
            return Err(Fault::bad("the value of Host, Content-Length or Transfer-Encoding is too long"));
        }
        match self.kind {
            FieldKind::Other => {}
            FieldKind::Host => {
                check_host(&self.value)?;
                self.host = true;
            }
            FieldKind::Length => self.length = Some(content_length(&self.value)?),
            FieldKind::Coding => {
                check_coding(&self.value)?;
                self.chunked = true;
            }
        }
        Ok(())
    }

    fn complete(&self) -> Result<(), Fault> {
        if self.host || self.trailers { Ok(()) } else { Err(Fault::bad("no Host header")) }
    }
}

fn kind(name: &Short<17>) -> FieldKind {
    match name.get() {
        Some(name) if name.eq_ignore_ascii_case(b"host") => FieldKind::Host,
        Some(name) if name.eq_ignore_ascii_case(b"content-length") => FieldKind::Length,
        Some(name) if name.eq_ignore_ascii_case(b"transfer-encoding") => FieldKind::Coding,
        _ => FieldKind::Other,
    }
}

/// `Content-Length`, parsed so strictly that no other parser reads it differently, as `Transfer-Encoding` is: at most one space may
/// follow the colon, because other white space is a sign of request smuggling.
fn content_length(value: &[u8]) -> Result<u64, Fault> {
    let digits = value.strip_prefix(b" ").unwrap_or(value);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Fault::bad("the Content-Length is not a number"));
    }
    digits
        .iter()
        .try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
        .filter(|length| i64::try_from(*length).is_ok())
        .ok_or(Fault::bad("the Content-Length is too large"))
}

/// `Transfer-Encoding`, of which only `chunked` is supported.
fn check_coding(value: &[u8]) -> Result<(), Fault> {
    let coding = value.strip_prefix(b" ").unwrap_or(value);
    if coding.eq_ignore_ascii_case(b"chunked") {
        return Ok(());
    }
    let mut codings = coding.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).rev();
    let last = codings.next().unwrap_or_default();
    if last.eq_ignore_ascii_case(b"chunked") && codings.next().is_some() {
        return Err(Fault::unknown("the only supported Transfer-Encoding is chunked"));
    }
    Err(Fault::bad("the Transfer-Encoding is not chunked"))
}

/// Checks the syntax of the `Host` header; which hosts are served is decided by the handler.
fn check_host(value: &[u8]) -> Result<(), Fault> {
    let value = value.trim_ascii();
    if value.is_empty() {
        return Err(Fault::bad("the Host header is empty"));
    }
    let good = match value.strip_prefix(b"[") {
        Some(literal) => is_literal(literal),
        None => is_name(value),
    };
    if good { Ok(()) } else { Err(Fault::bad("the Host header is not a host and a port")) }
}

/// An IPv6 literal after its opening bracket, such as `::1]:80`.
fn is_literal(value: &[u8]) -> bool {
    let mut parts = value.splitn(2, |byte| *byte == b']');
    let address = parts.next().and_then(|address| str::from_utf8(address).ok());
    let port = parts.next();
    address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok())
        && port.is_some_and(|port| port.is_empty() || port.strip_prefix(b":").is_some_and(is_port))
}

fn is_name(value: &[u8]) -> bool {
    let mut parts = value.splitn(2, |byte| *byte == b':');
    let name = parts.next().unwrap_or_default();
    // Without the comma of RFC 3986, which joins repeated headers.
    let good = |byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'-' | b'.'
                    | b'_'
                    | b'~'
                    | b'%'
                    | b'!'
                    | b'$'
                    | b'&'
                    | b'\''
                    | b'('
                    | b')'
                    | b'*'
                    | b'+'
                    | b';'
                    | b'='
            )
    };
    !name.is_empty() && name.iter().all(good) && parts.next().is_none_or(is_port)
}

/// A port may be empty (RFC 3986).
fn is_port(port: &[u8]) -> bool {
    port.is_empty()
        || (port.len() <= 5
            && port.iter().all(u8::is_ascii_digit)
            && str::from_utf8(port).is_ok_and(|port| port.parse::<u16>().is_ok()))
}

/// Up to `N` bytes kept across reads without allocation, or the fact that there were more.
#[derive(Debug, Clone, Copy)]
struct Short<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Short<N> {
    const fn new() -> Self {
        Self { bytes: [0; N], len: 0 }
    }

    fn clear(&mut self) {
        self.len = 0;
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many more bytes there is room for.
    fn room(&self) -> usize {
        N.saturating_sub(self.len)
    }

    fn push(&mut self, more: &[u8]) {
        let end = self.len.saturating_add(more.len());
        if let Some(place) = self.bytes.get_mut(self.len..end) {
            place.copy_from_slice(more);
            self.len = end;
        } else {
            self.len = N + 1;
        }
    }

    /// Appends as many of the bytes as there is room for.
    fn fill(&mut self, more: &[u8]) {
        self.push(more.get(..self.room().min(more.len())).unwrap_or_default());
    }

    /// All bytes, if there was room for them.
    fn get(&self) -> Option<&[u8]> {
        self.bytes.get(..self.len)
    }
}

/// Whether a byte is allowed in a method or in the name of a header.
const fn is_token(byte: u8) -> bool {
    matches!(byte,
        b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
        | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z')
}

/// Whether a byte is allowed in a request target. Some characters that need percent-encoding are accepted because nothing
/// depends on them; a fragment is not, because hyper would drop it.
const fn is_target(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'#' | b'<' | b'>' | b'`')
}

/// The position of the first byte that is not allowed in the value of a header.
fn first_control(run: &[u8]) -> Option<usize> {
    // Without an early return the loop is vectorised; faults are rare and may cost more.
    let any = run.iter().fold(false, |any, byte| any | is_control(*byte));
    if any { run.iter().position(|byte| is_control(*byte)) } else { None }
}

const fn is_control(byte: u8) -> bool {
    ((byte < 0x20) & (byte != b'\t')) | (byte == 0x7f)
}
