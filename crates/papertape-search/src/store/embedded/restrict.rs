//! The documents that a query is restricted to: by its filter, by the words that they must have, and by those that they must
//! not have.

use std::collections::BTreeSet;
use std::io;

use super::disk::to_usize;
use super::lexical::postings::Block;
use super::lexical::segment::LexicalSegment;
use super::vectors::Rows;
use crate::analysis::{Phrase, Term};

/// Every document that was not deleted, for each segment in their order.
pub(super) fn all(segments: &[LexicalSegment]) -> Vec<Rows> {
    let of_segment = |segment: &LexicalSegment| {
        let mut docs = Rows::none(segment.len());
        for file in segment.live_files() {
            segment.documents().of_file(file).for_each(|doc| docs.insert(to_usize(doc)));
        }
        docs
    };
    segments.iter().map(of_segment).collect()
}

/// Leaves the documents that have all words of each phrase that is required, and no word that is excluded by itself.
pub(super) fn restrict(
    docs: &mut [Rows],
    segments: &[LexicalSegment],
    required: &[Phrase],
    excluded: &[Phrase],
) -> io::Result<()> {
    // A word that is written twice is looked up once.
    let words = required.iter().flat_map(|phrase| &phrase.words);
    let required: BTreeSet<&[Term]> = words.map(|word| word.forms.as_slice()).collect();
    let alone = excluded.iter().filter(|phrase| phrase.words.len() == 1);
    let excluded: BTreeSet<&Term> =
        alone.flat_map(|phrase| &phrase.words).flat_map(|word| &word.forms).collect();
    for (docs, segment) in docs.iter_mut().zip(segments) {
        for forms in &required {
            docs.retain(&with(segment, forms.iter())?);
        }
        docs.remove(&with(segment, excluded.iter().copied())?);
    }
    Ok(())
}

/// The documents of a segment that have any of these terms.
fn with<'a>(segment: &LexicalSegment, forms: impl Iterator<Item = &'a Term>) -> io::Result<Rows> {
    let (mut docs, mut block) = (Rows::none(segment.len()), Block::new());
    for form in forms {
        let Some(info) = segment.terms().get(form.as_bytes())? else { continue };
        let mut list = segment.postings(&info)?;
        while list.next_block(&mut block)? {
            block.postings().for_each(|(doc, _)| docs.insert(to_usize(doc)));
        }
    }
    Ok(docs)
}
