//! Text in lines (plain, reStructuredText, AsciiDoc, Org) to headings, words, and places to cut at.
//!
//! Headings are recognised; the rest is text as it stands there.

use std::collections::HashMap;

use super::format::Format;
use super::head::{self, Head, MOST_NAME};
use super::outline::{Cut, Heading, Outline};

/// The deepest heading.
const DEEPEST: u8 = 6;

/// How many lines at the beginning of a file may say something about it.
const HEADER: usize = 40;

/// Reads a text in lines.
pub(super) fn read(text: &str, format: Format) -> Outline {
    let mut reader = LineReader {
        text,
        format,
        outline: Outline::default(),
        verbatim: None,
        in_paragraph: false,
        after_blank: true,
        levels: HashMap::new(),
        ends: ends(text, format),
    };
    let mut at = 0;
    while let Some(line) = reader.lines(at).next() {
        at = reader.take(&line).max(line.end);
    }
    reader.outline.plain.end_block();
    reader.outline
}

/// What the first lines of a file say about it: attributes of AsciiDoc, keywords of Org.
pub(super) fn head(text: &str, format: Format) -> Head {
    let mut head = Head::default();
    for line in text.lines().take(HEADER) {
        let Some((name, value)) = member(line, format) else { continue };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "title" => head.title = Some(head::line(value)).filter(|title| !title.is_empty()),
            "date" | "revdate" => head.date = super::date::day(value.trim_matches(['<', '>', '[', ']'])),
            "description" => head.about = head::prose(value),
            "keywords" => value.split(',').for_each(|tag| head::add_tag(&mut head.tags, &head::line(tag))),
            "filetags" => {
                value.split([':', ' ']).for_each(|tag| head::add_tag(&mut head.tags, &head::line(tag)))
            }
            _ => {}
        }
    }
    head
}

fn member(line: &str, format: Format) -> Option<(&str, &str)> {
    match format {
        Format::Org => line.strip_prefix("#+")?.split_once(':'),
        Format::AsciiDoc => line.strip_prefix(':')?.split_once(':'),
        _ => None,
    }
}

struct Line<'a> {
    at: usize,
    end: usize,
    /// Without what its end is blank.
    text: &'a str,
}

struct LineReader<'a> {
    text: &'a str,
    format: Format,
    outline: Outline,
    /// The line that ends a block in which nothing is a heading.
    verbatim: Option<&'a str>,
    /// The last line was one of a paragraph.
    in_paragraph: bool,
    /// There is no last line, or it was blank.
    after_blank: bool,
    /// Levels of reStructuredText by how their headings are adorned: the mark, and whether it stands above, too.
    levels: HashMap<(char, bool), u8>,
    /// Where each line that can end a block stands last: what has no end is no block.
    ends: HashMap<&'a str, usize>,
}

/// A heading, and where what it is the heading of begins.
struct Found<'a> {
    level: u8,
    text: &'a str,
    end: usize,
}

impl<'a> LineReader<'a> {
    /// The lines from a place on.
    fn lines(&self, mut at: usize) -> impl Iterator<Item = Line<'a>> + use<'a> {
        self.text.get(at..).unwrap_or_default().split_inclusive('\n').map(move |line| {
            let start = at;
            at += line.len();
            Line { at: start, end: at, text: line.trim_end() }
        })
    }

    /// Takes a line, and says where the next one begins if it took more than that.
    fn take(&mut self, line: &Line<'a>) -> usize {
        if let Some(end) = self.verbatim {
            self.verbatim = Some(end).filter(|end| !line.text.trim_start().eq_ignore_ascii_case(end));
            self.words(line);
            self.after_blank |= self.verbatim.is_none();
            return line.end;
        }
        if let Some(found) = self.heading(line) {
            self.heading_at(line.at, &found);
            return found.end;
        }
        match self.format {
            Format::AsciiDoc => {
                self.verbatim = asciidoc_end(line.text).filter(|end| self.has_end(end, line.at));
            }
            Format::Org => {
                let text = line.text.trim_start();
                let block = text.get(..8).filter(|start| start.eq_ignore_ascii_case("#+begin_"));
                let end = block.and_then(|_| org_end(text.get(8..)?));
                self.verbatim = end.filter(|end| self.has_end(end, line.at));
                if is_drawer(text) {
                    return self.drawer_end(line);
                }
            }
            _ => {}
        }
        self.words(line);
        self.after_blank |= self.format == Format::AsciiDoc && is_asciidoc_setting(line.text);
        line.end
    }

    /// Whether a block that begins there ends somewhere.
    fn has_end(&self, end: &str, begin: usize) -> bool {
        self.ends.get(end).is_some_and(|last| *last > begin)
    }

    fn heading(&mut self, line: &Line<'a>) -> Option<Found<'a>> {
        let marked = |mark: u8| {
            let level = line.text.bytes().take_while(|byte| *byte == mark).count();
            let text = line.text.get(level..)?.strip_prefix(' ')?.trim();
            (level > 0 && !text.is_empty()).then_some((u8::try_from(level).unwrap_or(u8::MAX), text))
        };
        match self.format {
            Format::AsciiDoc => {
                let one = marked(b'=').filter(|(level, _)| *level <= DEEPEST);
                one.map(|(level, text)| Found { level, text, end: line.end })
                    .or_else(|| self.two_line_title(line))
            }
            Format::Org => {
                let (level, text) = marked(b'*')?;
                Some(Found { level: level.min(DEEPEST), text: self.org_heading(text), end: line.end })
            }
            Format::Rst => self.rst_heading(line),
            _ => None,
        }
    }

    /// A line that begins a block, with a line of one mark below it that is about as long.
    fn two_line_title(&self, line: &Line<'a>) -> Option<Found<'a>> {
        /// By how many characters the two may differ, as `AsciiDoc` has it.
        const DIFFERENCE: usize = 2;
        let text = line.text;
        if !self.after_blank || text.starts_with(['.', ' ', '\t']) || is_asciidoc_setting(text) {
            return None;
        }
        let second = self.lines(line.end).next()?;
        let mark = adornment(second.text)?;
        let level = ['=', '-', '~', '^', '+'].into_iter().zip(1..).find(|(known, _)| *known == mark)?.1;
        let fits = text.chars().take(MOST_NAME + 1).count().abs_diff(second.text.len()) <= DIFFERENCE;
        let is_title = fits && text.contains(char::is_alphanumeric);
        is_title.then_some(Found { level, text, end: second.end })
    }

    /// Without the state of a task and its priority; its tags are those of the file.
    fn org_heading(&mut self, text: &'a str) -> &'a str {
        let text =
            ["TODO ", "DONE "].iter().find_map(|state| text.strip_prefix(state)).unwrap_or(text).trim_start();
        let text =
            text.strip_prefix("[#").and_then(|rest| rest.split_once("] ")).map_or(text, |(_, text)| text);
        let Some((before, last)) = text.rsplit_once(char::is_whitespace) else { return text };
        let Some(tags) = last.strip_prefix(':').and_then(|last| last.strip_suffix(':')) else { return text };
        for tag in tags.split(':') {
            head::add_tag(&mut self.outline.tags, &head::line(tag));
        }
        before.trim_end()
    }

    /// A line with another one below it, and perhaps above it, that is as long and of one mark alone.
    fn rst_heading(&mut self, line: &Line<'a>) -> Option<Found<'a>> {
        let mut next = self.lines(line.end);
        let second = next.next()?;
        let (mark, over, text, end) = match (adornment(line.text), adornment(second.text)) {
            (Some(mark), None) => {
                let third = next.next().filter(|third| adornment(third.text) == Some(mark))?;
                (mark, true, second.text.trim(), third.end)
            }
            (None, Some(mark)) if self.after_blank && !line.text.starts_with(char::is_whitespace) => {
                (mark, false, line.text, second.end)
            }
            _ => return None,
        };
        let below = if over { line.text.len() } else { second.text.len() };
        // As docutils has it: a line that is too short is one nevertheless, from four marks on.
        let fits = below >= text.chars().take(MOST_NAME + 1).count() || below >= 4;
        if text.is_empty() || !fits || text.chars().nth(MOST_NAME).is_some() {
            return None;
        }
        let next = u8::try_from(self.levels.len() + 1).unwrap_or(DEEPEST).min(DEEPEST);
        let level = *self.levels.entry((mark, over)).or_insert(next);
        Some(Found { level, text, end })
    }

    fn heading_at(&mut self, start: usize, found: &Found<'_>) {
        self.in_paragraph = false;
        self.after_blank = true;
        self.outline.plain.end_block();
        self.cut(start);
        let shown = head::line(found.text);
        // A line that is too long for a heading stays in the text.
        let is_short = found.text.chars().nth(MOST_NAME).is_none();
        self.outline.plain.push(if is_short { &shown } else { found.text }, start..found.end);
        self.outline.plain.end_block();
        if is_short {
            let Found { level, end, .. } = *found;
            self.outline.headings.push(Heading { start, end, level, text: shown });
        }
    }

    fn words(&mut self, line: &Line<'_>) {
        let text = line.text.trim_start();
        self.after_blank = text.is_empty();
        if text.is_empty() {
            self.in_paragraph = false;
            self.outline.plain.end_block();
            return;
        }
        if !std::mem::replace(&mut self.in_paragraph, true) {
            self.cut(line.at);
        }
        let kept = if self.verbatim.is_some() { line.text } else { text };
        if self.verbatim.is_some() {
            self.outline.plain.end_block();
        } else {
            self.outline.plain.space();
        }
        let from = line.at + (line.text.len() - kept.len());
        self.outline.plain.push(kept, from..line.at + line.text.len());
        if self.verbatim.is_some() {
            self.outline.plain.end_block();
        } else {
            self.outline.add_sample(text);
        }
    }

    /// Where a drawer ends, which holds what programs know of a heading: after its first line, if it has no end.
    fn drawer_end(&self, line: &Line<'_>) -> usize {
        const LONGEST: usize = 64;
        let mut within = self.lines(line.end).take(LONGEST);
        let end = within.find(|line| line.text.trim_start().eq_ignore_ascii_case(":end:"));
        end.map_or(line.end, |end| end.end)
    }

    fn cut(&mut self, at: usize) {
        self.outline.cuts.push(Cut { at, outermost: true });
    }
}

/// The mark, if a line has one alone, three times at least, as below a heading.
fn adornment(line: &str) -> Option<char> {
    let mark = line.chars().next().filter(char::is_ascii_punctuation)?;
    (line.len() >= 3 && line.bytes().all(|byte| char::from(byte) == mark)).then_some(mark)
}

/// What ends a block of `AsciiDoc` that begins with this line, in which nothing is a heading.
fn asciidoc_end(line: &str) -> Option<&str> {
    if let Some(language) = line.strip_prefix(FENCE) {
        return (!language.contains('`')).then_some(FENCE);
    }
    let is_mark = |mark| matches!(mark, '-' | '.' | '+' | '/');
    (line.len() >= 4 && adornment(line).is_some_and(is_mark)).then_some(line)
}

/// What a block of code can stand between in `AsciiDoc`, as in Markdown.
const FENCE: &str = "```";

/// A line of `AsciiDoc` that says something about what follows it: an attribute, a comment, or a title of a block.
fn is_asciidoc_setting(line: &str) -> bool {
    line.starts_with("//")
        || (line.starts_with('[') && line.ends_with(']'))
        || line.strip_prefix(':').is_some_and(|rest| rest.contains(':'))
        || line.strip_prefix('.').is_some_and(|rest| rest.starts_with(char::is_alphanumeric))
}

/// The lines that can end a block, as [`asciidoc_end`] and [`org_end`] have them, and where each one stands last.
fn ends(text: &str, format: Format) -> HashMap<&str, usize> {
    let mut at = 0;
    let mut ends = HashMap::new();
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let line = line.trim();
        let end = match format {
            Format::AsciiDoc => asciidoc_end(line).filter(|end| *end == line),
            Format::Org => ORG_ENDS.into_iter().find(|end| line.eq_ignore_ascii_case(end)),
            _ => return ends,
        };
        ends.extend(end.map(|end| (end, start)));
    }
    ends
}

const ORG_ENDS: [&str; 6] =
    ["#+end_src", "#+end_example", "#+end_export", "#+end_comment", "#+end_quote", "#+end_verse"];

/// What ends a block of Org that begins so.
fn org_end(name: &str) -> Option<&'static str> {
    ORG_ENDS.into_iter().find(|end| {
        let wanted = end.get(6..).unwrap_or_default();
        name.get(..wanted.len()).is_some_and(|start| start.eq_ignore_ascii_case(wanted))
    })
}

fn is_drawer(line: &str) -> bool {
    line.eq_ignore_ascii_case(":properties:") || line.eq_ignore_ascii_case(":logbook:")
}

#[cfg(test)]
mod tests {
    use super::{head, read};
    use crate::corpus::document::format::Format;

    #[track_caller]
    fn gives(format: Format, text: &str, headings: &[(u8, &str)], plain: &str) {
        let outline = read(text, format);
        let found: Vec<_> = outline.headings.iter().map(|found| (found.level, found.text.as_str())).collect();
        assert_eq!(found, headings, "{text}");
        assert_eq!(outline.plain.after(0).trim_end(), plain, "{text}");
    }

    #[test]
    fn plain_text_has_paragraphs() {
        gives(Format::Plain, "One\n  two\n\n# Three\n====\n", &[], "One two\n# Three ====");
    }

    #[test]
    fn rst_has_lines_below_its_headings() {
        let text = "=====\nTitle\n=====\n\nText\nmore.\n\nOne\n---\n\nTwo words\n~~~~~\nText\n\nThree\n-----\n\n  Four\n  ----\n\nno\n--\n";
        let headings = [(1, "Title"), (2, "One"), (3, "Two words"), (2, "Three")];
        let plain = "Title\nText more.\nOne\nTwo words\nText\nThree\nFour ----\nno --";
        gives(Format::Rst, text, &headings, plain);
        gives(
            Format::Rst,
            "text\nno heading\n-----\n\n-----\n\nText\n",
            &[],
            "text no heading -----\n-----\nText",
        );
    }

    #[test]
    fn asciidoc_has_marks_before_its_headings() {
        let text = "= Title\n:keywords: a, b c\n:description: Of it\n\n== One\nsome text\n----\n== code\n----\n=== Two\n====\nx\n";
        let plain =
            "Title\n:keywords: a, b c :description: Of it\nOne\nsome text\n----\n== code\n----\nTwo\n==== x";
        gives(Format::AsciiDoc, text, &[(1, "Title"), (2, "One"), (3, "Two")], plain);
        let head = head(text, Format::AsciiDoc);
        assert_eq!((head.tags, head.about.as_str()), (vec!["a".to_owned(), "b c".to_owned()], "Of it"));
    }

    #[test]
    fn asciidoc_has_lines_below_its_headings() {
        let text = "git-add(1)\n==========\n\nNAME\n----\ngit-add - add\n\n[[OPTIONS]]\nOptions\n-------\n\
            -v::\n--verbose::\n\tBe verbose.\n+\n------------\n$ git add\n== code\n------------\n\nA part\n~~~~~~~~\n\
            Text\nmore\n----\n== code\n----\nLess\n^^^^\n\nLeast\n+++++\nEnd\n";
        let headings =
            [(1, "git-add(1)"), (2, "NAME"), (2, "Options"), (3, "A part"), (4, "Less"), (5, "Least")];
        let plain = "git-add(1)\nNAME\ngit-add - add\n[[OPTIONS]]\nOptions\n-v:: --verbose:: Be verbose. +\n------------\n\
            $ git add\n== code\n------------\nA part\nText more\n----\n== code\n----\nLess\nLeast\nEnd";
        gives(Format::AsciiDoc, text, &headings, plain);
    }

    #[test]
    fn blocks_of_asciidoc_end_where_they_do() {
        let of = |block: &str| format!("{block}\n== One\n");
        gives(Format::AsciiDoc, &of("```ruby\n== code\n```"), &[(2, "One")], "```ruby\n== code\n```\nOne");
        gives(
            Format::AsciiDoc,
            &of("[source]\n----\na\n----"),
            &[(2, "One")],
            "[source]\n----\na\n----\nOne",
        );
        gives(Format::AsciiDoc, &of("[a]\n----\na\n----"), &[(2, "One")], "[a]\n----\na\n----\nOne");
        gives(Format::AsciiDoc, &of(".A\n----\na\n----"), &[(2, "One")], ".A\n----\na\n----\nOne");
        // A line with more than the mark is text, and a block without an end is none.
        for text in ["---- a", "....a", "```a`b`", "----", "////", "```", "```ruby", "-----\na\n----"] {
            gives(Format::AsciiDoc, &of(text), &[(2, "One")], &format!("{}\nOne", text.replace('\n', " ")));
        }
    }

    #[test]
    fn blocks_of_org_without_an_end_are_none() {
        gives(Format::Org, "#+begin_src sh\na\n* One\n", &[(1, "One")], "#+begin_src sh a\nOne");
        let text = "#+begin_quote\n* a\n  #+END_QUOTE\n* One\n#+begin_quote\n* Two\n";
        let plain = "#+begin_quote\n* a\n#+END_QUOTE\nOne\n#+begin_quote\nTwo";
        gives(Format::Org, text, &[(1, "One"), (1, "Two")], plain);
    }

    #[test]
    fn org_has_stars_before_its_headings() {
        let text = "#+TITLE: A title\n#+DATE: <2024-05-01 Wed>\n#+FILETAGS: :a:b:\n* TODO [#A] One :c:d:\n:PROPERTIES:\n:ID: 7\n:END:\ntext\n\
            #+BEGIN_SRC sh\n* code\n#+END_SRC\n** Two\n*bold*\n";
        let outline = read(text, Format::Org);
        let headings: Vec<_> =
            outline.headings.iter().map(|found| (found.level, found.text.as_str())).collect();
        assert_eq!(headings, [(1, "One"), (2, "Two")]);
        assert_eq!(outline.tags, ["c", "d"]);
        assert!(!outline.plain.after(0).contains("ID") && outline.plain.after(0).contains("* code"));
        let head = head(text, Format::Org);
        assert_eq!((head.title.as_deref(), head.date.as_deref()), (Some("A title"), Some("2024-05-01")));
        assert_eq!(head.tags, ["a", "b"]);
    }
}
