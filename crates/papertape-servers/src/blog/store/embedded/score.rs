//! The words of a question to the best chunks of a segment, by the BM25 that all stores share.
//!
//! tantivy has scorers, but their constants are fixed, and others rank better here. So only its lists of chunks by word are
//! used. Rare words come first; as soon as what the common ones can add is less than what the last of the best already has,
//! the common ones only add to chunks that may still be among the best.

use tantivy::columnar::ColumnValues;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::InvertedIndexReader;
use tantivy::postings::{Postings, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, SegmentReader, Term};

use super::bytes::to_usize;
use super::vectors::Rows;
use crate::blog::rank::bm25::{Scale, at_most, worth};

/// Looking a chunk up in a list takes as long as reading so many entries of it.
const LOOKUP: usize = 24;

/// Sums of floats differ by their order; this is more than they differ by.
const DOUBT: f32 = 1.001;

/// The best chunks of a segment, best first; equal ones in the order of their `ids`, not of their places, which depend on
/// the history of the index. Words come with their weight, the heaviest first; all of one field.
pub(super) fn best(
    segment: &SegmentReader,
    ids: &dyn ColumnValues<u64>,
    words: &[(Term, f32)],
    scale: &Scale,
    through: Option<&Rows>,
    depth: usize,
) -> tantivy::Result<Vec<(f32, DocId)>> {
    let Some((first, _)) = words.first() else { return Ok(Vec::new()) };
    let inverted = segment.inverted_index(first.field())?;
    let mut lists = Vec::new();
    for (term, weight) in words {
        if let Some(info) = inverted.get_term_info(term)? {
            lists.push((info, *weight));
        }
    }
    let mut sheet = Sheet {
        segment,
        through,
        lengths: segment.get_fieldnorms_reader(first.field())?,
        norms: (0..=u8::MAX).map(|id| scale.norm(FieldNormReader::id_to_fieldnorm(id))).collect(),
        scores: vec![0.0; to_usize(segment.max_doc())],
        touched: Vec::new(),
    };
    let mut rest: f32 = lists.iter().map(|(_, weight)| at_most(*weight)).sum();
    let mut lists = lists.into_iter();
    while let Some((info, weight)) = lists.next() {
        sheet.add_all(&inverted, &info, weight)?;
        rest -= at_most(weight);
        if lists.len() > 0 && sheet.keep_promising(rest.max(0.0), depth) {
            break;
        }
    }
    for (info, weight) in lists {
        sheet.add_to_touched(&inverted, &info, weight)?;
    }
    Ok(sheet.best(ids, depth))
}

/// What the chunks of a segment have scored so far.
struct Sheet<'a> {
    segment: &'a SegmentReader,
    through: Option<&'a Rows>,
    lengths: FieldNormReader,
    norms: Vec<f32>,
    scores: Vec<f32>,
    touched: Vec<DocId>,
}

impl Sheet<'_> {
    fn counts(&self, doc: DocId) -> bool {
        !self.segment.is_deleted(doc) && self.through.is_none_or(|through| through.contains(to_usize(doc)))
    }

    fn worth(&self, doc: DocId, times: u32, weight: f32) -> f32 {
        let norm = self.norms.get(usize::from(self.lengths.fieldnorm_id(doc))).copied().unwrap_or(1.0);
        worth(weight, times, norm)
    }

    fn score(&self, doc: DocId) -> f32 {
        self.scores.get(to_usize(doc)).copied().unwrap_or_default()
    }

    /// Adds a word to every chunk that has it.
    fn add_all(
        &mut self,
        inverted: &InvertedIndexReader,
        list: &TermInfo,
        weight: f32,
    ) -> tantivy::Result<()> {
        let all = self.through.is_none() && !self.segment.has_deletes();
        let mut block = inverted.read_block_postings_from_terminfo(list, IndexRecordOption::WithFreqs)?;
        while !block.docs().is_empty() {
            for (doc, times) in block.docs().iter().zip(block.freqs()) {
                if !all && !self.counts(*doc) {
                    continue;
                }
                let worth = self.worth(*doc, *times, weight);
                let Some(score) = self.scores.get_mut(to_usize(*doc)) else { continue };
                if *score == 0.0 {
                    self.touched.push(*doc);
                }
                *score += worth;
            }
            block.advance();
        }
        Ok(())
    }

    /// Forgets the chunks that cannot be among the best any more, if chunks that have scored nothing cannot either.
    fn keep_promising(&mut self, rest: f32, depth: usize) -> bool {
        let Some(last) = self.touched.len().checked_sub(depth) else { return false };
        let mut scores: Vec<f32> = self.touched.iter().map(|doc| self.score(*doc)).collect();
        let (_, bar, _) = scores.select_nth_unstable_by(last.min(self.touched.len() - 1), f32::total_cmp);
        let bar = *bar;
        if rest * DOUBT >= bar {
            return false;
        }
        let mut touched = std::mem::take(&mut self.touched);
        touched.retain(|doc| (self.score(*doc) + rest) * DOUBT >= bar);
        touched.sort_unstable();
        self.touched = touched;
        true
    }

    /// Adds a word to those chunks alone that have scored already.
    fn add_to_touched(
        &mut self,
        inverted: &InvertedIndexReader,
        list: &TermInfo,
        weight: f32,
    ) -> tantivy::Result<()> {
        let mut found = Vec::new();
        if self.touched.len() * LOOKUP < to_usize(list.doc_freq) {
            let mut entries = inverted.read_postings_from_terminfo(list, IndexRecordOption::WithFreqs)?;
            for doc in &self.touched {
                if entries.doc() < *doc {
                    entries.seek(*doc);
                }
                if entries.doc() == *doc {
                    found.push((*doc, self.worth(*doc, entries.term_freq(), weight)));
                }
            }
        } else {
            let mut block = inverted.read_block_postings_from_terminfo(list, IndexRecordOption::WithFreqs)?;
            while !block.docs().is_empty() {
                for (doc, times) in block.docs().iter().zip(block.freqs()) {
                    if self.score(*doc) > 0.0 {
                        found.push((*doc, self.worth(*doc, *times, weight)));
                    }
                }
                block.advance();
            }
        }
        for (doc, worth) in found {
            if let Some(score) = self.scores.get_mut(to_usize(doc)) {
                *score += worth;
            }
        }
        Ok(())
    }

    fn best(self, ids: &dyn ColumnValues<u64>, depth: usize) -> Vec<(f32, DocId)> {
        let mut best: Vec<(f32, DocId)> = self.touched.iter().map(|doc| (self.score(*doc), *doc)).collect();
        if let Some(last) = depth.checked_sub(1).filter(|last| *last < best.len()) {
            let (_, (bar, _), _) = best.select_nth_unstable_by(last, |a, b| b.0.total_cmp(&a.0));
            let bar = *bar;
            best.retain(|(score, _)| *score >= bar);
        }
        let mut best: Vec<(f32, u64, DocId)> =
            best.into_iter().map(|(score, doc)| (score, ids.get_val(doc), doc)).collect();
        let order = |a: &(f32, u64, DocId), b: &(f32, u64, DocId)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if best.len() > depth {
            best.select_nth_unstable_by(depth, order);
            best.truncate(depth);
        }
        best.sort_unstable_by(order);
        best.into_iter().map(|(score, _, doc)| (score, doc)).collect()
    }
}
