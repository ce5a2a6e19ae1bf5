//! The tool `list_files`: which files there are, from the index alone.

use std::cmp::{Ordering, Reverse};

use papertape::server::Tool;
use papertape::{Cx, Json, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Blog, days};
use papertape_search::store::{FileRecord, Filter};

/// List the files of the user's Markdown, newest first: to see what there is, what is new, or what has a tag. To find a text in
/// them, use search_blog; to read one, read_chunk with chunk_index 0 and whole "file".
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListFiles {
    /// Only files whose path begins so, such as "guides/".
    #[serde(default)]
    #[schemars(length(max = 4_096))]
    path_prefix: Option<String>,
    /// Only files with this tag, or one below it: "project" is also "project/alpha".
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    tag: Option<String>,
    /// Only files of this day or later, YYYY-MM-DD.
    #[serde(default)]
    #[schemars(regex(pattern = days::PATTERN))]
    since: Option<String>,
    /// Only files of this day or earlier, YYYY-MM-DD.
    #[serde(default)]
    #[schemars(regex(pattern = days::PATTERN))]
    until: Option<String>,
    /// By "date", newest first and those without a date last, or by "path".
    #[serde(default)]
    sort: Sort,
    /// How many files to give.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 200))]
    limit: u16,
    /// How many files to skip: the next_offset of the list before.
    #[serde(default)]
    offset: u32,
}

/// The order of the files.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Sort {
    /// Newest first; those without a date last.
    #[default]
    Date,
    /// By path.
    Path,
}

fn default_limit() -> u16 {
    20
}

/// The files.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct FileList {
    /// In the order that was asked for.
    files: Vec<ListedFile>,
    /// How many there are in all.
    total: usize,
    /// The offset of the next files, if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    /// Why files may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// One file.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct ListedFile {
    /// Its path; for read_chunk.
    source: String,
    /// Its title.
    title: String,
    /// Its day, YYYY-MM-DD.
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    /// Its tags.
    tags: Vec<String>,
    /// How many passages it has.
    chunks: u32,
    /// How many bytes it has.
    size: u64,
}

pub(super) fn tool() -> Tool {
    Tool::new("list_files")
        .title("List the files")
        .read_only()
        .idempotent()
        .closed_world()
        .explain(days::explain)
}

pub(super) async fn list_files(args: ListFiles, blog: Blog, cx: Cx) -> Result<Json<FileList>, ToolError> {
    let ListFiles { path_prefix, tag, since, until, sort, limit, offset } = args;
    days::check(since.as_deref(), until.as_deref())?;
    let filter = Filter::typed(path_prefix.as_deref(), tag.as_deref(), since.as_deref(), until.as_deref());
    let index = blog.ready(Some(&cx)).await?;
    let files = index.searcher.files().await.map_err(|error| ToolError::failed(index.explain(&error)))?;
    let mut list = list(&files, &filter, sort, limit.into(), usize::try_from(offset).unwrap_or(usize::MAX));
    list.note = index.note();
    Ok(Json(list))
}

fn list(files: &[FileRecord], filter: &Filter, sort: Sort, limit: usize, offset: usize) -> FileList {
    // A file without text cannot be read, and is not a resource either.
    let mut files = filter.select(files);
    files.retain(|file| file.chunks > 0);
    if sort == Sort::Date {
        // Stable, so that files of one day stay in the order of their paths.
        files.sort_by(|one, other| newer(one, other));
    }
    let next = offset.saturating_add(limit);
    FileList {
        files: files.iter().skip(offset).take(limit).map(|file| listed(file)).collect(),
        total: files.len(),
        next_offset: (next < files.len()).then_some(next),
        note: None,
    }
}

fn newer(one: &FileRecord, other: &FileRecord) -> Ordering {
    Reverse(&one.date).cmp(&Reverse(&other.date))
}

fn listed(file: &FileRecord) -> ListedFile {
    ListedFile {
        source: file.path.clone(),
        title: file.title.clone(),
        date: file.date.clone(),
        tags: file.tags.clone(),
        chunks: file.chunks,
        size: file.size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, date: Option<&str>, tags: &[&str]) -> FileRecord {
        FileRecord {
            path: path.to_owned(),
            date: date.map(str::to_owned),
            tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
            chunks: 1,
            ..FileRecord::default()
        }
    }

    fn files() -> Vec<FileRecord> {
        let empty = FileRecord { chunks: 0, ..file("z.md", Some("2024-09-09"), &[]) };
        vec![
            file("a.md", None, &["Project/Alpha"]),
            file("b/1.md", Some("2024-01-01"), &["project"]),
            file("b/2.md", Some("2024-03-01"), &[]),
            file("c.md", Some("2024-01-01"), &["projects"]),
            empty,
        ]
    }

    fn paths(list: &FileList) -> Vec<&str> {
        list.files.iter().map(|file| file.source.as_str()).collect()
    }

    #[test]
    fn files_are_in_the_order_of_their_dates_or_paths() {
        let all = Filter::default();
        let by = |sort| list(&files(), &all, sort, 10, 0);
        assert_eq!(paths(&by(Sort::Date)), ["b/2.md", "b/1.md", "c.md", "a.md"]);
        assert_eq!(paths(&by(Sort::Path)), ["a.md", "b/1.md", "b/2.md", "c.md"]);
    }

    #[test]
    fn filters_are_those_of_a_search() {
        let some = |text: &str| Some(text.to_owned());
        for (filter, right) in [
            (Filter { path_prefix: some("b/"), ..Filter::default() }, &["b/1.md", "b/2.md"][..]),
            (Filter { tag: some("PROJECT"), ..Filter::default() }, &["a.md", "b/1.md"]),
            (Filter { tag: some("#Project/"), ..Filter::default() }, &["a.md", "b/1.md"]),
            (Filter { tag: some("project/alpha"), ..Filter::default() }, &["a.md"]),
            (Filter { since: some("2024-01-02"), ..Filter::default() }, &["b/2.md"]),
            (Filter { until: some("2024-01-01"), ..Filter::default() }, &["b/1.md", "c.md"]),
        ] {
            assert_eq!(paths(&list(&files(), &filter, Sort::Path, 10, 0)), right, "{filter:?}");
        }
    }

    #[test]
    fn a_list_is_given_page_by_page() {
        let page = |offset| list(&files(), &Filter::default(), Sort::Path, 3, offset);
        let first = page(0);
        assert_eq!(
            (paths(&first), first.total, first.next_offset),
            (vec!["a.md", "b/1.md", "b/2.md"], 4, Some(3))
        );
        assert_eq!((paths(&page(3)), page(3).next_offset), (vec!["c.md"], None));
        assert_eq!((page(usize::MAX).files.len(), page(usize::MAX).next_offset), (0, None));
    }
}
