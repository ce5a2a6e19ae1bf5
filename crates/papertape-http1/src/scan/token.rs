//! Classes of bytes.

/// Whether a byte is allowed in a method or in the name of a header.
pub(super) const fn is_token(byte: u8) -> bool {
    matches!(byte,
        b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
        | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z')
}

/// Whether a byte is allowed in a request target. Some characters that need percent-encoding are accepted because nothing
/// depends on them; a fragment is not, because hyper would drop it.
pub(super) const fn is_target(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'#' | b'<' | b'>' | b'`')
}

/// The position of the first byte that is not allowed in the value of a header.
pub(super) fn first_control(run: &[u8]) -> Option<usize> {
    // Without an early return the loop is vectorised; faults are rare and may cost more.
    let any = run.iter().fold(false, |any, byte| any | is_control(*byte));
    if any { run.iter().position(|byte| is_control(*byte)) } else { None }
}

const fn is_control(byte: u8) -> bool {
    ((byte < 0x20) & (byte != b'\t')) | (byte == 0x7f)
}
