//! The tool `list_tags`: which tags there are, from the index alone.

use std::collections::{BTreeMap, BTreeSet};

use papertape::server::Tool;
use papertape::{Cx, Json, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Blog;
use papertape_search::store::{FileRecord, folded_tag};

/// List the tags of the user's Markdown, each with its number of files, commonest first: for the tag of search_blog and
/// list_files. Of nested tags, such as "project/alpha", "project" counts those below it, too.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListTags {
    /// How many tags to give.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 1_000))]
    limit: u16,
    /// How many tags to skip: the next_offset of the list before.
    #[serde(default)]
    offset: u32,
}

fn default_limit() -> u16 {
    100
}

/// The tags.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct TagList {
    /// Commonest first.
    tags: Vec<TagCount>,
    /// How many there are in all.
    total: usize,
    /// The offset of the next tags, if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    /// Why tags may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// One tag.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct TagCount {
    /// As it is written first; case does not count.
    tag: String,
    /// How many files have it, or one below it.
    files: usize,
}

pub(super) fn tool() -> Tool {
    Tool::new("list_tags").title("List the tags").read_only().idempotent().closed_world()
}

pub(super) async fn list_tags(args: ListTags, blog: Blog, cx: Cx) -> Result<Json<TagList>, ToolError> {
    let index = blog.ready(Some(&cx)).await?;
    let files = index.searcher.files().await.map_err(|error| ToolError::failed(index.explain(&error)))?;
    let counts = counts(&files);
    let (limit, offset) = (usize::from(args.limit), usize::try_from(args.offset).unwrap_or(usize::MAX));
    let next = offset.saturating_add(limit);
    Ok(Json(TagList {
        total: counts.len(),
        next_offset: (next < counts.len()).then_some(next),
        tags: counts.into_iter().skip(offset).take(limit).collect(),
        note: index.note(),
    }))
}

/// Every tag and every one above it, commonest first.
fn counts(files: &[FileRecord]) -> Vec<TagCount> {
    let mut counts: BTreeMap<String, TagCount> = BTreeMap::new();
    for file in files.iter().filter(|file| file.chunks > 0) {
        // A file counts once for a tag, however many of its tags are below that.
        let mut tags = BTreeMap::new();
        let written: BTreeSet<&str> = file.tags.iter().flat_map(|tag| with_above(tag)).collect();
        for tag in written {
            tags.entry(folded_tag(tag)).or_insert(tag);
        }
        for (key, tag) in tags {
            counts.entry(key).or_insert_with(|| TagCount { tag: tag.to_owned(), files: 0 }).files += 1;
        }
    }
    let mut counts: Vec<TagCount> = counts.into_values().collect();
    // Stable, so that equally common ones stay in the order of the alphabet.
    counts.sort_by_key(|count| std::cmp::Reverse(count.files));
    counts
}

/// A tag, and all above it, which end at a slash.
fn with_above(tag: &str) -> impl Iterator<Item = &str> {
    let tag = tag.trim().trim_start_matches('#').trim_end_matches('/');
    let parents = tag.match_indices('/').filter_map(|(at, _)| tag.get(..at));
    [tag].into_iter().chain(parents).filter(|tag| !tag.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_below_those_that_end_at_a_slash() {
        for (tag, right) in [("#a/b/c/", &["a/b/c", "a", "a/b"][..]), ("/a", &["/a"]), ("#", &[])] {
            assert_eq!(with_above(tag).collect::<Vec<_>>(), right);
        }
    }

    #[test]
    fn tags_above_others_count_each_file_once() {
        let file = |tags: &[&str]| FileRecord {
            tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
            chunks: 1,
            ..FileRecord::default()
        };
        let files = [
            file(&["Garden", "project/alpha", "Project/beta"]),
            file(&["garden", "project/alpha/x"]),
            file(&["animals", "Animals"]),
            file(&["project"]),
            file(&["project"]),
            FileRecord { chunks: 0, ..file(&["empty"]) },
        ];
        let counts = counts(&files);
        let counted: Vec<(&str, usize)> =
            counts.iter().map(|count| (count.tag.as_str(), count.files)).collect();
        let right = [
            ("Project", 4),
            ("Garden", 2),
            ("project/alpha", 2),
            ("Animals", 1),
            ("project/alpha/x", 1),
            ("Project/beta", 1),
        ];
        assert_eq!(counted, right);
    }
}
