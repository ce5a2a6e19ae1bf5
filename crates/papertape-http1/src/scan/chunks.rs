//! Chunked bodies.

use super::fault::{BARE_CR, BARE_LF, CONTROL, Fault, Stop};

/// Bytes of chunk extensions in one body. Clients do not use them, and hyper ignores them.
const EXTENSIONS: usize = 1024;
/// Digits of the size of a chunk, leading zeros included.
const DIGITS: u8 = 15;

#[derive(Debug)]
pub(super) struct Chunks {
    at: At,
    digits: u8,
    size: u64,
    extensions: usize,
}

#[derive(Debug, Clone, Copy)]
enum At {
    Size,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
}

impl Chunks {
    pub(super) fn new() -> Self {
        Self { at: At::Size, digits: 0, size: 0, extensions: 0 }
    }

    /// Scans bytes; returns how many belong to the chunks, and whether the last chunk is complete. Trailers follow it.
    pub(super) fn step(&mut self, bytes: &[u8]) -> Result<(usize, bool), Stop> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.at {
                At::Data => {
                    let left = u64::try_from(bytes.len() - at).unwrap_or(u64::MAX);
                    let some = self.size.min(left);
                    self.size -= some;
                    at += usize::try_from(some).unwrap_or(0);
                    if self.size == 0 {
                        self.at = At::DataCr;
                    }
                    continue;
                }
                At::Size => self.size(byte).map_err(|fault| fault.at(at))?,
                At::Extension => self.extension(byte).map_err(|fault| fault.at(at))?,
                At::SizeLf if byte == b'\n' && self.size == 0 => return Ok((at + 1, true)),
                At::SizeLf if byte == b'\n' => self.at = At::Data,
                At::DataCr if byte == b'\r' => self.at = At::DataLf,
                At::DataLf if byte == b'\n' => {
                    self.at = At::Size;
                    self.digits = 0;
                }
                At::DataCr => return Err(Fault::bad("a chunk is longer than its size says").at(at)),
                At::SizeLf | At::DataLf => return Err(BARE_CR.at(at)),
            }
            at += 1;
        }
        Ok((at, false))
    }

    fn size(&mut self, byte: u8) -> Result<(), Fault> {
        match (char::from(byte).to_digit(16), byte) {
            (Some(_), _) if self.digits >= DIGITS => {
                return Err(Fault::bad("the size of a chunk is too large"));
            }
            (Some(digit), _) => {
                self.size = (self.size << 4) | u64::from(digit);
                self.digits += 1;
            }
            (None, b'\r') if self.digits > 0 => self.at = At::SizeLf,
            (None, b';') if self.digits > 0 => self.at = At::Extension,
            (None, b'\n') => return Err(BARE_LF),
            (None, _) => return Err(Fault::bad("the size of a chunk is not a hexadecimal number")),
        }
        Ok(())
    }

    fn extension(&mut self, byte: u8) -> Result<(), Fault> {
        self.extensions += 1;
        match byte {
            b'\r' => self.at = At::SizeLf,
            b'\n' => return Err(BARE_LF),
            _ if byte.is_ascii_control() && byte != b'\t' => return Err(CONTROL),
            _ if self.extensions > EXTENSIONS => {
                return Err(Fault::bad("the extensions of the chunks are too long"));
            }
            _ => {}
        }
        Ok(())
    }
}
