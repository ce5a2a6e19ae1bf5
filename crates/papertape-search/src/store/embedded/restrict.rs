//! The documents that a query is restricted to: by its filter, by the words that they must have, and by those that they must
//! not have.

use std::io;

use super::disk::to_usize;
use super::lexical::postings::Block;
use super::lexical::segment::LexicalSegment;
use super::vectors::Rows;
use crate::analysis::{Phrase, QueryTerm};

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
    let alone = excluded.iter().filter(|phrase| phrase.words.len() == 1);
    for (docs, segment) in docs.iter_mut().zip(segments) {
        for word in required.iter().flat_map(|phrase| &phrase.words) {
            docs.retain(&with(segment, word)?);
        }
        for word in alone.clone().flat_map(|phrase| &phrase.words) {
            docs.remove(&with(segment, word)?);
        }
    }
    Ok(())
}

/// The documents of a segment that have a word in any of its forms.
fn with(segment: &LexicalSegment, word: &QueryTerm) -> io::Result<Rows> {
    let (mut docs, mut block) = (Rows::none(segment.len()), Block::new());
    for form in &word.forms {
        let Some(info) = segment.terms().get(form.as_bytes())? else { continue };
        let mut list = segment.postings(&info)?;
        while list.next_block(&mut block)? {
            block.postings().for_each(|(doc, _)| docs.insert(to_usize(doc)));
        }
    }
    Ok(docs)
}
