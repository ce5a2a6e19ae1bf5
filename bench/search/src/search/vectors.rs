//! A model whose vectors stay in a file: the next run, or another version of the product, need not make them again.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};
use papertape_search::embed::{EmbedError, EmbedFuture, Embedder, Identity, Local, Purpose};

use crate::random::Random;

/// A model and the vectors that it has made.
#[derive(Debug)]
pub(crate) struct KeptVectors {
    model: Local,
    kept: Option<Mutex<Kept>>,
}

/// A file of vectors: a key, and as many numbers as the model's vectors have, again and again.
#[derive(Debug)]
struct Kept {
    known: HashMap<u64, Vec<f32>>,
    file: File,
}

impl KeptVectors {
    /// A model; its vectors stay in this directory, if there is one.
    pub(crate) async fn open(model: &Path, dir: Option<&Path>) -> Result<Self> {
        let model = Local::new(model);
        let Some(dir) = dir else { return Ok(Self { model, kept: None }) };
        let identity = model.identify().await?;
        fs::create_dir_all(dir)?;
        let name = format!("{}-{}.vectors", identity.model.replace('/', "-"), identity.digest);
        let kept = Kept::open(&dir.join(name), usize::try_from(identity.dimension)?)?;
        Ok(Self { model, kept: Some(Mutex::new(kept)) })
    }

    fn kept(&self) -> Option<MutexGuard<'_, Kept>> {
        Some(self.kept.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn vectors(
        &self,
        texts: &[String],
        purpose: Purpose,
    ) -> Result<Vec<Result<Vec<f32>, String>>, EmbedError> {
        let known = |text: &String| self.kept()?.known.get(&key(text, purpose)).cloned();
        let mut vectors: Vec<Option<Result<Vec<f32>, String>>> =
            texts.iter().map(|text| known(text).map(Ok)).collect();
        let new = vectors.iter().zip(texts).filter(|(vector, _)| vector.is_none());
        let new: Vec<String> = new.map(|(_, text)| text.clone()).collect();
        let mut made = match new.as_slice() {
            [] => Vec::new(),
            new => self.model.embed(new, purpose).await?,
        };
        if let Some(mut kept) = self.kept() {
            for (text, vector) in new.iter().zip(&made) {
                if let Ok(vector) = vector {
                    kept.keep(key(text, purpose), vector)
                        .map_err(|why| EmbedError::Unavailable(format!("vectors cannot be kept: {why}")))?;
                }
            }
        }
        let mut made = made.drain(..);
        vectors.iter_mut().filter(|vector| vector.is_none()).for_each(|vector| *vector = made.next());
        Ok(vectors.into_iter().flatten().collect())
    }
}

impl Embedder for KeptVectors {
    fn identify(&self) -> EmbedFuture<'_, Identity> {
        self.model.identify()
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        purpose: Purpose,
    ) -> EmbedFuture<'a, Vec<Result<Vec<f32>, String>>> {
        Box::pin(self.vectors(texts, purpose))
    }

    fn batch(&self) -> usize {
        self.model.batch()
    }
}

impl Kept {
    fn open(path: &Path, dimension: usize) -> Result<Self> {
        let bytes = fs::read(path).unwrap_or_default();
        let length = 8 + 4 * dimension;
        let mut known = HashMap::new();
        for record in bytes.chunks_exact(length) {
            let Some((key, vector)) = record.split_first_chunk::<8>() else { continue };
            let numbers =
                vector.chunks_exact(4).filter_map(|number| Some(f32::from_le_bytes(number.try_into().ok()?)));
            known.insert(u64::from_le_bytes(*key), numbers.collect());
        }
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.with_context(|| path.display().to_string())?;
        // A record that was cut off when the last run was stopped.
        file.set_len(u64::try_from(bytes.len() - bytes.len() % length)?)?;
        Ok(Self { known, file })
    }

    fn keep(&mut self, key: u64, vector: &[f32]) -> std::io::Result<()> {
        let mut record = key.to_le_bytes().to_vec();
        vector.iter().for_each(|number| record.extend_from_slice(&number.to_le_bytes()));
        self.file.write_all(&record)?;
        self.known.insert(key, vector.to_vec());
        Ok(())
    }
}

fn key(text: &str, purpose: Purpose) -> u64 {
    Random::of_text(u64::from(purpose == Purpose::Query), text).any()
}

#[cfg(test)]
mod tests {
    use super::Kept;

    #[test]
    fn vectors_survive_a_run_that_was_stopped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("vectors");
        Kept::open(&path, 2).unwrap().keep(7, &[0.6, 0.8]).unwrap();
        let mut cut_off = std::fs::read(&path).unwrap();
        cut_off.extend([1, 2, 3]);
        std::fs::write(&path, cut_off).unwrap();
        let mut kept = Kept::open(&path, 2).unwrap();
        kept.keep(8, &[1.0, 0.0]).unwrap();
        let kept = Kept::open(&path, 2).unwrap();
        assert_eq!((&kept.known[&7], &kept.known[&8]), (&vec![0.6, 0.8], &vec![1.0, 0.0]));
        assert_eq!(kept.known.len(), 2);
    }
}
