//! A loaded model: texts to vectors, on every core.

use std::fmt;
use std::path::Path;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use tokenizers::{Tokenizer, TruncationParams};

use super::bert::{Bert, Texts};
use super::files::Files;
use super::settings::Settings;
use super::weights::Weights;
use crate::background::in_background;
use crate::embed::prefix::Prefixes;
use crate::embed::service::beginning;
use crate::embed::validate::{Checked, validate};
use crate::embed::{EmbedError, Identity, Purpose, fingerprint};

/// How many tokens are worked on together: short texts are laid end to end until there are so many.
const TOGETHER: usize = 256;

/// A token has seldom more bytes than this. What lies beyond is not even looked at, so that a text of any size takes no
/// time.
const BYTES_PER_TOKEN: usize = 32;

/// A model in memory.
pub(super) struct Model {
    settings: Settings,
    tokenizer: Tokenizer,
    network: Bert,
    prefixes: Prefixes,
    identity: Identity,
}

/// What a model in this directory is called.
pub(super) fn name_of(root: &Path) -> String {
    root.file_name().map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned())
}

impl Model {
    /// Reads the directory; the error says which of its files is wrong and how.
    pub(super) fn load(root: &Path) -> Result<Self, String> {
        // With links followed: `.` has no name.
        let root = root.canonicalize().map_err(|error| format!("there is no such directory: {error}"))?;
        let mut files = Files::new(&root);
        let settings = Settings::read(&mut files)?;
        let tokenizer = read_tokenizer(&mut files, settings.longest)?;
        let network = Bert::new(settings.shape, &mut Weights::read(&mut files)?)?;
        let model = name_of(&root);
        let known = Prefixes::of(&model);
        let prefixes = Prefixes {
            document: settings.document_prefix.clone().unwrap_or(known.document),
            query: settings.query_prefix.clone().unwrap_or(known.query),
        };
        let digest = fingerprint(&[&files.digest(), &prefixes.document, &prefixes.query]);
        let dimension = u32::try_from(settings.shape.hidden).map_err(|error| error.to_string())?;
        let identity = Identity { model, dimension, digest };
        Ok(Self { settings, tokenizer, network, prefixes, identity })
    }

    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// A vector for each text. The vector of a query is computed with priority.
    pub(super) fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Checked>, EmbedError> {
        match purpose {
            Purpose::Query => self.vectors(texts, purpose),
            Purpose::Document => in_background(|| self.vectors(texts, purpose)),
        }
    }

    fn vectors(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Checked>, EmbedError> {
        let tokens: Vec<Result<Vec<u32>, String>> =
            texts.par_iter().map(|text| self.tokens(text, purpose)).collect();
        let mut groups: Vec<(usize, Texts)> = Vec::new();
        for tokens in tokens.iter().flatten() {
            match groups.last_mut() {
                Some((count, group)) if *count + tokens.len() <= TOGETHER => {
                    group.push(tokens);
                    *count += tokens.len();
                }
                _ => {
                    let mut group = Texts::default();
                    group.push(tokens);
                    groups.push((tokens.len(), group));
                }
            }
        }
        let vectors: Vec<Vec<f32>> = groups
            .par_iter()
            .flat_map_iter(|(_, group)| self.network.run(group, self.settings.pooling))
            .collect();
        let mut vectors = vectors.into_iter();
        let vectors = tokens.into_iter().map(|tokens| {
            tokens.and_then(|_| vectors.next().ok_or_else(|| "there is no vector for it".to_owned()))
        });
        validate(&self.identity.model, vectors.collect(), texts.len(), self.identity.dimension)
    }

    fn tokens(&self, text: &str, purpose: Purpose) -> Result<Vec<u32>, String> {
        if text.trim().is_empty() {
            return Err("it is empty".to_owned());
        }
        let text = self.prefixes.put(text, purpose);
        let encoded = self
            .tokenizer
            .encode(beginning(&text, self.settings.longest * BYTES_PER_TOKEN), true)
            .map_err(|error| format!("it cannot be tokenised: {error}"))?;
        let tokens = encoded.get_ids();
        if tokens.is_empty() || tokens.len() > self.settings.longest {
            return Err(format!("it has {} tokens", tokens.len()));
        }
        match tokens.iter().find(|token| **token as usize >= self.settings.shape.vocabulary) {
            Some(unknown) => {
                Err(format!("the model knows no token {unknown}: is tokenizer.json of another model?"))
            }
            None => Ok(tokens.to_vec()),
        }
    }
}

fn read_tokenizer(files: &mut Files, longest: usize) -> Result<Tokenizer, String> {
    let bytes = files.bytes("tokenizer.json")?.ok_or("there is no tokenizer.json")?;
    let wrong = |error: tokenizers::Error| format!("tokenizer.json cannot be used: {error}");
    let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(wrong)?;
    let truncation = TruncationParams { max_length: longest, ..TruncationParams::default() };
    tokenizer.with_padding(None).with_truncation(Some(truncation)).map_err(wrong)?;
    Ok(tokenizer)
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("identity", &self.identity).finish_non_exhaustive()
    }
}
