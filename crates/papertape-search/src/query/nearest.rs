//! A path that does not exist to the most similar one.

use crate::store::FileRecord;

/// Only this many characters of a path are compared.
const LONGEST: usize = 256;

/// The file with the least edit distance to a path, ignoring case; of several, the first. None if no file has text.
pub(super) fn nearest<'a>(files: &'a [FileRecord], path: &str) -> Option<&'a FileRecord> {
    let path = path.chars().take(LONGEST).collect::<String>().to_lowercase();
    let wanted = Letters::of(&path);
    let mut best: Option<(usize, &FileRecord)> = None;
    for file in files.iter().filter(|file| file.chunks > 0) {
        let least = best.map_or(usize::MAX, |(least, _)| least);
        let theirs = file.path.to_lowercase();
        // Most paths are too different to compute the distance, which takes the square of their length.
        if least > 0 && wanted.changes_at_least(&Letters::of(&theirs)) < least {
            let changes = strsim::levenshtein(&path, &theirs);
            if changes < least {
                best = Some((changes, file));
            }
        }
    }
    best.map(|(_, file)| file)
}

/// How often each letter occurs in a path, in 64 buckets.
struct Letters([u16; 64]);

impl Letters {
    fn of(path: &str) -> Self {
        let mut buckets = [0_u16; 64];
        for letter in path.chars().take(LONGEST) {
            let bucket = usize::try_from(u32::from(letter) % 64).unwrap_or_default();
            if let Some(count) = buckets.get_mut(bucket) {
                *count += 1;
            }
        }
        Self(buckets)
    }

    /// A change takes away one letter, adds one, or does both.
    fn changes_at_least(&self, other: &Self) -> usize {
        let (mut more, mut fewer) = (0_usize, 0_usize);
        for (a, b) in self.0.iter().zip(&other.0) {
            more += usize::from(a.saturating_sub(*b));
            fewer += usize::from(b.saturating_sub(*a));
        }
        more.max(fewer)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, proptest};

    use super::{Letters, nearest};
    use crate::store::FileRecord;

    fn files(paths: &[&str]) -> Vec<FileRecord> {
        let file = |path: &&str| FileRecord { path: (*path).to_owned(), chunks: 1, ..FileRecord::default() };
        paths.iter().map(file).collect()
    }

    #[test]
    fn the_path_with_the_fewest_changes_is_nearest() {
        let files = files(&["a/rust.md", "b/python.md", "posts/instalación.md", "http.md", "ÁRBOL.md"]);
        for (typed, meant) in [
            ("rust.md", "a/rust.md"),
            ("a/rust.mdx", "a/rust.md"),
            ("pyhton.md", "b/python.md"),
            ("posts/instalacion.md", "posts/instalación.md"),
            ("b/python.md", "b/python.md"),
            ("HTTP.MD", "http.md"),
            ("árbol.md", "ÁRBOL.md"),
        ] {
            assert_eq!(nearest(&files, typed).unwrap().path, meant, "{typed}");
        }
        assert!(nearest(&files, &"x".repeat(1_000_000)).is_some());
        assert!(nearest(&[], "a.md").is_none());
    }

    proptest! {
        #[test]
        fn buckets_of_letters_never_exceed_the_true_distance(a in ".{0,30}", b in ".{0,30}") {
            prop_assert!(Letters::of(&a).changes_at_least(&Letters::of(&b)) <= strsim::levenshtein(&a, &b));
        }
    }
}
