//! What `papertape search` has found, as text and as JSON.

use std::ops::Range;
use std::path::PathBuf;

use papertape_search::query::{Mode, SearchResult};
use serde_json::{Value, json};

use super::text::{counted, indented, one_line, safe};
use super::{Look, style};

/// What a search has found.
#[derive(Debug)]
pub(crate) struct Found {
    query: String,
    mode: Mode,
    pub(crate) hits: Vec<Hit>,
    /// What limits the result.
    pub(crate) notes: Vec<String>,
}

/// A passage.
#[derive(Debug)]
pub(crate) struct Hit {
    /// The file, from the current directory as the user named the directory.
    pub(crate) path: PathBuf,
    /// The line of the passage in it that matches best.
    pub(crate) line: Option<u32>,
    lines: (Option<u32>, Option<u32>),
    source: String,
    chunk_index: u32,
    score: f64,
    title: String,
    headings: Vec<String>,
    preview: String,
    /// In bytes of the preview.
    matches: Vec<Range<usize>>,
    words: Vec<String>,
    tokens: usize,
}

impl Found {
    /// `path` is where a file is.
    pub(crate) fn new(
        query: String,
        result: &SearchResult,
        notes: &[String],
        path: &dyn Fn(&str) -> PathBuf,
    ) -> Self {
        let hits = result.hits.iter().map(|hit| {
            let chunk = &hit.chunk;
            let preview = result.terms.preview(chunk);
            // 0 if the text is not as it stands in the file.
            let line = |line| Some(line).filter(|line| *line > 0);
            Hit {
                path: path(&chunk.source),
                line: line(preview.line),
                lines: (line(chunk.lines.start), line(chunk.lines.end)),
                source: chunk.source.clone(),
                chunk_index: chunk.index,
                score: hit.rounded_score(),
                title: chunk.title.clone(),
                headings: chunk.headings.clone(),
                words: preview.words().into_iter().map(str::to_owned).collect(),
                preview: preview.text,
                matches: preview.matches,
                tokens: chunk.tokens(),
            }
        });
        Self { query, mode: result.mode, hits: hits.collect(), notes: notes.to_vec() }
    }

    /// The passages, best first.
    pub(crate) fn as_text(&self, look: Look) -> String {
        let digits = self.hits.len().to_string().len();
        let parts: Vec<String> =
            (1..).zip(&self.hits).map(|(number, hit)| hit.as_text(number, digits, look)).collect();
        parts.join("\n")
    }

    /// "3 passages, by words".
    pub(crate) fn summary(&self) -> String {
        let how = match self.mode {
            Mode::Lexical => "by words",
            Mode::Semantic => "by meaning",
            Mode::Hybrid => "by words and by meaning",
        };
        format!("\n{}, {how}\n", counted(self.hits.len(), "passage"))
    }

    /// The members that hits of the blog server have, too, have the same names.
    pub(crate) fn document(&self) -> Value {
        let mode = match self.mode {
            Mode::Lexical => "lexical",
            Mode::Semantic => "semantic",
            Mode::Hybrid => "hybrid",
        };
        let hits: Vec<Value> = self.hits.iter().map(Hit::document).collect();
        json!({"query": self.query, "mode": mode, "hits": hits, "notes": self.notes})
    }
}

impl Hit {
    fn as_text(&self, number: usize, digits: usize, look: Look) -> String {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        let place = format!("{}{line}", one_line(&self.path.to_string_lossy()));
        let above = [&self.title].into_iter().chain(self.headings.iter().filter(|text| **text != self.title));
        let above = one_line(&above.map(String::as_str).collect::<Vec<_>>().join(" > "));
        let number = look.paint(style::DIM, &format!("{number:>digits$}"));
        let head =
            format!("{number}  {}  {}", look.paint(style::NAME, &place), look.paint(style::DIM, &above));
        // Wrapped only on a terminal, so that programs can read lines.
        let width = if look.terminal { look.width } else { usize::MAX };
        let indent = " ".repeat(digits + 2);
        let head = indented(head.trim_end(), width, "", &indent);
        head + &indented(&self.marked(look), width, &indent, &indent)
    }

    /// The preview with its matches highlighted.
    fn marked(&self, look: Look) -> String {
        let mut text = String::new();
        let mut at = 0;
        let part = |range: Range<usize>| safe(self.preview.get(range).unwrap_or_default());
        for range in &self.matches {
            text += &part(at..range.start);
            text += &look.paint(style::WRONG, &part(range.clone()));
            at = range.end;
        }
        text + &part(at..self.preview.len())
    }

    fn document(&self) -> Value {
        json!({
            "path": self.path.to_string_lossy(),
            "line": self.line,
            "start_line": self.lines.0,
            "end_line": self.lines.1,
            "source": self.source,
            "chunk_index": self.chunk_index,
            "score": self.score,
            "title": self.title,
            "headings": self.headings,
            "preview": self.preview,
            "matches": self.words,
            "tokens": self.tokens,
        })
    }
}
