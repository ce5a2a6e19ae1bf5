//! The phrases of a query: which chunks have them, verified on their texts.

use super::Chunk;
use crate::analysis::{Phrase, PhraseFinder, Sequence, stands_in, stands_near};
use crate::corpus::document;

/// How many chunks, the best by their terms, are verified.
pub(super) const CHECKED: usize = 1_000;

/// How many words of a link or a tag may be hidden between two words that are shown.
const HIDDEN: usize = 40;

/// What a chunk must have word for word, and what it must not.
#[derive(Debug, Clone, Default)]
pub(super) struct Phrases {
    finder: PhraseFinder,
    required: Vec<Sequence>,
    excluded: Vec<Sequence>,
}

impl Phrases {
    /// Of those phrases that have to be verified; `None` if there are none: the terms say enough of a single word.
    pub(super) fn of(required: &[Phrase], excluded: &[Phrase]) -> Option<Self> {
        let mut phrases = Self::default();
        let mut sequences = |of: &[Phrase]| {
            let several = of.iter().filter(|phrase| phrase.words.len() > 1);
            several.filter_map(|phrase| phrases.finder.add(phrase)).collect::<Vec<_>>()
        };
        let (required, excluded) = (sequences(required), sequences(excluded));
        (phrases.required, phrases.excluded) = (required, excluded);
        (!phrases.required.is_empty() || !phrases.excluded.is_empty()).then_some(phrases)
    }

    /// Whether any phrase is required.
    pub(super) fn are_required(&self) -> bool {
        !self.required.is_empty()
    }

    /// Whether a chunk has every phrase that is required, and none that is excluded.
    pub(super) fn allow(&mut self, chunk: &Chunk) -> bool {
        let fields = [&chunk.title, &chunk.text].into_iter().chain(&chunk.headings);
        let fields: Vec<Sequence> = fields.map(|field| self.finder.sequence(field)).collect();
        // The words of links and tags that are not shown are in the text of a chunk.
        let mut shown: Option<Sequence> = None;
        let finder = &mut self.finder;
        let mut has = |phrase: &Sequence| {
            if fields.iter().any(|field| stands_in(phrase, field)) {
                return true;
            }
            if !fields.iter().any(|field| stands_near(phrase, field, HIDDEN)) {
                return false;
            }
            let shown =
                shown.get_or_insert_with(|| finder.sequence(&document::plain(&chunk.source, &chunk.text)));
            stands_in(phrase, shown)
        };
        self.required.iter().all(&mut has) && !self.excluded.iter().any(has)
    }
}

#[cfg(test)]
mod tests {
    use super::{Chunk, Phrases};
    use crate::analysis::{Language, Phrase};
    use crate::store::{Lines, VectorKey};

    fn chunk(text: &str) -> Chunk {
        Chunk {
            source: "a.md".to_owned(),
            index: 0,
            title: "The title of it".to_owned(),
            headings: vec!["A heading".to_owned()],
            text: text.to_owned(),
            key: VectorKey(0),
            lines: Lines::default(),
        }
    }

    #[test]
    fn phrases_are_found_in_titles_headings_and_texts_as_they_are_shown() {
        let phrase = |text: &str| Phrase::of(text, &[Language::English]).unwrap();
        let text = "See [the guide](https://example.com/a/b \"its title\") for **more** of it, `and_so` on.";
        for (required, allowed) in [
            ("title of it", true),
            ("a heading", true),
            ("the guide for more", true),
            ("more of it and so on", true),
            ("it see", false),
            ("guide more", false),
        ] {
            let phrases = || Phrases::of(&[phrase(required)], &[]).unwrap();
            assert_eq!(phrases().allow(&chunk(text)), allowed, "{required}");
            let mut excluding = Phrases::of(&[], &[phrase(required)]).unwrap();
            assert_eq!(excluding.allow(&chunk(text)), !allowed, "{required}");
        }
        assert!(Phrases::of(&[phrase("word")], &[phrase("other")]).is_none());
    }
}
