//! Which files count, as tantivy's query, and as a set of chunks.

use std::ops::Bound;

use tantivy::query::{BooleanQuery, EnableScoring, Occur, Query, RangeQuery, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{Searcher, Term};

use super::schema::{Fields, day};
use super::vectors::Rows;
use crate::blog::store::{Filter, StoreError};

/// The query for a filter; none if every file counts.
pub(super) fn query(filter: &Filter, fields: &Fields) -> Result<Option<Box<dyn Query>>, StoreError> {
    let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
    if let Some(prefix) = filter.path_prefix.as_deref().filter(|prefix| !prefix.is_empty()) {
        let term = |text: &str| Term::from_field_text(fields.source, text);
        let end = after(prefix).map_or(Bound::Unbounded, |end| Bound::Excluded(term(&end)));
        clauses.push((Occur::Must, Box::new(RangeQuery::new(Bound::Included(term(prefix)), end))));
    }
    if let Some(tag) = &filter.tag {
        let term = Term::from_field_text(fields.tags, &tag.to_lowercase());
        clauses.push((Occur::Must, Box::new(TermQuery::new(term, IndexRecordOption::Basic))));
    }
    if filter.since.is_some() || filter.until.is_some() {
        let bound = |date: Option<&String>| match date {
            None => Ok(Bound::Unbounded),
            Some(date) => day(date)
                .map(|day| Bound::Included(Term::from_field_u64(fields.date, day)))
                .ok_or_else(|| StoreError::Other(format!("{date:?} is no date: write it as YYYY-MM-DD"))),
        };
        let range = RangeQuery::new(bound(filter.since.as_ref())?, bound(filter.until.as_ref())?);
        clauses.push((Occur::Must, Box::new(range)));
    }
    Ok(if clauses.is_empty() { None } else { Some(Box::new(BooleanQuery::new(clauses))) })
}

/// The first text after all those that begin so.
fn after(prefix: &str) -> Option<String> {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        if let Some(next) = (last..=char::MAX).nth(1) {
            end.push(next);
            return Some(end);
        }
    }
    None
}

/// The chunks it lets through, for each segment in their order.
pub(super) fn chunks(query: &dyn Query, searcher: &Searcher) -> tantivy::Result<Vec<Rows>> {
    let weight = query.weight(EnableScoring::disabled_from_searcher(searcher))?;
    let mut through = Vec::new();
    for segment in searcher.segment_readers() {
        let mut docs = Rows::none(super::bytes::to_usize(segment.max_doc()));
        weight.for_each_no_score(segment, &mut |found| {
            for doc in found.iter().filter(|doc| !segment.is_deleted(**doc)) {
                docs.insert(super::bytes::to_usize(*doc));
            }
        })?;
        through.push(docs);
    }
    Ok(through)
}

#[cfg(test)]
mod tests {
    use super::after;

    #[test]
    fn what_comes_after_a_prefix() {
        for (prefix, end) in
            [("a", Some("b")), ("a/", Some("a0")), ("\u{d7ff}", Some("\u{e000}")), ("x\u{10ffff}", Some("y"))]
        {
            assert_eq!(after(prefix).as_deref(), end, "{prefix}");
        }
        assert_eq!(after("\u{10ffff}"), None);
    }
}
