//! A file's bytes to a title, tags and chunks.

use super::words::Language;

/// A Markdown file, read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Document {
    /// From the front matter, the first heading, or the file's name.
    pub title: String,
    /// `YYYY-MM-DD`, from the front matter.
    pub date: Option<String>,
    /// From the front matter, as written.
    pub tags: Vec<String>,
    /// What most of it is written in.
    pub language: Language,
    /// In the order of the file. Joined, their texts are the file without its front matter.
    pub chunks: Vec<Section>,
    /// What was wrong with the file, for whoever indexes it.
    pub warnings: Vec<String>,
}

/// A piece of a document that a model can read at once, cut along its headings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Section {
    /// The headings above it and its own, outermost first, as plain text, without the title.
    pub headings: Vec<String>,
    /// Its Markdown, as it stands in the file, with its own heading.
    pub text: String,
    /// Its words without marks, for search: no link targets, no HTML, no JSX. Its own heading is not in it.
    pub plain: String,
}

/// Reads a file: never fails, whatever the bytes are.
#[must_use]
pub fn read(_path: &str, _bytes: &[u8]) -> Document {
    Document::default()
}

/// What a model is given to embed for a chunk.
#[must_use]
pub fn meaning(title: &str, section: &Section) -> String {
    let path: Vec<&str> = [title].into_iter().chain(section.headings.iter().map(String::as_str)).collect();
    format!("{}\n\n{}", path.join(" > "), section.plain)
}
