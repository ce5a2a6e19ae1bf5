//! Bytes to text and back: what is not shown as text stands as hexadecimal between `⟦` and `⟧`.

use std::fmt::Write as _;

use crate::wire::shown;

const OPEN: char = '⟦';
const CLOSE: char = '⟧';

/// Appends bytes as text of one line.
pub(super) fn escape(out: &mut String, bytes: &[u8]) {
    let mut hidden: Vec<u8> = Vec::new();
    let mut utf8 = [0; 4];
    let last = bytes.len();
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        for (c, is_shown) in shown::characters(chunk.valid()) {
            at += c.len_utf8();
            // A space at the end of a line would not survive every editor.
            if is_shown && c != OPEN && !(c == ' ' && at == last) {
                flush_hidden(out, &mut hidden);
                out.push(c);
            } else {
                hidden.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
            }
        }
        at += chunk.invalid().len();
        hidden.extend_from_slice(chunk.invalid());
    }
    flush_hidden(out, &mut hidden);
}

fn flush_hidden(out: &mut String, hidden: &mut Vec<u8>) {
    if hidden.is_empty() {
        return;
    }
    out.push(OPEN);
    for (i, byte) in hidden.drain(..).enumerate() {
        let _ = write!(out, "{}{byte:02x}", if i == 0 { "" } else { " " });
    }
    out.push(CLOSE);
}

/// The bytes of such a text.
pub(super) fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        bytes.extend_from_slice(before.as_bytes());
        let (hex, after) = after.split_once(CLOSE).ok_or(format!("{OPEN} has no {CLOSE}"))?;
        for byte in hex.split(' ') {
            let wrong = || {
                format!("\"{byte}\" between {OPEN} and {CLOSE} is not a byte: write two hexadecimal digits")
            };
            if byte.len() != 2 || !byte.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(wrong());
            }
            bytes.push(u8::from_str_radix(byte, 16).map_err(|_| wrong())?);
        }
        rest = after;
    }
    bytes.extend_from_slice(rest.as_bytes());
    Ok(bytes)
}
