//! The tool `search_blog`: its arguments, and its hits.

use papertape::protocol::content::ResourceLink;
use papertape::protocol::{CallToolResult, Content};
use papertape::server::{App, Tool, ToolOutput};
use papertape::{Cx, Json, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Blog, days, resource, uri};
use crate::page;
use papertape_search::analysis::MAX_QUERY_CHARS;
use papertape_search::maintain::Ready;
use papertape_search::query::{MatchedTerms, Mode, SearchResult};
use papertape_search::store::{self, Filter};

/// Search the user's own Markdown: blog posts, notes, documentation. The best passages come first, each with its source, its
/// place in it and the part of it that matches best; read_chunk gives the whole passage. Words are matched in any form and
/// with or without accents, in the language of the texts; where a model is configured, meaning is matched too. Ask in plain
/// words. Optional: "exact phrase", -word, -"phrase", path:guides/, tag:rust, title:x, since:2024-05, until:2024-05-31,
/// date:2024, and - before path:, tag: and title:. A word that no text has is corrected, with a note.
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
    /// Only in files with this tag, or one below it: "project" finds "project/alpha".
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

/// The search result, and what beside it leads to the files.
#[derive(Debug)]
pub(super) struct SearchAnswer {
    output: SearchOutput,
    links: Vec<Content>,
}

impl ToolOutput for SearchAnswer {
    fn output_schema() -> Option<Value> {
        Json::<SearchOutput>::output_schema()
    }

    fn into_result(self) -> Result<CallToolResult, ToolError> {
        let mut result = Json(self.output).into_result()?;
        result.content.extend(self.links);
        Ok(result)
    }
}

/// The most links of a result.
const MOST_LINKS: usize = 5;

/// The first files of the hits, each once.
fn links(hits: &[Hit]) -> Vec<Content> {
    let mut files: Vec<&Hit> = Vec::new();
    for hit in hits {
        if files.len() < MOST_LINKS && files.iter().all(|file| file.uri != hit.uri) {
            files.push(hit);
        }
    }
    let link = |hit: &Hit| {
        let mut link = ResourceLink::default();
        (link.uri, link.name) = (hit.uri.clone(), hit.source.clone());
        link.title = Some(hit.title.clone());
        link.mime_type = Some(resource::media_type(&hit.source).to_owned());
        Content::ResourceLink(link)
    };
    files.into_iter().map(link).collect()
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
    /// The part of the passage that matches best, on one line; how it begins if no word of it matches.
    preview: String,
    /// The words of the preview that match, as they are written there.
    matches: Vec<String>,
    /// The file's title.
    title: String,
    /// The headings above the passage, outermost first.
    headings: Vec<String>,
    /// The first line of the passage in its file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    start_line: Option<u32>,
    /// The last line.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u32>,
    /// How many tokens the passage has, about.
    tokens: usize,
    /// The file as a resource.
    uri: String,
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

pub(super) async fn search_blog(args: SearchBlog, blog: Blog, cx: Cx) -> Result<SearchAnswer, ToolError> {
    days::check(args.since.as_deref(), args.until.as_deref())?;
    let index = blog.ready(Some(&cx)).await?;
    let SearchBlog { path_prefix, tag, since, until, .. } = &args;
    let filter = Filter::typed(path_prefix.as_deref(), tag.as_deref(), since.as_deref(), until.as_deref());
    let result = search(&index, &args.query, args.top_k.into(), &filter).await?;
    let output = output(result, &index);
    let links = if blog.resource_links { links(&output.hits) } else { Vec::new() };
    Ok(SearchAnswer { output, links })
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

fn output(result: SearchResult, index: &Ready) -> SearchOutput {
    let SearchResult { hits, mode, terms, note } = result;
    let notes: Vec<String> = [note, index.note()].into_iter().flatten().collect();
    SearchOutput {
        hits: hits.into_iter().map(|found| hit(found, &terms)).collect(),
        mode: match mode {
            Mode::Lexical => SearchMode::Lexical,
            Mode::Hybrid => SearchMode::Hybrid,
            Mode::Semantic => SearchMode::Semantic,
        },
        note: (!notes.is_empty()).then(|| notes.join("; ")),
    }
}

fn hit(hit: store::Hit, terms: &MatchedTerms) -> Hit {
    let score = hit.rounded_score();
    let chunk = hit.chunk;
    let preview = terms.preview(&chunk);
    // 0 if the text is not as it stands in the file.
    let line = |line| Some(line).filter(|&line| line > 0);
    Hit {
        matches: preview.words().into_iter().map(str::to_owned).collect(),
        preview: preview.text,
        uri: uri::of_file(&chunk.source),
        start_line: line(chunk.lines.start),
        end_line: line(chunk.lines.end),
        tokens: chunk.tokens(),
        source: chunk.source,
        chunk_index: chunk.index,
        score,
        title: chunk.title,
        headings: chunk.headings,
    }
}
