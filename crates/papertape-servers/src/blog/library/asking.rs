//! A question to a vector, in time or not at all.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::recent::Recent;
use crate::blog::embed::{EmbedError, Embedder, Identity, Purpose};
use crate::blog::ingest::model;
use crate::blog::store::{Embedding, Summary};

/// How long an answer waits for the model, unless somebody says otherwise: words are there long before.
const BUDGET: Duration = Duration::from_millis(900);

/// How long the model itself may take: it may be loading, and the next question will find it ready.
const PATIENCE: Duration = Duration::from_secs(60);

/// Models read no more of a question than this.
const LONGEST: usize = 2_000;

/// A model that is asked for the meaning of questions.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    embedder: Arc<dyn Embedder>,
    budget: Duration,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Vectors by this model.
    recent: Recent,
    model: Option<Identity>,
    /// When the questions were asked that the model still has.
    asked: BTreeMap<u64, Instant>,
    tickets: u64,
}

impl Asking {
    pub(super) fn new(embedder: Arc<dyn Embedder>) -> Self {
        Self { embedder, budget: BUDGET, state: Arc::default() }
    }

    pub(super) fn waiting(self, budget: Duration) -> Self {
        Self { budget, ..self }
    }

    pub(super) fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.embedder
    }

    /// The vector of a question, if it is worth having and the model gives it in time; else why not.
    pub(super) async fn vector(&self, question: &str, summary: &Summary) -> Result<Arc<[f32]>, String> {
        let embedding = worth_asking(summary)?.clone();
        let question: String = question.trim().chars().take(LONGEST).collect();
        if question.is_empty() {
            return Err("the question is empty".to_owned());
        }
        if let Some(vector) = self.remembered(&question, &embedding) {
            return Ok(vector);
        }
        let place = self.line_up()?;
        let asking = self.clone();
        let answer = tokio::spawn(async move {
            let _place = place;
            match timeout(PATIENCE, asking.ask(question, &embedding)).await {
                Ok(answer) => answer.map_err(|why| why.to_string()),
                Err(_) => Err(format!("the model did not answer within {} s", PATIENCE.as_secs())),
            }
        });
        match timeout(self.budget, answer).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err("the model broke down".to_owned())),
            Err(_) => Err(format!("the model did not answer within {} ms", self.budget.as_millis())),
        }
    }

    /// The vector of a question that was asked a moment ago, if it was by the model of the store's vectors.
    fn remembered(&self, question: &str, embedding: &Embedding) -> Option<Arc<[f32]>> {
        let mut state = self.state();
        state.model.as_ref().filter(|model| model.is_of(embedding))?;
        state.recent.get(question)
    }

    /// A place in the line, unless somebody has been in it for too long: then nobody else waits for this model.
    fn line_up(&self) -> Result<Place, String> {
        let mut state = self.state();
        if state.asked.first_key_value().is_some_and(|(_, since)| since.elapsed() >= self.budget) {
            return Err("the model is too slow: it is still at an earlier question".to_owned());
        }
        let ticket = state.tickets;
        state.tickets += 1;
        state.asked.insert(ticket, Instant::now());
        Ok(Place { asking: self.clone(), ticket })
    }

    async fn ask(&self, question: String, embedding: &Embedding) -> Result<Arc<[f32]>, EmbedError> {
        // Embedders remember who they are for as long as it is likely to be true.
        let identity = self.embedder.identify().await?;
        if let Some(difference) = model::difference(embedding, &identity) {
            return Err(EmbedError::Refused(difference));
        }
        let texts = [question];
        let vectors = model::embed(self.embedder.as_ref(), &identity, &texts, Purpose::Query).await?;
        let vector = vectors.into_iter().next().unwrap_or_else(|| Err("no vector came back".to_owned()));
        let vector: Arc<[f32]> = vector.map(Arc::from).map_err(EmbedError::Refused)?;
        let mut state = self.state();
        if state.model.as_ref() != Some(&identity) {
            state.recent.clear();
            state.model = Some(identity);
        }
        for question in texts {
            state.recent.put(question, Arc::clone(&vector));
        }
        Ok(vector)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that the model has. Dropped, it has it no more.
struct Place {
    asking: Asking,
    ticket: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.asking.state().asked.remove(&self.ticket);
    }
}

/// The model that the store's vectors are of, if they help.
fn worth_asking(summary: &Summary) -> Result<&Embedding, String> {
    match &summary.embedding {
        None => Err("the index has no vectors yet".to_owned()),
        Some(_) if summary.vectors == 0 => Err("the index has no vectors yet".to_owned()),
        Some(embedding) if embedding.calibrated_on == 0 => {
            Err("the vectors of the index are still being made".to_owned())
        }
        Some(embedding) if embedding.weight > 0.0 => Ok(embedding),
        Some(embedding) => {
            Err(format!("{} does not make the results better for these texts", embedding.model))
        }
    }
}
