//! The vector of a query, in time or not at all.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::embed::{EmbedError, Embedder, Embedding, Identity, Purpose};
use crate::store::Summary;
use crate::sync::lock;

/// How long a query waits for the model by default; the lexical search is done long before.
const BUDGET: Duration = Duration::from_millis(900);

/// How long the model itself may take: it may be loading, and be ready for the next query.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Models read no more characters of a query than this.
const LONGEST: usize = 2_000;

/// How many query vectors are cached.
const CACHED: usize = 128;

/// Embeds queries.
#[derive(Debug, Clone)]
pub(super) struct QueryVectors {
    embedder: Arc<dyn Embedder>,
    budget: Duration,
    state: Arc<Mutex<QueryVectorState>>,
}

#[derive(Debug, Default)]
struct QueryVectorState {
    /// The model of the cached vectors.
    model: Option<Identity>,
    cache: Cache,
    /// When the requests were begun that are still pending.
    pending: BTreeMap<u64, Instant>,
    next: u64,
}

impl QueryVectors {
    pub(super) fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder, budget: BUDGET, state: Arc::default() }
    }

    pub(super) fn waiting(self, budget: Duration) -> Self {
        Self { budget, ..self }
    }

    pub(super) fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.embedder
    }

    /// The vector of a query if the model gives it in time, else why not; none if the model does not know the language of the
    /// texts.
    pub(super) async fn vector(&self, query: &str, summary: &Summary) -> Result<Option<Arc<[f32]>>, String> {
        let embedding = judged_model(summary)?.clone();
        if !embedding.knows_language {
            return Ok(None);
        }
        let query: String = query.trim().chars().take(LONGEST).collect();
        if query.is_empty() {
            return Err("the query is empty".to_owned());
        }
        if let Some(vector) = self.cached(&query, &embedding) {
            return Ok(Some(vector));
        }
        let pending = self.begin()?;
        let vectors = self.clone();
        let vector = tokio::spawn(async move {
            let _pending = pending;
            match timeout(TIMEOUT, vectors.embed(query, &embedding)).await {
                Ok(vector) => vector.map_err(|why| why.to_string()),
                Err(_) => Err(format!("the model did not respond within {} s", TIMEOUT.as_secs())),
            }
        });
        match timeout(self.budget, vector).await {
            Ok(vector) => vector.unwrap_or_else(|_| Err("the model panicked".to_owned())).map(Some),
            Err(_) => Err(format!("the model did not respond within {} ms", self.budget.as_millis())),
        }
    }

    /// The cached vector of a query, if it is of the model of the index's vectors.
    fn cached(&self, query: &str, embedding: &Embedding) -> Option<Arc<[f32]>> {
        let mut state = self.state();
        state.model.as_ref().filter(|model| model.is_of(embedding))?;
        state.cache.get(query)
    }

    /// Begins a request, unless an earlier one takes too long: then no other query waits for this model.
    fn begin(&self) -> Result<Pending, String> {
        let mut state = self.state();
        if state.pending.first_key_value().is_some_and(|(_, since)| since.elapsed() >= self.budget) {
            return Err("the model is too slow: it has not finished an earlier query".to_owned());
        }
        let number = state.next;
        state.next += 1;
        state.pending.insert(number, Instant::now());
        Ok(Pending { vectors: self.clone(), number })
    }

    async fn embed(&self, query: String, embedding: &Embedding) -> Result<Arc<[f32]>, EmbedError> {
        // Embedders cache their identity for as long as it is likely to be the same.
        let identity = self.embedder.identify().await?;
        if let Some(difference) = identity.difference(embedding) {
            return Err(EmbedError::Rejected(difference));
        }
        let texts = [query];
        let vectors = identity.embed(self.embedder.as_ref(), &texts, Purpose::Query).await?;
        let vector = vectors.into_iter().next().unwrap_or_else(|| Err("no vector came back".to_owned()));
        let vector: Arc<[f32]> = vector.map(Arc::from).map_err(EmbedError::Rejected)?;
        let mut state = self.state();
        if state.model.as_ref() != Some(&identity) {
            state.cache = Cache::default();
            state.model = Some(identity);
        }
        for query in texts {
            state.cache.put(query, Arc::clone(&vector));
        }
        Ok(vector)
    }

    fn state(&self) -> MutexGuard<'_, QueryVectorState> {
        lock(&self.state)
    }
}

/// A request under way; dropped, it is over.
struct Pending {
    vectors: QueryVectors,
    number: u64,
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.vectors.state().pending.remove(&self.number);
    }
}

/// The vectors of the last queries, the newest first.
#[derive(Debug, Default)]
struct Cache {
    vectors: VecDeque<(String, Arc<[f32]>)>,
}

impl Cache {
    /// The vector of a query, which is thereby the newest.
    fn get(&mut self, query: &str) -> Option<Arc<[f32]>> {
        let place = self.vectors.iter().position(|(cached, _)| cached == query)?;
        let found = self.vectors.remove(place)?;
        let vector = Arc::clone(&found.1);
        self.vectors.push_front(found);
        Some(vector)
    }

    /// Adds a query, and drops the least recently used one.
    fn put(&mut self, query: String, vector: Arc<[f32]>) {
        self.vectors.retain(|(cached, _)| *cached != query);
        self.vectors.push_front((query, vector));
        self.vectors.truncate(CACHED);
    }
}

/// The model of the index's vectors, once it is judged.
fn judged_model(summary: &Summary) -> Result<&Embedding, String> {
    match &summary.embedding {
        None => Err("the index has no vectors yet".to_owned()),
        Some(_) if summary.vectors == 0 => Err("the index has no vectors yet".to_owned()),
        Some(embedding) if embedding.judged_on == 0 => {
            Err("the vectors of the index are still being made".to_owned())
        }
        Some(embedding) => Ok(embedding),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{CACHED, Cache};

    fn vector(n: u16) -> Arc<[f32]> {
        Arc::from([f32::from(n)])
    }

    #[test]
    fn the_least_recently_used_query_is_evicted() {
        let mut cache = Cache::default();
        for n in 0..u16::try_from(CACHED).unwrap() {
            cache.put(n.to_string(), vector(n));
        }
        assert_eq!(cache.get("0"), Some(vector(0)));
        cache.put("new".to_owned(), vector(999));
        assert_eq!(cache.get("1"), None);
        assert_eq!(cache.get("0"), Some(vector(0)));
        assert_eq!(cache.get("new"), Some(vector(999)));
    }

    #[test]
    fn a_query_is_remembered_once() {
        let mut cache = Cache::default();
        cache.put("a".to_owned(), vector(1));
        cache.put("a".to_owned(), vector(2));
        assert_eq!(cache.vectors.len(), 1);
        assert_eq!(cache.get("a"), Some(vector(2)));
    }
}
