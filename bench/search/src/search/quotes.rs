//! A directory's sentences to queries: a few consecutive words that stand in one chunk only.

use std::collections::HashSet;

use papertape_search::corpus::document;

use super::chunks::{Chunks, Query};
use super::links::is_cjk;
use super::prose::{Prose, spaced, words};
use super::sample::sample;
use crate::random::Random;

/// How often another passage of a chunk is tried, if one stands elsewhere, too.
const TRIES: usize = 4;

/// At most `most` passages of four to six words, each of another chunk.
pub(crate) fn quotes(chunks: &Chunks, most: usize, seed: u64) -> Vec<Query> {
    let all: Vec<String> = chunks.all.iter().map(|chunk| spaced(&chunk.whole())).collect();
    let is_of_one = |passage: &str| {
        let passage = spaced(passage);
        all.iter().filter(|text| text.contains(&passage)).take(2).count() == 1
    };
    let (mut prose, mut path) = (Prose::default(), "");
    let mut candidates = Vec::new();
    for (number, chunk) in chunks.all.iter().enumerate() {
        if chunk.path != path {
            (prose, path) = (Prose::default(), &chunk.path);
        }
        let plain = document::plain(&chunk.path, &prose.of(&chunk.text));
        candidates.push((number, plain, format!("{} {:?}", chunk.path, chunk.headings)));
    }
    let mut quotes = Vec::new();
    for (number, plain, name) in sample(candidates, usize::MAX, seed, |(_, plain, _)| plain) {
        if quotes.len() >= most {
            break;
        }
        let mut random = Random::of_text(seed, &name);
        let sentences: Vec<&str> = sentences(&plain).filter(|sentence| length(sentence) >= 8).collect();
        let mut tries = (0..TRIES).filter_map(|_| {
            let sentence = sentences.get(random.below(sentences.len()))?;
            passage(sentence, &mut random)
        });
        if let Some(passage) = tries.find(|passage| is_of_one(passage)) {
            let relevant = HashSet::from([number]);
            quotes.push(Query { ask: passage.to_owned(), relevant, ..Query::default() });
        }
    }
    quotes
}

/// The sentences of a text.
fn sentences(plain: &str) -> impl Iterator<Item = &str> {
    let of_line = |line| -> Vec<&str> {
        let line: &str = line;
        let mut rest = line;
        let mut sentences = Vec::new();
        while let Some(end) =
            rest.match_indices(['.', '!', '?', ':', ';', '。', '！', '？', '；']).find_map(|(at, mark)| {
                let end = at + mark.len();
                let after = rest.get(end..)?;
                (!mark.is_ascii() || after.starts_with(' ')).then_some(end)
            })
        {
            let (sentence, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
            sentences.push(sentence);
            rest = after;
        }
        sentences.push(rest);
        sentences
    };
    plain.lines().flat_map(of_line)
}

/// In half words: two characters of Chinese are one.
fn length(text: &str) -> usize {
    words(text).into_iter().map(|word| half_words(text.get(word).unwrap_or_default())).sum()
}

fn half_words(word: &str) -> usize {
    if word.starts_with(is_cjk) { 1 } else { 2 }
}

/// Four to six consecutive words of a sentence, with what stands between them.
fn passage<'a>(sentence: &'a str, random: &mut Random) -> Option<&'a str> {
    let words = words(sentence);
    let wanted = 2 * (4 + random.below(3));
    let whole = words.iter().map(|word| half_words(sentence.get(word.clone()).unwrap_or_default()));
    let lengths: Vec<usize> = whole.collect();
    let wanted = wanted.min(lengths.iter().sum());
    // The last word at which there are enough words left.
    let mut left = 0;
    let starts = lengths.iter().rev().take_while(|length| {
        let is_enough = left + **length >= wanted;
        left += **length;
        !is_enough
    });
    let starts = lengths.len() - starts.count();
    let first = random.below(starts);
    let mut length = 0;
    let last = lengths.iter().enumerate().skip(first).find_map(|(at, word)| {
        length += word;
        (length >= wanted).then_some(at)
    })?;
    sentence.get(words.get(first)?.start..words.get(last)?.end)
}

#[cfg(test)]
mod tests {
    use super::quotes;
    use crate::search::chunks::Chunks;
    use crate::search::prose::words;

    #[test]
    fn passages_are_of_one_chunk_and_not_of_code() {
        let files = [
            (
                "a.md",
                "# A\n\nThe quick brown fox jumps over the lazy dog.\n\n```\nlet code = never a quote here at all;\n```\n",
            ),
            (
                "b.md",
                "# B\n\nThe quick brown fox jumps over the lazy dog. Another sentence stands in this file alone.\n",
            ),
            ("c.md", "# C\n\n如何在集群中配置资源配额以及限制范围。\n"),
        ];
        let chunks = Chunks::read(&files.map(|(path, text)| (path.to_owned(), text.to_owned())));
        for seed in 0..20 {
            for quote in quotes(&chunks, 10, seed) {
                let number = *quote.relevant.iter().next().unwrap();
                let ask = &quote.ask;
                assert!(chunks.all[number].plain.contains(ask.as_str()), "{ask}");
                assert!(!ask.contains("code") && chunks.all[number].path != "a.md", "{ask}");
                let (least, most) = if number == 2 { (8, 12) } else { (4, 6) };
                assert!((least..=most).contains(&words(ask).len()), "{ask}");
            }
        }
        assert!(!quotes(&chunks, 10, 1).is_empty());
    }
}
