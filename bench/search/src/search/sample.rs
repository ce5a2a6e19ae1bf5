//! Some of many.

use crate::random::Random;

/// At most `most`, chosen by what they say: others that come or go do not change which of the rest are chosen, so that
/// two versions of the program ask nearly the same.
pub(crate) fn sample<T>(mut all: Vec<T>, most: usize, seed: u64, says: impl Fn(&T) -> &str) -> Vec<T> {
    all.sort_by_cached_key(|one| (Random::of_text(seed, says(one)).any(), says(one).to_owned()));
    all.truncate(most);
    all
}

#[cfg(test)]
mod tests {
    use super::sample;

    #[test]
    fn one_more_displaces_one_at_most() {
        let names: Vec<String> = (0..100).map(|number| format!("name {number}")).collect();
        let of = |names: &[String]| sample(names.to_vec(), 10, 1, |name| name);
        let (all, fewer) = (of(&names), of(&names[..99]));
        assert!(all.iter().filter(|name| fewer.contains(name)).count() >= 9, "{all:?} {fewer:?}");
    }
}
