//! The manifest, the one file that lists what a generation consists of: encoding and decoding.
//!
//! A generation exists once its manifest does: every other file is durable before that, under a unique name. The
//! manifest's first line has its version, its digest, and its seal.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::disk::Pin;
use super::errors::ErrorContext;
use super::keyring::{Key, Keyring};
use crate::analysis::Language;
use crate::store::{Embedding, StoreError, Summary};

/// The file name of the manifest.
pub(super) const NAME: &str = "papertape.index";

const MAGIC: &str = "papertape index";
const VERSION: u32 = 4;

/// The first version with a seal.
const SEALED: u32 = 2;

/// The most bytes read of a manifest: more than a thousand segments need.
pub(super) const LIMIT: u32 = 16 * 1024 * 1024;

/// What a generation consists of.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    /// Grows with each commit.
    pub(super) generation: u64,
    /// Segments of terms and texts, oldest first.
    pub(super) lexical: Vec<LexicalFile>,
    /// Every file with digests in it, by name.
    pub(super) files: BTreeMap<String, Pin>,
    /// Which of them is the table of indexed files.
    pub(super) table: String,
    /// Segments of vectors, oldest first.
    pub(super) vectors: Vec<VectorFile>,
    /// How many files are indexed.
    pub(super) indexed: u64,
    /// How many chunks they have.
    pub(super) chunks: u64,
    /// How many of those have a vector.
    pub(super) embedded: u64,
    pub(super) languages: Vec<String>,
    pub(super) embedding: Option<Model>,
}

/// Whether a file that begins so is a manifest, of whatever version.
pub(super) fn is_ours(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC.as_bytes())
}

/// The error for a file of that name that is not a manifest.
pub(super) fn not_ours(errors: &ErrorContext) -> StoreError {
    errors.foreign(format!("{NAME} was not written by this program; remove it or choose another directory"))
}

/// Rejects a manifest that none of these keys has sealed, before its body is parsed.
fn check_seal(
    seal: Option<&str>,
    body: &[u8],
    keys: &Keyring,
    errors: &ErrorContext,
) -> Result<(), StoreError> {
    let trusted = keys.trusted()?;
    let seal = seal.and_then(|seal| blake3::Hash::from_hex(seal).ok());
    if seal.is_some_and(|seal| trusted.iter().any(|key| key.seal(body) == seal)) {
        return Ok(());
    }
    let why = if trusted.is_empty() {
        "there is no key here to check its seal with"
    } else {
        "its seal is not by your key"
    };
    Err(errors
        .unsealed(format!("it was made by another user or on another machine ({why})"), !trusted.is_empty()))
}

/// A segment of terms and texts: four files of its name, and the list of files that were deleted from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LexicalFile {
    pub(super) name: String,
    pub(super) deleted: Option<String>,
}

impl LexicalFile {
    pub(super) fn terms(&self) -> String {
        format!("{}.terms", self.name)
    }

    pub(super) fn postings(&self) -> String {
        format!("{}.postings", self.name)
    }

    pub(super) fn documents(&self) -> String {
        format!("{}.docs", self.name)
    }

    pub(super) fn texts(&self) -> String {
        format!("{}.texts", self.name)
    }

    /// Every file that belongs to it.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        [self.terms(), self.postings(), self.documents(), self.texts()]
            .into_iter()
            .chain(self.deleted.clone())
    }
}

/// A segment of vectors: `NAME.codes` stands among the files, and has a digest for each row in `NAME.rows`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VectorFile {
    pub(super) name: String,
    pub(super) rows: u32,
    pub(super) dimension: u32,
}

impl VectorFile {
    pub(super) fn codes(&self) -> String {
        format!("{}.codes", self.name)
    }

    pub(super) fn rows(&self) -> String {
        format!("{}.rows", self.name)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Model {
    model: String,
    dimension: u32,
    digest: String,
    knows_language: bool,
    judged_on: u64,
}

impl Manifest {
    /// The bytes of the file.
    pub(super) fn encode(&self, key: &Key) -> Result<Vec<u8>, serde_json::Error> {
        let body = serde_json::to_string_pretty(self)?;
        let (check, seal) = (blake3::hash(body.as_bytes()).to_hex(), key.seal(body.as_bytes()).to_hex());
        Ok(format!("{MAGIC} {VERSION} {check} {seal}\n{body}").into_bytes())
    }

    /// Decodes the bytes of the file, if one of these keys has sealed it.
    pub(super) fn decode(bytes: &[u8], keys: &Keyring, errors: &ErrorContext) -> Result<Self, StoreError> {
        let corrupt = || errors.corrupt(format!("{NAME} is not what was written"));
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
        let (head, body) = bytes.split_at_checked(end).ok_or_else(corrupt)?;
        let Some(head) = std::str::from_utf8(head).ok().and_then(|head| head.strip_prefix(MAGIC)) else {
            return Err(not_ours(errors));
        };
        let mut fields = head.split_ascii_whitespace();
        let version: u32 = fields.next().and_then(|field| field.parse().ok()).ok_or_else(corrupt)?;
        if version < SEALED {
            return Err(errors.unsealed("it was made by an older version, which did not seal it", false));
        }
        if version > VERSION {
            return Err(errors.foreign(format!(
                "it has format {version}, this program writes format {VERSION}; use the program that wrote it, or rebuild it with `papertape index DIR --rebuild`"
            )));
        }
        let body = body.get(1..).ok_or_else(corrupt)?;
        if fields.next() != Some(blake3::hash(body).to_hex().as_str()) {
            return Err(corrupt());
        }
        check_seal(fields.next(), body, keys, errors)?;
        if version < VERSION {
            return Err(errors.unsealed("it was made by an older version, in another format", false));
        }
        serde_json::from_slice(body).map_err(|error| errors.corrupt(format!("{NAME}: {error}")))
    }

    /// The summary of the generation.
    pub(super) fn summary(&self) -> Summary {
        Summary {
            generation: self.generation,
            files: self.indexed,
            chunks: self.chunks,
            vectors: self.embedded,
            languages: self
                .languages
                .iter()
                .map(|code| Language::from_code(code).unwrap_or_default())
                .collect(),
            embedding: self.embedding(),
        }
    }

    /// Which model the vectors are of.
    pub(super) fn embedding(&self) -> Option<Embedding> {
        self.embedding.clone().map(|model| Embedding {
            model: model.model,
            dimension: model.dimension,
            digest: model.digest,
            knows_language: model.knows_language,
            judged_on: model.judged_on,
        })
    }

    /// Sets the model of the vectors.
    pub(super) fn set_embedding(&mut self, embedding: Option<Embedding>) {
        self.embedding = embedding.map(|model| Model {
            model: model.model,
            dimension: model.dimension,
            digest: model.digest,
            knows_language: model.knows_language,
            judged_on: model.judged_on,
        });
    }

    /// Sets the main languages of the files.
    pub(super) fn set_languages(&mut self, languages: impl IntoIterator<Item = Language>) {
        self.languages = languages.into_iter().map(|language| language.code().to_owned()).collect();
    }

    /// Every file that belongs to it.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.files.keys().cloned().chain(self.vectors.iter().map(VectorFile::rows))
    }
}
