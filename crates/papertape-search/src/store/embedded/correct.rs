//! Words of a query that stand in no text, corrected by the dictionaries of all segments.

use std::collections::BTreeMap;
use std::io;

use super::lexical_index::LexicalIndex;
use crate::analysis::{Correction, Language, Misspelling, QueryTerm, Term, correctable};

/// The most terms of a dictionary that are compared with a word; and the most that are near it.
const MOST_COMPARED: usize = 300_000;
const MOST_NEAR: usize = 1_000;

/// The terms of a query, of which those that stand in no text are replaced.
pub(super) fn corrected(
    index: &LexicalIndex,
    terms: &[QueryTerm],
    languages: &[Language],
) -> io::Result<(Vec<QueryTerm>, Vec<Correction>)> {
    let mut unknown = Vec::new();
    for (term, place) in terms.iter().zip(0..) {
        if !index.occurs(term)? && !index.occurs(&term.in_all_languages())? {
            unknown.push(place);
        }
    }
    let (mut terms, mut corrections) = (terms.to_vec(), Vec::new());
    for place in correctable(&terms, &unknown) {
        let Some(term) = terms.get_mut(place) else { continue };
        let Some(wrong) = Misspelling::of(term, languages) else { continue };
        if let Some((correction, right)) = wrong.best(&candidates(index, &wrong)?) {
            *term = right;
            corrections.push(correction);
        }
    }
    Ok((terms, corrections))
}

/// The terms that may have been meant, and how many chunks have each.
fn candidates(index: &LexicalIndex, wrong: &Misspelling) -> io::Result<BTreeMap<Term, u64>> {
    let mut found = BTreeMap::new();
    let mut first = [0; 4];
    let first = wrong.first().encode_utf8(&mut first).as_bytes();
    for segment in index.segments() {
        let mut terms = segment.terms().stream_from(first)?;
        let mut compared = 0;
        while let Some((term, _)) = terms.next()? {
            if !term.starts_with(first) {
                if term > first {
                    break;
                }
                continue;
            }
            compared += 1;
            if compared > MOST_COMPARED || found.len() >= MOST_NEAR {
                break;
            }
            if let Ok(term) = std::str::from_utf8(term)
                && wrong.is_near(term)
            {
                found.insert(term.to_owned(), 0);
            }
        }
    }
    for variant in wrong.variants() {
        for segment in index.segments() {
            if !found.contains_key(variant) && segment.terms().get(variant.as_bytes())?.is_some() {
                found.insert(variant.clone(), 0);
            }
        }
    }
    for (term, chunks) in &mut found {
        *chunks = index.frequency(term)?;
    }
    Ok(found)
}
