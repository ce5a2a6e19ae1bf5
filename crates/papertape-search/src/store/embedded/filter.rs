//! Filters: the files that a query is restricted to, as a set of documents.

use std::io;

use super::disk::to_usize;
use super::lexical::documents::{StoredFile, day};
use super::lexical::segment::LexicalSegment;
use super::vectors::Rows;
use crate::store::filter::Conditions;
use crate::store::{Filter, StoreError};

/// The conditions of a filter.
#[derive(Debug)]
pub(super) struct FileFilter {
    conditions: Conditions,
    since: Option<u32>,
    until: Option<u32>,
}

/// The conditions of a filter; `None` if every file passes.
pub(super) fn wanted(filter: &Filter) -> Result<Option<FileFilter>, StoreError> {
    let Some(conditions) = Conditions::of(filter) else { return Ok(None) };
    let bound = |date: &Option<String>| match date {
        None => Ok(None),
        Some(date) => day(date)
            .map(Some)
            .ok_or_else(|| StoreError::Other(format!("{date:?} is not a date: write it as YYYY-MM-DD"))),
    };
    let (since, until) = (bound(&conditions.since)?, bound(&conditions.until)?);
    Ok(Some(FileFilter { conditions, since, until }))
}

impl FileFilter {
    fn lets_through(&self, file: &StoredFile<'_>) -> bool {
        let Conditions { prefix, all_of, none_of, .. } = &self.conditions;
        let dated = self.since.is_none() && self.until.is_none() || file.day != 0;
        dated
            && self.since.is_none_or(|since| since <= file.day)
            && self.until.is_none_or(|until| file.day <= until)
            && prefix.as_deref().is_none_or(|prefix| file.path.starts_with(prefix))
            && all_of.found(file.path, file.title, &file.tags).all(|found| found)
            && !none_of.found(file.path, file.title, &file.tags).any(|found| found)
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
}
