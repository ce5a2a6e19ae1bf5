//! How many files are not read, by the endings of their names.

use std::collections::BTreeMap;
use std::ffi::OsStr;

/// The most endings that are told apart.
const MOST_ENDINGS: usize = 200;

/// The longest ending.
const LONGEST: usize = 16;

/// Files that are not read because of how their names end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skipped {
    /// Without the dot, in lower case.
    by_ending: BTreeMap<String, u64>,
    /// Those without an ending, or with one that looks like none, or beyond those that are told apart.
    others: u64,
}

impl Skipped {
    /// One more, with this ending, if it has one.
    pub fn add(&mut self, ending: Option<&OsStr>) {
        match ending.and_then(OsStr::to_str).filter(|ending| is_ending(ending)) {
            Some(ending) => self.count(ending.to_ascii_lowercase(), 1),
            None => self.others += 1,
        }
    }

    /// Those of another directory.
    pub(super) fn append(&mut self, others: &Self) {
        for (ending, many) in &others.by_ending {
            self.count(ending.clone(), *many);
        }
        self.others += others.others;
    }

    fn count(&mut self, ending: String, many: u64) {
        if self.by_ending.len() < MOST_ENDINGS || self.by_ending.contains_key(&ending) {
            *self.by_ending.entry(ending).or_default() += many;
        } else {
            self.others += many;
        }
    }

    /// How many there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_ending.values().sum::<u64>() + self.others
    }

    /// Endings without the dot, in lower case, and how many files have each: the most first.
    #[must_use]
    pub fn endings(&self) -> Vec<(&str, u64)> {
        let mut endings: Vec<_> =
            self.by_ending.iter().map(|(ending, many)| (ending.as_str(), *many)).collect();
        endings.sort_by_key(|(_, many)| std::cmp::Reverse(*many));
        endings
    }

    /// How many are not among [`Skipped::endings`]: mostly those without an ending.
    #[must_use]
    pub fn others(&self) -> u64 {
        self.others
    }
}

fn is_ending(ending: &str) -> bool {
    (1..=LONGEST).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::{MOST_ENDINGS, Skipped};

    #[test]
    fn endings_are_counted_within_bounds() {
        let mut skipped = Skipped::default();
        for ending in ["png", "docx", "PNG", "a b", "aaaaaaaaaaaaaaaaaaaaaaaa", "ñ"] {
            skipped.add(Some(OsStr::new(ending)));
        }
        skipped.add(None);
        assert_eq!(skipped.endings(), [("png", 2), ("docx", 1)]);
        assert_eq!((skipped.total(), skipped.others()), (7, 4));
        let mut both = skipped.clone();
        both.append(&skipped);
        assert_eq!((both.endings(), both.total()), (vec![("png", 4), ("docx", 2)], 14));
        for n in 0..1_000 {
            skipped.add(Some(OsStr::new(&format!("e{n}"))));
        }
        assert_eq!(skipped.endings().len(), MOST_ENDINGS);
        assert_eq!(skipped.total(), 1_007);
    }
}
