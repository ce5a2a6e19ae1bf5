//! Files as resources: `blog:///PATH`, and `blog:///PATH#chunkN` for a passage.

use papertape::{Completing, Cx, ResourceTemplate, ToolError};
use serde::Deserialize;

use super::situation::Desk;
use super::uri;
use super::words::{self, quoted};
use crate::blog::library::Library;

/// What all of them hold.
pub(super) const MARKDOWN: &str = "text/markdown";

/// How many paths are looked for to complete one.
const MOST_PATHS: usize = 1_000;

/// Any file by its path.
pub(super) fn template(desk: &Desk) -> ResourceTemplate {
    let desk = desk.clone();
    ResourceTemplate::new(uri::TEMPLATE)
        .name("file")
        .title("A file of the blog")
        .description(
            "The Markdown of one file, by its path as search_blog gives it as source. With #chunkN behind it, one passage of it.",
        )
        .mime_type(MARKDOWN)
        .complete("path", move |so_far| complete(so_far, desk.clone()))
}

/// What stands in the blank of the template.
#[derive(Debug, Deserialize)]
pub(super) struct Blank {
    path: String,
}

pub(super) async fn read_any(blank: Blank, desk: Desk, cx: Cx) -> Result<String, ToolError> {
    let opened = desk.open(Some(&cx)).await?;
    let failed = |error| opened.failed(&error);
    if let Some(text) = opened.library.document(&blank.path).await.map_err(failed)? {
        return Ok(text);
    }
    if let Some((source, index)) = uri::chunk_of(&blank.path)
        && let Some(chunk) = opened.library.store().chunk(source, index).await.map_err(failed)?
    {
        return Ok(chunk.text);
    }
    Err(unknown(&opened.library, &blank.path).await)
}

/// A file that is listed; it may have gone in this moment.
pub(super) async fn read_file(library: &Library, path: &str) -> Result<String, ToolError> {
    let text = library.document(path).await.map_err(|error| words::failed(&error))?;
    match text {
        Some(text) => Ok(text),
        None => Err(unknown(library, path).await),
    }
}

/// Nothing is looked for outside the store, so that all there is to say of any other path is that it is not there, and what
/// is.
async fn unknown(library: &Library, path: &str) -> ToolError {
    let (file, fragment) = path.rfind('#').and_then(|at| path.split_at_checked(at)).unwrap_or((path, ""));
    let nearest = match library.nearest(file).await {
        Ok(nearest) => nearest,
        Err(error) => return words::failed(&error),
    };
    ToolError::refused(match nearest {
        Some(there) if there.path == file && !fragment.is_empty() => {
            no_such_part(file, fragment, there.chunks)
        }
        Some(there) => {
            format!("{}. The nearest there is: {}", no_file(file), quoted(&uri::of_file(&there.path)))
        }
        None => no_file(path),
    })
}

fn no_file(path: &str) -> String {
    format!("unknown resource: there is no file \"{}\"", quoted(path))
}

/// The file is there, and what was asked for is not in it.
fn no_such_part(file: &str, fragment: &str, chunks: u32) -> String {
    let pieces = match chunks.checked_sub(1) {
        None => "which has no text".to_owned(),
        Some(last) => format!("#chunk0 to #chunk{last} behind it are its pieces, as read_chunk reads them"),
    };
    format!(
        "unknown resource: \"{}\" has no \"{}\": {} is the whole file, {pieces}",
        quoted(file),
        quoted(fragment),
        quoted(&uri::of_file(file))
    )
}

async fn complete(so_far: Completing, desk: Desk) -> Result<Vec<String>, ToolError> {
    let opened = desk.open(None).await?;
    opened.library.sources(&so_far.value, MOST_PATHS).await.map_err(|error| opened.failed(&error))
}
