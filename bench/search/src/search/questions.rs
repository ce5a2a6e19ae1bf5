//! A file of questions, each with the places of its answers, to queries.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::chunks::{Chunk, Chunks, Query};

/// A file of questions about one directory.
#[derive(Debug)]
pub(crate) struct Questions {
    path: PathBuf,
    questions: Vec<Question>,
    /// The answers that the directory with most of them does not have.
    missing: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    question: Vec<Question>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    ask: String,
    /// `path` or `path#heading`, which may be the beginning of one: any of them is right.
    answer: Vec<String>,
}

impl Questions {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let file: File = toml::from_str(&text).with_context(|| path.display().to_string())?;
        Ok(Self { path: path.to_owned(), questions: file.question, missing: None })
    }

    /// The questions, if all answers are among these chunks.
    pub(crate) fn queries(&mut self, chunks: &Chunks) -> Vec<Query> {
        let (mut queries, mut missing) = (Vec::new(), Vec::new());
        for question in &self.questions {
            let mut query = Query { ask: question.ask.clone(), ..Query::default() };
            for answer in &question.answer {
                let found = places(answer, chunks);
                if found.is_empty() {
                    missing.push(answer.clone());
                }
                query.relevant.extend(found);
            }
            queries.push(query);
        }
        if !missing.is_empty() {
            queries.clear();
        }
        if self.missing.as_ref().is_none_or(|least| missing.len() < least.len()) {
            self.missing = Some(missing);
        }
        queries
    }

    /// # Errors
    /// If no directory had all answers.
    pub(crate) fn ensure_asked(&self) -> Result<()> {
        let missing = self.missing.as_deref().unwrap_or_default().join(", ");
        ensure!(
            missing.is_empty(),
            "{}: no directory has all of its answers: {missing}",
            self.path.display()
        );
        Ok(())
    }
}

/// The chunks of a file below a heading, or all of them.
fn places(answer: &str, chunks: &Chunks) -> HashSet<usize> {
    let (path, heading) = answer.split_once('#').unwrap_or((answer, ""));
    let heading = bare(heading);
    let is_meant = |chunk: &Chunk| {
        let above = chunk.headings.iter().chain([&chunk.title]).map(String::as_str);
        // Short sections share a chunk.
        let within = chunk.text.lines().filter(|line| line.starts_with('#'));
        let within = within.map(|line| line.trim_start_matches('#'));
        heading.is_empty() || above.chain(within).any(|above| bare(above).starts_with(&heading))
    };
    chunks.of(path).filter(|number| chunks.all.get(*number).is_some_and(is_meant)).collect()
}

/// A heading without its marks, in lower case.
fn bare(heading: &str) -> String {
    let words = heading.split_whitespace().map(|word| word.replace(['`', '*'], ""));
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::Questions;
    use crate::search::chunks::Chunks;

    #[test]
    fn answers_are_chunks_below_a_heading() {
        let text =
            format!("# A\n\n{0}\n\n## The `first` part\n\n{0}\n\n## Second\n\n{0}\n", "Words. ".repeat(300));
        let chunks = Chunks::read(&[("a.md".to_owned(), text)]);
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = |answer: &str| {
            let toml = format!("[[question]]\nask = \"what?\"\nanswer = [{answer:?}]\n");
            std::fs::write(file.path(), toml).unwrap();
            let mut questions = Questions::read(file.path()).unwrap();
            let queries = questions.queries(&chunks);
            questions.ensure_asked().map(|()| queries[0].relevant.clone())
        };
        let below = |heading: &str| -> HashSet<usize> {
            let all = chunks.all.iter().enumerate();
            all.filter(|(_, chunk)| chunk.headings.iter().any(|own| own == heading)).map(|(n, _)| n).collect()
        };
        assert_eq!(read("a.md#the first P").unwrap(), below("The first part"));
        assert_eq!(read("a.md").unwrap().len(), chunks.all.len());
        let missing = read("a.md#third").unwrap_err().to_string();
        assert!(missing.contains("a.md#third"), "{missing}");
    }
}
