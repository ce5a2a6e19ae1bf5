//! Headings, and places to cut at, to chunks.

use std::ops::Range;

use super::Section;
use super::cut::{self, LONG, cost};
use super::outline::Outline;

/// Sections up to this size share a chunk with others of the same heading above.
const TINY: usize = 120;

/// The size up to which they do.
const SHARED: usize = 600;

/// From one heading to the next.
struct Part {
    range: Range<usize>,
    /// Where its text begins, after its heading.
    body: usize,
    /// 0 before the first heading.
    level: u8,
    /// Places in the list of headings: those above it and its own.
    path: Vec<usize>,
    /// There is nothing in it but the heading.
    bare: bool,
    size: usize,
}

/// A text in pieces that a model can read at once. Joined, they are the text.
pub(super) fn chunks(text: &str, outline: &Outline, title: &str) -> Vec<Section> {
    let mut chunks = Vec::new();
    if text.trim().is_empty() {
        return chunks;
    }
    let parts = parts(text, outline);
    let is_title = is_title(outline, title);
    let mut next = 0;
    while let Some(shared) = shared(&parts, next) {
        next = shared.end;
        let Some(lead) = parts.get(shared.lead) else { break };
        let headings: Vec<String> = lead
            .path
            .iter()
            .filter(|place| Some(**place) != is_title)
            .filter_map(|place| outline.headings.get(*place))
            .filter(|heading| !heading.text.is_empty())
            .map(|heading| heading.text.clone())
            .collect();
        for range in cut::pieces(text, shared.range, &outline.cuts) {
            let words = range.start.max(lead.body)..range.end;
            chunks.push(Section {
                headings: headings.clone(),
                text: text.get(range).unwrap_or_default().to_owned(),
                plain: outline.plain.within(words).to_owned(),
                ..Section::default()
            });
        }
    }
    chunks
}

/// What a chunk shows without its own heading.
pub(super) fn plain<'a>(text: &str, outline: &'a Outline) -> &'a str {
    let parts = parts(text, outline);
    let lead = shared(&parts, 0).and_then(|shared| parts.get(shared.lead));
    outline.plain.within(lead.map_or(0, |lead| lead.body)..text.len())
}

/// The heading that is the title of the document: the first of the outermost ones, if it says the same.
fn is_title(outline: &Outline, title: &str) -> Option<usize> {
    let place = outline.headings.iter().position(|heading| heading.level == 1 && !heading.text.is_empty())?;
    outline.headings.get(place).filter(|heading| heading.text == title).map(|_| place)
}

fn parts(text: &str, outline: &Outline) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut path: Vec<usize> = Vec::new();
    let first = outline.headings.first().map_or(text.len(), |heading| heading.start);
    let mut start = 0;
    if !text.get(..first).unwrap_or_default().trim().is_empty() {
        parts.push(part(text, 0..first, 0, 0, Vec::new()));
        start = first;
    }
    let level_of = |place: usize| outline.headings.get(place).map_or(0, |heading| heading.level);
    for (place, heading) in outline.headings.iter().enumerate() {
        let end = outline.headings.get(place + 1).map_or(text.len(), |next| next.start);
        path.retain(|above| level_of(*above) < heading.level);
        path.push(place);
        parts.push(part(text, start..end, heading.end, heading.level, path.clone()));
        start = end;
    }
    parts
}

fn part(text: &str, range: Range<usize>, body: usize, level: u8, path: Vec<usize>) -> Part {
    let bare = text.get(body..range.end).unwrap_or_default().trim().is_empty();
    let size = cost(text.get(range.clone()).unwrap_or_default());
    Part { range, body, level, path, bare, size }
}

/// Parts that go together.
struct Shared {
    range: Range<usize>,
    /// Whose headings they go by.
    lead: usize,
    /// The part after them.
    end: usize,
}

fn shared(parts: &[Part], first: usize) -> Option<Shared> {
    let start = parts.get(first)?.range.start;
    // A heading right above another one goes with it: both are in its path.
    let mut lead = first;
    while let (Some(part), Some(next)) = (parts.get(lead), parts.get(lead + 1)) {
        if !part.bare || next.level <= part.level {
            break;
        }
        lead += 1;
    }
    let mut last = lead;
    let mut size: usize = parts.get(first..=lead)?.iter().map(|part| part.size).sum();
    while let (Some(part), Some(next)) = (parts.get(last), parts.get(last + 1)) {
        let siblings = part.level == next.level && above(part) == above(next);
        let has_others_below = parts.get(last + 2).is_some_and(|after| after.level > next.level);
        let tiny = part.size <= TINY && next.size <= TINY && size + next.size <= SHARED.min(LONG);
        if !siblings || has_others_below || !tiny {
            break;
        }
        size += next.size;
        last += 1;
    }
    Some(Shared { range: start..parts.get(last)?.range.end, lead, end: last + 1 })
}

fn above(part: &Part) -> Option<&[usize]> {
    part.path.split_last().map(|(_, above)| above)
}
