//! Merges segments, without deleted documents.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use super::DocId;
use super::build::{InvertedWriter, finish};
use super::documents::{DocumentsWriter, StoredDocument};
use super::postings::Block;
use super::segment::{LexicalSegment, Records, TextsWriter};
use super::terms::{AllTerms, TermInfo};
use crate::store::embedded::disk::to_usize;
use crate::store::embedded::file_set::FileSet;
use crate::store::embedded::index_folder::unique;
use crate::store::embedded::manifest::LexicalFile;

/// A document that was deleted.
const GONE: DocId = DocId::MAX;

/// Writes one segment with the live documents of several; `None` if there are none.
pub(in crate::store::embedded) fn merge(
    file_set: &FileSet,
    segments: &[&LexicalSegment],
) -> io::Result<Option<LexicalFile>> {
    let file = LexicalFile { name: unique(), deleted: None };
    let mut documents = DocumentsWriter::default();
    let mut numbers = Vec::new();
    for segment in segments {
        numbers.push(merge_documents(segment, &mut documents)?);
    }
    if documents.len() == 0 {
        return Ok(None);
    }
    let mut texts = TextsWriter::new(file_set.create(&file.texts())?);
    for segment in segments {
        for number in 0..segment.documents().blocks() {
            let block = segment.text_block(number)?;
            let mut records = Records::new(&block);
            for doc in segment.documents().docs_of_block(number) {
                let Some(record) = records.next()? else { break };
                if !segment.is_deleted(doc) {
                    texts.push_record(record)?;
                }
            }
        }
    }
    finish(file_set, &file, texts, &documents)?;
    let mut inverted = InvertedWriter::new(file_set, &file)?;
    merge_terms(segments, &numbers, &mut inverted)?;
    inverted.finish(file_set, &file)?;
    Ok(Some(file))
}

/// Adds the live documents of a segment. Returns the new number of each.
fn merge_documents(segment: &LexicalSegment, documents: &mut DocumentsWriter) -> io::Result<Vec<DocId>> {
    let from = segment.documents();
    let mut numbers = vec![GONE; from.len()];
    for file in segment.live_files() {
        documents.begin_file(&from.file(file)?, from.tokens(file))?;
        for doc in from.of_file(file) {
            let norm = from.norms().get(to_usize(doc)).copied().unwrap_or_default();
            let document =
                StoredDocument { id: from.id(doc), key: from.key(doc), index: from.index(doc), norm };
            let number = documents.push(document)?;
            if let Some(to) = numbers.get_mut(to_usize(doc)) {
                *to = number;
            }
        }
    }
    Ok(numbers)
}

/// The terms of a segment that are still to come.
struct Left<'a> {
    terms: AllTerms<'a>,
    info: TermInfo,
}

fn merge_terms(
    segments: &[&LexicalSegment],
    numbers: &[Vec<DocId>],
    inverted: &mut InvertedWriter,
) -> io::Result<()> {
    // The next term of each segment: the least first, and of equal ones that of the first segment.
    let mut next = BinaryHeap::new();
    let mut left: Vec<Left<'_>> = Vec::new();
    for (segment, number) in segments.iter().zip(0..) {
        left.push(Left { terms: segment.terms().stream(), info: TermInfo::default() });
        advance(&mut left, number, &mut next)?;
    }
    let (mut block, mut postings) = (Block::new(), Vec::new());
    while let Some(Reverse((term, first))) = next.pop() {
        postings.clear();
        let mut number: usize = first;
        loop {
            if let (Some(segment), Some(from), Some(to)) =
                (segments.get(number), left.get(number), numbers.get(number))
            {
                let mut list = segment.postings(&from.info)?;
                while list.next_block(&mut block)? {
                    let moved = |(doc, frequency): (DocId, u32)| {
                        (to.get(to_usize(doc)).copied().unwrap_or(GONE), frequency)
                    };
                    postings.extend(block.postings().map(moved).filter(|(doc, _)| *doc != GONE));
                }
            }
            advance(&mut left, number, &mut next)?;
            match next.peek() {
                Some(Reverse((other, another))) if *other == term && *another > number => number = *another,
                _ => break,
            }
            next.pop();
        }
        if !postings.is_empty() {
            inverted.push(&term, &postings)?;
        }
    }
    Ok(())
}

fn advance(
    left: &mut [Left<'_>],
    number: usize,
    next: &mut BinaryHeap<Reverse<(Vec<u8>, usize)>>,
) -> io::Result<()> {
    let Some(left) = left.get_mut(number) else { return Ok(()) };
    if let Some((term, info)) = left.terms.next()? {
        left.info = info;
        next.push(Reverse((term.to_owned(), number)));
    }
    Ok(())
}
