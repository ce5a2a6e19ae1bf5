//! What a chunk and its text are identified by, the same in every store.

/// A chunk's identity: a hash of its file's path and its index in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkId(pub u64);

impl ChunkId {
    /// Of a file's path and the chunk's index in it.
    #[must_use]
    pub fn of(source: &str, index: u32) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(source.as_bytes()).update(&[0]).update(&index.to_le_bytes());
        Self(first_eight(&hasher.finalize()))
    }
}

/// A vector's identity: a hash of the embedded text. Chunks with the same text share a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VectorKey(pub u64);

impl VectorKey {
    /// Of the text that is given to the model.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(first_eight(&blake3::hash(text.as_bytes())))
    }
}

fn first_eight(hash: &blake3::Hash) -> u64 {
    let mut bytes = [0; 8];
    for (to, from) in bytes.iter_mut().zip(hash.as_bytes()) {
        *to = *from;
    }
    u64::from_le_bytes(bytes)
}
