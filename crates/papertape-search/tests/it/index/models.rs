//! A model that knows what words mean, and misbehaves on demand.

use std::future::pending;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use papertape_search::embed::{EmbedError, EmbedFuture, Embedder, Identity, Purpose};

/// Words mean the number they end in: `boat17` and `ship17` are the same to it.
#[derive(Debug)]
pub(crate) struct Numbers {
    pub(crate) identity: Identity,
    mood: Mutex<Mood>,
    /// Texts it has seen to be found, not to find.
    pub(crate) documents: AtomicUsize,
}

#[derive(Debug, Clone, Default)]
pub(crate) enum Mood {
    #[default]
    Fine,
    /// Unreachable.
    Down,
    /// Never responds.
    Silent,
    /// Knows nothing: every query means something else.
    Clueless,
    /// After so many texts, vectors have another dimension.
    GrowsAfter(usize),
    /// After so many texts, it goes away.
    DiesAfter(usize),
    /// Times out for more texts than that at once.
    SilentAbove(usize),
    /// To it, all texts are the same.
    Numb,
    /// Will not have texts with this in them.
    Refuses(&'static str),
}

pub(crate) const DIMENSION: usize = 512;

impl Numbers {
    pub(crate) fn new() -> Self {
        Self::called("numbers", DIMENSION)
    }

    pub(crate) fn called(model: &str, dimension: usize) -> Self {
        let dimension = u32::try_from(dimension).unwrap();
        let identity = Identity { model: model.to_owned(), dimension, digest: format!("digest of {model}") };
        Self { identity, mood: Mutex::default(), documents: AtomicUsize::new(0) }
    }

    pub(crate) fn feel(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    pub(crate) fn in_mood(mood: Mood) -> Self {
        let model = Self::new();
        model.feel(mood);
        model
    }

    pub(crate) fn seen(&self) -> usize {
        self.documents.load(Ordering::SeqCst)
    }

    fn mood(&self) -> Mood {
        self.mood.lock().unwrap().clone()
    }

    fn vector(&self, text: &str, purpose: Purpose, mood: &Mood) -> Result<Vec<f32>, String> {
        let dimension = usize::try_from(self.identity.dimension).unwrap();
        if matches!(mood, Mood::Numb) {
            return Ok(vec![1.0; dimension]);
        }
        let mut vector = vec![0.0_f32; dimension];
        vector[0] = 0.1;
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            let digits: String = word.chars().filter(char::is_ascii_digit).collect();
            if let Ok(number) = digits.parse::<usize>() {
                let lost = matches!((mood, purpose), (Mood::Clueless, Purpose::Query));
                vector[if lost { number * 7 + 3 } else { number } % dimension] += 1.0;
            }
        }
        match mood {
            Mood::Refuses(part) if text.contains(part) => return Err(format!("{part} is too much")),
            Mood::GrowsAfter(count) if self.seen() > *count => vector.push(0.0),
            _ => {}
        }
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        Ok(vector.into_iter().map(|x| x / length).collect())
    }
}

impl Embedder for Numbers {
    fn identify(&self) -> EmbedFuture<'_, Identity> {
        Box::pin(async {
            match self.mood() {
                Mood::Down => Err(EmbedError::Unavailable("no service there".to_owned())),
                Mood::Silent => pending().await,
                _ => Ok(self.identity.clone()),
            }
        })
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        purpose: Purpose,
    ) -> EmbedFuture<'a, Vec<Result<Vec<f32>, String>>> {
        Box::pin(async move {
            if purpose == Purpose::Document {
                self.documents.fetch_add(texts.len(), Ordering::SeqCst);
            }
            let mood = self.mood();
            match mood {
                Mood::Down => return Err(EmbedError::Unavailable("no service there".to_owned())),
                Mood::Silent => return pending().await,
                Mood::SilentAbove(most) if texts.len() > most => return pending().await,
                Mood::DiesAfter(count) if self.seen() > count => {
                    return Err(EmbedError::Unavailable("it went away".to_owned()));
                }
                _ => {}
            }
            Ok(texts.iter().map(|text| self.vector(text, purpose, &mood)).collect())
        })
    }

    fn batch(&self) -> usize {
        100
    }
}
