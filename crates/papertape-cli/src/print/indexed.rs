//! What was indexed, to words and to JSON.

use std::path::Path;
use std::time::Duration;

use papertape_servers::blog::folder::ENDINGS;
use papertape_servers::blog::ingest::Report;
use papertape_servers::blog::store::{Embedding, Summary};
use serde_json::{Value, json};

use super::text::{grouped, one_line};
use super::{Look, style};

/// Where a folder was indexed to, as the user says it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<'a> {
    /// The folder of Markdown.
    pub(crate) folder: &'a Path,
    /// The folder of the index; nothing if it is in a database.
    pub(crate) index: Option<&'a Path>,
    /// What to say after `papertape serve`, to serve it: options that were given, quoted for a shell.
    pub(crate) options: &'a str,
    /// A model was given for the meaning of texts.
    pub(crate) has_model: bool,
}

/// One line for each file that was left out or odd.
pub(crate) fn warnings(report: &Report, look: Look) -> String {
    let head = look.paint(style::WRONG, "warning:");
    report.warnings.iter().map(|warning| format!("{head} {}\n", one_line(warning))).collect()
}

/// What was done, how it is searched, and what to type next.
pub(crate) fn in_words(report: &Report, time: Duration, places: Places<'_>, look: Look) -> String {
    let Report { added, changed, removed, unchanged, summary, .. } = report;
    if summary.files == 0 {
        return nothing(*removed, places, look);
    }
    let counts = [(added, "added"), (changed, "changed"), (removed, "removed"), (unchanged, "unchanged")];
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| **count > 0)
        .map(|(count, what)| format!("{} {what}", number(*count)))
        .collect();
    let mut text = format!(
        "{}: {}, {}\n  {}, in {}\n  {}\n",
        look.paint(style::SUBJECT, &places.folder.display().to_string()),
        plural(summary.files, "file"),
        plural(summary.chunks, "chunk"),
        counts.join(", "),
        seconds(time),
        ways(summary, places.has_model),
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

/// Whoever has no Markdown needs to know what that is, and not how to search it.
fn nothing(removed: u64, places: Places<'_>, look: Look) -> String {
    let folder = look.paint(style::SUBJECT, &places.folder.display().to_string());
    let removed = if removed == 0 { String::new() } else { format!("  {} removed\n", number(removed)) };
    let [one, other, last] = ENDINGS;
    format!(
        "{folder}: nothing to index\n{removed}  what counts are files that end in .{one}, .{other} or .{last}, unless they \
         are hidden or a .gitignore takes them out\n"
    )
}

/// The same for a program.
pub(crate) fn document(report: &Report, time: Duration, places: Places<'_>) -> Value {
    let Report { added, changed, removed, unchanged, warnings, summary, .. } = report;
    json!({
        "added": added,
        "changed": changed,
        "removed": removed,
        "unchanged": unchanged,
        "warnings": warnings,
        "files": summary.files,
        "chunks": summary.chunks,
        "vectors": summary.vectors,
        "generation": summary.generation,
        "embedding": summary.embedding.as_ref().map(|embedding| json!({
            "model": embedding.model,
            "dimension": embedding.dimension,
            "weight": embedding.weight,
        })),
        "seconds": time.as_secs_f64(),
        "index": places.index.map(|index| index.display().to_string()),
    })
}

/// By what it is searched.
fn ways(summary: &Summary, has_model: bool) -> String {
    match &summary.embedding {
        None if has_model => {
            "searched by words alone until the model answers: index again then, or serve it, to make the \
                              vectors"
                .to_owned()
        }
        None => "searched by words; with --embed also by meaning".to_owned(),
        // Nobody knows yet what the vectors are worth, so that no search uses them.
        Some(Embedding { model, calibrated_on: 0, .. }) => format!(
            "searched by words alone until {} is done: it has made vectors for {}; index again, or serve it,{} to go on",
            one_line(model),
            covered(summary),
            if has_model { "" } else { " with --embed" },
        ),
        Some(Embedding { model, weight, .. }) if *weight <= 0.0 => {
            format!("searched by words: the vectors of {} do not help here", one_line(model))
        }
        Some(Embedding { model, dimension, weight, .. }) => format!(
            "searched by words and by meaning: {} ({dimension} numbers for {}, weight {weight:.2})",
            one_line(model),
            covered(summary),
        ),
    }
}

/// Which chunks have vectors: `70 chunks`, or `32 of 70 chunks`.
fn covered(summary: &Summary) -> String {
    let (vectors, chunks) = (summary.vectors, summary.chunks);
    let some = if vectors < chunks { format!("{} of ", number(vectors)) } else { String::new() };
    format!("{some}{}", plural(chunks, "chunk"))
}

fn seconds(time: Duration) -> String {
    if time.as_secs() < 10 { format!("{:.2} s", time.as_secs_f64()) } else { format!("{} s", time.as_secs()) }
}

fn plural(count: u64, what: &str) -> String {
    format!("{} {what}{}", number(count), if count == 1 { "" } else { "s" })
}

fn number(count: u64) -> String {
    grouped(usize::try_from(count).unwrap_or(usize::MAX))
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
    fn a_report_in_words_says_what_to_type_next() {
        let places = Places {
            folder: Path::new("my notes"),
            index: Some(Path::new("my notes/.papertape")),
            options: "--content 'my notes'",
            has_model: false,
        };
        assert_eq!(
            in_words(&report(None), Duration::from_millis(1_234), places, LOOK),
            "my notes: 1 file, 12,345 chunks\n  1 added, 2,000 unchanged, in 1.23 s\n  searched by words; with --embed also by \
             meaning\n  the index is in my notes/.papertape\n\n  papertape call 'blog --content '\\''my notes'\\''' \
             search_blog query='...'\n  papertape serve blog --content 'my notes'\n"
        );
        assert_eq!(warnings(&report(None), LOOK), "warning: a.md: odd thing\n");
    }

    #[test]
    fn what_a_model_is_worth_is_said() {
        let model = |weight, calibrated_on| {
            let (model, digest) = ("m".to_owned(), String::new());
            let embedding = Embedding { model, dimension: 768, digest, weight, calibrated_on };
            move |has_model| ways(&report(Some(embedding.clone())).summary, has_model)
        };
        assert_eq!(
            model(0.4, 9)(true),
            "searched by words and by meaning: m (768 numbers for 300 of 12,345 chunks, weight 0.40)"
        );
        assert_eq!(model(0.0, 9)(true), "searched by words: the vectors of m do not help here");
        let unfinished = "searched by words alone until m is done: it has made vectors for 300 of 12,345 chunks; index \
                          again, or serve it,";
        assert_eq!(model(0.0, 0)(true), format!("{unfinished} to go on"));
        assert_eq!(model(0.0, 0)(false), format!("{unfinished} with --embed to go on"));
    }

    #[test]
    fn a_report_for_programs() {
        let places = Places { folder: Path::new("n"), index: None, options: "", has_model: false };
        let document = document(&report(None), Duration::from_secs(2), places);
        assert_eq!((&document["added"], &document["chunks"]), (&json!(1), &json!(12_345)));
        assert_eq!((&document["embedding"], &document["seconds"]), (&Value::Null, &json!(2.0)));
    }
}
