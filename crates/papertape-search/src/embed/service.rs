//! An embeddings endpoint to an embedder: what every service needs, whatever its API.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::batch_size::BatchSize;
use super::http::{Fault, Http};
use super::prefix::Prefixes;
use super::sketch::PROBE;
use super::validate::{Checked, validate};
use super::{EmbedError, EmbedFuture, Embedder, Identity, Purpose, fingerprint, ollama, openai};

/// How long the identity of a service's model is cached.
const BELIEVED: Duration = Duration::from_secs(60);

/// How often a text is halved that is too long for the model.
const HALVINGS: u32 = 3;

/// No model finds a text too long that has fewer bytes.
const SHORTEST: usize = 64;

/// No model reads more of a text, in bytes.
const LONGEST: usize = 64 << 10;

/// A model at a service.
#[derive(Debug)]
pub(super) struct Service {
    http: Http,
    api: Api,
    model: String,
    prefixes: Prefixes,
    batch_size: BatchSize,
    identity: Mutex<Option<(Instant, Identity)>>,
}

/// The API of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Api {
    Ollama,
    OpenAi,
}

/// A text on its way to a service.
struct Piece {
    /// Whose text it is, or is the beginning of.
    index: usize,
    text: String,
    halvings: u32,
}

impl Service {
    pub(super) fn new(http: Http, api: Api, model: &str) -> Self {
        let prefixes = Prefixes::of(model);
        let batch_size = BatchSize::new(api.batch(), http.time());
        Self { http, api, model: model.to_owned(), prefixes, batch_size, identity: Mutex::new(None) }
    }

    /// Vectors as the service gives them.
    async fn ask(&self, texts: &[&str]) -> Result<Vec<Checked>, Fault> {
        let (path, body) = match self.api {
            Api::Ollama => ollama::request(&self.model, texts),
            Api::OpenAi => openai::request(&self.model, texts),
        };
        let body = self.http.ask(path, Some(&body)).await?;
        match self.api {
            Api::Ollama => ollama::vectors(&self.http, &body),
            Api::OpenAi => openai::vectors(&self.http, &body, texts.len()),
        }
    }

    /// The identity of the model, cached for a while.
    async fn identity(&self, no_older_than: Duration) -> Result<Identity, EmbedError> {
        let mut known = self.identity.lock().await;
        if let Some((_, identity)) = known.as_ref().filter(|(when, _)| when.elapsed() < no_older_than) {
            return Ok(identity.clone());
        }
        let before = known.take().map(|(_, identity)| identity);
        let identity = self.find_out(before).await.map_err(|fault| self.error(fault))?;
        *known = Some((Instant::now(), identity.clone()));
        Ok(identity)
    }

    async fn find_out(&self, before: Option<Identity>) -> Result<Identity, Fault> {
        let context = fingerprint(&[&self.model, &self.prefixes.document, &self.prefixes.query]);
        let mut digest = String::new();
        if self.api == Api::Ollama {
            digest = fingerprint(&[&ollama::digest(&self.http, &self.model).await?, &context]);
            // The same model has the same dimension: no need to try it.
            if let Some(before) = before.filter(|before| before.digest == digest) {
                return Ok(before);
            }
        }
        let probe = self.ask(&[PROBE]).await?.pop();
        let probe = probe.unwrap_or_else(|| Err("it sent none".to_owned()));
        let invalid = |why: &str| {
            Fault::InvalidResponse(format!(
                "{} makes no vector of a plain sentence: {why}",
                self.http.service()
            ))
        };
        let probe = probe.map_err(|why| invalid(&why))?;
        let dimension = u32::try_from(probe.len()).map_err(|error| invalid(&error.to_string()))?;
        if dimension == 0 {
            return Err(invalid("it has 0 numbers, at least 1 was expected"));
        }
        if self.api == Api::OpenAi {
            digest = super::sketch::draw(&context, &probe);
        }
        Ok(Identity { model: self.model.clone(), dimension, digest })
    }

    /// Vectors of texts that are not empty. A rejected batch is split to find the text at fault, and a text that is too
    /// long is shortened; a batch that times out is retried with one text, and then with as many as the service can do.
    /// The number of retries is bounded.
    async fn vectors(
        &self,
        pieces: Vec<Piece>,
        results: &mut [Checked],
        dimension: u32,
    ) -> Result<(), EmbedError> {
        let mut work = vec![pieces];
        while let Some(mut pieces) = work.pop() {
            let rest = pieces.split_off(pieces.len().min(self.batch_size.texts()));
            if !rest.is_empty() {
                work.push(rest);
            }
            let texts: Vec<&str> = pieces.iter().map(|piece| piece.text.as_str()).collect();
            let began = Instant::now();
            match self.ask(&texts).await {
                Ok(came) => {
                    self.batch_size.succeeded(texts.len(), began.elapsed());
                    for (piece, vector) in
                        pieces.iter().zip(validate(self.http.service(), came, texts.len(), dimension)?)
                    {
                        put(results, piece.index, vector);
                    }
                }
                Err(Fault::Rejected { status, said }) if is_about_texts(status, &said) => {
                    let later = pieces.split_off(pieces.len().div_ceil(2));
                    match pieces.pop() {
                        Some(piece) if pieces.is_empty() && later.is_empty() => {
                            if piece.halvings < HALVINGS
                                && piece.text.len() > SHORTEST
                                && is_about_length(&said)
                            {
                                work.push(vec![piece.halved()]);
                            } else {
                                put(
                                    results,
                                    piece.index,
                                    Err(format!("{} rejected it: {said}", self.http.service())),
                                );
                            }
                        }
                        last => {
                            pieces.extend(last);
                            work.extend([later, pieces]);
                        }
                    }
                }
                Err(Fault::Late(_)) if self.batch_size.was_late(texts.len()) => work.push(pieces),
                Err(fault) => return Err(self.error(fault)),
            }
        }
        Ok(())
    }

    fn error(&self, fault: Fault) -> EmbedError {
        let service = self.http.service();
        match fault {
            Fault::Unavailable(said) | Fault::Late(said) => EmbedError::Unavailable(said),
            Fault::InvalidResponse(said) => EmbedError::InvalidResponse(said),
            Fault::Rejected { status: status @ (408 | 429 | 500..), said } => {
                EmbedError::Unavailable(format!("{service} fails with {status}: {said}"))
            }
            Fault::Rejected { status, said } => {
                let way_out = match (self.api, status) {
                    (Api::OpenAi, 401 | 403) => ". Is OPENAI_API_KEY right?",
                    (Api::Ollama, 404) => &format!(". Get the model with `ollama pull {}`", self.model),
                    (Api::OpenAi, 404) => ". Are the name of the model and the address right?",
                    _ => "",
                };
                EmbedError::Rejected(format!("{service} refuses: {said}{way_out}"))
            }
        }
    }
}

impl Embedder for Service {
    fn identify(&self) -> EmbedFuture<'_, Identity> {
        Box::pin(self.identity(BELIEVED))
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        purpose: Purpose,
    ) -> EmbedFuture<'a, Vec<Result<Vec<f32>, String>>> {
        Box::pin(async move {
            // A cached identity is enough: a vector of another dimension shows that it is stale.
            let dimension = self.identity(Duration::MAX).await?.dimension;
            let mut results = vec![Err("it is empty".to_owned()); texts.len()];
            let full: Vec<(usize, &String)> =
                texts.iter().enumerate().filter(|(_, text)| !text.trim().is_empty()).collect();
            for part in full.chunks(self.api.batch()) {
                let pieces = part.iter().map(|(index, text)| Piece {
                    index: *index,
                    text: beginning(&self.prefixes.put(text, purpose), LONGEST).to_owned(),
                    halvings: 0,
                });
                let done = self.vectors(pieces.collect(), &mut results, dimension).await;
                if let Err(EmbedError::InvalidResponse(_)) = done {
                    *self.identity.lock().await = None;
                }
                done?;
            }
            Ok(results)
        })
    }

    fn batch(&self) -> usize {
        self.batch_size.texts()
    }
}

impl Api {
    /// How many texts a service takes at once.
    fn batch(self) -> usize {
        match self {
            Api::Ollama => 32,
            Api::OpenAi => 64,
        }
    }
}

impl Piece {
    fn halved(self) -> Self {
        Self {
            text: beginning(&self.text, self.text.len() / 2).to_owned(),
            halvings: self.halvings + 1,
            ..self
        }
    }
}

fn put(results: &mut [Checked], index: usize, vector: Checked) {
    if let Some(result) = results.get_mut(index) {
        *result = vector;
    }
}

/// At most so many bytes of a text, and no part of a character.
pub(super) fn beginning(text: &str, most: usize) -> &str {
    (0..=most.min(text.len())).rev().find_map(|end| text.get(..end)).unwrap_or_default()
}

/// Whether a refusal is because of a text, so that other texts may be accepted. The probe succeeded before, so that it
/// is not the model, the key or the format of the request.
fn is_about_texts(status: u16, said: &str) -> bool {
    // A limit of tokens per minute is not a fault of the text.
    if matches!(status, 408 | 429) {
        return false;
    }
    // Ollama's way to say that the model made NaN of a text.
    matches!(status, 400 | 413 | 422) || is_about_length(said) || said.contains("unsupported value")
}

fn is_about_length(said: &str) -> bool {
    let said = said.to_lowercase();
    [
        "context length",
        "input length",
        "too long",
        "too large",
        "too many tokens",
        "maximum context",
        "context size",
    ]
    .iter()
    .any(|sign| said.contains(sign))
}
