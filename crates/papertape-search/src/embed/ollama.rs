//! Ollama's API: `POST /api/embed` for vectors, `GET /api/tags` for what its models are.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::http::{Fault, Http};
use super::validate::{self, Checked};

/// The model that `ollama` alone means.
pub(super) const DEFAULT_MODEL: &str = "nomic-embed-text";

#[derive(Deserialize)]
struct Embedded {
    #[serde(default)]
    embeddings: Vec<Box<RawValue>>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Tags {
    #[serde(default)]
    models: Vec<Tag>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Tag {
    name: String,
    digest: String,
}

/// The request for vectors.
pub(super) fn request(model: &str, texts: &[&str]) -> (&'static str, Value) {
    ("/api/embed", json!({ "model": model, "input": texts, "truncate": true }))
}

/// What came.
pub(super) fn vectors(http: &Http, body: &[u8]) -> Result<Vec<Checked>, Fault> {
    let came: Embedded = http.decode(body)?;
    http.check(came.error.as_ref())?;
    Ok(came.embeddings.iter().map(|vector| validate::read(vector)).collect())
}

/// The digest of a model's files: another one, if the name was given to another model.
pub(super) async fn digest(http: &Http, model: &str) -> Result<String, Fault> {
    let tags: Tags = http.decode(&http.ask("/api/tags", None).await?)?;
    http.check(tags.error.as_ref())?;
    let latest = format!("{model}:latest");
    let found = tags.models.into_iter().find(|tag| tag.name == model || tag.name == latest);
    found.map(|tag| tag.digest).ok_or_else(|| http.refusal(404, &format!("it has no model {model}")))
}

/// The address in OLLAMA_HOST, which may be as short as a port: Ollama's own rules.
pub(super) fn address(host: Option<&str>) -> String {
    let host = host.unwrap_or_default().trim().trim_end_matches('/');
    let (scheme, rest, port) = match host.split_once("://") {
        Some((scheme, rest)) => (scheme, rest, ""), // of the scheme
        None => ("http", host, ":11434"),
    };
    let (name, path) =
        rest.split_once('/').map_or((rest, String::new()), |(name, path)| (name, format!("/{path}")));
    // A wildcard address to listen on cannot be connected to.
    let (name, own_port) = match name.rsplit_once(':') {
        Some((name, own)) if !own.is_empty() && own.bytes().all(|b| b.is_ascii_digit()) => {
            (name, format!(":{own}"))
        }
        _ => (name, port.to_owned()),
    };
    let name = if matches!(name, "" | "0.0.0.0" | "[::]") { "127.0.0.1" } else { name };
    format!("{scheme}://{name}{own_port}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_ollama_host_is_an_address() {
        for (host, wanted) in [
            (None, "http://127.0.0.1:11434"),
            (Some(""), "http://127.0.0.1:11434"),
            (Some("0.0.0.0"), "http://127.0.0.1:11434"),
            (Some("0.0.0.0:8080"), "http://127.0.0.1:8080"),
            (Some(":8080"), "http://127.0.0.1:8080"),
            (Some("box"), "http://box:11434"),
            (Some("box:1/"), "http://box:1"),
            (Some("http://box"), "http://box"),
            (Some("https://box/ollama"), "https://box/ollama"),
            (Some("[::1]:1"), "http://[::1]:1"),
            (Some("[::1]"), "http://[::1]:11434"),
        ] {
            assert_eq!(address(host), wanted, "{host:?}");
        }
    }
}
