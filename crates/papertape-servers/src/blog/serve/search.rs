//! A question to hits: the tool `search_blog`.

use papertape::{Cx, Json, Tool, ToolError, Violation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::preview::preview;
use super::situation::{Desk, Opened};
use super::words::quoted;
use crate::blog::document::is_day;
use crate::blog::library::{Answered, Mode};
use crate::blog::store::{self, Filter};
use crate::blog::words::LONGEST_QUESTION;

/// Search the user's own Markdown: blog posts, notes, documentation. The best passages come first, each with its source, its
/// place in it and how it begins; read_chunk gives the whole passage. Words are matched in any form and with or without
/// accents, in the language of the texts; where a model is configured, meaning is matched too. Ask in plain words: there is no
/// query syntax.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchBlog {
    /// What to look for: a question, or the words that the passage would have.
    #[schemars(length(max = LONGEST_QUESTION))]
    query: String,
    /// How many hits to give.
    #[serde(default = "usual_hits")]
    #[schemars(range(min = 1, max = 20))]
    top_k: u8,
    /// Only in files whose path begins so, such as "guides/".
    #[serde(default)]
    #[schemars(length(max = 4_096))]
    path_prefix: Option<String>,
    /// Only in files with this tag in their front matter.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    tag: Option<String>,
    /// Only in files of this day or later, YYYY-MM-DD, by the date in their front matter or name.
    #[serde(default)]
    #[schemars(regex(pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))]
    since: Option<String>,
    /// Only in files of this day or earlier, YYYY-MM-DD, by the date in their front matter or name.
    #[serde(default)]
    #[schemars(regex(pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))]
    until: Option<String>,
}

/// As many as a model reads without losing its way.
const USUAL_HITS: u8 = 5;

fn usual_hits() -> u8 {
    USUAL_HITS
}

/// What was found.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct Found {
    /// Best first. None if nothing fits.
    hits: Vec<Hit>,
    /// How they were found.
    mode: Way,
    /// What to know about this answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// How hits were found.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Way {
    /// By words.
    Lexical,
    /// By meaning.
    Semantic,
    /// By words and by meaning.
    Hybrid,
}

/// One passage.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct Hit {
    /// The file's path; for read_chunk.
    source: String,
    /// Which passage of the file it is, from 0; for read_chunk.
    chunk_index: u32,
    /// The greater, the better; comparable within one answer only.
    score: f64,
    /// How the passage begins.
    preview: String,
    /// The file's title.
    title: String,
    /// The headings above the passage, outermost first.
    headings: Vec<String>,
}

pub(super) fn tool() -> Tool {
    Tool::new("search_blog").title("Search the blog").read_only().idempotent().closed_world().explain(no_day)
}

/// What is not even written like a day is refused in the same words as a day that is in no calendar.
fn no_day(violation: &Violation<'_>) -> Option<String> {
    let day = violation.value().as_str().filter(|_| violation.keyword() == "pattern")?;
    Some(not_a_day(violation.argument(), day))
}

fn not_a_day(name: &str, day: &str) -> String {
    let day = quoted(day);
    format!("{name}: \"{day}\" is no day of the calendar; write one as YYYY-MM-DD, from 1000-01-01 on")
}

pub(super) async fn search_blog(args: SearchBlog, desk: Desk, cx: Cx) -> Result<Json<Found>, ToolError> {
    for (name, day) in [("since", &args.since), ("until", &args.until)] {
        if let Some(day) = day.as_deref().filter(|day| !is_day(day)) {
            return Err(ToolError::failed(not_a_day(name, day)));
        }
    }
    if let (Some(since), Some(until)) = (&args.since, &args.until)
        && since > until
    {
        return Err(ToolError::failed(format!(
            "since ({since}) is after until ({until}): no day is in between; change them round"
        )));
    }
    let opened = desk.open(Some(&cx)).await?;
    let filter = Filter {
        path_prefix: args
            .path_prefix
            .map(|prefix| relative(&prefix).to_owned())
            .filter(|path| !path.is_empty()),
        tag: args.tag.filter(|tag| !tag.is_empty()),
        since: args.since,
        until: args.until,
    };
    let answered = ask(&opened, &args.query, args.top_k.into(), &filter).await?;
    Ok(Json(found(answered, &opened)))
}

/// The same for those who ask without a filter.
pub(super) async fn best(question: &str, desk: &Desk, cx: &Cx) -> Result<Vec<store::Hit>, ToolError> {
    let opened = desk.open(Some(cx)).await?;
    Ok(ask(&opened, question, USUAL_HITS.into(), &Filter::default()).await?.hits)
}

async fn ask(opened: &Opened, question: &str, top_k: usize, filter: &Filter) -> Result<Answered, ToolError> {
    let answered = opened.library.search(question, top_k, filter).await;
    answered.map_err(|error| opened.failed(&error))
}

/// Sources are relative to the folder, whatever a caller puts before them.
fn relative(prefix: &str) -> &str {
    prefix.strip_prefix("./").unwrap_or(prefix).trim_start_matches('/')
}

fn found(answered: Answered, opened: &Opened) -> Found {
    let Answered { hits, mode, note } = answered;
    let notes: Vec<String> = [note, opened.caution()].into_iter().flatten().collect();
    Found {
        hits: hits.into_iter().map(hit).collect(),
        mode: match mode {
            Mode::Lexical => Way::Lexical,
            Mode::Hybrid => Way::Hybrid,
            Mode::Semantic => Way::Semantic,
        },
        note: (!notes.is_empty()).then(|| notes.join("; ")),
    }
}

fn hit(hit: store::Hit) -> Hit {
    let chunk = hit.chunk;
    Hit {
        preview: preview(&chunk.text),
        source: chunk.source,
        chunk_index: chunk.index,
        score: rounded(hit.score),
        title: chunk.title,
        headings: chunk.headings,
    }
}

/// With four decimals.
fn rounded(score: f32) -> f64 {
    let rounded = (f64::from(score) * 10_000.0).round() / 10_000.0;
    // JSON has no other numbers.
    if rounded.is_finite() { rounded } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_have_four_decimals() {
        for (score, text) in [
            (0.016_393_442_f32, "0.0164"),
            (1.0, "1.0"),
            (12.345_67, "12.3457"),
            (f32::NAN, "0.0"),
            (f32::INFINITY, "0.0"),
        ] {
            assert_eq!(serde_json::to_string(&rounded(score)).unwrap(), text);
        }
    }

    #[test]
    fn a_prefix_is_relative_whatever_stands_before_it() {
        for (given, meant) in
            [("", ""), ("/", ""), ("./", ""), ("a/", "a/"), ("/a", "a"), ("./a/b", "a/b"), ("../a", "../a")]
        {
            assert_eq!(relative(given), meant);
        }
    }
}
