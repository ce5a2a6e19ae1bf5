//! A section that is too long to pieces, cut where it hurts least: between blocks, list items, lines, sentences, words.

use std::ops::Range;

use super::outline::Cut;
use crate::analysis::is_unspaced;

/// The size that pieces aim at, in characters: some 400 tokens of English for a model.
const AIM: usize = 1_500;

/// What is longer is cut.
pub(super) const LONG: usize = 2_000;

/// The most there is in a piece.
pub(super) const MOST: usize = 2_500;

/// What is smaller goes with the piece before it, if there is room.
const REST: usize = 300;

/// How many characters a character of Chinese (or the like) counts as: it says more, and is more tokens.
const DENSE: usize = 3;

/// How large a text is for a reader. Further blanks after a blank are nothing.
pub(super) fn cost(text: &str) -> usize {
    let mut after_blank = false;
    if text.is_ascii() {
        // The same, and faster.
        return text
            .bytes()
            .filter(|byte| !std::mem::replace(&mut after_blank, is_blank(*byte)) || !after_blank)
            .count();
    }
    text.chars().map(|c| weight(c, &mut after_blank)).sum()
}

/// What `char::is_whitespace` says of ASCII.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn weight(c: char, after_blank: &mut bool) -> usize {
    let blank = c.is_whitespace();
    match std::mem::replace(after_blank, blank) && blank {
        true => 0,
        false if is_unspaced(c) => DENSE,
        false => 1,
    }
}

/// The places to cut at, best first.
#[derive(Debug, Clone, Copy)]
enum Boundary {
    Block,
    Part,
    Line,
    Sentence,
    Word,
    Character,
}

impl Boundary {
    fn finer(self) -> Self {
        match self {
            Self::Block => Self::Part,
            Self::Part => Self::Line,
            Self::Line => Self::Sentence,
            Self::Sentence => Self::Word,
            Self::Word | Self::Character => Self::Character,
        }
    }
}

/// A part of a text in pieces that are not too long. None of them is blank unless the part is.
pub(super) fn pieces(text: &str, range: Range<usize>, cuts: &[Cut]) -> Vec<Range<usize>> {
    let total = cost(text.get(range.clone()).unwrap_or_default());
    if total <= LONG {
        return vec![range];
    }
    let mut grains = Vec::new();
    let from = cuts.partition_point(|cut| cut.at <= range.start);
    let to = cuts.partition_point(|cut| cut.at < range.end);
    let cuts = cuts.get(from..to).unwrap_or_default();
    Grinding { text, cuts }.grind(range, Boundary::Block, &mut grains);
    pack(grains, total)
}

struct Grain {
    range: Range<usize>,
    size: usize,
    blank: bool,
}

/// Puts grains together again. As none is larger than [`LONG`], no piece but the last is smaller than `MOST - LONG`.
fn pack(grains: Vec<Grain>, total: usize) -> Vec<Range<usize>> {
    let aim = total / total.div_ceil(AIM).max(1);
    let mut pieces: Vec<Grain> = Vec::new();
    for grain in grains {
        match pieces.last_mut() {
            Some(last) if grain.blank || (last.size < aim && last.size + grain.size <= MOST) => {
                last.range.end = grain.range.end;
                last.size += grain.size;
            }
            _ => pieces.push(grain),
        }
    }
    if let [.., before, last] = pieces.as_mut_slice()
        && last.size < REST
        && before.size + last.size <= MOST
    {
        before.range.end = last.range.end;
        pieces.pop();
    }
    pieces.into_iter().map(|piece| piece.range).collect()
}

struct Grinding<'a> {
    text: &'a str,
    cuts: &'a [Cut],
}

impl Grinding<'_> {
    /// Goes one kind deeper for what is too long, at most six deep.
    fn grind(&self, range: Range<usize>, kind: Boundary, grains: &mut Vec<Grain>) {
        let mut start = range.start;
        for end in self.ends(&range, kind).into_iter().chain([range.end]) {
            let piece = start..end;
            if piece.is_empty() {
                continue;
            }
            start = end;
            let text = self.text.get(piece.clone()).unwrap_or_default();
            let size = cost(text);
            if size <= LONG || matches!(kind, Boundary::Character) {
                grains.push(Grain { range: piece, size, blank: text.trim().is_empty() });
            } else {
                self.grind(piece, kind.finer(), grains);
            }
        }
    }

    /// The places of a kind within a range.
    fn ends(&self, range: &Range<usize>, kind: Boundary) -> Vec<usize> {
        let text = self.text.get(range.clone()).unwrap_or_default();
        let after = |is_end: &dyn Fn(char, Option<char>) -> bool| {
            let mut chars = text.char_indices().peekable();
            let mut ends = Vec::new();
            while let Some((at, c)) = chars.next() {
                if is_end(c, chars.peek().map(|(_, next)| *next)) {
                    ends.push(range.start + at + c.len_utf8());
                }
            }
            ends
        };
        match kind {
            Boundary::Block => self.known(range, true),
            Boundary::Part => self.known(range, false),
            Boundary::Line => after(&|c, _| c == '\n'),
            Boundary::Sentence => after(&|c, next| match c {
                '.' | '!' | '?' | ';' | ':' => next.is_some_and(char::is_whitespace),
                '。' | '！' | '？' | '；' => true,
                _ => false,
            }),
            Boundary::Word => {
                after(&|c, next| c.is_whitespace() && next.is_some_and(|next| !next.is_whitespace()))
            }
            Boundary::Character => self.characters(range),
        }
    }

    fn known(&self, range: &Range<usize>, outermost: bool) -> Vec<usize> {
        let from = self.cuts.partition_point(|cut| cut.at <= range.start);
        let to = self.cuts.partition_point(|cut| cut.at < range.end);
        let within = self.cuts.get(from..to).unwrap_or_default();
        within.iter().filter(|cut| cut.outermost || !outermost).map(|cut| cut.at).collect()
    }

    fn characters(&self, range: &Range<usize>) -> Vec<usize> {
        let (mut ends, mut size, mut after_blank) = (Vec::new(), 0, false);
        for (at, c) in self.text.get(range.clone()).unwrap_or_default().char_indices() {
            let weight = weight(c, &mut after_blank);
            if size + weight > AIM {
                ends.push(range.start + at);
                size = 0;
            }
            size += weight;
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::{cost, is_blank};

    #[test]
    fn blanks_after_blanks_cost_nothing_and_chinese_costs_more() {
        for (text, wanted) in
            [("", 0), (" ", 1), ("a b", 3), ("a \n\t b", 3), ("añ  o", 4), ("漢字", 6), ("漢  x", 5)]
        {
            assert_eq!(cost(text), wanted, "{text:?}");
        }
        assert!((0..128_u8).all(|byte| is_blank(byte) == char::from(byte).is_whitespace()));
    }
}
