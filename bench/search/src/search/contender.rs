//! Who is asked, and what is asked for.

use serde::Serialize;

/// Who searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Contender {
    /// The product without a model.
    Words,
    /// The product with one.
    Hybrid,
    /// The model alone: cosines with all chunks.
    Model,
    /// BM25 as textbooks have it.
    Textbook,
    /// SQLite's full-text search.
    Fts5,
}

impl Contender {
    /// At the head of a column.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Hybrid => "hybrid",
            Self::Model => "model alone",
            Self::Textbook => "BM25",
            Self::Fts5 => "FTS5",
        }
    }
}

/// Which of them are compared with each other.
pub(crate) const COMPARED: [(Contender, Contender); 3] = [
    (Contender::Words, Contender::Textbook),
    (Contender::Hybrid, Contender::Words),
    (Contender::Hybrid, Contender::Model),
];

/// Where queries come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// Texts of links, for the page they lead to
    Links,
    /// Headings taken out of their files, for the passage below them
    Headings,
    /// Four to six consecutive words, for the chunk that has them
    Quotes,
    /// Identifiers and messages of errors, for the chunks that have them
    Identifiers,
    /// Texts of links and headings with a mistake in one word
    Misspelt,
    /// Questions of a file (--questions)
    Questions,
}

impl Kind {
    /// Above a table.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Links => "Link texts",
            Self::Headings => "Headings by passage",
            Self::Quotes => "Quotes",
            Self::Identifiers => "Identifiers and error messages",
            Self::Misspelt => "One word misspelt",
            Self::Questions => "Questions",
        }
    }
}
