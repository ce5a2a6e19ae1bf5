//! Values to what PostgreSQL can store, and back.

use std::borrow::Cow;

/// The longest term that is stored as it is, in bytes.
const LONGEST_WORD: usize = 256;

/// A text without NUL, which PostgreSQL does not accept.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// The same for lists.
pub(super) fn clean_all(texts: &[String]) -> Vec<Cow<'_, str>> {
    texts.iter().map(|text| clean(text)).collect()
}

/// A term as it is stored: long ones are replaced with a digest, because index rows are bounded.
pub(super) fn stored_term(term: &str) -> Cow<'_, str> {
    if term.len() > LONGEST_WORD {
        return Cow::Owned(format!("long {}", blake3::hash(term.as_bytes()).to_hex()));
    }
    clean(term)
}

/// The number of a file.
pub(super) fn file_number(path: &str) -> i64 {
    let hash = blake3::hash(path.as_bytes());
    hash.as_bytes().first_chunk().map_or(0, |bytes| i64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::{clean, stored_term};

    #[test]
    fn what_postgres_cannot_keep_is_replaced() {
        assert_eq!(clean("a\0b"), "a\u{fffd}b");
        assert_eq!(clean("plain"), "plain");
        assert_eq!(stored_term(&"x".repeat(256)), "x".repeat(256));
        assert_eq!(stored_term(&"x".repeat(100_000)).len(), 69);
        assert_ne!(stored_term(&"x".repeat(300)), stored_term(&"x".repeat(301)));
    }
}
