//! TOML files: tables of servers inserted and removed, with everything else as it is.

mod statements;

use std::ops::Range;

use serde_json::Value;

use crate::edit::{Edit, Inserted, Surroundings, newline, part};
use crate::entry::Data;
use crate::error::Fault;

pub(crate) use statements::{Item, ItemKind, TomlValue, TomlValueKind, statements};

/// The document as values.
///
/// # Errors
/// If it is not TOML.
pub(crate) fn read(text: &str) -> Result<toml::Table, Fault> {
    let plain = text.strip_prefix('\u{feff}').unwrap_or(text);
    let skipped = text.len() - plain.len();
    plain.parse::<toml::Table>().map_err(|error| {
        let at = error.span().map_or(0, |span| span.start) + skipped;
        Fault::new(at, error.message().replace('\n', ", "))
    })
}

/// The servers of a document.
///
/// # Errors
/// If the container is not a table.
pub(crate) fn servers(document: &toml::Table, container: &str) -> Result<Vec<(String, Value)>, Fault> {
    let servers = match document.get(container) {
        None => return Ok(Vec::new()),
        Some(toml::Value::Table(servers)) => servers,
        Some(_) => return Err(Fault::new(0, format!("\"{container}\" is not a table"))),
    };
    let value = |server: &toml::Value| serde_json::to_value(server).unwrap_or_default();
    Ok(servers.iter().map(|(name, server)| (name.clone(), value(server))).collect())
}

/// A table at the end of the file.
pub(crate) fn insert(text: &str, container: &str, name: &str, data: &Data) -> Inserted {
    let newline = newline(text);
    let content = text.strip_prefix('\u{feff}').unwrap_or(text);
    let ends_line = content.is_empty() || content.ends_with('\n');
    let ends_paragraph = content.is_empty() || content.ends_with("\n\n") || content.ends_with("\n\r\n");
    let mut before = String::new();
    for missing in [!ends_line, !ends_paragraph] {
        before += if missing { newline } else { "" };
    }
    // A file without an end of its last line has none afterwards.
    let after = if ends_line { newline } else { "" }.to_owned();
    let mut lines = vec![format!("[{}.{}]", key(container), key(name))];
    if let Data::Members(members) = data {
        lines.extend(members.iter().map(|(name, value)| format!("{} = {}", key(name), written(value))));
    }
    let surroundings = Surroundings { before, after, replaced: String::new(), alone: false };
    surroundings.insert(text, text.len()..text.len(), &lines.join(newline))
}

/// The edits that remove a server: those that take its insertion back, if the text around it is still the same, or else
/// those for its lines and an empty line before them.
///
/// # Errors
/// If it is in an inline table with other servers.
pub(crate) fn remove(
    text: &str,
    path: &[&str; 2],
    inserted: Option<&Surroundings>,
) -> Result<Vec<Edit>, String> {
    let items = statements(text);
    let runs: Vec<Range<usize>> = runs(&items, path);
    if runs.is_empty() {
        let [container, _] = path;
        return Err(format!(
            "\"{container}\" is written as an inline table, which is not edited: write its servers as \
             [{container}.NAME], or edit it by hand"
        ));
    }
    if let ([only], Some(surroundings)) = (runs.as_slice(), inserted)
        && let Some(undo) = surroundings.undo(text, only.clone())
    {
        return Ok(vec![undo]);
    }
    Ok(runs.into_iter().map(|run| Edit::delete(lines_of(text, run))).collect())
}

/// The places of statements about a path, those without others in between together.
fn runs(items: &[Item], path: &[&str]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut in_run = false;
    for item in items {
        let about = item.is_below(path);
        match runs.last_mut().filter(|_| in_run && about) {
            Some(run) => run.end = item.range.end,
            None => runs.extend(about.then(|| item.range.clone())),
        }
        in_run = about;
    }
    runs
}

/// The whole lines of a range, with an empty line before them.
fn lines_of(text: &str, range: Range<usize>) -> Range<usize> {
    let before = part(text, 0..range.start);
    let mut start = before.trim_end_matches([' ', '\t']).len();
    let kept = part(text, 0..start);
    for empty in ["\n\n", "\n\r\n"] {
        if kept.ends_with(empty) {
            start -= empty.len() - 1;
            break;
        }
    }
    let rest = part(text, range.end..text.len());
    start..range.end + rest.find('\n').map_or(rest.len(), |end| end + 1)
}

/// A name as a key: quoted only if it must be.
pub(crate) fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

/// A value on one line.
fn written(value: &Data) -> String {
    match value {
        Data::Text(text) => quoted(text),
        Data::List(list) => {
            format!("[{}]", list.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
        }
        Data::Members(members) => {
            let members = members.iter().map(|(name, value)| format!("{} = {}", key(name), written(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A basic string: the escapes of JSON are escapes of TOML, which also has DEL.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
