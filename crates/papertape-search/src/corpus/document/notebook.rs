//! A Jupyter notebook to Markdown: its cells, without what they printed.

use serde_json::Value;

use super::head::{self, Head};

/// The longest name of a language that code is marked with.
const MOST_LANGUAGE: usize = 32;

/// A notebook as Markdown, and what it says of itself.
///
/// # Errors
/// If it is not one.
pub(super) fn read(text: &str) -> Result<(Head, String), String> {
    // serde_json has a bound of its own for depth.
    let notebook: Value =
        serde_json::from_str(text).map_err(|error| format!("left out: it is not a notebook ({error})"))?;
    let cells = notebook.get("cells").and_then(Value::as_array);
    let cells = cells.ok_or("left out: it is not a notebook of version 4 (it has no \"cells\")")?;
    let metadata = notebook.get("metadata");
    let named = |place: &str, name: &str| metadata?.get(place)?.get(name)?.as_str();
    let language =
        named("language_info", "name").or_else(|| named("kernelspec", "language")).unwrap_or_default();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '_');
    let language = Some(language).filter(|name| name.len() <= MOST_LANGUAGE && name.chars().all(is_name));
    let mut markdown = String::new();
    for cell in cells {
        let source = source(cell.get("source"));
        let source = source.trim_matches(['\n', '\r']);
        if source.trim().is_empty() {
            continue;
        }
        if !markdown.is_empty() {
            markdown.push_str("\n\n");
        }
        match cell.get("cell_type").and_then(Value::as_str) {
            Some("code") => code(source, language.unwrap_or_default(), &mut markdown),
            // Raw cells are for other programs, such as LaTeX.
            Some("raw") => code(source, "", &mut markdown),
            _ => markdown.push_str(source),
        }
    }
    if !markdown.is_empty() {
        markdown.push('\n');
    }
    let title = metadata.and_then(|metadata| metadata.get("title")?.as_str()).map(head::line);
    Ok((Head { title: title.filter(|title| !title.is_empty()), ..Head::default() }, markdown))
}

/// Its text, which is a string or a list of lines.
fn source(source: Option<&Value>) -> String {
    match source {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
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
}
