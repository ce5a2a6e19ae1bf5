//! What was asked a moment ago.

use std::collections::VecDeque;
use std::sync::Arc;

/// Questions that are remembered.
const MOST: usize = 128;

/// The vectors of the last questions, the newest first.
#[derive(Debug, Default)]
pub(super) struct Recent {
    vectors: VecDeque<(String, Arc<[f32]>)>,
}

impl Recent {
    /// The vector of a question, which is thereby the newest.
    pub(super) fn get(&mut self, question: &str) -> Option<Arc<[f32]>> {
        let place = self.vectors.iter().position(|(asked, _)| asked == question)?;
        let found = self.vectors.remove(place)?;
        let vector = Arc::clone(&found.1);
        self.vectors.push_front(found);
        Some(vector)
    }

    /// Remembers a question, and forgets the one that was not asked for longest.
    pub(super) fn put(&mut self, question: String, vector: Arc<[f32]>) {
        self.vectors.retain(|(asked, _)| *asked != question);
        self.vectors.push_front((question, vector));
        self.vectors.truncate(MOST);
    }

    /// Forgets everything: another model.
    pub(super) fn clear(&mut self) {
        self.vectors.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{MOST, Recent};

    fn vector(n: u16) -> Arc<[f32]> {
        Arc::from([f32::from(n)])
    }

    #[test]
    fn what_was_not_asked_for_longest_is_forgotten() {
        let mut recent = Recent::default();
        for n in 0..u16::try_from(MOST).unwrap() {
            recent.put(n.to_string(), vector(n));
        }
        assert_eq!(recent.get("0"), Some(vector(0)));
        recent.put("new".to_owned(), vector(999));
        assert_eq!(recent.get("1"), None);
        assert_eq!(recent.get("0"), Some(vector(0)));
        assert_eq!(recent.get("new"), Some(vector(999)));
    }

    #[test]
    fn a_question_is_remembered_once() {
        let mut recent = Recent::default();
        recent.put("a".to_owned(), vector(1));
        recent.put("a".to_owned(), vector(2));
        assert_eq!(recent.vectors.len(), 1);
        assert_eq!(recent.get("a"), Some(vector(2)));
    }
}
