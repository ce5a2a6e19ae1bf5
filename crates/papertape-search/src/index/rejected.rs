//! Texts that a model rejected, which are not sent to it again.

use std::collections::HashMap;

use crate::embed::Identity;
use crate::store::{Chunk, VectorKey};
use crate::warnings::Warnings;

/// A model that rejects more texts than this in a run is taken to reject all.
const MOST_IN_A_RUN: usize = 1_000;

/// The most texts that are remembered from run to run. Beyond that, all are sent once more.
const MOST: usize = 10_000;

/// Texts that a model rejected, for as long as it is the same model and they are the same texts.
#[derive(Debug, Default)]
pub struct RejectedTexts {
    by: Option<Identity>,
    /// With its source and the reason.
    texts: HashMap<VectorKey, String>,
    in_this_run: usize,
}

impl RejectedTexts {
    /// Begins a run. What another model rejected is forgotten.
    pub(super) fn begin(&mut self, model: &Identity) {
        if self.by.as_ref() != Some(model) || self.texts.len() > MOST {
            self.texts.clear();
            self.by = Some(model.clone());
        }
        self.in_this_run = 0;
    }

    pub(super) fn add(&mut self, chunk: &Chunk, why: &str) {
        let place = format!("{}#chunk{}: {why}", chunk.source, chunk.index);
        if self.texts.insert(chunk.key, place).is_none() {
            self.in_this_run += 1;
        }
    }

    pub(super) fn contains(&self, chunk: &Chunk) -> bool {
        self.texts.contains_key(&chunk.key)
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether the model is taken to reject all.
    pub(super) fn is_hopeless(&self) -> bool {
        self.in_this_run > MOST_IN_A_RUN
    }

    /// Forgets texts that are no longer in the store: `wanted` is all that has no vector.
    pub(super) fn keep(&mut self, wanted: &[Chunk]) {
        let mut texts = HashMap::with_capacity(wanted.len());
        for chunk in wanted {
            texts.extend(self.texts.remove_entry(&chunk.key));
        }
        self.texts = texts;
    }

    /// Warns of all of them in one line.
    pub(super) fn warn(&self, warnings: &mut Warnings) {
        // The same example each time, so that a log can leave out what it has.
        if let Some(first) = self.texts.values().min() {
            let count = self.texts.len();
            warnings.add(format!(
                "the model rejected {count} of the texts, which lexical search alone finds ({first})"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Lines;

    fn model(name: &str) -> Identity {
        Identity { model: name.to_owned(), dimension: 2, digest: String::new() }
    }

    fn chunk(number: usize) -> Chunk {
        Chunk {
            source: format!("{number:05}.md"),
            index: 0,
            title: String::new(),
            headings: Vec::new(),
            text: String::new(),
            key: VectorKey(number as u64),
            lines: Lines::default(),
        }
    }

    #[test]
    fn a_text_stays_rejected_until_it_or_the_model_changes() {
        let mut rejected = RejectedTexts::default();
        rejected.begin(&model("a"));
        rejected.add(&chunk(1), "too long");
        rejected.add(&chunk(2), "too long");
        rejected.begin(&model("a"));
        assert!(rejected.contains(&chunk(1)) && rejected.contains(&chunk(2)));
        rejected.keep(&[chunk(2), chunk(3)]);
        assert_eq!(
            (rejected.contains(&chunk(1)), rejected.contains(&chunk(2)), rejected.len()),
            (false, true, 1)
        );
        let mut warnings = Warnings::default();
        rejected.warn(&mut warnings);
        let line = warnings.into_lines().concat();
        assert!(
            line.contains("rejected 1 of the texts") && line.contains("(00002.md#chunk0: too long)"),
            "{line}"
        );
        rejected.begin(&model("b"));
        assert_eq!(rejected.len(), 0);
    }

    #[test]
    fn a_model_that_rejects_everything_is_tried_again_and_costs_no_memory() {
        let mut rejected = RejectedTexts::default();
        let mut chunks = (0..).map(chunk);
        for _ in 0..MOST.div_ceil(MOST_IN_A_RUN) {
            rejected.begin(&model("a"));
            while !rejected.is_hopeless() {
                rejected.add(&chunks.next().unwrap(), "no");
            }
        }
        assert!(rejected.len() > MOST);
        rejected.begin(&model("a"));
        assert_eq!(rejected.len(), 0, "it may try again");
    }
}
