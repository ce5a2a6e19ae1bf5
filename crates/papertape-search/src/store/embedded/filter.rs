//! Filters: the files that a query is restricted to, as a set of documents.

use std::io;

use super::disk::to_usize;
use super::lexical::documents::{StoredFile, day};
use super::lexical::segment::LexicalSegment;
use super::vectors::Rows;
use crate::store::{Filter, StoreError};

/// The conditions of a filter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileFilter<'a> {
    prefix: &'a str,
    /// In lower case.
    tag: Option<String>,
    since: Option<u32>,
    until: Option<u32>,
}

/// The conditions of a filter; `None` if every file passes.
pub(super) fn wanted(filter: &Filter) -> Result<Option<FileFilter<'_>>, StoreError> {
    let bound = |date: &Option<String>| match date {
        None => Ok(None),
        Some(date) => day(date)
            .map(Some)
            .ok_or_else(|| StoreError::Other(format!("{date:?} is not a date: write it as YYYY-MM-DD"))),
    };
    let wanted = FileFilter {
        prefix: filter.path_prefix.as_deref().unwrap_or_default(),
        tag: filter.tag.as_deref().map(str::to_lowercase),
        since: bound(&filter.since)?,
        until: bound(&filter.until)?,
    };
    let all = FileFilter { prefix: "", tag: None, since: None, until: None };
    Ok(Some(wanted).filter(|wanted| *wanted != all))
}

impl FileFilter<'_> {
    fn lets_through(&self, file: &StoredFile<'_>) -> bool {
        let dated = self.since.is_none() && self.until.is_none() || file.day != 0;
        dated
            && self.since.is_none_or(|since| since <= file.day)
            && self.until.is_none_or(|until| file.day <= until)
            && file.path.starts_with(self.prefix)
            && self.tag.as_deref().is_none_or(|tag| file.tags.contains(&tag))
    }

    /// The documents it lets through, for each segment in their order.
    pub(super) fn documents(&self, segments: &[LexicalSegment]) -> io::Result<Vec<Rows>> {
        let mut through = Vec::new();
        for segment in segments {
            let mut docs = Rows::none(segment.len());
            for file in segment.live_files() {
                if self.lets_through(&segment.documents().file(file)?) {
                    segment.documents().of_file(file).for_each(|doc| docs.insert(to_usize(doc)));
                }
            }
            through.push(docs);
        }
        Ok(through)
    }
}

#[cfg(test)]
mod tests {
    use super::wanted;
    use crate::store::Filter;
    use crate::store::embedded::lexical::documents::StoredFile;

    #[test]
    fn a_file_without_a_date_fails_date_filters() {
        let until = Filter { until: Some("2026-07-28".to_owned()), ..Filter::default() };
        let wanted = wanted(&until).unwrap().unwrap();
        let of = |day| wanted.lets_through(&StoredFile { day, ..StoredFile::default() });
        assert_eq!([0, 20_260_728, 20_260_729].map(of), [false, true, false]);
    }

    #[test]
    fn an_empty_filter_passes_every_file() {
        let empty = Filter { path_prefix: Some(String::new()), ..Filter::default() };
        assert_eq!(wanted(&empty).unwrap(), None);
        assert!(wanted(&Filter { tag: Some(String::new()), ..Filter::default() }).unwrap().is_some());
    }
}
