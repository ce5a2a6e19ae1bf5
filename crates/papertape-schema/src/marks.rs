//! Which members of an object or items of an array have been evaluated.

use serde_json::Value;

/// One mark for each member or item, in their order.
#[derive(Debug)]
pub(crate) struct Marks(Vec<bool>);

impl Marks {
    pub(crate) fn of(value: &Value) -> Self {
        let length = match value {
            Value::Array(items) => items.len(),
            Value::Object(members) => members.len(),
            _ => 0,
        };
        Self(vec![false; length])
    }

    pub(crate) fn mark(&mut self, at: usize) {
        if let Some(mark) = self.0.get_mut(at) {
            *mark = true;
        }
    }

    pub(crate) fn mark_all(&mut self) {
        self.0.fill(true);
    }

    pub(crate) fn has(&self, at: usize) -> bool {
        self.0.get(at).is_some_and(|mark| *mark)
    }

    pub(crate) fn add(&mut self, others: &Self) {
        for (mark, other) in self.0.iter_mut().zip(&others.0) {
            *mark |= other;
        }
    }
}
