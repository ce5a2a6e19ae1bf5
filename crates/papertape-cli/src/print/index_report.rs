//! The report of `papertape index`, as text and as JSON.

use std::path::{Path, PathBuf};
use std::time::Duration;

use papertape_search::corpus::document::ENDINGS;
use papertape_search::corpus::folder::Skipped;
use papertape_search::index::Report;
use papertape_search::store::{Embedding, Summary};
use serde_json::{Value, json};

use super::text::{counted, grouped, one_line};
use super::{Look, style};

/// The directory and its index, as the user named them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<'a> {
    /// The directories of Markdown.
    pub(crate) folders: &'a [PathBuf],
    /// The directory of the index; `None` if it is in a database.
    pub(crate) index: Option<&'a Path>,
    /// The options of `papertape serve blog` to serve it, quoted for a shell.
    pub(crate) options: &'a str,
    /// An embedding model was given.
    pub(crate) has_model: bool,
}

impl Places<'_> {
    /// "notes, blog".
    fn names(&self) -> String {
        let names: Vec<String> = self.folders.iter().map(|folder| folder.display().to_string()).collect();
        names.join(", ")
    }
}

/// One line for each warning.
pub(crate) fn warnings(report: &Report, look: Look) -> String {
    let head = look.paint(style::WRONG, "warning:");
    report.warnings.iter().map(|warning| format!("{head} {}\n", one_line(warning))).collect()
}

/// What was indexed, how it is searched, and the next commands.
pub(crate) fn as_text(report: &Report, time: Duration, places: Places<'_>, look: Look) -> String {
    let Report { added, changed, removed, unchanged, summary, .. } = report;
    let skipped = skipped_line(&report.skipped);
    if summary.files == 0 {
        return nothing(*removed, &skipped, places, look);
    }
    let counts = [(added, "added"), (changed, "changed"), (removed, "removed"), (unchanged, "unchanged")];
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| **count > 0)
        .map(|(count, what)| format!("{} {what}", grouped(*count)))
        .collect();
    let mut text = format!(
        "{}: {}, {}\n  {}, in {}\n{skipped}  {}\n",
        look.paint(style::SUBJECT, &places.names()),
        counted(summary.files, "file"),
        counted(summary.chunks, "chunk"),
        counts.join(", "),
        seconds(time),
        search_mode(summary, places.has_model),
    );
    if let Some(index) = places.index {
        text += &format!("  the index is in {}\n", index.display());
    }
    let blog = format!("blog {}", places.options);
    let target = shell_words::quote(blog.trim_end());
    let commands = format!(
        "\n  papertape call {target} search_blog query='...'\n  papertape serve {}\n",
        blog.trim_end()
    );
    text + &commands
}

/// For a directory without texts: which files are indexed.
fn nothing(removed: u64, skipped: &str, places: Places<'_>, look: Look) -> String {
    let folder = look.paint(style::SUBJECT, &places.names());
    let removed = if removed == 0 { String::new() } else { format!("  {} removed\n", grouped(removed)) };
    let endings: Vec<String> = ENDINGS.iter().map(|(ending, _)| format!(".{ending}")).collect();
    let (last, others) = endings.split_last().map_or(("", &[][..]), |(last, others)| (last.as_str(), others));
    format!(
        "{folder}: nothing to index\n{removed}{skipped}  files that end in {} or {last} are indexed, unless they are hidden \
         or a .gitignore excludes them\n",
        others.join(", "),
    )
}

/// How many endings of files that are skipped are named in text.
const NAMED: usize = 8;

/// `skipped 12 .png, 3 .docx, 2 others`, as a line, if there is anything to say.
fn skipped_line(skipped: &Skipped) -> String {
    if skipped.total() == 0 {
        return String::new();
    }
    let endings = skipped.endings();
    let mut parts: Vec<String> =
        endings.iter().take(NAMED).map(|(ending, many)| format!("{} .{ending}", grouped(*many))).collect();
    let others = endings.iter().skip(NAMED).map(|(_, many)| many).sum::<u64>() + skipped.others();
    match others {
        0 => {}
        1 => parts.push("1 other".to_owned()),
        others => parts.push(format!("{} others", grouped(others))),
    }
    format!("  skipped {}\n", parts.join(", "))
}

/// The same for programs: by ending, and those without one as `""`.
fn skipped_document(skipped: &Skipped) -> Value {
    let named = skipped.endings().into_iter().map(|(ending, many)| (ending.to_owned(), many.into()));
    let others = (skipped.others() > 0).then(|| (String::new(), skipped.others().into()));
    Value::Object(named.chain(others).collect())
}

/// The report as JSON.
pub(crate) fn document(report: &Report, time: Duration, places: Places<'_>) -> Value {
    let Report { added, changed, removed, unchanged, skipped, warnings, summary, .. } = report;
    json!({
        "added": added,
        "changed": changed,
        "removed": removed,
        "unchanged": unchanged,
        "skipped": skipped_document(skipped),
        "warnings": warnings,
        "files": summary.files,
        "chunks": summary.chunks,
        "vectors": summary.vectors,
        "generation": summary.generation,
        "embedding": summary.embedding.as_ref().map(|embedding| json!({
            "model": embedding.model,
            "dimension": embedding.dimension,
            "knows_language": (embedding.judged_on > 0).then_some(embedding.knows_language),
        })),
        "seconds": time.as_secs_f64(),
        "index": places.index.map(|index| index.display().to_string()),
    })
}

/// How it is searched.
fn search_mode(summary: &Summary, has_model: bool) -> String {
    match &summary.embedding {
        None if has_model => {
            "full-text search only until the model responds: index again then, or serve it, to compute the \
                              embeddings"
                .to_owned()
        }
        None => "full-text search; with --embed also semantic search".to_owned(),
        // The model is not judged yet, so no search uses the embeddings.
        Some(Embedding { model, judged_on: 0, .. }) => format!(
            "full-text search only until {} is done: there are embeddings for {}; index again, or serve it,{} to continue",
            one_line(model),
            covered(summary),
            if has_model { "" } else { " with --embed" },
        ),
        Some(Embedding { model, knows_language: false, .. }) => {
            format!("full-text search: {} does not know the language of these files", one_line(model))
        }
        Some(Embedding { model, dimension, .. }) => format!(
            "full-text and semantic search: {} ({dimension} dimensions, {})",
            one_line(model),
            covered(summary),
        ),
    }
}

/// Which chunks have embeddings: `70 chunks`, or `32 of 70 chunks`.
fn covered(summary: &Summary) -> String {
    let (vectors, chunks) = (summary.vectors, summary.chunks);
    let some = if vectors < chunks { format!("{} of ", grouped(vectors)) } else { String::new() };
    format!("{some}{}", counted(chunks, "chunk"))
}

fn seconds(time: Duration) -> String {
    if time.as_secs() < 10 { format!("{:.2} s", time.as_secs_f64()) } else { format!("{} s", time.as_secs()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look = Look { colour: false, width: 100, terminal: false };

    fn report(embedding: Option<Embedding>) -> Report {
        let summary = Summary { files: 1, chunks: 12_345, vectors: 300, embedding, ..Summary::default() };
        Report {
            added: 1,
            unchanged: 2_000,
            summary,
            warnings: vec!["a.md: odd\nthing".into()],
            ..Report::default()
        }
    }

    #[test]
    fn the_text_names_the_next_commands() {
        let places = Places {
            folders: &["my notes".into()],
            index: Some(Path::new("my notes/.papertape")),
            options: "--content 'my notes'",
            has_model: false,
        };
        assert_eq!(
            as_text(&report(None), Duration::from_millis(1_234), places, LOOK),
            "my notes: 1 file, 12,345 chunks\n  1 added, 2,000 unchanged, in 1.23 s\n  full-text search; with --embed also semantic \
             search\n  the index is in my notes/.papertape\n\n  papertape call 'blog --content '\\''my notes'\\''' \
             search_blog query='...'\n  papertape serve blog --content 'my notes'\n"
        );
        assert_eq!(warnings(&report(None), LOOK), "warning: a.md: odd thing\n");
    }

    #[test]
    fn skipped_files_are_counted_by_ending() {
        let mut skipped = Skipped::default();
        for ending in [Some("png"), Some("PNG"), Some("docx"), None] {
            skipped.add(ending.map(std::ffi::OsStr::new));
        }
        assert_eq!(skipped_line(&skipped), "  skipped 2 .png, 1 .docx, 1 other\n");
        assert_eq!(skipped_document(&skipped), json!({"png": 2, "docx": 1, "": 1}));
        assert_eq!(skipped_line(&Skipped::default()), "");
    }

    #[test]
    fn whether_a_model_is_used_is_reported() {
        let model = |knows_language, judged_on| {
            let (model, digest) = ("m".to_owned(), String::new());
            let embedding = Embedding { model, dimension: 768, digest, knows_language, judged_on };
            move |has_model| search_mode(&report(Some(embedding.clone())).summary, has_model)
        };
        assert_eq!(
            model(true, 9)(true),
            "full-text and semantic search: m (768 dimensions, 300 of 12,345 chunks)"
        );
        assert_eq!(model(false, 9)(true), "full-text search: m does not know the language of these files");
        let unfinished = "full-text search only until m is done: there are embeddings for 300 of 12,345 chunks; index \
                          again, or serve it,";
        assert_eq!(model(false, 0)(true), format!("{unfinished} to continue"));
        assert_eq!(model(false, 0)(false), format!("{unfinished} with --embed to continue"));
    }

    #[test]
    fn the_report_as_json() {
        let places = Places { folders: &["n".into()], index: None, options: "", has_model: false };
        let document = document(&report(None), Duration::from_secs(2), places);
        assert_eq!((&document["added"], &document["chunks"]), (&json!(1), &json!(12_345)));
        assert_eq!((&document["embedding"], &document["seconds"]), (&Value::Null, &json!(2.0)));
    }
}
