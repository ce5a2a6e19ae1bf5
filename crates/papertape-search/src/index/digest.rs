//! The digest of a file: of its bytes, of the rules by which it was indexed, and whether it had warnings.

/// The rules by which files become chunks and terms. One more whenever a file would now be cut, stemmed or weighed
/// differently: whatever was indexed by other rules is then read again, as if it had changed.
const RULES: u8 = 4;

/// Stands beside the rules for a file that there is a warning about.
const WARNINGS: u8 = 0x80;

/// In the first byte, the rules and whether there were warnings; then BLAKE3 of the bytes, without its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Digest(pub(super) [u8; 32]);

impl Digest {
    /// Of the bytes of a file without warnings.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes()).under(RULES)
    }

    /// The same bytes, and there is a warning about them.
    pub(super) fn with_warnings(self) -> Self {
        self.under(RULES | WARNINGS)
    }

    /// There is a warning about the file.
    pub(super) fn has_warnings(self) -> bool {
        self.mark() & WARNINGS != 0
    }

    /// The file was read by the rules of today.
    pub(super) fn is_current(self) -> bool {
        self.mark() & !WARNINGS == RULES
    }

    /// Whether both are of the same bytes and the same rules, with warnings or without.
    pub(super) fn is_as(self, other: Self) -> bool {
        self.under(self.mark() & !WARNINGS) == other.under(other.mark() & !WARNINGS)
    }

    fn mark(self) -> u8 {
        let [mark, ..] = self.0;
        mark
    }

    fn under(mut self, mark: u8) -> Self {
        let [first, ..] = &mut self.0;
        *first = mark;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{Digest, RULES};

    #[test]
    fn warnings_do_not_change_the_digest_of_the_bytes() {
        let plain = Digest::of(b"a");
        let warned = plain.with_warnings();
        assert!(warned != plain && warned.is_as(plain) && plain.is_as(warned));
        assert_eq!((plain.has_warnings(), warned.has_warnings()), (false, true));
        assert!(plain.is_current() && warned.is_current());
        assert!(!warned.is_as(Digest::of(b"b").with_warnings()));
    }

    #[test]
    fn other_rules_are_other_digests() {
        let old = Digest::of(b"a").under(RULES + 1);
        assert!(!old.is_current() && !old.is_as(Digest::of(b"a")));
    }
}
