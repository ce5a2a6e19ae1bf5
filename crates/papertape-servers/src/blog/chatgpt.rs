//! The tools `search` and `fetch`, as the connectors and deep research of ChatGPT require them, by these names.

use std::collections::HashSet;

use papertape::server::Tool;
use papertape::{Cx, Json, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::read_chunk::{self, Around, Whole};
use super::{Blog, search_blog, uri};
use papertape_search::analysis::MAX_QUERY_CHARS;
use papertape_search::store::Chunk;

/// How many hits are looked at. Several in one section are one result.
const HITS: usize = 10;

/// Search the user's own Markdown: blog posts, notes, documentation. Gives the best sections, whose text fetch returns.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    /// What to look for: a question, or the words that the text would have.
    #[schemars(length(max = MAX_QUERY_CHARS))]
    query: String,
}

/// Read a section of the user's Markdown that search has found.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Fetch {
    /// The id of a result of search, or the path of a file.
    #[schemars(length(max = 5_000))]
    id: String,
}

/// The results of a search.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct Results {
    /// Best first; empty if nothing matches.
    results: Vec<Found>,
}

/// One result.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct Found {
    /// For fetch.
    id: String,
    /// The title of the file, and the headings above the text.
    title: String,
    /// Where it is, for citations.
    url: String,
}

/// A text.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct Document {
    /// As it was asked for.
    id: String,
    /// The title of the file, and the headings above the text.
    title: String,
    /// The Markdown.
    text: String,
    /// Where it is, for citations.
    url: String,
    /// More about it.
    metadata: Metadata,
}

/// More about a text.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct Metadata {
    /// The path of the file.
    source: String,
    /// The day of the file, YYYY-MM-DD.
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    /// The tags of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<String>,
    /// The id of what follows, if the text is too long for one result.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

pub(super) fn search_tool() -> Tool {
    Tool::new("search").title("Search").read_only().idempotent().closed_world()
}

pub(super) fn fetch_tool() -> Tool {
    Tool::new("fetch").title("Fetch").read_only().idempotent().closed_world()
}

pub(super) async fn search(args: Search, blog: Blog, cx: Cx) -> Result<Json<Results>, ToolError> {
    let hits = search_blog::best(&args.query, HITS, &blog, &cx).await?;
    let mut sections = HashSet::new();
    let best = hits.iter().map(|hit| &hit.chunk);
    let best = best.filter(|chunk| sections.insert((&chunk.source, &chunk.headings)));
    Ok(Json(Results { results: best.map(|chunk| found(chunk, &blog)).collect() }))
}

fn found(chunk: &Chunk, blog: &Blog) -> Found {
    Found {
        id: id(&chunk.source, chunk.index),
        title: title(&chunk.title, &chunk.headings),
        url: blog.link(&chunk.source),
    }
}

/// "notes/a.md#chunk3", which a URI of the file ends with, too.
fn id(source: &str, index: u32) -> String {
    format!("{source}#chunk{index}")
}

/// "Title > Heading".
fn title(title: &str, headings: &[String]) -> String {
    let path: Vec<&str> = [title].into_iter().chain(headings.iter().map(String::as_str)).collect();
    path.join(" > ")
}

pub(super) async fn fetch(args: Fetch, blog: Blog, cx: Cx) -> Result<Json<Document>, ToolError> {
    let (source, number, whole) = match uri::chunk_of(&args.id) {
        Some((source, number)) => (source, number, Whole::Section),
        None => (args.id.as_str(), 0, Whole::File),
    };
    let passage = read_chunk::read(source, number.into(), Around::Whole(whole), &blog, &cx).await?;
    // It was read a moment ago; without its record, as after a change, there is just less to say of it.
    let files = blog.index.searcher().files().await.unwrap_or_default();
    let file = files.iter().find(|file| file.path == source);
    let tags = file.filter(|file| !file.tags.is_empty()).map(|file| file.tags.join(", "));
    Ok(Json(Document {
        title: title(&passage.title, if whole == Whole::File { &[] } else { &passage.headings }),
        text: passage.text,
        url: blog.link(source),
        metadata: Metadata {
            source: source.to_owned(),
            date: file.and_then(|file| file.date.clone()),
            tags,
            next: passage.next.map(|next| id(source, next)),
        },
        id: args.id,
    }))
}
