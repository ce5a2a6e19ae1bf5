//! Header fields and trailers: host and framing.

use memchr::memchr2;

use super::fault::{BARE_CR, BARE_LF, CONTROL, Fault, Stop};
use super::short::Short;
use super::token::{first_control, is_token};
use super::{framing, host};

/// The longest value of a header that is parsed: a host name has at most 253 characters.
const KEPT: usize = 512;

#[derive(Debug)]
pub(super) struct Fields {
    at: At,
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
enum At {
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
            at: At::LineStart,
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
        self.at = At::LineStart;
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
                At::LineStart => {
                    if byte == b'\r' {
                        self.at = At::EndLf;
                        at += 1;
                    } else {
                        self.begin(byte, most).map_err(|fault| fault.at(at))?;
                    }
                }
                At::Name => {
                    at += self
                        .name(bytes.get(at..).unwrap_or_default())
                        .map_err(|stop| stop.fault.at(at + stop.at))?
                }
                At::Value => {
                    at += self
                        .value(bytes.get(at..).unwrap_or_default())
                        .map_err(|stop| stop.fault.at(at + stop.at))?
                }
                At::LineLf if byte == b'\n' => {
                    self.check_value().map_err(|fault| fault.at(at))?;
                    self.at = At::LineStart;
                    at += 1;
                }
                At::EndLf if byte == b'\n' => {
                    self.complete().map_err(|fault| fault.at(at))?;
                    return Ok((at + 1, true));
                }
                At::LineLf | At::EndLf => return Err(BARE_CR.at(at)),
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
        self.at = At::Name;
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
                self.at = At::Value;
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
                self.at = At::LineLf;
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
                host::check(&self.value)?;
                self.host = true;
            }
            FieldKind::Length => self.length = Some(framing::length(&self.value)?),
            FieldKind::Coding => {
                framing::coding(&self.value)?;
                self.chunked = true;
            }
        }
        Ok(())
    }

    fn complete(&self) -> Result<(), Fault> {
        if self.host || self.trailers { Ok(()) } else { Err(Fault::bad("no Host header")) }
    }
}

const TWO_FRAMINGS: Fault = Fault::bad("both Content-Length and Transfer-Encoding");

fn kind(name: &Short<17>) -> FieldKind {
    match name.get() {
        Some(name) if name.eq_ignore_ascii_case(b"host") => FieldKind::Host,
        Some(name) if name.eq_ignore_ascii_case(b"content-length") => FieldKind::Length,
        Some(name) if name.eq_ignore_ascii_case(b"transfer-encoding") => FieldKind::Coding,
        _ => FieldKind::Other,
    }
}
