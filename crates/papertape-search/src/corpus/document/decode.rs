//! A file's bytes to text, whatever they are.

use std::borrow::Cow;

/// How far a file is looked at for bytes that no text has.
const LOOK: usize = 8 * 1024;

/// The text and its warnings; empty if the bytes are not text.
///
/// No NUL is left in it: PostgreSQL keeps none.
pub(super) fn text(bytes: &[u8]) -> (Option<String>, Vec<String>) {
    let mut warnings = Vec::new();
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes, &mut warnings),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes, &mut warnings),
        _ if bytes.iter().take(LOOK).any(|byte| *byte == 0) => {
            return (
                None,
                vec!["left out: it is not text (there is a NUL byte near its beginning)".to_owned()],
            );
        }
        _ => utf8(bytes, &mut warnings),
    };
    if !text.contains('\0') {
        return (Some(text), warnings);
    }
    warnings.push("it has NUL characters, which were replaced".to_owned());
    (Some(text.replace('\0', "\u{fffd}")), warnings)
}

fn utf8(bytes: &[u8], warnings: &mut Vec<String>) -> String {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => text.to_owned(),
        Cow::Owned(text) => {
            warnings.push("it is not all UTF-8: invalid bytes were replaced; save it as UTF-8".to_owned());
            text
        }
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16, warnings: &mut Vec<String>) -> String {
    let units = bytes.chunks_exact(2).filter_map(|pair| Some(unit(<[u8; 2]>::try_from(pair).ok()?)));
    let mut invalid = bytes.len() % 2 == 1;
    let text = char::decode_utf16(units)
        .map(|unit| {
            unit.unwrap_or_else(|_| {
                invalid = true;
                char::REPLACEMENT_CHARACTER
            })
        })
        .collect();
    if invalid {
        warnings.push("it is not all UTF-16: invalid parts were replaced; save it as UTF-8".to_owned());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::text;

    #[track_caller]
    fn gives(bytes: &[u8], wanted: &str, warnings: usize) {
        let (read, reported) = text(bytes);
        assert_eq!(read.as_deref(), Some(wanted), "{bytes:?}");
        assert_eq!(reported.len(), warnings, "{bytes:?}: {reported:?}");
    }

    #[test]
    fn encodings_are_detected_by_their_byte_order_marks() {
        gives(b"", "", 0);
        gives("\u{feff}añ".as_bytes(), "añ", 0);
        gives(b"\xff\xfeh\0i\0", "hi", 0);
        gives(b"\xfe\xff\0h\0i", "hi", 0);
    }

    #[test]
    fn invalid_bytes_are_replaced_with_a_warning() {
        gives(b"a\xf1b", "a\u{fffd}b", 1);
        gives(b"\xff\xfeh\0\x00\xd8", "h\u{fffd}", 1);
        gives(b"\xff\xfeh\0i", "h", 1);
        gives(b"\xff\xfe\0\0", "\u{fffd}", 1);
        let late = [vec![b'a'; 10_000], vec![0]].concat();
        gives(&late, &format!("{}\u{fffd}", "a".repeat(10_000)), 1);
    }

    #[test]
    fn binary_files_are_left_out() {
        for bytes in [&b"\x7fELF\0\0"[..], b"\0", b"# Title\n\0"] {
            let (read, reported) = text(bytes);
            assert_eq!(read, None);
            assert_eq!(reported.len(), 1);
        }
    }
}
