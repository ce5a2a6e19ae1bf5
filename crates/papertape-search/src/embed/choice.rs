//! The value of `--embed` to an embedder.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::circuit_breaker::CircuitBreaker;
use super::http::Http;
use super::service::{Api, Service};
use super::{EmbedError, Embedder, ollama, openai};

/// Where vectors come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// A model at Ollama.
    Ollama {
        /// Its name there.
        model: String,
    },
    /// A model at an OpenAI-compatible embeddings endpoint.
    OpenAi {
        /// Its name there.
        model: String,
    },
    /// A sentence-transformers model in a directory, in this process.
    Local {
        /// The directory.
        folder: PathBuf,
    },
}

/// What else is said about a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Its address; without it, where such a service usually is.
    pub url: Option<String>,
    /// How long a request may take, repetitions and all.
    pub timeout: Duration,
    /// Whether the API key may be sent to another machine over plain `http://`.
    pub insecure_http: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { url: None, timeout: Duration::from_secs(30), insecure_http: false }
    }
}

impl Choice {
    /// `ollama`, `ollama:MODEL`, `openai:MODEL`, or a directory: something with a `/` in it, or that is there.
    ///
    /// # Errors
    /// If it is none of them; the sentence says what there is.
    pub fn parse(typed: &str) -> Result<Self, String> {
        let named = |model: &str| !model.is_empty() && !model.chars().any(char::is_whitespace);
        if typed == "ollama" {
            return Ok(Self::Ollama { model: ollama::DEFAULT_MODEL.to_owned() });
        }
        match typed.split_once(':') {
            Some(("ollama", model)) if named(model) => {
                let model = model.strip_suffix(":latest").unwrap_or(model);
                return Ok(Self::Ollama { model: model.to_owned() });
            }
            Some(("openai", model)) if named(model) => return Ok(Self::OpenAi { model: model.to_owned() }),
            _ => {}
        }
        if typed.contains('/') || (!typed.is_empty() && Path::new(typed).exists()) {
            return Ok(Self::Local { folder: PathBuf::from(typed) });
        }
        Err(format!(
            "{typed:?} is not an embedder: use `ollama`, `ollama:MODEL`, `openai:MODEL`, or the directory of a \
             sentence-transformers model, such as ./all-MiniLM-L6-v2"
        ))
    }

    /// The embedder. No request is sent and nothing is loaded yet.
    ///
    /// # Errors
    /// If the address cannot be used, OpenAI's key is missing, or others could read it on its way.
    pub fn open(&self, options: &Options) -> Result<Arc<dyn Embedder>, EmbedError> {
        let Options { url, timeout, insecure_http } = options;
        let service = match self {
            #[cfg(feature = "local-models")]
            Self::Local { folder } => return Ok(Arc::new(super::Local::new(folder))),
            #[cfg(not(feature = "local-models"))]
            Self::Local { .. } => return Err(EmbedError::Unsupported(crate::features::no_local_models())),
            Self::Ollama { model } => {
                let host = url.clone().or_else(|| std::env::var("OLLAMA_HOST").ok());
                let http = Http::new("Ollama", &ollama::address(host.as_deref()), None, *timeout)?;
                Service::new(http, Api::Ollama, model)
            }
            Self::OpenAi { model } => {
                let key = std::env::var(openai::KEY).ok().filter(|key| !key.trim().is_empty());
                if url.is_none() && key.is_none() {
                    let key = openai::KEY;
                    return Err(EmbedError::Rejected(format!(
                        "OpenAI wants a key: put it into the environment variable {key}, or give the address of another service"
                    )));
                }
                let address = openai::address(url.as_deref().unwrap_or(openai::DEFAULT_ADDRESS));
                let http = Http::new("the service", address, key, *timeout)?;
                if http.shows_key() && !insecure_http {
                    return Err(EmbedError::Rejected(format!(
                        "{} would go to {} by plain http, where others can read it: use https, unset {} if the service \
                         wants no key, or allow it with --embed-insecure-http if the network is safe",
                        openai::KEY,
                        http.service(),
                        openai::KEY
                    )));
                }
                Service::new(http, Api::OpenAi, model)
            }
        };
        Ok(Arc::new(CircuitBreaker::new(Arc::new(service))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_a_service_or_a_folder() {
        let ollama = |model: &str| Ok(Choice::Ollama { model: model.to_owned() });
        let folder = |folder: &str| Ok(Choice::Local { folder: PathBuf::from(folder) });
        for (typed, wanted) in [
            ("ollama", ollama("nomic-embed-text")),
            ("ollama:bge-m3", ollama("bge-m3")),
            ("ollama:bge-m3:latest", ollama("bge-m3")),
            ("ollama:bge-m3:567m", ollama("bge-m3:567m")),
            ("ollama:hf.co/x/y", ollama("hf.co/x/y")),
            (
                "openai:text-embedding-3-small",
                Ok(Choice::OpenAi { model: "text-embedding-3-small".to_owned() }),
            ),
            ("./minilm", folder("./minilm")),
            ("models/minilm", folder("models/minilm")),
            ("src", folder("src")),
        ] {
            assert_eq!(Choice::parse(typed), wanted, "{typed}");
        }
        for typed in ["", "minilm", "ollama:", "openai", "openai:", "openai:a b", "OLLAMA", "cohere:x"] {
            let refused = Choice::parse(typed).unwrap_err();
            assert!(refused.contains("ollama:MODEL"), "{typed}: {refused}");
        }
    }
}
