//! Nested tags: a file that is tagged `project/alpha` is of `project`, too.

/// Whether a file's tag is the wanted one, or below it, in any case.
pub(super) fn is_within(tag: &str, wanted: &str) -> bool {
    above(&key(tag)).any(|above| above == wanted)
}

/// A tag as tags are compared.
pub(super) fn key(tag: &str) -> String {
    tag.to_lowercase()
}

/// A tag, and all above it, which end at a slash.
pub(super) fn above(tag: &str) -> impl Iterator<Item = &str> {
    let parents = tag.match_indices('/').filter_map(|(at, _)| tag.get(..at));
    [tag].into_iter().chain(parents).filter(|tag| !tag.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{above, is_within};

    #[test]
    fn a_tag_is_within_those_above_it() {
        for (tag, wanted, right) in [
            ("Project/Alpha", "project", true),
            ("project/alpha", "project/alpha", true),
            ("project/alpha/x", "project/alpha", true),
            ("projects", "project", false),
            ("project", "project/alpha", false),
            ("a/project", "project", false),
        ] {
            assert_eq!(is_within(tag, wanted), right, "{tag} {wanted}");
        }
        assert_eq!(above("a/b/c").collect::<Vec<_>>(), ["a/b/c", "a", "a/b"]);
        assert_eq!(above("/a").collect::<Vec<_>>(), ["/a"]);
        assert_eq!(above("").count(), 0);
    }
}
