//! Files as resources: `blog:///PATH`, and `blog:///PATH#chunkN` for a passage.

use papertape::protocol::ResourceContents;
use papertape::server::{CompletionRequest, ReadOutput, ResourceTemplate};
use papertape::{Cx, ToolError};
use serde::Deserialize;

use super::{Blog, quoted, uri};
use papertape_search::corpus::document::Format;
use papertape_search::query::Searcher;
use papertape_search::store::StoreError;

/// The media type of a file's text, as it is read: pages of HTML and notebooks are converted to Markdown.
pub(super) fn media_type(path: &str) -> &'static str {
    match Format::of(path) {
        Some(Format::Plain | Format::Rst | Format::AsciiDoc | Format::Org) => "text/plain",
        _ => "text/markdown",
    }
}

/// A text of a file of this path.
#[derive(Debug)]
pub(super) struct TextOf {
    path: String,
    text: String,
}

impl ReadOutput for TextOf {
    fn into_contents(self, uri: &str, _: Option<&str>) -> Vec<ResourceContents> {
        self.text.into_contents(uri, Some(media_type(&self.path)))
    }
}

/// The most paths that a completion returns.
const MOST_PATHS: usize = 1_000;

/// Any file by its path.
pub(super) fn template(blog: &Blog) -> ResourceTemplate {
    let blog = blog.clone();
    ResourceTemplate::new(uri::TEMPLATE)
        .name("file")
        .title("A file of the blog")
        .description(
            "The Markdown of one file, by its path as search_blog gives it as source. With #chunkN behind it, one passage of it.",
        )
        .complete("path", move |so_far| complete(so_far, blog.clone()))
}

/// The variable of the template.
#[derive(Debug, Deserialize)]
pub(super) struct Variables {
    path: String,
}

pub(super) async fn read_any(variables: Variables, blog: Blog, cx: Cx) -> Result<TextOf, ToolError> {
    let index = blog.ready(Some(&cx)).await?;
    let failed = |error: StoreError| ToolError::failed(index.explain(&error));
    if let Some(text) = index.searcher.document(&variables.path).await.map_err(failed)? {
        return Ok(TextOf { path: variables.path, text });
    }
    if let Some((source, number)) = uri::chunk_of(&variables.path)
        && let Some(chunk) = index.searcher.store().chunk(source, number).await.map_err(failed)?
    {
        return Ok(TextOf { path: chunk.source, text: chunk.text });
    }
    Err(unknown(&index.searcher, &variables.path).await)
}

/// A file that is listed; it may have been removed in this moment.
pub(super) async fn read_file(searcher: &Searcher, path: &str) -> Result<String, ToolError> {
    let text = searcher.document(path).await.map_err(|error| failed(&error))?;
    match text {
        Some(text) => Ok(text),
        None => Err(unknown(searcher, path).await),
    }
}

/// Only the index is searched, so that the message for any other path is that it does not exist, and which one does.
async fn unknown(searcher: &Searcher, path: &str) -> ToolError {
    let (file, fragment) = path.rfind('#').and_then(|at| path.split_at_checked(at)).unwrap_or((path, ""));
    let nearest = match searcher.nearest(file).await {
        Ok(nearest) => nearest,
        Err(error) => return failed(&error),
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

/// The file exists, and has no such part.
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

fn failed(error: &StoreError) -> ToolError {
    ToolError::failed(error.public_message())
}

async fn complete(so_far: CompletionRequest, blog: Blog) -> Result<Vec<String>, ToolError> {
    let index = blog.ready(None).await?;
    index
        .searcher
        .sources(&so_far.value, MOST_PATHS)
        .await
        .map_err(|error| ToolError::failed(index.explain(&error)))
}
