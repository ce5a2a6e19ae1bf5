//! The inverted index and texts of a generation: query terms to the best chunks, by the BM25 that all stores share, and an
//! address to its chunk.
//!
//! In each segment, rare terms come first. As soon as the common ones can contribute less than the score of the last of the
//! best, they are only added to documents that may still be among the best.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{LazyLock, Mutex};

use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};

use super::disk::to_usize;
use super::errors::ErrorContext;
use super::file_set::FileSet;
use super::lexical::postings::{Block, PostingList};
use super::lexical::segment::LexicalSegment;
use super::lexical::{DocAddress, DocId};
use super::manifest::LexicalFile;
use super::vectors::Rows;
use crate::analysis::{Language, Phrase, QueryTerm};
use crate::rank::Wording;
use crate::rank::bm25::{Bm25, length_of_byte, max_term_score, term_score};
use crate::rank::wording::with_bonuses;
use crate::store::phrases::Phrases;
use crate::store::{Chunk, ChunkId, StoreError};
use crate::sync::lock;

/// The empty set of chunks.
static NONE: LazyLock<Rows> = LazyLock::new(Rows::default);

/// How many document frequencies are cached.
const CACHED: usize = 10_000;

/// Segments with fewer documents in all are searched one after the other: threads would take longer to wake up.
const FEW: u64 = 20_000;

/// A thread reads the texts of at least so many documents: fewer do not take as long as it does to wake up.
const AT_ONCE: usize = 8;

/// Looking a document up in a list takes as long as reading so many entries of it.
const LOOKUP: usize = 24;

/// Sums of floats differ by their order; this is more than they differ by.
const DOUBT: f32 = 1.001;

/// The inverted index and texts of a generation.
#[derive(Debug)]
pub(super) struct LexicalIndex {
    segments: Vec<LexicalSegment>,
    docs: u64,
    tokens: u64,
    frequencies: Mutex<HashMap<String, u64>>,
    errors: ErrorContext,
}

/// The result of a lexical search.
#[derive(Debug, Default)]
pub(super) struct LexicalHits {
    /// Best first.
    pub(super) list: Vec<(ChunkId, f32)>,
    /// Where they are.
    pub(super) places: Vec<(ChunkId, DocAddress)>,
    /// The weights of the terms.
    pub(super) scale: Bm25,
}

impl LexicalIndex {
    /// Opens the segments of a generation.
    pub(super) fn open(
        file_set: &FileSet,
        files: &[LexicalFile],
        errors: &ErrorContext,
    ) -> Result<Self, StoreError> {
        let segments: io::Result<Vec<LexicalSegment>> =
            files.iter().map(|file| LexicalSegment::open(file_set, file)).collect();
        let segments = segments.map_err(|error| errors.io("cannot read", error))?;
        let (mut docs, mut tokens) = (0, 0_u64);
        for segment in &segments {
            docs += (segment.len() - segment.dead()) as u64;
            let live = segment.live_files().map(|file| segment.documents().tokens(file));
            tokens = live.fold(tokens, u64::saturating_add);
        }
        Ok(Self { segments, docs, tokens, frequencies: Mutex::default(), errors: errors.clone() })
    }

    /// How many chunks there are.
    pub(super) fn docs(&self) -> u64 {
        self.docs
    }

    /// Its segments.
    pub(super) fn segments(&self) -> &[LexicalSegment] {
        &self.segments
    }

    fn failed(&self, error: io::Error) -> StoreError {
        self.errors.io("cannot search", error)
    }

    /// The best chunks for the terms of a query, among those that the filter lets through.
    pub(super) fn search(
        &self,
        terms: &[QueryTerm],
        through: Option<&[Rows]>,
        depth: usize,
    ) -> Result<LexicalHits, StoreError> {
        let found = self.find(terms, through, depth);
        found.map_err(|error| self.failed(error))
    }

    /// A list of chunks at these places, with a bonus for those that have the wording of the query.
    pub(super) fn reworded(
        &self,
        list: Vec<(ChunkId, f32)>,
        places: &[(ChunkId, DocAddress)],
        scale: &Bm25,
        languages: &[Language],
    ) -> Result<Vec<(ChunkId, f32)>, StoreError> {
        let Some(wording) = Wording::new(scale, languages) else { return Ok(list) };
        let bonus = |(id, place): &(ChunkId, DocAddress)| {
            let Chunk { title, headings, text, .. } = self.chunk(*place)?;
            Ok((*id, wording.bonus(&title, &headings, &text)))
        };
        let read = places.get(..Wording::candidates(&list).len()).unwrap_or_default();
        let bonuses: HashMap<ChunkId, f32> =
            read.par_iter().with_min_len(AT_ONCE).map(bonus).collect::<Result<_, StoreError>>()?;
        Ok(with_bonuses(list, &bonuses))
    }

    /// For each of these chunks, whether the phrases of a query allow it.
    pub(super) fn allowed(&self, places: &[DocAddress], phrases: &Phrases) -> Result<Vec<bool>, StoreError> {
        let allow = |phrases: &mut Phrases, place: &DocAddress| Ok(phrases.allow(&self.chunk(*place)?));
        places.par_iter().with_min_len(AT_ONCE).map_with(phrases.clone(), allow).collect()
    }

    fn find(
        &self,
        query_terms: &[QueryTerm],
        through: Option<&[Rows]>,
        depth: usize,
    ) -> io::Result<LexicalHits> {
        let query_terms = self.with_known_forms(query_terms)?;
        let with = self.frequencies(&query_terms)?;
        let scale = Bm25::new(&query_terms, &with, self.docs, self.average_length());
        let terms = heaviest_first(&scale);
        let of_segment = |(number, segment): (usize, &LexicalSegment)| {
            let through = through.map(|through| through.get(number).unwrap_or(&NONE));
            best(segment, &terms, &scale, through, depth)
        };
        let best: io::Result<Vec<_>> = if self.segments.len() < 2 || self.docs < FEW {
            self.segments.iter().enumerate().map(of_segment).collect()
        } else {
            self.segments.par_iter().enumerate().map(of_segment).collect()
        };
        let mut found = Vec::new();
        for (best, segment) in best?.into_iter().zip(0..) {
            found.extend(best.into_iter().map(|(score, doc)| {
                let place = DocAddress { segment, doc };
                (self.id(place), score, place)
            }));
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(depth);
        Ok(LexicalHits {
            list: found.iter().map(|(id, score, _)| (*id, *score)).collect(),
            places: found.iter().map(|(id, _, place)| (*id, *place)).collect(),
            scale,
        })
    }

    /// What these chunks score for the same query, those left out that have none of its terms. The list's own scores are
    /// the same to the bit.
    pub(super) fn scores(
        &self,
        mut places: Vec<DocAddress>,
        scale: &Bm25,
    ) -> Result<Vec<(ChunkId, f32)>, StoreError> {
        places.sort_unstable_by_key(|place| (place.segment, place.doc));
        let terms = heaviest_first(scale);
        let mut found = Vec::new();
        for places in places.chunk_by(|one, other| one.segment == other.segment) {
            let Some(segment) = places.first().and_then(|it| self.segments.get(to_usize(it.segment))) else {
                continue;
            };
            let scores = scores(segment, &terms, scale, places).map_err(|error| self.failed(error))?;
            let scored = places.iter().zip(scores).filter(|(_, score)| *score > 0.0);
            found.extend(scored.map(|(place, score)| (self.id(*place), score)));
        }
        Ok(found)
    }

    /// Phrases with the forms of their words that occur.
    pub(super) fn known_phrases(&self, phrases: &[Phrase]) -> io::Result<Vec<Phrase>> {
        let known = |phrase: &Phrase| Ok(phrase.with_words(self.with_known_forms(&phrase.words)?));
        phrases.iter().map(known).collect()
    }

    /// The average length of a chunk in tokens; at least one.
    fn average_length(&self) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "an average needs no more")]
        let average = self.tokens.max(self.docs) as f32 / self.docs.max(1) as f32;
        average
    }

    /// Each term with the forms of the main languages if one of them occurs, else with those of all languages.
    fn with_known_forms(&self, terms: &[QueryTerm]) -> io::Result<Vec<QueryTerm>> {
        let known = |term: &QueryTerm| {
            let occurs = self.occurs(term)?;
            Ok(if occurs { term.clone() } else { term.in_all_languages() })
        };
        terms.iter().map(known).collect()
    }

    /// Whether any form of a term occurs.
    pub(super) fn occurs(&self, term: &QueryTerm) -> io::Result<bool> {
        for form in &term.forms {
            if self.frequency(form)? > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The document frequency of each form of these terms.
    fn frequencies<'a>(&self, terms: &'a [QueryTerm]) -> io::Result<BTreeMap<&'a str, u64>> {
        let forms = terms.iter().flat_map(|term| &term.forms);
        forms.map(|form| Ok((form.as_str(), self.frequency(form)?))).collect()
    }

    /// The document frequency of a term, without deleted chunks.
    pub(super) fn frequency(&self, term: &str) -> io::Result<u64> {
        let known = lock(&self.frequencies).get(term).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let mut with = 0;
        for segment in &self.segments {
            with += live_frequency(segment, term)?;
        }
        let mut cached = lock(&self.frequencies);
        if cached.len() >= CACHED {
            cached.clear();
        }
        cached.insert(term.to_owned(), with);
        Ok(with)
    }

    /// A chunk's id.
    pub(super) fn id(&self, place: DocAddress) -> ChunkId {
        let segment = self.segments.get(to_usize(place.segment));
        ChunkId(segment.map(|segment| segment.documents().id(place.doc)).unwrap_or_default())
    }

    /// The number of a chunk's file, among files of the same generation: all chunks of a file are in one segment.
    pub(super) fn file(&self, place: DocAddress) -> u64 {
        let segment = self.segments.get(to_usize(place.segment));
        let number = segment.map(|segment| segment.documents().file_of(place.doc)).unwrap_or_default();
        u64::from(place.segment) << 32 | u64::from(number)
    }

    /// A chunk.
    pub(super) fn chunk(&self, place: DocAddress) -> Result<Chunk, StoreError> {
        let segment = self.segments.get(to_usize(place.segment));
        let segment = segment.ok_or_else(|| self.errors.corrupt("a segment is missing"))?;
        segment.chunk(place.doc).map_err(|error| self.failed(error))
    }

    /// Where the chunks of a file are, in their order.
    pub(super) fn of_file(&self, path: &str) -> Result<Vec<(u32, DocAddress)>, StoreError> {
        let Some((segment, file)) = self.find_file(path)? else { return Ok(Vec::new()) };
        let Some(documents) = self.segments.get(to_usize(segment)).map(LexicalSegment::documents) else {
            return Ok(Vec::new());
        };
        let docs = documents.of_file(file);
        let mut found: Vec<_> =
            docs.map(|doc: DocId| (documents.index(doc), DocAddress { segment, doc })).collect();
        found.sort_unstable_by_key(|(index, _)| *index);
        Ok(found)
    }

    /// The segment that a file is in, and its number there.
    pub(super) fn find_file(&self, path: &str) -> Result<Option<(u32, u32)>, StoreError> {
        for (segment, number) in self.segments.iter().zip(0..) {
            if let Some(file) = segment.find_file(path).map_err(|error| self.failed(error))? {
                return Ok(Some((number, file)));
            }
        }
        Ok(None)
    }
}

/// The document frequency of a term in a segment, without deleted chunks.
fn live_frequency(segment: &LexicalSegment, term: &str) -> io::Result<u64> {
    let Some(info) = segment.terms().get(term.as_bytes())? else { return Ok(0) };
    if !segment.has_deletes() {
        return Ok(u64::from(info.doc_freq));
    }
    let (mut list, mut block, mut with) = (segment.postings(&info)?, Block::new(), 0);
    while list.next_block(&mut block)? {
        with += block.postings().filter(|(doc, _)| !segment.is_deleted(*doc)).count() as u64;
    }
    Ok(with)
}

/// The terms that have a weight, the heaviest first.
fn heaviest_first(scale: &Bm25) -> Vec<(&str, f32)> {
    let mut terms: Vec<(&str, f32)> =
        scale.weights.iter().map(|(term, weight)| (term.as_str(), *weight)).collect();
    terms.retain(|(_, weight)| *weight > 0.0);
    terms.sort_by(|a, b| b.1.total_cmp(&a.1));
    terms
}

/// What some documents of a segment score, which are in order. Terms come as for [`best`].
fn scores(
    segment: &LexicalSegment,
    terms: &[(&str, f32)],
    scale: &Bm25,
    places: &[DocAddress],
) -> io::Result<Vec<f32>> {
    let lengths = segment.documents().norms();
    let norm =
        |doc: DocId| scale.norm(length_of_byte(lengths.get(to_usize(doc)).copied().unwrap_or_default()));
    let mut scores = vec![0.0; places.len()];
    for (term, weight) in terms {
        let Some(info) = segment.terms().get(term.as_bytes())? else { continue };
        let (mut list, mut block) = (segment.postings(&info)?, Block::new());
        for (place, score) in places.iter().zip(&mut scores) {
            if !list.find(place.doc, &mut block)? {
                break;
            }
            if let Some(frequency) = block.frequency(place.doc) {
                *score += term_score(*weight, frequency, norm(place.doc));
            }
        }
    }
    Ok(scores)
}

/// The best documents of a segment, best first; equal ones in the order of their chunks' numbers, not of their own, which
/// depend on the history of the index. Terms come with their weight, the heaviest first.
fn best(
    segment: &LexicalSegment,
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
        norms: std::array::from_fn(|byte| scale.norm(length_of_byte(u8::try_from(byte).unwrap_or(u8::MAX)))),
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
    segment: &'a LexicalSegment,
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
