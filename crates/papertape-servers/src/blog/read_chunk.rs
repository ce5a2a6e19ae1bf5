//! The tool `read_chunk`: a passage, alone, with its neighbours, or with all of its section or file.

use std::ops::Range;

use papertape::protocol::{CallToolResult, Content};
use papertape::server::{Tool, ToolOutput};
use papertape::{Cx, Json, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Blog, quoted, uri};
use papertape_search::query::ChunkLookup;
use papertape_search::store::Chunk;

/// The most neighbours on each side.
const MOST_NEIGHBOURS: u8 = 10;

/// The most bytes of text, unless a single passage has more: a file may have 8 MiB, which no model can read.
const MOST_BYTES: usize = 64 * 1024;

/// Read a passage of the user's Markdown: the source and the chunk_index of a hit of search_blog. With before and after, its
/// neighbours too; with whole, its section or its file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadChunk {
    /// The file's path, as search_blog gives it.
    #[schemars(length(max = 4_096))]
    source: String,
    /// Which passage of the file, from 0.
    chunk_index: u64,
    /// How many passages before it to read, too.
    #[serde(default)]
    #[schemars(range(max = MOST_NEIGHBOURS))]
    before: u8,
    /// How many passages after it to read, too.
    #[serde(default)]
    #[schemars(range(max = MOST_NEIGHBOURS))]
    after: u8,
    /// In place of before and after: "section" is all under the passage's heading, "file" the whole file. More than 64 KiB is
    /// read from chunk_index on.
    #[serde(default)]
    whole: Option<Whole>,
}

/// What to read around a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum Whole {
    /// All under its heading.
    Section,
    /// The whole file.
    File,
}

/// One passage, or several in their order.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct Passage {
    /// The Markdown.
    pub(super) text: String,
    /// The file's path.
    source: String,
    /// The file as a resource.
    uri: String,
    /// The file's title.
    pub(super) title: String,
    /// The headings above the passage at chunk_index, outermost first.
    pub(super) headings: Vec<String>,
    /// The first passage that the text has.
    pub(super) first_chunk: u32,
    /// The last one.
    pub(super) last_chunk: u32,
    /// How many passages the file has.
    pub(super) chunks: u32,
    /// The first line of the text in its file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    start_line: Option<u32>,
    /// The last line.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u32>,
    /// How many tokens the text has, about.
    tokens: usize,
    /// What was asked for and left out, as the text would be too long, and where to read on.
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<String>,
    /// Where to read on.
    #[serde(skip)]
    pub(super) next: Option<u32>,
}

/// Its text as it is: a model reads that better than JSON.
impl ToolOutput for Passage {
    fn output_schema() -> Option<Value> {
        Json::<Self>::output_schema()
    }

    fn into_result(self) -> Result<CallToolResult, ToolError> {
        let texts = [Some(self.text.clone()), self.more.as_ref().map(|more| format!("[{more}]"))];
        let mut result = Json(self).into_result()?;
        result.content = texts.into_iter().flatten().map(Content::from).collect();
        Ok(result)
    }
}

pub(super) fn tool() -> Tool {
    Tool::new("read_chunk").title("Read a passage").read_only().idempotent().closed_world()
}

pub(super) async fn read_chunk(args: ReadChunk, blog: Blog, cx: Cx) -> Result<Passage, ToolError> {
    let around = match (args.whole, args.before, args.after) {
        (None, before, after) => Around::Neighbours { before: before.into(), after: after.into() },
        (Some(whole), 0, 0) => Around::Whole(whole),
        (Some(_), _, _) => {
            return Err(ToolError::failed(
                "before and after are for the neighbours of a passage, whole is for all of its section or file: leave \
                 out one or the other",
            ));
        }
    };
    read(&args.source, args.chunk_index, around, &blog, &cx).await
}

/// What to read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Around {
    /// So many passages before and after it.
    Neighbours { before: usize, after: usize },
    /// All of this.
    Whole(Whole),
}

/// A passage, and what is around it.
pub(super) async fn read(
    source: &str,
    number: u64,
    around: Around,
    blog: &Blog,
    cx: &Cx,
) -> Result<Passage, ToolError> {
    let index = blog.ready(Some(cx)).await?;
    let failed = |error| ToolError::failed(index.explain(&error));
    let chunks = index.searcher.store().chunks(source).await.map_err(failed)?;
    let at = usize::try_from(number).unwrap_or(usize::MAX);
    if let Some(passage) = passage(&chunks, at, around) {
        return Ok(passage);
    }
    let nearest = index.searcher.read(source, u32::try_from(number).unwrap_or(u32::MAX)).await;
    Err(match nearest.map_err(failed)? {
        // It has come this moment.
        ChunkLookup::Found(_) => ToolError::failed("the file was being changed: try again"),
        ChunkLookup::Missing(nearest) => not_found(source, number, nearest),
    })
}

fn not_found(source: &str, number: u64, nearest: Option<(String, u32)>) -> ToolError {
    let missing = format!("Not found: {}#chunk{number}", quoted(source));
    ToolError::failed(match nearest {
        Some((source, index)) => format!("{missing}. The nearest there is: {}#chunk{index}", quoted(&source)),
        None => missing,
    })
}

/// The text around a passage of a file; none if there is no such passage.
fn passage(file: &[Chunk], at: usize, around: Around) -> Option<Passage> {
    let chunk = file.get(at)?;
    let wanted = match around {
        Around::Neighbours { before, after } => {
            at.saturating_sub(before)..at.saturating_add(after).saturating_add(1).min(file.len())
        }
        Around::Whole(Whole::Section) => section(file, at),
        Around::Whole(Whole::File) => 0..file.len(),
    };
    let given = within_bounds(file, &wanted, at);
    let chunks = file.get(given.clone())?;
    let (first, last) = (chunks.first()?, chunks.last()?);
    let next = (given.end < wanted.end).then(|| last.index.saturating_add(1));
    Some(Passage {
        text: chunks.iter().map(|chunk| chunk.text.as_str()).collect(),
        source: chunk.source.clone(),
        uri: uri::of_file(&chunk.source),
        title: chunk.title.clone(),
        headings: chunk.headings.clone(),
        first_chunk: first.index,
        last_chunk: last.index,
        chunks: u32::try_from(file.len()).unwrap_or(u32::MAX),
        // 0 if the text is not as it stands in the file.
        start_line: Some(first.lines.start).filter(|&line| line > 0),
        end_line: Some(last.lines.end).filter(|&line| line > 0),
        tokens: chunks.iter().map(Chunk::tokens).sum(),
        more: more(file.get(wanted.start)?.index, first.index, next),
        next,
    })
}

/// The chunks next to each other that are under the heading of this one; those before the first heading, if it is one of
/// them.
fn section(file: &[Chunk], at: usize) -> Range<usize> {
    let path = file.get(at).map(|chunk| chunk.headings.as_slice()).unwrap_or_default();
    let is_below =
        |chunk: &&Chunk| chunk.headings.starts_with(path) && chunk.headings.is_empty() == path.is_empty();
    let before = file.iter().take(at).rev().take_while(is_below).count();
    let after = file.iter().skip(at).take_while(is_below).count();
    at.saturating_sub(before)..at.saturating_add(after)
}

/// The whole range, or what fits of it from this chunk on.
fn within_bounds(file: &[Chunk], wanted: &Range<usize>, at: usize) -> Range<usize> {
    let fitting = |from: usize| {
        let mut bytes = 0_usize;
        let chunks = file.get(from..wanted.end).unwrap_or_default().iter();
        let fitting = chunks.take_while(|chunk| {
            bytes = bytes.saturating_add(chunk.text.len());
            bytes <= MOST_BYTES
        });
        from.saturating_add(fitting.count())
    };
    match fitting(wanted.start) {
        end if end >= wanted.end => wanted.clone(),
        _ => at..fitting(at).max(at.saturating_add(1)),
    }
}

/// What of the text that was asked for is missing.
fn more(wanted: u32, first: u32, next: Option<u32>) -> Option<String> {
    let before = (wanted < first).then(|| format!("it begins at chunk_index {wanted}"));
    let after = next.map(|next| format!("it goes on at chunk_index {next}"));
    let parts: Vec<String> = [before, after].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("not all of it, which is over 64 KiB: {}", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use papertape_search::store::{Lines, VectorKey};

    fn file(headings: &[&[&str]], bytes: usize) -> Vec<Chunk> {
        let chunk = |(index, path): (u32, &&[&str])| Chunk {
            source: "a.md".into(),
            index,
            title: "A".into(),
            headings: path.iter().map(|&heading| heading.into()).collect(),
            text: index.to_string().repeat(bytes),
            key: VectorKey(0),
            lines: Lines::default(),
        };
        (0..).zip(headings).map(chunk).collect()
    }

    fn plain(chunks: usize, bytes: usize) -> Vec<Chunk> {
        file(&vec![&[] as &[&str]; chunks], bytes)
    }

    fn given(file: &[Chunk], at: usize, around: Around) -> (String, Option<String>) {
        let passage = passage(file, at, around).unwrap();
        (format!("{}-{}", passage.first_chunk, passage.last_chunk), passage.more)
    }

    #[test]
    fn neighbours_end_with_the_file() {
        let file = plain(5, 1);
        let text = |at, before, after| {
            passage(&file, at, Around::Neighbours { before, after }).map(|passage| passage.text)
        };
        for (at, before, after, right) in [
            (2, 0, 0, "2"),
            (2, 1, 0, "12"),
            (2, 0, 2, "234"),
            (0, 10, 1, "01"),
            (4, 1, 10, "34"),
            (3, 10, 10, "01234"),
        ] {
            assert_eq!(text(at, before, after).as_deref(), Some(right), "{at} {before} {after}");
        }
        assert_eq!(text(5, 1, 1), None);
        assert_eq!(text(usize::MAX, 10, 10), None);
    }

    #[test]
    fn a_section_is_what_is_under_its_heading() {
        let file = file(&[&[], &["a"], &["a", "b"], &["a", "b"], &["a", "c"], &["d"], &["a"]], 1);
        for (at, right) in
            [(0, "0-0"), (1, "1-4"), (2, "2-3"), (3, "2-3"), (4, "4-4"), (5, "5-5"), (6, "6-6")]
        {
            assert_eq!(given(&file, at, Around::Whole(Whole::Section)), (right.to_owned(), None), "{at}");
        }
    }

    #[test]
    fn a_long_file_is_read_in_parts() {
        let whole = Around::Whole(Whole::File);
        let exactly = plain(4, MOST_BYTES / 4);
        assert_eq!(given(&exactly, 3, whole), ("0-3".to_owned(), None));
        let long = plain(10, MOST_BYTES / 4);
        let mut at = 0;
        for (right, said) in [
            ("0-3", "it goes on at chunk_index 4"),
            ("4-7", "it begins at chunk_index 0, it goes on at chunk_index 8"),
            ("8-9", "it begins at chunk_index 0"),
        ] {
            let (range, more) = given(&long, at, whole);
            assert_eq!(range, right);
            assert!(more.unwrap().ends_with(&format!(": {said}")), "{at}");
            at += 4;
        }
        // A single passage is whole, however long it is.
        let huge = plain(3, MOST_BYTES + 1);
        assert_eq!(given(&huge, 1, Around::Neighbours { before: 0, after: 0 }), ("1-1".to_owned(), None));
        assert_eq!(given(&huge, 1, whole).0, "1-1");
    }
}
