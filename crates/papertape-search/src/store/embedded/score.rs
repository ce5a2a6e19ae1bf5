//! Query terms to the best documents of a segment, by the BM25 that all stores share.
//!
//! Rare terms come first. As soon as the common ones can contribute less than the score of the last of the best, they are
//! only added to documents that may still be among the best.

use std::io;

use super::bytes::to_usize;
use super::lexical::DocId;
use super::lexical::postings::{Block, PostingList};
use super::lexical::segment::Segment;
use super::vectors::Rows;
use crate::analysis::norm;
use crate::rank::bm25::{Bm25, max_term_score, term_score};

/// Looking a document up in a list takes as long as reading so many entries of it.
const LOOKUP: usize = 24;

/// Sums of floats differ by their order; this is more than they differ by.
const DOUBT: f32 = 1.001;

/// The best documents of a segment, best first; equal ones in the order of their chunks' numbers, not of their own, which
/// depend on the history of the index. Terms come with their weight, the heaviest first.
pub(super) fn best(
    segment: &Segment,
    terms: &[(&str, f32)],
    scale: &Bm25,
    through: Option<&Rows>,
    depth: usize,
) -> io::Result<Vec<(f32, DocId)>> {
    let mut lists = Vec::new();
    for (term, weight) in terms {
        if let Some(info) = segment.terms().get(term.as_bytes())? {
            lists.push((info, *weight));
        }
    }
    let mut sheet = Sheet {
        segment,
        through,
        lengths: segment.documents().norms(),
        norms: std::array::from_fn(|byte| scale.norm(norm::of_byte(u8::try_from(byte).unwrap_or(u8::MAX)))),
        scores: vec![0.0; segment.len()],
        touched: Vec::new(),
    };
    let mut rest: f32 = lists.iter().map(|(_, weight)| max_term_score(*weight)).sum();
    let mut lists = lists.into_iter();
    while let Some((info, weight)) = lists.next() {
        sheet.add_all(segment.postings(&info)?, weight)?;
        rest -= max_term_score(weight);
        if lists.len() > 0 && sheet.keep_promising(rest.max(0.0), depth) {
            break;
        }
    }
    for (info, weight) in lists {
        sheet.add_to_touched(segment.postings(&info)?, weight)?;
    }
    Ok(sheet.best(depth))
}

/// What the documents of a segment have scored so far.
struct Sheet<'a> {
    segment: &'a Segment,
    through: Option<&'a Rows>,
    lengths: &'a [u8],
    norms: [f32; 256],
    scores: Vec<f32>,
    touched: Vec<DocId>,
}

impl Sheet<'_> {
    fn counts(&self, doc: DocId) -> bool {
        !self.segment.is_deleted(doc) && self.through.is_none_or(|through| through.contains(to_usize(doc)))
    }

    fn contribution(&self, doc: DocId, frequency: u32, weight: f32) -> f32 {
        let length = self.lengths.get(to_usize(doc)).copied().unwrap_or_default();
        let norm = self.norms.get(usize::from(length)).copied().unwrap_or(1.0);
        term_score(weight, frequency, norm)
    }

    fn score(&self, doc: DocId) -> f32 {
        self.scores.get(to_usize(doc)).copied().unwrap_or_default()
    }

    /// Adds a term to every document that has it.
    fn add_all(&mut self, mut list: PostingList, weight: f32) -> io::Result<()> {
        let all = self.through.is_none() && !self.segment.has_deletes();
        self.touched.reserve(list.len().min(self.scores.len()));
        let mut block = Block::new();
        while list.next_block(&mut block)? {
            for (doc, frequency) in block.postings() {
                if !all && !self.counts(doc) {
                    continue;
                }
                let contribution = self.contribution(doc, frequency, weight);
                let Some(score) = self.scores.get_mut(to_usize(doc)) else { continue };
                if *score == 0.0 {
                    self.touched.push(doc);
                }
                *score += contribution;
            }
        }
        Ok(())
    }

    /// Forgets the documents that cannot be among the best any more, if those that have scored nothing cannot either.
    fn keep_promising(&mut self, rest: f32, depth: usize) -> bool {
        let floor = rest * DOUBT;
        let scores = self.touched.iter().map(|doc| self.score(*doc));
        let mut scores: Vec<f32> = scores.filter(|score| *score > floor).collect();
        // The last of the best has more than the rest can add, or there are not enough of them.
        let Some(last) = scores.len().checked_sub(depth.max(1)) else { return false };
        let (_, bar, _) = scores.select_nth_unstable_by(last, f32::total_cmp);
        let bar = *bar;
        let mut touched = std::mem::take(&mut self.touched);
        touched.retain(|doc| (self.score(*doc) + rest) * DOUBT >= bar);
        touched.sort_unstable();
        self.touched = touched;
        true
    }

    /// Adds a term to those documents alone that have scored already.
    fn add_to_touched(&mut self, mut list: PostingList, weight: f32) -> io::Result<()> {
        let mut block = Block::new();
        let mut found = Vec::new();
        if self.touched.len() * LOOKUP < list.len() {
            for doc in &self.touched {
                if !list.find(*doc, &mut block)? {
                    break;
                }
                if let Some(frequency) = block.frequency(*doc) {
                    found.push((*doc, self.contribution(*doc, frequency, weight)));
                }
            }
        } else {
            while list.next_block(&mut block)? {
                for (doc, frequency) in block.postings() {
                    if self.score(doc) > 0.0 {
                        found.push((doc, self.contribution(doc, frequency, weight)));
                    }
                }
            }
        }
        for (doc, contribution) in found {
            if let Some(score) = self.scores.get_mut(to_usize(doc)) {
                *score += contribution;
            }
        }
        Ok(())
    }

    fn best(self, depth: usize) -> Vec<(f32, DocId)> {
        let mut best: Vec<(f32, DocId)> = self.touched.iter().map(|doc| (self.score(*doc), *doc)).collect();
        if let Some(last) = depth.checked_sub(1).filter(|last| *last < best.len()) {
            let (_, (bar, _), _) = best.select_nth_unstable_by(last, |a, b| b.0.total_cmp(&a.0));
            let bar = *bar;
            best.retain(|(score, _)| *score >= bar);
        }
        let documents = self.segment.documents();
        let mut best: Vec<(f32, u64, DocId)> =
            best.into_iter().map(|(score, doc)| (score, documents.id(doc), doc)).collect();
        let order = |a: &(f32, u64, DocId), b: &(f32, u64, DocId)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if best.len() > depth {
            best.select_nth_unstable_by(depth, order);
            best.truncate(depth);
        }
        best.sort_unstable_by(order);
        best.into_iter().map(|(score, _, doc)| (score, doc)).collect()
    }
}
