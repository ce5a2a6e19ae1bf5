//! Our values to what PostgreSQL can keep, and back.

use std::borrow::Cow;

/// The longest word that goes into an index as it is, in bytes.
const LONGEST_WORD: usize = 256;

/// A text that PostgreSQL takes: it knows no NUL.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// The same for lists.
pub(super) fn clean_all(texts: &[String]) -> Vec<Cow<'_, str>> {
    texts.iter().map(|text| clean(text)).collect()
}

/// A word as it stands in the index, which has no room for very long ones.
pub(super) fn word(term: &str) -> Cow<'_, str> {
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
    use super::{clean, word};

    #[test]
    fn what_postgres_cannot_keep_is_replaced() {
        assert_eq!(clean("a\0b"), "a\u{fffd}b");
        assert_eq!(clean("plain"), "plain");
        assert_eq!(word(&"x".repeat(256)), "x".repeat(256));
        assert_eq!(word(&"x".repeat(100_000)).len(), 69);
        assert_ne!(word(&"x".repeat(300)), word(&"x".repeat(301)));
    }
}
