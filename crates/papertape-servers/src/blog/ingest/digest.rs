//! The bytes of a file to what they are known by, and by which rules they were read.

/// The rules by which files become chunks and words. One more whenever a file would now be cut, stemmed or weighed
/// differently: whatever was indexed by other rules is then read anew, as if it had changed.
const RULES: u8 = 1;

/// What a file is known by: the rules, then BLAKE3 of its bytes but for the first byte.
pub(super) fn digest(bytes: &[u8]) -> [u8; 32] {
    let mut digest = *blake3::hash(bytes).as_bytes();
    let [first, ..] = &mut digest;
    *first = RULES;
    digest
}

/// The file was read by the rules of today.
pub(super) fn is_of_today(digest: &[u8; 32]) -> bool {
    digest.first() == Some(&RULES)
}
