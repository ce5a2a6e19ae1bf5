//! Bytes to text and back: what is not shown as text stands as hexadecimal between `⟦` and `⟧`.

use crate::wire::shown;

const OPEN: char = '⟦';
const CLOSE: char = '⟧';

/// Printable ASCII is looked for in steps of this many bytes, which the compiler turns into vector instructions.
const STEP: usize = 32;

/// Appends bytes as text of one line.
pub(super) fn escape(out: &mut String, bytes: &[u8]) {
    out.reserve(bytes.len());
    // A space at the end of a line would not survive every editor.
    let (mut rest, last) = match bytes {
        [before @ .., b' '] => (before, &b" "[..]),
        _ => (bytes, &b""[..]),
    };
    let mut hidden = Hidden::default();
    while !rest.is_empty() {
        let printable = printable_length(rest);
        // What a character is shown as depends on its neighbours, if they are not ASCII.
        let plain = if printable == rest.len() { printable } else { printable.saturating_sub(1) };
        let (run, after) = rest.split_at_checked(plain).unwrap_or((rest, &[]));
        if let Ok(text) = std::str::from_utf8(run)
            && !text.is_empty()
        {
            hidden.end(out);
            out.push_str(text);
        }
        let (run, after) = after.split_at_checked(unprintable_length(after)).unwrap_or((after, &[]));
        escape_characters(out, &mut hidden, run);
        rest = after;
    }
    last.iter().for_each(|&byte| hidden.push(out, byte));
    hidden.end(out);
}

/// The same for a run of any characters, one by one.
fn escape_characters(out: &mut String, hidden: &mut Hidden, bytes: &[u8]) {
    let mut utf8 = [0; 4];
    for chunk in bytes.utf8_chunks() {
        for (c, is_shown) in shown::characters(chunk.valid()) {
            if is_shown && c != OPEN {
                hidden.end(out);
                out.push(c);
            } else {
                c.encode_utf8(&mut utf8).bytes().for_each(|byte| hidden.push(out, byte));
            }
        }
        chunk.invalid().iter().for_each(|&byte| hidden.push(out, byte));
    }
}

fn is_printable(byte: &u8) -> bool {
    matches!(byte, b' '..=b'~')
}

/// How many bytes of printable ASCII come first.
fn printable_length(bytes: &[u8]) -> usize {
    let steps = bytes.chunks_exact(STEP);
    // Without a branch per byte.
    let all_printable = |step: &&[u8]| step.iter().fold(true, |all, byte| all & is_printable(byte));
    let whole = steps.take_while(all_printable).count() * STEP;
    let rest = bytes.get(whole..).unwrap_or_default();
    whole + rest.iter().take_while(|byte| is_printable(byte)).count()
}

/// How many bytes come before the next run of printable ASCII: two of them, where the second follows ASCII too.
fn unprintable_length(bytes: &[u8]) -> usize {
    let is_run = |two: &[u8]| two.iter().all(is_printable);
    // The first byte is the neighbour of what follows.
    let skipped = usize::from(bytes.first().is_some_and(is_printable));
    let rest = bytes.get(skipped..).unwrap_or_default();
    rest.windows(2).position(is_run).map_or(bytes.len(), |at| skipped + at)
}

/// The brackets around hidden bytes.
#[derive(Default)]
struct Hidden {
    open: bool,
}

impl Hidden {
    fn push(&mut self, out: &mut String, byte: u8) {
        const DIGITS: [char; 16] =
            ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
        let digit = |four: u8| DIGITS.get(usize::from(four)).copied().unwrap_or_default();
        out.push(if self.open { ' ' } else { OPEN });
        out.push(digit(byte >> 4));
        out.push(digit(byte & 15));
        self.open = true;
    }

    fn end(&mut self, out: &mut String) {
        if self.open {
            out.push(CLOSE);
            self.open = false;
        }
    }
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
