//! The tool `search_blog`: its arguments, and its hits, each with a preview.

use icu_segmenter::GraphemeClusterSegmenter;
use papertape::server::{App, Tool};
use papertape::{Cx, Json, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Blog, days};
use crate::page;
use papertape_search::analysis::MAX_QUERY_CHARS;
use papertape_search::maintain::Ready;
use papertape_search::query::{Mode, SearchResult};
use papertape_search::store::{self, Filter};

/// Search the user's own Markdown: blog posts, notes, documentation. The best passages come first, each with its source, its
/// place in it and how it begins; read_chunk gives the whole passage. Words are matched in any form and with or without
/// accents, in the language of the texts; where a model is configured, meaning is matched too. Ask in plain words: there is no
/// query syntax.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchBlog {
    /// What to look for: a question, or the words that the passage would have.
    #[schemars(length(max = MAX_QUERY_CHARS))]
    query: String,
    /// How many hits to give.
    #[serde(default = "default_hits")]
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
    #[schemars(regex(pattern = days::PATTERN))]
    since: Option<String>,
    /// Only in files of this day or earlier, YYYY-MM-DD, by the date in their front matter or name.
    #[serde(default)]
    #[schemars(regex(pattern = days::PATTERN))]
    until: Option<String>,
}

/// Few enough for a model to read.
const DEFAULT_HITS: u8 = 5;

/// Characters of a chunk that a hit shows.
const SHOWN: usize = 160;

fn default_hits() -> u8 {
    DEFAULT_HITS
}

/// The search result.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct SearchOutput {
    /// Best first; empty if nothing matches.
    hits: Vec<Hit>,
    /// The search mode.
    mode: SearchMode,
    /// Notes about this result, such as why semantic search is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// The search mode.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SearchMode {
    /// By terms (BM25).
    Lexical,
    /// By embeddings.
    Semantic,
    /// By terms and by embeddings.
    Hybrid,
}

/// One passage.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct Hit {
    /// The file's path; for read_chunk.
    source: String,
    /// Which passage of the file it is, from 0; for read_chunk.
    chunk_index: u32,
    /// The greater, the better; comparable within one result only.
    score: f64,
    /// How the passage begins.
    preview: String,
    /// The file's title.
    title: String,
    /// The headings above the passage, outermost first.
    headings: Vec<String>,
}

const PAGE: &str = "ui://papertape-blog/hits";

/// The hits for hosts with MCP Apps: a click reads a passage.
pub(super) fn page() -> App {
    page::page(PAGE, include_str!("hits.html")).name("hits").title("Search hits")
}

pub(super) fn tool() -> Tool {
    Tool::new("search_blog")
        .title("Search the blog")
        .read_only()
        .idempotent()
        .closed_world()
        .explain(days::explain)
        .ui(PAGE)
}

pub(super) async fn search_blog(
    args: SearchBlog,
    blog: Blog,
    cx: Cx,
) -> Result<Json<SearchOutput>, ToolError> {
    days::check(args.since.as_deref(), args.until.as_deref())?;
    let index = blog.ready(Some(&cx)).await?;
    let filter = filter(args.path_prefix, args.tag, args.since, args.until);
    let result = search(&index, &args.query, args.top_k.into(), &filter).await?;
    Ok(Json(output(result, &index)))
}

/// The filter that arguments ask for: empty ones are none.
pub(super) fn filter(
    path_prefix: Option<String>,
    tag: Option<String>,
    since: Option<String>,
    until: Option<String>,
) -> Filter {
    let path_prefix = path_prefix.map(|prefix| relative(&prefix).to_owned()).filter(|path| !path.is_empty());
    Filter { path_prefix, tag: tag.filter(|tag| !tag.is_empty()), since, until }
}

/// The hits of a query without filter.
pub(super) async fn best(
    query: &str,
    top_k: usize,
    blog: &Blog,
    cx: &Cx,
) -> Result<Vec<store::Hit>, ToolError> {
    let index = blog.ready(Some(cx)).await?;
    Ok(search(&index, query, top_k, &Filter::default()).await?.hits)
}

async fn search(
    index: &Ready,
    query: &str,
    top_k: usize,
    filter: &Filter,
) -> Result<SearchResult, ToolError> {
    let result = index.searcher.search(query, top_k, filter).await;
    result.map_err(|error| ToolError::failed(index.explain(&error)))
}

/// Sources are relative to the directory, with or without `./` or `/` before them.
fn relative(prefix: &str) -> &str {
    prefix.strip_prefix("./").unwrap_or(prefix).trim_start_matches('/')
}

fn output(result: SearchResult, index: &Ready) -> SearchOutput {
    let SearchResult { hits, mode, note } = result;
    let notes: Vec<String> = [note, index.note()].into_iter().flatten().collect();
    SearchOutput {
        hits: hits.into_iter().map(hit).collect(),
        mode: match mode {
            Mode::Lexical => SearchMode::Lexical,
            Mode::Hybrid => SearchMode::Hybrid,
            Mode::Semantic => SearchMode::Semantic,
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
    // JSON has no infinite numbers.
    if rounded.is_finite() { rounded } else { 0.0 }
}

/// The beginning of a chunk on one line, with "…" if there is more. Its own headings are left out: a hit shows them
/// anyway.
fn preview(markdown: &str) -> String {
    let said = without_comments(markdown);
    let body = without_headings(&said);
    let body = if body.trim().is_empty() { markdown } else { body };
    let mut words = body.split_whitespace();
    let mut line = String::new();
    // One character more than is shown, to know whether there is more.
    let mut room = SHOWN + 1;
    while room > 0
        && let Some(word) = words.next()
    {
        if !line.is_empty() {
            line.push(' ');
            room -= 1;
        }
        let taken: String = word.chars().take(room).collect();
        room -= taken.chars().count();
        line.push_str(&taken);
    }
    if room > 0 { line } else { format!("{}…", cut(&line).trim_end()) }
}

/// HTML comments are left out: many translations have the original text in them.
fn without_comments(markdown: &str) -> String {
    let (mut said, mut rest) = (String::new(), markdown);
    while let Some((before, hidden)) = rest.split_once("<!--") {
        said.push_str(before);
        rest = hidden.split_once("-->").map_or("", |(_, after)| after);
    }
    said + rest
}

/// What comes after the headings at the beginning.
fn without_headings(markdown: &str) -> &str {
    let mut rest = markdown.trim_start();
    loop {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let marks = line.bytes().take_while(|&byte| byte == b'#').count();
        let is_heading = (1..=6).contains(&marks)
            && line.get(marks..).is_some_and(|text| text.is_empty() || text.starts_with([' ', '\t']));
        if !is_heading {
            return rest;
        }
        rest = after.trim_start();
    }
}

/// As many whole grapheme clusters as fit; if a single one is too long, as much of it as fits.
fn cut(line: &str) -> &str {
    let end = line.char_indices().nth(SHOWN).map_or(line.len(), |(at, _)| at);
    let whole = GraphemeClusterSegmenter::new()
        .segment_str(line)
        .take_while(|&at| at <= end)
        .last()
        .filter(|&at| at > 0);
    line.get(..whole.unwrap_or(end)).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, proptest};

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

    #[test]
    fn comments_are_not_shown() {
        assert_eq!(preview("# A\n<!--\nThe original\n-->\n翻译 <!-- x --> 在这里 <!-- open"), "翻译 在这里");
        assert_eq!(preview("<!-- all -->"), "<!-- all -->");
    }

    #[test]
    fn a_short_chunk_is_shown_as_it_is_on_one_line() {
        for (markdown, line) in [
            ("", ""),
            (" \n\t ", ""),
            ("One  two\n\nthree\tfour\n", "One two three four"),
            ("# Title\n\n## Install\nRun it.\n", "Run it."),
            ("#hashtag is no heading", "#hashtag is no heading"),
            ("####### seven are none", "####### seven are none"),
            ("# Only a heading\n", "# Only a heading"),
            ("##\nafter an empty one", "after an empty one"),
            ("¿Qué tal? 你好。\u{3000}再见", "¿Qué tal? 你好。 再见"),
        ] {
            assert_eq!(preview(markdown), line, "{markdown:?}");
        }
    }

    #[test]
    fn a_long_chunk_is_cut_between_characters() {
        let exactly = "字".repeat(160);
        assert_eq!(preview(&exactly), exactly);
        assert_eq!(preview(&format!("{exactly}字")), format!("{exactly}…"));
        // Eight families, each of seven code points, on the edge.
        let family = "👨‍👩‍👧‍👦";
        assert_eq!(family.chars().count(), 7);
        let text = format!("{}{}", "x".repeat(155), family.repeat(8));
        assert_eq!(preview(&text), format!("{}…", "x".repeat(155)));
        // No space stands before the dots.
        let text = format!("{} more", "x".repeat(159));
        assert_eq!(preview(&text), format!("{}…", "x".repeat(159)));
        // A letter with many accents is cut rather than left out.
        let heap = format!("a{}", "\u{301}".repeat(1_000));
        assert_eq!(preview(&heap).chars().count(), 161);
    }

    proptest! {
        #[test]
        fn a_preview_is_one_short_line(text in any::<String>()) {
            let line = preview(&text);
            prop_assert!(line.chars().count() <= SHOWN + 1);
            prop_assert!(!line.contains(['\n', '\r', '\t']));
        }
    }
}
