//! OpenAI's API, which llama.cpp, vLLM, LM Studio, LocalAI and many others serve, too: `POST /v1/embeddings`.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::http::{Fault, Http};
use super::validate::{self, Checked};

/// Where OpenAI is.
pub(super) const DEFAULT_ADDRESS: &str = "https://api.openai.com";

/// Where its key is.
pub(super) const KEY: &str = "OPENAI_API_KEY";

#[derive(Deserialize)]
struct Embedded {
    #[serde(default)]
    data: Vec<Datum>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Datum {
    /// Which text it is for; without it, they stand in order.
    index: Option<usize>,
    embedding: Box<RawValue>,
}

/// The request for vectors.
pub(super) fn request(model: &str, texts: &[&str]) -> (&'static str, Value) {
    ("/v1/embeddings", json!({ "model": model, "input": texts }))
}

/// What came, in the order of the texts.
pub(super) fn vectors(http: &Http, body: &[u8], texts: usize) -> Result<Vec<Checked>, Fault> {
    let came: Embedded = http.decode(body)?;
    http.check(came.error.as_ref())?;
    let count = came.data.len();
    let mut vectors: Vec<Option<Checked>> = vec![None; texts.max(count)];
    for (place, datum) in came.data.iter().enumerate() {
        let index = datum.index.unwrap_or(place);
        match vectors.get_mut(index) {
            Some(free @ None) => *free = Some(validate::read(&datum.embedding)),
            _ => return Err(odd_index(http, index, count, texts)),
        }
    }
    // With as many vectors as texts, and no index twice, none is missing; otherwise the count is found to be wrong.
    Ok(vectors.into_iter().flatten().collect())
}

fn odd_index(http: &Http, index: usize, count: usize, texts: usize) -> Fault {
    Fault::InvalidResponse(format!(
        "{} sent {count} vectors for {texts} texts, and the index {index} twice or beyond them",
        http.service()
    ))
}

/// The address without what is added to it: people write it with and without `/v1`.
pub(super) fn address(url: &str) -> &str {
    let url = url.trim().trim_end_matches('/');
    url.strip_suffix("/v1").unwrap_or(url)
}
