//! The bytes of a file to what they are known by, by which rules they were read, and whether they are odd.

/// The rules by which files become chunks and words. One more whenever a file would now be cut, stemmed or weighed
/// differently: whatever was indexed by other rules is then read anew, as if it had changed.
const RULES: u8 = 2;

/// Stands beside the rules for a file that there is a warning about.
const ODD: u8 = 0x80;

/// What a file is known by: the rules and whether it is odd, then BLAKE3 of its bytes but for the first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Digest(pub(super) [u8; 32]);

impl Digest {
    /// Of bytes that nothing odd is known of.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes()).under(RULES)
    }

    /// The same bytes, and there is a warning about them.
    pub(super) fn odd(self) -> Self {
        self.under(RULES | ODD)
    }

    /// There is a warning about the file.
    pub(super) fn is_odd(self) -> bool {
        self.mark() & ODD != 0
    }

    /// The file was read by the rules of today.
    pub(super) fn is_of_today(self) -> bool {
        self.mark() & !ODD == RULES
    }

    /// They are of the same bytes and the same rules, odd or not.
    pub(super) fn is_as(self, other: Self) -> bool {
        self.under(self.mark() & !ODD) == other.under(other.mark() & !ODD)
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
    fn what_is_odd_is_still_the_same_bytes() {
        let plain = Digest::of(b"a");
        let odd = plain.odd();
        assert!(odd != plain && odd.is_as(plain) && plain.is_as(odd));
        assert_eq!((plain.is_odd(), odd.is_odd()), (false, true));
        assert!(plain.is_of_today() && odd.is_of_today());
        assert!(!odd.is_as(Digest::of(b"b").odd()));
    }

    #[test]
    fn other_rules_are_other_digests() {
        let old = Digest::of(b"a").under(RULES + 1);
        assert!(!old.is_of_today() && !old.is_as(Digest::of(b"a")));
    }
}
