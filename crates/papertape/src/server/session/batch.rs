//! The batches of a session whose responses are being collected.

use std::collections::HashMap;

/// A place in a batch whose responses are being collected.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchPlace {
    pub(crate) batch: u64,
    pub(crate) index: usize,
}

#[derive(Default)]
pub(super) struct Batches(HashMap<u64, Batch>);

struct Batch {
    waiting: usize,
    /// The responses in the order of their requests; a cancelled request has none.
    responses: Vec<Option<Vec<u8>>>,
}

impl Batches {
    pub(super) fn open(&mut self, key: u64, waiting: usize) {
        self.0.insert(key, Batch { waiting, responses: vec![None; waiting] });
    }

    /// Takes the response of one member; the batch as JSON if it was the last one.
    pub(super) fn collect(&mut self, place: BatchPlace, response: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let batch = self.0.get_mut(&place.batch)?;
        if let Some(collected) = batch.responses.get_mut(place.index) {
            *collected = response;
        }
        batch.waiting -= 1;
        if batch.waiting > 0 {
            return None;
        }
        let responses = self.0.remove(&place.batch)?.responses;
        let responses: Vec<Vec<u8>> = responses.into_iter().flatten().collect();
        (!responses.is_empty()).then(|| [&b"["[..], &responses.join(&b","[..]), b"]"].concat())
    }
}
