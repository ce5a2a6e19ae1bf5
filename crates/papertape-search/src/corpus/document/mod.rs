//! A file's bytes to a title, tags and chunks.
//!
//! - `decode`: bytes to text
//! - `head` (with `date`): front matter to a title, a day and tags
//! - `format`: what a file is written in; `webpage` and `notebook`: HTML and notebooks (with `lenient`) to Markdown
//! - `mdx` and `shallow`: to Markdown of the same length that the parser can read, and soon
//! - `outline` (with `plain`, `html`, `tag` and `wiki`): Markdown to headings, words, and places to cut at
//! - `lined`: plain text, reStructuredText, AsciiDoc and Org to the same
//! - `chunk` (with `cut`): headings and places to chunks
//! - `lines`: where in the file each chunk is
//! - [`links`]: what links to what

mod chunk;
mod cut;
mod date;
mod decode;
mod format;
mod head;
mod html;
mod lenient;
mod lined;
mod lines;
mod links;
mod mdx;
mod notebook;
mod outline;
mod plain;
mod shallow;
mod tag;
mod webpage;
mod wiki;

use std::borrow::Cow;
use std::ops::Range;

pub use date::is_day;
pub use format::{ENDINGS, Format};
pub use lines::Lines;
pub use links::{Link, links};

use crate::analysis::{self, Language};
use head::Head;
use lines::LineCounter;
use outline::Outline;

/// A file, read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Document {
    /// From the front matter, the first heading, or the file's name.
    pub title: String,
    /// `YYYY-MM-DD`, from the front matter or the file's path.
    pub date: Option<String>,
    /// From the front matter and the text, as written, without `#`.
    pub tags: Vec<String>,
    /// Other titles, from the front matter.
    pub aliases: Vec<String>,
    /// What the front matter says it is about: its description and summary, and its tags.
    pub about: String,
    /// What most of it is written in.
    pub language: Language,
    /// In the order of the file. Joined, their texts are the file without its front matter, or what it was converted to.
    pub chunks: Vec<Section>,
    /// Warnings about the file.
    pub warnings: Vec<String>,
}

/// A piece of a document that a model can read at once, cut along its headings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Section {
    /// The headings above it and its own, outermost first, as plain text, without the title.
    pub headings: Vec<String>,
    /// As it stands in the file, with its own heading; Markdown, if the file was converted to it.
    pub text: String,
    /// Its words without marks, for search: no link targets, no HTML, no JSX. Its own heading is not in it.
    pub plain: String,
    /// Where it stands in the file.
    pub lines: Lines,
}

/// Reads a file: never fails, whatever the bytes are.
#[must_use]
pub fn read(path: &str, bytes: &[u8]) -> Document {
    let (name, day) = head::name(path);
    let (text, mut warnings) = decode::text(bytes);
    let Some(text) = text else {
        return Document { title: name, date: day, warnings, ..Document::default() };
    };
    let Readable { format, head, body } = readable(path, &text);
    let outline = body_outline(format, &body, head.unread.clone());
    let first = outline.headings.iter().find(|heading| heading.level == 1 && !heading.text.is_empty());
    let first = first.map(|heading| heading.text.clone());
    // The title of a page of HTML often has the name of its site in it.
    let title = if format == Format::Html { first.or(head.title) } else { head.title.or(first) };
    let title = title.unwrap_or(name);
    warnings.extend(head.warning);
    let mut chunks = chunk::chunks(&body, &outline, &title);
    if !format.is_converted() {
        let mut counter = LineCounter::after(text.get(..head.body).unwrap_or_default());
        for section in &mut chunks {
            section.lines = counter.take(&section.text);
        }
    }
    Document {
        chunks,
        language: head.language.unwrap_or_else(|| analysis::detect(&outline.sample)),
        date: head.date.or(day),
        about: about(&head.about, &head.tags),
        aliases: head.aliases,
        tags: tags(head.tags, &outline.tags),
        title,
        warnings,
    }
}

/// What is said of a file beside its text.
fn about(prose: &str, tags: &[String]) -> String {
    let parts = [prose, &tags.join(", ")];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The tags of the front matter, and those in the text.
fn tags(mut tags: Vec<String>, inline: &[String]) -> Vec<String> {
    inline.iter().for_each(|tag| head::add_tag(&mut tags, tag));
    tags
}

/// What is wrong with a file, as [`read`] says it, without cutting it.
#[must_use]
pub fn warnings(path: &str, bytes: &[u8]) -> Vec<String> {
    let (text, mut warnings) = decode::text(bytes);
    warnings.extend(text.and_then(|text| readable(path, &text).head.warning));
    warnings
}

/// A file in the form that it is cut in.
struct Readable<'a> {
    format: Format,
    head: Head,
    /// The text after the front matter, or what it was converted to.
    body: Cow<'a, str>,
}

fn readable<'a>(path: &str, text: &'a str) -> Readable<'a> {
    let format = Format::of(path).unwrap_or(Format::Markdown);
    let (_, day) = head::name(path);
    let head = if format.has_front_matter() { head::read(text, day.as_deref()) } else { Head::default() };
    let body = text.get(head.body..).unwrap_or_default();
    let (own, body) = match format {
        Format::Html => {
            let (own, markdown) = webpage::read(body);
            (own, markdown.into())
        }
        Format::Notebook => match notebook::read(body) {
            Ok((own, markdown)) => (own, markdown.into()),
            Err(problem) => (Head { warning: Some(problem), ..Head::default() }, Cow::Borrowed("")),
        },
        Format::AsciiDoc | Format::Org => (lined::head(body, format), body.into()),
        Format::Markdown | Format::Mdx | Format::Plain | Format::Rst => (Head::default(), body.into()),
    };
    Readable { format, head: head.with(own), body }
}

/// The skeleton of a body, of which a part may be no more than text.
fn body_outline(format: Format, body: &str, unread: Option<Range<usize>>) -> Outline {
    match format {
        Format::Markdown | Format::Mdx | Format::Html | Format::Notebook => {
            outline::read(&parsable(format, body, unread.clone()), unread.and_then(|part| body.get(part)))
        }
        Format::Plain | Format::Rst | Format::AsciiDoc | Format::Org => lined::read(body, format),
    }
}

/// As long, with the same words in the same places; what is not Markdown, or too deep, is blank.
fn parsable(format: Format, body: &str, unread: Option<Range<usize>>) -> Cow<'_, str> {
    let mut markdown = Cow::Borrowed(body);
    if let Some(part) = unread {
        markdown = mdx::blank(&markdown, &[part]).into();
    }
    if format == Format::Mdx {
        markdown = mdx::blanked(&markdown).into();
    } else if let Cow::Owned(uncommented) = mdx::uncommented(&markdown) {
        markdown = uncommented.into();
    }
    if let Cow::Owned(shallow) = shallow::shallow(&markdown) {
        markdown = shallow.into();
    }
    markdown
}

/// The text of a chunk without markup, from its text: as [`Section::plain`], but for links whose targets stand elsewhere in
/// the file.
#[must_use]
pub fn plain(path: &str, text: &str) -> String {
    let format = Format::of(path).unwrap_or(Format::Markdown);
    chunk::plain(text, &body_outline(format, text, None)).to_owned()
}

/// What a model is given to embed for a chunk.
#[must_use]
pub fn embedded_text(title: &str, section: &Section) -> String {
    let path: Vec<&str> = [title].into_iter().chain(section.headings.iter().map(String::as_str)).collect();
    format!("{}\n\n{}", path.join(" > "), section.plain)
}

#[cfg(test)]
mod tests;
