//! A Jupyter notebook to Markdown: its cells, without what they printed.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, MapAccess, SeqAccess};

use super::head::{self, Head};
use super::lenient::{FromJson, Lenient};

/// The longest name of a language that code is marked with.
const MOST_LANGUAGE: usize = 32;

/// A notebook as Markdown, and what it says of itself.
///
/// # Errors
/// If it is not one.
pub(super) fn read(text: &str) -> Result<(Head, String), String> {
    // serde_json has a bound of its own for depth.
    let Lenient(Notebook { cells: Lenient(Cells(cells)), metadata: Lenient(metadata) }) =
        serde_json::from_str(text).map_err(|error| format!("left out: it is not a notebook ({error})"))?;
    let cells = cells.ok_or("left out: it is not a notebook of version 4 (it has no \"cells\")")?;
    let Lenient(Text(name)) = metadata.language_info.0.name;
    let language = name.or(metadata.kernelspec.0.language.0.0).unwrap_or_default();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '_');
    let language = Some(language).filter(|name| name.len() <= MOST_LANGUAGE && name.chars().all(is_name));
    let language = language.unwrap_or_default();
    let mut markdown = String::new();
    for Cell { cell_type: Lenient(Text(kind)), source: Lenient(Source(source)) } in cells {
        if !markdown.is_empty() {
            markdown.push_str("\n\n");
        }
        let source = source.trim_matches(['\n', '\r']);
        match kind.as_deref() {
            Some("code") => code(source, &language, &mut markdown),
            // Raw cells are for other programs, such as LaTeX.
            Some("raw") => code(source, "", &mut markdown),
            _ => markdown.push_str(source),
        }
    }
    if !markdown.is_empty() {
        markdown.push('\n');
    }
    let title = metadata.title.0.0.map(|title| head::line(&title));
    Ok((Head { title: title.filter(|title| !title.is_empty()), ..Head::default() }, markdown))
}

/// What is read of a notebook: of all else, nothing is kept.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Notebook {
    cells: Lenient<Cells>,
    metadata: Lenient<Metadata>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Metadata {
    title: Lenient<Text>,
    language_info: Lenient<Program>,
    kernelspec: Lenient<Program>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Program {
    name: Lenient<Text>,
    language: Lenient<Text>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Cell {
    cell_type: Lenient<Text>,
    source: Lenient<Source>,
}

/// The cells that are not blank.
#[derive(Default)]
struct Cells(Option<Vec<Cell>>);

#[derive(Default)]
struct Text(Option<String>);

/// The text of a cell, which is a string or a list of lines.
#[derive(Default)]
struct Source(String);

/// These are objects.
macro_rules! from_object {
    ($($name:ident),*) => {$(
        impl FromJson for $name {
            fn object<'de, A: MapAccess<'de>>(object: A) -> Result<Self, A::Error> {
                Self::deserialize(MapAccessDeserializer::new(object))
            }
        }
    )*};
}

from_object!(Notebook, Metadata, Program, Cell);

impl FromJson for Cells {
    fn list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut cells = Vec::new();
        while let Some(Lenient(cell)) = list.next_element::<Lenient<Cell>>()? {
            if !cell.source.0.0.trim().is_empty() {
                cells.push(cell);
            }
        }
        Ok(Self(Some(cells)))
    }
}

impl FromJson for Text {
    fn text(text: &str) -> Self {
        Self(Some(text.to_owned()))
    }
}

impl FromJson for Source {
    fn text(text: &str) -> Self {
        Self(text.to_owned())
    }

    fn list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut source = String::new();
        while let Some(Lenient(Text(line))) = list.next_element()? {
            source.push_str(&line.unwrap_or_default());
        }
        Ok(Self(source))
    }
}

/// A block of code, between more backticks than it has itself.
pub(super) fn code(source: &str, language: &str, markdown: &mut String) {
    let fence = "`".repeat(longest_run(source).max(2) + 1);
    for part in [&fence, language, "\n", source, "\n", &fence] {
        markdown.push_str(part);
    }
}

/// How many backticks stand together, at most.
pub(super) fn longest_run(text: &str) -> usize {
    let runs = text.as_bytes().chunk_by(|one, other| one == other);
    runs.filter(|run| run.first() == Some(&b'`')).map(<[u8]>::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn cells_become_markdown_and_code() {
        let text = r##"{"cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "\n", "Some *text*."]},
            {"cell_type": "code", "source": "print(1)\n", "outputs": [{"text": "printed"}]},
            {"cell_type": "code", "source": ["x = '```'"]},
            {"cell_type": "code", "source": []},
            {"cell_type": "raw", "source": "raw"},
            {"cell_type": 5, "source": {"a": 1}}, 7
        ], "metadata": {"title": "A title", "language_info": {"name": "python"}}, "nbformat": 4}"##;
        let (head, markdown) = read(text).unwrap();
        assert_eq!(head.title.as_deref(), Some("A title"));
        let wanted = "# Title\n\nSome *text*.\n\n```python\nprint(1)\n```\n\n````python\nx = '```'\n````\n\n```\nraw\n```\n";
        assert_eq!(markdown, wanted);
    }

    #[test]
    fn what_is_no_notebook_is_left_out() {
        for text in
            ["", "text", "[]", "{}", "{\"cells\": 1}", &"[".repeat(100_000), &"{\"cells\":".repeat(100_000)]
        {
            assert!(read(text).is_err_and(|why| why.starts_with("left out: ") && why.len() < 200));
        }
        assert_eq!(read("{\"cells\": []}").unwrap().1, "");
        let odd = read(
            "{\"cells\": [{\"cell_type\": \"code\", \"source\": \"a\"}], \"metadata\": {\"language_info\": {\"name\": \"`\\n#\"}}}",
        );
        assert_eq!(odd.unwrap().1, "```\na\n```\n");
    }

    #[test]
    fn what_is_not_used_may_be_of_any_type_and_depth() {
        let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
        let text = format!(
            r#"{{"x": {deep}, "cells": [
                {{"cell_type": "code", "source": ["a", 1, ["b"], {{}}], "outputs": {deep}, "metadata": {{"": 0}}}},
                null, true, -1, 0.5, "b", [1], {{"source": null}}
            ], "metadata": {{"title": 1, "language_info": [], "kernelspec": {{"language": "r", "name": {{}}}}}}}}"#
        );
        let (head, markdown) = read(&text).unwrap();
        assert_eq!((head.title, markdown.as_str()), (None, "```r\na\n```\n"));
        assert!(read("[[{\"source\": \"a\"}]]").is_err());
        assert!(read("{\"cells\": []} x").is_err());
    }
}
