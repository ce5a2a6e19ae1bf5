//! The tool `read_chunk`.

use papertape::server::Tool;
use papertape::{Cx, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Blog, quoted};
use papertape_search::query::ChunkLookup;

/// Read one passage of the user's Markdown whole: the source and the chunk_index of a hit of search_blog, or those of a
/// neighbour (chunk_index - 1, chunk_index + 1).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadChunk {
    /// The file's path, as search_blog gives it.
    #[schemars(length(max = 4_096))]
    source: String,
    /// Which passage of the file, from 0.
    chunk_index: u64,
}

pub(super) fn tool() -> Tool {
    Tool::new("read_chunk").title("Read a passage").read_only().idempotent().closed_world()
}

pub(super) async fn read_chunk(args: ReadChunk, blog: Blog, cx: Cx) -> Result<String, ToolError> {
    let index = blog.ready(Some(&cx)).await?;
    let number = u32::try_from(args.chunk_index).unwrap_or(u32::MAX);
    let found = index.searcher.read(&args.source, number).await;
    match found.map_err(|error| ToolError::failed(index.explain(&error)))? {
        ChunkLookup::Found(chunk) => Ok(chunk.text),
        ChunkLookup::Missing(nearest) => Err(not_found(&args, nearest)),
    }
}

fn not_found(args: &ReadChunk, nearest: Option<(String, u32)>) -> ToolError {
    let missing = format!("Not found: {}#chunk{}", quoted(&args.source), args.chunk_index);
    ToolError::failed(match nearest {
        Some((source, index)) => format!("{missing}. The nearest there is: {}#chunk{index}", quoted(&source)),
        None => missing,
    })
}
