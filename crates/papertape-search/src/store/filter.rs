//! Filters: which files a query is restricted to, and their conditions as both stores apply them.

use super::FileRecord;

/// Which files count: those for which all of this holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Their path begins so.
    pub path_prefix: Option<String>,
    /// They have this tag or one below it, as `project/alpha` is below `project`, whatever its case, and whether or not a `#`
    /// is before it.
    pub tag: Option<String>,
    /// `YYYY-MM-DD`: they are of this day or later.
    pub since: Option<String>,
    /// `YYYY-MM-DD`: they are of this day or earlier.
    pub until: Option<String>,
    /// They have all of these.
    pub all_of: FileTerms,
    /// They have none of these.
    pub none_of: FileTerms,
}

/// Parts of paths and titles, and tags, whatever their case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileTerms {
    /// Parts of the path, which counts as if it began with `/`.
    pub paths: Vec<String>,
    /// Tags, as [`Filter::tag`].
    pub tags: Vec<String>,
    /// Parts of the title.
    pub titles: Vec<String>,
}

impl Filter {
    /// Of values as they are typed: an empty one does not count, and a path may begin with `./` or `/`.
    #[must_use]
    pub fn typed(
        path_prefix: Option<&str>,
        tag: Option<&str>,
        since: Option<&str>,
        until: Option<&str>,
    ) -> Self {
        let some = |value: &str| Some(value.to_owned()).filter(|value| !value.is_empty());
        let relative = |path: &str| some(path.strip_prefix("./").unwrap_or(path).trim_start_matches('/'));
        Self {
            path_prefix: path_prefix.and_then(relative),
            tag: tag.and_then(some),
            since: since.and_then(some),
            until: until.and_then(some),
            ..Self::default()
        }
    }

    /// The files that pass, in their order. A bound that is not a date is compared as text.
    #[must_use]
    pub fn select<'a>(&self, files: &'a [FileRecord]) -> Vec<&'a FileRecord> {
        let Some(conditions) = Conditions::of(self) else { return files.iter().collect() };
        files.iter().filter(|file| conditions.let_through(file)).collect()
    }

    /// The files that pass both. Of two prefixes, only that of `self` counts.
    #[must_use]
    pub(crate) fn and(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.path_prefix = both.path_prefix.or_else(|| other.path_prefix.clone());
        both.all_of.tags.extend(other.tag.clone());
        both.since = both.since.into_iter().chain(other.since.clone()).max();
        both.until = both.until.into_iter().chain(other.until.clone()).min();
        both.all_of.extend(&other.all_of);
        both.none_of.extend(&other.none_of);
        both
    }
}

impl FileTerms {
    fn extend(&mut self, other: &Self) {
        self.paths.extend(other.paths.iter().cloned());
        self.tags.extend(other.tags.iter().cloned());
        self.titles.extend(other.titles.iter().cloned());
    }

    fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.tags.is_empty() && self.titles.is_empty()
    }

    /// For each of these folded terms, whether a file has it. Its tags are in lower case.
    pub(super) fn found<'a>(
        &'a self,
        path: &str,
        title: &str,
        tags: &'a [impl AsRef<str>],
    ) -> impl Iterator<Item = bool> + 'a {
        let path = if self.paths.is_empty() { String::new() } else { folded_path(path) };
        let title = if self.titles.is_empty() { String::new() } else { title.to_lowercase() };
        let of_tags = self.tags.iter().map(|wanted| tags.iter().any(|tag| is_tag(tag.as_ref(), wanted)));
        let of_paths = self.paths.iter().map(move |part| path.contains(part.as_str()));
        of_tags.chain(of_paths).chain(self.titles.iter().map(move |part| title.contains(part.as_str())))
    }

    /// As they are compared: in lower case, tags without `#`.
    fn folded(&self) -> Self {
        let lower = |texts: &[String]| texts.iter().map(|text| text.to_lowercase()).collect();
        let path = |path: &String| {
            let path = path.to_lowercase();
            path.strip_prefix("./").map_or_else(|| path.clone(), |rest| format!("/{rest}"))
        };
        Self {
            paths: self.paths.iter().map(path).collect(),
            tags: self.tags.iter().map(|tag| folded_tag(tag)).collect(),
            titles: lower(&self.titles),
        }
    }
}

/// The conditions of a filter, folded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Conditions {
    /// What the path begins with, as it is written.
    pub(super) prefix: Option<String>,
    pub(super) since: Option<String>,
    pub(super) until: Option<String>,
    pub(super) all_of: FileTerms,
    pub(super) none_of: FileTerms,
}

impl Conditions {
    /// Those of a filter; `None` if every file passes.
    pub(super) fn of(filter: &Filter) -> Option<Self> {
        let mut all_of = filter.all_of.folded();
        all_of.tags.extend(filter.tag.as_deref().map(folded_tag));
        let conditions = Self {
            prefix: filter.path_prefix.clone().filter(|prefix| !prefix.is_empty()),
            since: filter.since.clone(),
            until: filter.until.clone(),
            all_of,
            none_of: filter.none_of.folded(),
        };
        let is_dated = conditions.since.is_some() || conditions.until.is_some();
        let has_terms = !conditions.all_of.is_empty() || !conditions.none_of.is_empty();
        (conditions.prefix.is_some() || is_dated || has_terms).then_some(conditions)
    }
}

impl Conditions {
    fn let_through(&self, file: &FileRecord) -> bool {
        let Self { prefix, since, until, all_of, none_of } = self;
        let is_within = |bound: &Option<String>, is_right: fn(&str, &str) -> bool| match (bound, &file.date) {
            (None, _) => true,
            (Some(bound), Some(date)) => is_right(date, bound),
            (Some(_), None) => false,
        };
        let tags: Vec<String> = file.tags.iter().map(|tag| tag.to_lowercase()).collect();
        is_within(since, |date, since| since <= date)
            && is_within(until, |date, until| date <= until)
            && prefix.as_deref().is_none_or(|prefix| file.path.starts_with(prefix))
            && all_of.found(&file.path, &file.title, &tags).all(|found| found)
            && !none_of.found(&file.path, &file.title, &tags).any(|found| found)
    }
}

/// A path as parts of it are looked for.
pub(super) fn folded_path(path: &str) -> String {
    format!("/{}", path.to_lowercase())
}

/// A tag as it is compared: `project` for `#Project/`.
#[must_use]
pub fn folded_tag(tag: &str) -> String {
    tag.trim().trim_start_matches('#').trim_end_matches('/').to_lowercase()
}

/// Whether a tag of a file, in lower case, is the one that is wanted or below it.
fn is_tag(tag: &str, wanted: &str) -> bool {
    let rest = tag.trim_start_matches('#').strip_prefix(wanted);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::{Conditions, FileTerms, Filter, folded_tag, is_tag};

    #[test]
    fn a_typed_prefix_is_relative_whatever_stands_before_it() {
        for (typed, meant) in
            [("", ""), ("/", ""), ("./", ""), ("a/", "a/"), ("/a", "a"), ("./a/b", "a/b"), ("../a", "../a")]
        {
            let filter = Filter::typed(Some(typed), Some(""), None, None);
            let meant = Some(meant.to_owned()).filter(|meant| !meant.is_empty());
            assert_eq!(filter, Filter { path_prefix: meant, ..Filter::default() }, "{typed}");
        }
    }

    #[test]
    fn a_tag_is_found_by_those_above_it() {
        for (tag, wanted, is) in [
            ("project/alpha", "Project", true),
            ("project", "#project/", true),
            ("#project/alpha", "project/alpha", true),
            ("projects", "project", false),
            ("project", "project/alpha", false),
            ("ñandú/ä", "ÑANDÚ", true),
        ] {
            assert_eq!(is_tag(tag, &folded_tag(wanted)), is, "{tag} {wanted}");
        }
    }

    #[test]
    fn an_empty_filter_has_no_conditions() {
        let empty = Filter { path_prefix: Some(String::new()), ..Filter::default() };
        assert_eq!(Conditions::of(&empty), None);
        assert!(Conditions::of(&Filter { tag: Some(String::new()), ..Filter::default() }).is_some());
        let titled = FileTerms { titles: vec!["A".to_owned()], ..FileTerms::default() };
        assert!(Conditions::of(&Filter { none_of: titled, ..Filter::default() }).is_some());
    }

    #[test]
    fn both_filters_hold() {
        let text = |text: &str| Some(text.to_owned());
        let one = Filter {
            path_prefix: text("a/"),
            tag: text("x"),
            since: text("2024-01-01"),
            ..Filter::default()
        };
        let other = Filter {
            tag: text("y"),
            since: text("2024-02-01"),
            until: text("2024-03-01"),
            ..Filter::default()
        };
        let both = one.and(&other);
        assert_eq!(
            (both.path_prefix, both.tag, both.all_of.tags),
            (text("a/"), text("x"), vec!["y".to_owned()])
        );
        assert_eq!((both.since, both.until), (text("2024-02-01"), text("2024-03-01")));
    }
}
