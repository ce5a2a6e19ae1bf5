//! A synthetic corpus: chunks with texts and vectors, and queries about them, shaped like notes.
//!
//! - Words: 60,000 made-up ones. Two thirds of a text are drawn by Zipf's law (the commonest in nearly every chunk, most in
//!   a few), a third from the 60 words of its topic. 120 to 170 words in a chunk, ten chunks in a file.
//! - Vectors: a topic's vector lies near that of one of 200 fields, a chunk's near that of its topic: the cosine of two chunks
//!   of a topic is about 0.5, of two of a field about 0.25. Real models crowd more, and along fewer directions.
//! - Queries: three to six words of a chunk, half of them its topic's; its vector with as much noise again (cosine 0.7).

use crate::random::Random;

/// How many words there are.
const VOCABULARY: usize = 60_000;
/// How many words a topic has of its own.
const OWN_WORDS: usize = 60;
/// How many fields the topics are of.
const FIELDS: usize = 200;
/// How many chunks have a topic in common, about.
const PER_TOPIC: usize = 250;
/// How many chunks a file has.
pub(crate) const PER_FILE: usize = 10;

/// Makes chunks.
#[derive(Debug)]
pub(crate) struct Corpus {
    pub(crate) chunks: usize,
    pub(crate) dimension: usize,
    seed: u64,
    vocabulary: Vec<String>,
    /// What share of all words is this one or a commoner one.
    shares: Vec<f32>,
    topics: Vec<Topic>,
}

#[derive(Debug)]
struct Topic {
    words: Vec<usize>,
    vector: Vec<f32>,
}

/// A query, and which chunk it is about.
#[derive(Debug, Clone)]
pub(crate) struct TestQuery {
    pub(crate) text: String,
    pub(crate) vector: Vec<f32>,
}

impl Corpus {
    /// The same numbers give the same chunks.
    pub(crate) fn new(chunks: usize, dimension: usize, seed: u64) -> Self {
        let vocabulary = (0..VOCABULARY).map(|rank| made_up(&mut Random::of(seed ^ 1, rank), rank)).collect();
        let mut shares = Vec::with_capacity(VOCABULARY);
        let mut sum = 0.0_f32;
        for rank in 0..VOCABULARY {
            sum += 1.0 / (to_f32(rank) + 2.7);
            shares.push(sum);
        }
        shares.iter_mut().for_each(|share| *share /= sum);
        let fields: Vec<Vec<f32>> =
            (0..FIELDS).map(|field| direction(&mut Random::of(seed ^ 2, field), dimension)).collect();
        let topics = (0..(chunks / PER_TOPIC).max(20))
            .map(|topic| {
                let mut random = Random::of(seed ^ 3, topic);
                let field = random.below(FIELDS);
                let vector = near(fields.get(field).map_or(&[], Vec::as_slice), &mut random);
                // No topic has a word of its own among the commonest.
                let words = (0..OWN_WORDS).map(|_| 500 + random.below(VOCABULARY - 500)).collect();
                Topic { words, vector }
            })
            .collect();
        Self { chunks, dimension, seed, vocabulary, shares, topics }
    }

    /// The words of a chunk.
    pub(crate) fn text(&self, chunk: usize) -> String {
        let mut random = Random::of(self.seed ^ 4, chunk);
        let length = 120 + random.below(51);
        let mut text = String::with_capacity(length * 8);
        for place in 0..length {
            let end = if place % 12 == 11 { ".\n" } else { " " };
            text.push_str(self.word(chunk, 3, &mut random));
            text.push_str(end);
        }
        text
    }

    /// A heading or a title that goes with a chunk.
    pub(crate) fn heading(&self, chunk: usize, which: u64) -> String {
        let mut random = Random::of(self.seed ^ (5 + which), chunk);
        let words: Vec<&str> = (0..2 + random.below(3)).map(|_| self.word(chunk, 2, &mut random)).collect();
        words.join(" ")
    }

    /// What a chunk means.
    pub(crate) fn vector(&self, chunk: usize) -> Vec<f32> {
        near(self.topic(chunk).map_or(&[], |topic| &topic.vector), &mut Random::of(self.seed ^ 7, chunk))
    }

    /// A query about a chunk.
    pub(crate) fn query(&self, number: usize) -> TestQuery {
        let mut random = Random::of(self.seed ^ 8, number);
        let chunk = random.below(self.chunks);
        let text = self.text(chunk);
        let said: Vec<&str> = text.split_whitespace().collect();
        let words: Vec<&str> = (0..3 + random.below(4))
            .map(|place| match place % 2 {
                0 => said.get(random.below(said.len())).copied().unwrap_or_default().trim_end_matches('.'),
                _ => self.word(chunk, 1, &mut random),
            })
            .collect();
        TestQuery { text: words.join(" "), vector: near(&self.vector(chunk), &mut random) }
    }

    /// A word of the topic once in `every` times, else any word.
    fn word(&self, chunk: usize, every: usize, random: &mut Random) -> &str {
        let own = self.topic(chunk).filter(|_| random.below(every) == 0);
        let rank = match own {
            Some(topic) => topic.words.get(random.below(OWN_WORDS)).copied().unwrap_or_default(),
            None => {
                let share = random.unit();
                self.shares.partition_point(|below| *below < share)
            }
        };
        self.vocabulary.get(rank).map_or("", String::as_str)
    }

    /// Chunks of a file share their topic more often than not.
    fn topic(&self, chunk: usize) -> Option<&Topic> {
        let file = Random::of(self.seed ^ 9, chunk / PER_FILE).below(self.topics.len());
        let mut random = Random::of(self.seed ^ 10, chunk);
        let other = random.below(self.topics.len());
        self.topics.get(if random.below(3) == 0 { other } else { file })
    }
}

/// A word of two to five syllables; the number makes it one of a kind.
fn made_up(random: &mut Random, rank: usize) -> String {
    const ONSETS: [&str; 16] =
        ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr", "pl"];
    const VOWELS: [&str; 6] = ["a", "e", "i", "o", "u", "ea"];
    let mut word = String::new();
    let mut left = rank;
    for _ in 0..2 + random.below(2) {
        word.push_str(ONSETS.get(left % 16).unwrap_or(&"b"));
        word.push_str(VOWELS.get((left / 16) % 6).unwrap_or(&"a"));
        left /= 96;
    }
    while left > 0 {
        word.push_str(ONSETS.get(left % 16).unwrap_or(&"b"));
        word.push_str(VOWELS.get((left / 16) % 6).unwrap_or(&"a"));
        left /= 96;
    }
    word.push_str(["n", "l", "r", "x"].get(random.below(4)).unwrap_or(&"n"));
    word
}

fn direction(random: &mut Random, dimension: usize) -> Vec<f32> {
    let mut vector: Vec<f32> = (0..dimension).map(|_| random.normal()).collect();
    normalise(&mut vector);
    vector
}

/// A vector at a cosine of about 0.7 from another.
fn near(vector: &[f32], random: &mut Random) -> Vec<f32> {
    let scale = to_f32(vector.len()).sqrt().recip();
    let mut near: Vec<f32> = vector.iter().map(|value| value + scale * random.normal()).collect();
    normalise(&mut near);
    near
}

fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    vector.iter_mut().for_each(|value| *value /= length);
}

#[expect(clippy::cast_precision_loss, reason = "ranks and dimensions are far below 2^24")]
fn to_f32(count: usize) -> f32 {
    count as f32
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Corpus, VOCABULARY};

    #[test]
    fn a_chunk_is_the_same_whenever_it_is_made() {
        let (one, other) = (Corpus::new(1_000, 64, 1), Corpus::new(1_000, 64, 1));
        assert_eq!(one.text(17), other.text(17));
        assert_eq!(one.vector(17), other.vector(17));
        assert_eq!(one.query(3).text, other.query(3).text);
        assert_ne!(one.text(17), one.text(18));
    }

    #[test]
    fn no_word_is_there_twice() {
        let corpus = Corpus::new(100, 8, 1);
        let words: HashSet<&String> = corpus.vocabulary.iter().collect();
        assert!(words.len() > VOCABULARY * 99 / 100, "{}", words.len());
    }
}
