//! Texts that a model would not have, so that they are not offered to it again.

use std::collections::HashMap;

use super::warnings::Warnings;
use crate::blog::embed::Identity;
use crate::blog::store::{Chunk, VectorKey};

/// Texts that a model may refuse in a run. One that refuses more would go on to refuse.
const MOST_IN_A_RUN: usize = 1_000;

/// Texts that are remembered from run to run. More than that are forgotten, and then offered once more.
const MOST: usize = 10_000;

/// Texts that a model refused, for as long as it is the same model and they are the same texts.
#[derive(Debug, Default)]
pub struct Refused {
    by: Option<Identity>,
    /// With the place where it stands, and why.
    texts: HashMap<VectorKey, String>,
    in_this_run: usize,
}

impl Refused {
    /// A run begins. What another model refused says nothing about this one.
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

    /// It is no use to offer more.
    pub(super) fn is_hopeless(&self) -> bool {
        self.in_this_run > MOST_IN_A_RUN
    }

    /// Forgets what nobody wants any more: `wanted` is all that has no vector.
    pub(super) fn keep(&mut self, wanted: &[Chunk]) {
        let mut texts = HashMap::with_capacity(wanted.len());
        for chunk in wanted {
            texts.extend(self.texts.remove_entry(&chunk.key));
        }
        self.texts = texts;
    }

    /// One line for all of them.
    pub(super) fn tell(&self, warnings: &mut Warnings) {
        // The same one each time, so that a log can tell what it has told.
        if let Some(first) = self.texts.values().min() {
            let count = self.texts.len();
            warnings.add(format!(
                "the model refused {count} of the texts, which are found by words alone ({first})"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, MOST_IN_A_RUN, Refused};
    use crate::blog::embed::Identity;
    use crate::blog::ingest::warnings::Warnings;
    use crate::blog::store::{Chunk, VectorKey};

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
        }
    }

    #[test]
    fn a_text_is_refused_until_it_is_another_or_the_model_is() {
        let mut refused = Refused::default();
        refused.begin(&model("a"));
        refused.add(&chunk(1), "too long");
        refused.add(&chunk(2), "too long");
        refused.begin(&model("a"));
        assert!(refused.contains(&chunk(1)) && refused.contains(&chunk(2)));
        refused.keep(&[chunk(2), chunk(3)]);
        assert_eq!(
            (refused.contains(&chunk(1)), refused.contains(&chunk(2)), refused.len()),
            (false, true, 1)
        );
        let mut warnings = Warnings::default();
        refused.tell(&mut warnings);
        let told = warnings.into_lines().concat();
        assert!(
            told.contains("refused 1 of the texts") && told.contains("(00002.md#chunk0: too long)"),
            "{told}"
        );
        refused.begin(&model("b"));
        assert_eq!(refused.len(), 0);
    }

    #[test]
    fn a_model_that_refuses_everything_is_left_alone_and_costs_no_memory() {
        let mut refused = Refused::default();
        let mut chunks = (0..).map(chunk);
        for _ in 0..MOST.div_ceil(MOST_IN_A_RUN) {
            refused.begin(&model("a"));
            while !refused.is_hopeless() {
                refused.add(&chunks.next().unwrap(), "no");
            }
        }
        assert!(refused.len() > MOST);
        refused.begin(&model("a"));
        assert_eq!(refused.len(), 0, "it may try again");
    }
}
