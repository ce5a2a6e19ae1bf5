//! A few bytes kept across reads, without allocation.

/// Up to `N` bytes, or the fact that there were more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Short<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Short<N> {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; N], len: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many more bytes there is room for.
    pub(super) fn room(&self) -> usize {
        N.saturating_sub(self.len)
    }

    pub(super) fn push(&mut self, more: &[u8]) {
        let end = self.len.saturating_add(more.len());
        if let Some(place) = self.bytes.get_mut(self.len..end) {
            place.copy_from_slice(more);
            self.len = end;
        } else {
            self.len = N + 1;
        }
    }

    /// Appends as many of the bytes as there is room for.
    pub(super) fn fill(&mut self, more: &[u8]) {
        self.push(more.get(..self.room().min(more.len())).unwrap_or_default());
    }

    /// All bytes, if there was room for them.
    pub(super) fn get(&self) -> Option<&[u8]> {
        self.bytes.get(..self.len)
    }
}
