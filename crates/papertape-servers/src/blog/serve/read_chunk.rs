//! A source and a number to the passage that stands there: the tool `read_chunk`.

use papertape::{Cx, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::situation::Desk;
use super::words::quoted;
use crate::blog::library::Reading;

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

pub(super) async fn read_chunk(args: ReadChunk, desk: Desk, cx: Cx) -> Result<String, ToolError> {
    let opened = desk.open(Some(&cx)).await?;
    let index = u32::try_from(args.chunk_index).unwrap_or(u32::MAX);
    match opened.library.read(&args.source, index).await.map_err(|error| opened.failed(&error))? {
        Reading::Chunk(chunk) => Ok(chunk.text),
        Reading::Missing(nearest) => Err(not_found(&args, nearest)),
    }
}

fn not_found(args: &ReadChunk, nearest: Option<(String, u32)>) -> ToolError {
    let missing = format!("Not found: {}#chunk{}", quoted(&args.source), args.chunk_index);
    ToolError::failed(match nearest {
        Some((source, index)) => format!("{missing}. The nearest there is: {}#chunk{index}", quoted(&source)),
        None => missing,
    })
}
