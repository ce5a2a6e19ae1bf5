//! A chunk to the one line that a hit shows of it: the window with the most of what was searched for.

use std::ops::Range;

use icu_segmenter::GraphemeClusterSegmenter;

use crate::analysis::{self, Language, Place, QueryTerm, Term};
use crate::corpus::document;
use crate::rank::bm25::Bm25;
use crate::store::Chunk;

/// The most characters of a preview, without the `…` on its sides.
pub const PREVIEW_CHARS: usize = 160;

/// A preview ends before a word that does not fit, unless the word is longer than this.
const LONG_WORD: usize = 32;

/// The terms of a query that occur in the index, to find them in its hits.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MatchedTerms {
    terms: Vec<Term>,
    weights: Vec<f32>,
    languages: Vec<Language>,
}

/// What a hit shows of a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Preview {
    /// One line without markup, with `…` where more of the chunk precedes or follows.
    pub text: String,
    /// The words in it that match the query, in bytes of `text`: in order, and apart from each other.
    pub matches: Vec<Range<usize>>,
    /// The line of the file with the most of these words, or the first one of the chunk; 0 if the chunk is not text as it
    /// stands in the file.
    pub line: u32,
}

impl Preview {
    /// The words that match the query as they are written, each once.
    #[must_use]
    pub fn words(&self) -> Vec<&str> {
        let mut words: Vec<&str> = Vec::new();
        for word in self.matches.iter().filter_map(|range| self.text.get(range.clone())) {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words
    }
}

impl MatchedTerms {
    /// The terms of a query, in an index of texts in these languages. Stop words count only if there is nothing else.
    pub(super) fn new(query: &[QueryTerm], bm25: &Bm25, languages: &[Language]) -> Self {
        let is_of = |term: &Term, stop_word: bool| {
            query.iter().any(|of| of.stop_word == stop_word && of.forms.contains(term))
        };
        let is_stop_word = |term: &Term| is_of(term, true) && !is_of(term, false);
        let has_content = bm25.weights.iter().any(|(term, _)| !is_stop_word(term));
        let wanted = bm25.weights.iter().filter(|(term, _)| !has_content || !is_stop_word(term));
        let (terms, weights): (Vec<Term>, _) = wanted.cloned().unzip();
        // A term that occurs in none of the usual languages was looked for in all of them.
        let is_stray = terms.iter().any(|term| !is_of(term, true) && !is_of(term, false));
        let languages = if is_stray { &Language::ALL } else { languages };
        Self { terms, weights, languages: languages.to_vec() }
    }

    /// What to show of a chunk: the part with the rarest and the most of the terms, and if several have the same, the first
    /// one. A chunk with none of them is shown from its beginning. Its own headings are left out, because a hit shows them
    /// anyway, and so is what no reader sees: comments, the targets of links.
    #[must_use]
    pub fn preview(&self, chunk: &Chunk) -> Preview {
        let plain = one_line(&document::plain(&chunk.source, &chunk.text));
        let line = if plain.is_empty() { one_line(&chunk.text) } else { plain };
        let places = if self.terms.is_empty() {
            Vec::new()
        } else {
            analysis::places(&line, &self.terms, &self.languages)
        };
        let mut preview = Line::new(&line).window(&places, &self.weights);
        preview.line = line_of(&preview.words(), chunk);
        preview
    }
}

/// The line of the file with the most of these words of a chunk.
fn line_of(words: &[&str], chunk: &Chunk) -> u32 {
    let mut best = (0, chunk.lines.start);
    for (line, number) in chunk.text.trim_start().lines().zip(chunk.lines.start..=chunk.lines.end) {
        let count = words.iter().filter(|word| line.contains(**word)).count();
        if count > best.0 {
            best = (count, number);
        }
    }
    best.1
}

fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// A line whose places are counted in characters.
struct Line<'a> {
    text: &'a str,
    /// Where each character begins, and the end.
    starts: Vec<usize>,
}

impl<'a> Line<'a> {
    fn new(text: &'a str) -> Self {
        let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        Self { text, starts }
    }

    fn length(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The character that begins at a byte.
    fn character(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start < byte)
    }

    fn byte(&self, character: usize) -> usize {
        self.starts.get(character).copied().unwrap_or(self.text.len())
    }

    fn slice(&self, range: Range<usize>) -> &'a str {
        self.text.get(self.byte(range.start)..self.byte(range.end)).unwrap_or_default()
    }

    fn window(&self, places: &[Place], weights: &[f32]) -> Preview {
        let spans: Vec<Span> = places
            .iter()
            .map(|Place { term, range }| Span {
                term: *term,
                start: self.character(range.start),
                end: self.character(range.end),
            })
            .collect();
        let best = best(&spans, weights).unwrap_or_default();
        let range = self.around(&best);
        let mut preview = Preview::default();
        let before = if range.start > 0 { "…" } else { "" };
        preview.text.push_str(before);
        preview.text.push_str(self.slice(range.clone()).trim_end());
        let offset = self.byte(range.start);
        let end = offset + preview.text.len() - before.len();
        if range.end < self.length() {
            preview.text.push('…');
        }
        for Place { range, .. } in
            places.iter().filter(|place| offset <= place.range.start && place.range.end <= end)
        {
            let here = range.start - offset + before.len()..range.end - offset + before.len();
            match preview.matches.last_mut() {
                Some(last) if here.start < last.end => last.end = last.end.max(here.end),
                _ => preview.matches.push(here),
            }
        }
        preview
    }

    /// The characters to show around a part that is to be seen: the beginning if that has the part, else with whole
    /// sentences or words before it.
    fn around(&self, part: &Range<usize>) -> Range<usize> {
        if part.end <= PREVIEW_CHARS {
            return 0..self.end(0, part.end);
        }
        let (first, last) = (part.end - PREVIEW_CHARS, part.start);
        // More is shown of what follows than of what precedes, and nothing is wasted at the end of the line.
        let ideal = (last - (last - first) / 3).min(self.length() - PREVIEW_CHARS).max(first);
        let mut sentence: Option<usize> = None;
        let mut word = None;
        let mut before = (' ', ' ');
        let from = first.saturating_sub(2);
        for (at, c) in (from..=last).zip(self.slice(from..last + 1).chars()) {
            if at >= first && before.1 == ' ' {
                if matches!(before.0, '.' | '!' | '?' | ':')
                    && sentence.is_none_or(|known| known.abs_diff(ideal) > at.abs_diff(ideal))
                {
                    sentence = Some(at);
                }
                word = word.or(Some(at).filter(|at| *at >= ideal));
            } else if at >= first
                && matches!(before.1, '。' | '！' | '？')
                && sentence.is_none_or(|known| known.abs_diff(ideal) > at.abs_diff(ideal))
            {
                sentence = Some(at);
            }
            before = (before.1, c);
        }
        let start = sentence.or(word).unwrap_or_else(|| self.whole(ideal, last));
        start..self.end(start, part.end)
    }

    /// Where a preview ends that begins at `start` and shows everything up to `seen`, if whole characters allow.
    fn end(&self, start: usize, seen: usize) -> usize {
        let most = start + PREVIEW_CHARS;
        if most >= self.length() {
            return self.length();
        }
        let shown = self.slice(start..most + 1);
        // The last blank is not shown, so that it may be one character further.
        let words = shown.rfind(' ').map(|at| self.character(self.byte(start) + at));
        if let Some(words) =
            words.filter(|at| *at >= seen && most.saturating_sub(*at) <= LONG_WORD && *at > start)
        {
            return words;
        }
        if shown.is_ascii() {
            return most;
        }
        let whole = GraphemeClusterSegmenter::new()
            .segment_str(shown)
            .map(|at| self.character(self.byte(start) + at))
            .take_while(|at| *at <= most)
            .last();
        // If a single grapheme cluster is too long, as much of it is shown as fits.
        whole.filter(|at| *at > start).unwrap_or(most)
    }

    /// The first whole grapheme cluster from a place on, up to another one.
    fn whole(&self, from: usize, to: usize) -> usize {
        // Clusters are known from the beginning of a word on.
        let word = self.slice(0..from).rfind(' ').map_or(0, |at| at + 1);
        let text = self.text.get(word..self.byte(to)).unwrap_or_default();
        let mut ends = GraphemeClusterSegmenter::new().segment_str(text);
        ends.find(|at| word + at >= self.byte(from)).map_or(to, |at| self.character(word + at))
    }
}

/// A place in characters.
struct Span {
    term: usize,
    start: usize,
    end: usize,
}

/// The part of a line, short enough for a preview, whose different terms weigh most.
fn best(spans: &[Span], weights: &[f32]) -> Option<Range<usize>> {
    let mut best: Option<(f32, Range<usize>)> = None;
    for (number, first) in spans.iter().enumerate() {
        let within = spans.get(number..).unwrap_or_default().iter();
        let (mut seen, mut weight, mut end) = (0_u128, 0.0, first.start);
        for span in within.take_while(|span| span.start <= first.start + PREVIEW_CHARS) {
            let bit =
                u32::try_from(span.term).ok().and_then(|term| 1_u128.checked_shl(term)).unwrap_or_default();
            if span.end <= first.start + PREVIEW_CHARS && seen & bit == 0 {
                seen |= bit;
                weight += weights.get(span.term).copied().unwrap_or_default();
                end = end.max(span.end);
            }
        }
        if end > first.start && best.as_ref().is_none_or(|(known, _)| weight > *known) {
            best = Some((weight, first.start..end));
        }
    }
    best.map(|(_, range)| range)
}

#[cfg(test)]
#[path = "preview/tests.rs"]
mod tests;
