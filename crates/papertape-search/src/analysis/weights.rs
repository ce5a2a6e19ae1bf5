//! How often a term counts, by the field it is in.
//!
//! Little more than once: a title that the query consists of is known by its wording (`rank::wording`). Were one of its words
//! to count 16 times, it would replace the other words of the query in the text.

/// All of the title of the document.
pub const TITLE: u32 = 4;

/// All of the heading of the chunk itself.
pub const OWN_HEADING: u32 = 2;

/// All of the headings above it.
pub const HEADINGS: u32 = 2;

/// Each word in the path of the file.
pub const PATH: u32 = 2;

/// Each word in the text.
pub const BODY: u32 = 1;

/// The weight of each word in a title or a heading of so many words: the fewer they are, the more each one counts.
#[must_use]
pub fn each(of_all: u32, words: usize) -> u32 {
    let words = u32::try_from(words).unwrap_or(u32::MAX).max(1);
    // of_all / sqrt(words), rounded: the greatest n with (n - 1/2) * sqrt(words) <= of_all.
    let squared = u64::from(of_all).pow(2);
    let fits = |n: u32| (2 * u64::from(n) - 1).pow(2) * u64::from(words) <= 4 * squared;
    (1..=of_all).rev().find(|n| fits(*n)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn the_fewer_words_the_more_each_counts() {
        let counts = [0, 1, 2, 3, 4, 9, 16, 100, 2_000, usize::MAX].map(|words| each(16, words));
        assert_eq!(counts, [16, 16, 11, 9, 8, 5, 4, 2, 1, 1]);
    }
}
