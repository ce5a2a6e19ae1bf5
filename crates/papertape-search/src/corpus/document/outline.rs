//! Markdown to what a reader sees of it (its headings and its words) and to the places where it may be cut.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

use super::head::{self, MOST_NAME, MOST_TAGS};
use super::html::Stripper;
use super::plain::Plain;
use super::{tag, wiki};
use crate::analysis::is_han_or_kana;

/// How much prose is kept for language detection.
const SAMPLE: usize = 2 * 1024;

/// What people write beside CommonMark.
pub(super) const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_HEADING_ATTRIBUTES)
    .union(Options::ENABLE_GFM)
    .union(Options::ENABLE_WIKILINKS);

/// A text's skeleton.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// In order, from the outermost level of the text alone: not those within a list or a quotation.
    pub(super) headings: Vec<Heading>,
    /// In order.
    pub(super) cuts: Vec<Cut>,
    /// The text without markup.
    pub(super) plain: Plain,
    /// The beginning of the text that is not code.
    pub(super) sample: String,
    /// In order, each once.
    pub(super) tags: Vec<String>,
}

impl Outline {
    /// Adds prose, if there is not enough of it yet.
    pub(super) fn add_sample(&mut self, text: &str) {
        if self.sample.len() < SAMPLE && !text.is_empty() {
            self.sample.extend(text.chars().take(SAMPLE));
            self.sample.push(' ');
        }
    }
}

/// A heading that sections begin with.
#[derive(Debug)]
pub(super) struct Heading {
    /// Where its line begins.
    pub(super) start: usize,
    /// Where what it is the heading of begins.
    pub(super) end: usize,
    /// From 1.
    pub(super) level: u8,
    /// Without marks.
    pub(super) text: String,
}

/// A line that something begins with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub(super) at: usize,
    /// Not within anything else.
    pub(super) outermost: bool,
}

/// Reads Markdown, after a part that is plain text.
pub(super) fn read(markdown: &str, plain_part: Option<&str>) -> Outline {
    let mut reading = OutlineReader { markdown, outline: Outline::default(), ..OutlineReader::default() };
    if let Some(part) = plain_part {
        reading.outline.plain.push(part, 0..part.len());
        reading.outline.plain.end_block();
    }
    for (event, range) in Parser::new_ext(markdown, OPTIONS).into_offset_iter() {
        reading.take(event, range);
    }
    reading.outline
}

/// Blanks stand where comments were.
fn single_spaced(text: &str) -> Cow<'_, str> {
    if !text.contains("  ") {
        return text.into();
    }
    let mut after_blank = false;
    text.chars().filter(|c| !std::mem::replace(&mut after_blank, *c == ' ') || *c != ' ').collect()
}

#[derive(Default)]
struct OutlineReader<'a> {
    markdown: &'a str,
    outline: Outline,
    /// How many blocks are open.
    depth: usize,
    /// Where the plain text of an open heading begins.
    heading: Option<usize>,
    in_code: bool,
    /// How many links and images are open.
    links: usize,
    /// What the wiki link or embedded page that is open shows.
    wiki: Wiki,
    /// A line ended within a paragraph.
    broken: bool,
    /// The next cell is not the first of its row.
    later_cell: bool,
    html: Stripper,
    /// The last line that something began with, and how far it was looked for.
    line: usize,
    looked: usize,
}

/// What is shown of the text in `[[ ]]`.
#[derive(Debug, Default, Clone, Copy)]
enum Wiki {
    /// It is not in one, or the text is for readers.
    #[default]
    Text,
    /// The text is the target.
    Name,
    /// It is a picture, and the text its name or size.
    Nothing,
}

impl Wiki {
    fn of(tag: &Tag<'_>) -> Self {
        match tag {
            Tag::Link { link_type: LinkType::WikiLink { has_pothole: false }, .. } => Self::Name,
            Tag::Image { link_type: LinkType::WikiLink { has_pothole }, dest_url, .. } => {
                match (wiki::is_page(dest_url), has_pothole) {
                    (false, _) => Self::Nothing,
                    (true, true) => Self::Text,
                    (true, false) => Self::Name,
                }
            }
            _ => Self::Text,
        }
    }
}

impl OutlineReader<'_> {
    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(&tag, &range),
            Event::End(tag) => self.end(tag, &range),
            Event::Text(text) if self.in_code => self.words(&text, range),
            Event::Text(text) => {
                self.tags(&text, range.start);
                let text = match self.wiki {
                    Wiki::Text => wiki::unmarked(single_spaced(&text)),
                    Wiki::Name => wiki::shown(&text),
                    Wiki::Nothing => return,
                };
                self.words(&text, range);
                self.outline.add_sample(&text);
            }
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.words(&text, range)
            }
            Event::Html(html) => {
                let mut text = String::new();
                self.html.strip(&html, &mut text);
                self.outline.add_sample(text.trim());
                self.words(text.trim(), range);
                self.outline.plain.space();
            }
            Event::InlineHtml(html) => {
                if html.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("<br")) {
                    self.outline.plain.space();
                }
            }
            Event::SoftBreak => self.broken = true,
            Event::HardBreak => self.outline.plain.space(),
            Event::Rule => self.cut(range.start),
            Event::FootnoteReference(_) | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: &Range<usize>) {
        match tag {
            Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Superscript | Tag::Subscript => return,
            Tag::Link { .. } | Tag::Image { .. } => {
                self.wiki = Wiki::of(tag);
                self.links += 1;
                return;
            }
            Tag::TableCell => {
                if std::mem::replace(&mut self.later_cell, true) {
                    self.outline.plain.push_mark(" | ");
                }
            }
            Tag::TableHead | Tag::TableRow => {
                self.later_cell = false;
                self.begin_block(range.start);
            }
            Tag::Heading { .. } => {
                self.begin_block(range.start);
                self.heading = (self.depth == 0).then(|| self.outline.plain.len());
            }
            Tag::CodeBlock(_) => {
                self.begin_block(range.start);
                self.in_code = true;
            }
            Tag::HtmlBlock => {
                self.begin_block(range.start);
                self.html = Stripper::default();
            }
            _ => self.begin_block(range.start),
        }
        self.depth += 1;
    }

    fn end(&mut self, tag: TagEnd, range: &Range<usize>) {
        match tag {
            TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript => return,
            TagEnd::Link | TagEnd::Image => {
                self.wiki = Wiki::Text;
                self.links = self.links.saturating_sub(1);
                return;
            }
            TagEnd::TableCell => {}
            TagEnd::Paragraph | TagEnd::Item => {
                self.outline.plain.drop_block_id();
                self.outline.plain.end_block();
            }
            TagEnd::Heading(level) => {
                self.outline.plain.drop_block_id();
                self.end_heading(level, range);
                self.outline.plain.end_block();
            }
            TagEnd::CodeBlock => {
                self.in_code = false;
                self.outline.plain.end_block();
            }
            _ => self.outline.plain.end_block(),
        }
        self.depth = self.depth.saturating_sub(1);
        self.broken = false;
    }

    fn begin_block(&mut self, at: usize) {
        self.cut(at);
        self.outline.plain.drop_block_id();
        self.outline.plain.end_block();
    }

    fn end_heading(&mut self, level: HeadingLevel, range: &Range<usize>) {
        let Some(from) = self.heading.take() else { return };
        let text = self.outline.plain.after(from);
        // A line that is too long for a heading stays in the text.
        if text.chars().nth(MOST_NAME).is_some() {
            return;
        }
        let text = head::line(text);
        let start = self.line_of(range.start);
        self.outline.headings.push(Heading { start, end: range.end, level: level as u8, text });
    }

    fn words(&mut self, text: &str, range: Range<usize>) {
        // What stood before it may show nothing.
        let begins = !self.in_code && self.outline.plain.last().is_none_or(|last| last == '\n');
        let text = if begins { text.trim_start_matches(' ') } else { text };
        if std::mem::take(&mut self.broken) && !self.joins(text) {
            self.outline.plain.space();
        }
        self.outline.plain.push(text, range);
    }

    /// Not in a link: its text may be a part of a page.
    fn tags(&mut self, text: &str, at: usize) {
        if self.links > 0 || !text.contains('#') {
            return;
        }
        let before = self.markdown.get(..at).and_then(|before| before.chars().next_back());
        let tags = &mut self.outline.tags;
        tag::each_tag(text, before, &mut |tag| {
            if tags.len() < MOST_TAGS && !tags.iter().any(|known| known == tag) {
                tags.push(tag.to_owned());
            }
        });
    }

    /// Whether a line's end is within a word, as in Chinese.
    fn joins(&self, text: &str) -> bool {
        self.outline.plain.last().is_some_and(is_han_or_kana)
            && text.chars().next().is_some_and(is_han_or_kana)
    }

    fn cut(&mut self, at: usize) {
        let cut = Cut { at: self.line_of(at), outermost: self.depth == 0 };
        if self.outline.cuts.last().is_none_or(|last| last.at < cut.at) {
            self.outline.cuts.push(cut);
        }
    }

    /// Where the line begins that a place is in. Places come in order, so that nothing is looked at twice.
    fn line_of(&mut self, at: usize) -> usize {
        if at < self.line {
            return at;
        }
        if let Some(between) = self.markdown.get(self.looked..at) {
            if let Some(end) = between.rfind('\n') {
                self.line = self.looked + end + 1;
            }
            self.looked = at;
        }
        self.line
    }
}
