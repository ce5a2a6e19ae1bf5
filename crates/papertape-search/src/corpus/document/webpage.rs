//! A page of HTML to Markdown: its headings and its text, without scripts, styles and navigation.

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{EndTag, StartTag, State, Token, Tokenizer};

use super::date;
use super::head::{self, Head};
use super::notebook::{code, longest_run};

/// The longest target of a link that is kept.
const MOST_TARGET: usize = 500;

/// The deepest indentation of lists.
const MOST_LISTS: usize = 8;

/// Elements of which nothing is shown, up to their ends.
const HIDDEN: [&str; 11] = [
    "script", "style", "nav", "template", "svg", "math", "iframe", "object", "noscript", "textarea", "select",
];

/// Elements that begin the text for certain: a navigation before them that has no end is over.
const CONTENT: [&str; 3] = ["main", "article", "body"];

/// Elements within a line. What is in neither list begins a block.
const INLINE: [&str; 41] = [
    "abbr", "acronym", "b", "bdi", "bdo", "big", "button", "cite", "data", "del", "dfn", "em", "font", "i",
    "input", "ins", "kbd", "label", "map", "mark", "meter", "nobr", "output", "picture", "progress", "q",
    "rp", "rt", "ruby", "s", "samp", "small", "source", "span", "strike", "strong", "sub", "sup", "time",
    "tt", "u",
];

/// A page as Markdown, and what it says of itself.
pub(super) fn read(html: &str) -> (Head, String) {
    let mut emitter = DefaultEmitter::default();
    // Scripts and styles are not taken for tags.
    emitter.naively_switch_states(true);
    let mut page = Page { navs_end: count(html, "</nav") >= count(html, "<nav"), ..Page::default() };
    let mut tokens = Tokenizer::new_with_emitter(html, emitter);
    while let Some(token) = tokens.next() {
        match token {
            Ok(Token::StartTag(tag)) => {
                if tag.self_closing {
                    // As in XHTML and SVG, it has no content: what follows is not that of a script or a title.
                    tokens.set_state(State::Data);
                }
                page.start(&tag);
            }
            Ok(Token::EndTag(tag)) => page.end(&tag),
            Ok(Token::String(text)) => page.text(&String::from_utf8_lossy(&text)),
            Ok(_) => {}
            Err(never) => match never {},
        }
    }
    page.finish()
}

/// How often some ASCII text stands in a page, in any case.
fn count(html: &str, text: &str) -> usize {
    html.as_bytes().windows(text.len()).filter(|part| part.eq_ignore_ascii_case(text.as_bytes())).count()
}

#[derive(Default)]
struct Page {
    head: Head,
    /// Every navigation has an end: a heading within it is not that of the text.
    navs_end: bool,
    out: String,
    /// The element of which nothing is shown, and how many of that name are open.
    hidden: Option<(&'static str, usize)>,
    /// The title, while it is read.
    title: Option<String>,
    /// Where the words of a heading begin.
    heading: Option<usize>,
    /// Code, while it is read, and its language if it is a block.
    code: Option<Code>,
    /// Where the text of a link begins, and its target.
    link: Option<(usize, String)>,
    /// Whether the lists that are open have numbers.
    lists: Vec<bool>,
    /// The next cell is not the first of its row.
    later_cell: bool,
    /// A blank comes before the next word.
    blank: bool,
}

#[derive(Default)]
struct Code {
    text: String,
    is_block: bool,
    language: String,
}

impl Page {
    fn start(&mut self, tag: &StartTag<()>) {
        let Ok(name) = std::str::from_utf8(&tag.name) else { return };
        let attribute = |name: &str| {
            let value = tag.attributes.get(name.as_bytes())?;
            Some(String::from_utf8_lossy(&value.value).trim().to_owned())
        };
        if let Some((hidden, depth)) = &mut self.hidden {
            let begins_text = name == "h1" && !(*hidden == "nav" && self.navs_end);
            if begins_text || CONTENT.contains(&name) {
                self.hidden = None;
            } else {
                *depth += usize::from(*hidden == name && !tag.self_closing);
                return;
            }
        }
        if let Some(hidden) = HIDDEN.into_iter().find(|hidden| *hidden == name) {
            self.hidden = (!tag.self_closing).then_some((hidden, 1));
            self.blank = true;
            return;
        }
        if let Some(code) = &mut self.code {
            match name {
                "code" if code.is_block => code.language = language(attribute("class")),
                "br" => code.text.push('\n'),
                _ if code.is_block || INLINE.contains(&name) => {}
                _ => self.end_code(),
            }
            if self.code.is_some() {
                return;
            }
        }
        match name {
            "html" => {
                self.head.language =
                    attribute("lang").and_then(|code| crate::analysis::Language::from_code(&code))
            }
            "title" if self.head.title.is_none() && !tag.self_closing => self.title = Some(String::new()),
            "meta" => self.meta(
                attribute("name")
                    .or_else(|| attribute("property"))
                    .unwrap_or_default()
                    .to_ascii_lowercase()
                    .as_str(),
                &attribute("content").unwrap_or_default(),
            ),
            "time" if self.head.date.is_none() => {
                self.head.date = attribute("datetime").and_then(|text| date::day(&text));
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.block();
                let level = name.bytes().last().map_or(1, |digit| usize::from(digit.saturating_sub(b'0')));
                self.out.push_str(&"#".repeat(level));
                self.out.push(' ');
                self.heading = Some(self.out.len());
            }
            "pre" => {
                self.block();
                let language = language(attribute("class"));
                self.code = Some(Code { is_block: true, language, ..Code::default() });
            }
            "code" => self.code = Some(Code::default()),
            "a" => {
                self.end_link();
                self.space();
                self.link = attribute("href")
                    .and_then(|target| linked(&target))
                    .map(|target| (self.out.len(), target));
            }
            "img" => {
                let alt = attribute("alt").unwrap_or_default();
                self.words(&alt);
            }
            "br" if self.heading.is_none() && !self.is_at_line_start() => {
                self.blank = false;
                self.out.push('\n');
            }
            "ul" | "ol" | "menu" | "dir" => {
                self.line();
                self.lists.push(name == "ol");
            }
            "li" => self.item(),
            "tr" => {
                self.line();
                self.later_cell = false;
            }
            "td" | "th" => {
                if std::mem::replace(&mut self.later_cell, true) && !self.is_at_line_start() {
                    self.out.push_str(" |");
                    self.blank = true;
                }
            }
            _ if INLINE.contains(&name) || name == "br" => {}
            // What is within a heading does not end it.
            "div" | "wbr" if self.heading.is_some() => self.blank = true,
            "wbr" | "link" | "base" => {}
            _ => self.block(),
        }
    }

    fn end(&mut self, tag: &EndTag<()>) {
        let Ok(name) = std::str::from_utf8(&tag.name) else { return };
        if let Some((hidden, depth)) = &mut self.hidden {
            if *hidden == name {
                *depth -= 1;
                if *depth == 0 {
                    self.hidden = None;
                }
            }
            return;
        }
        match name {
            "title" => {
                let title = self.title.take().map(|title| head::line(&title));
                self.head.title = self.head.title.take().or(title).filter(|title| !title.is_empty());
            }
            "pre" => self.end_code(),
            "code" if self.code.as_ref().is_some_and(|code| !code.is_block) => self.end_code(),
            _ if self.code.is_some() => {}
            "a" => self.end_link(),
            "ul" | "ol" | "menu" | "dir" => {
                self.lists.pop();
                if self.lists.is_empty() { self.block() } else { self.line() }
            }
            "li" | "tr" | "dt" => self.line(),
            "td" | "th" => {}
            "div" if self.heading.is_some() => self.blank = true,
            _ if INLINE.contains(&name) || matches!(name, "br" | "img" | "wbr") => {}
            _ => self.block(),
        }
    }

    fn text(&mut self, text: &str) {
        if self.hidden.is_some() {
            return;
        }
        if let Some(title) = &mut self.title {
            title.push_str(text);
        } else if let Some(code) = &mut self.code {
            code.text.push_str(text);
        } else {
            self.words(text);
        }
    }

    /// Adds words; blanks between them are one.
    fn words(&mut self, text: &str) {
        self.blank |= text.starts_with(char::is_whitespace);
        for word in text.split_whitespace() {
            self.space();
            escape(word, &mut self.out);
            self.blank = true;
        }
        self.blank = if text.trim().is_empty() { self.blank } else { text.ends_with(char::is_whitespace) };
    }

    fn space(&mut self) {
        if std::mem::take(&mut self.blank) && !self.out.is_empty() && !self.out.ends_with(['\n', ' ']) {
            self.out.push(' ');
        }
    }

    fn is_at_line_start(&self) -> bool {
        self.out.is_empty() || self.out.ends_with('\n')
    }

    /// Begins another line.
    fn line(&mut self) {
        self.end_code();
        self.end_link();
        self.blank = false;
        if let Some(start) = self.heading.take()
            && self.out.len() == start
        {
            // A heading without words.
            self.out.truncate(self.out.trim_end_matches(['#', ' ']).len());
            return;
        }
        let words = self.out.trim_end_matches(' ').len();
        self.out.truncate(words);
        if !self.is_at_line_start() {
            self.out.push('\n');
        }
    }

    /// Begins another block, unless only the mark of a list item stands on the line.
    fn block(&mut self) {
        if self.is_after_mark() && self.heading.is_none() && self.code.is_none() {
            return;
        }
        self.line();
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    fn is_after_mark(&self) -> bool {
        let line = self.out.get(self.out.rfind('\n').map_or(0, |end| end + 1)..).unwrap_or_default();
        matches!(line.trim_start_matches(' '), "- " | "1. ")
    }

    fn item(&mut self) {
        self.line();
        let (numbered, depth) = (self.lists.last().copied().unwrap_or_default(), self.lists.len());
        self.out.push_str(&"   ".repeat(depth.saturating_sub(1).min(MOST_LISTS)));
        self.out.push_str(if numbered { "1. " } else { "- " });
    }

    fn end_code(&mut self) {
        let Some(Code { text, is_block, language }) = self.code.take() else { return };
        if is_block {
            let text = text.trim_matches(['\n', '\r']);
            if !text.trim().is_empty() {
                code(text, &language, &mut self.out);
                self.out.push_str("\n\n");
            }
            return;
        }
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            return;
        }
        self.space();
        let marks = "`".repeat(longest_run(&text) + 1);
        let apart = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
        for part in [&marks, apart, &text, apart, &marks] {
            self.out.push_str(part);
        }
    }

    fn end_link(&mut self) {
        let Some((start, target)) = self.link.take() else { return };
        let Some(text) = self.out.get(start..).filter(|text| !text.trim().is_empty()) else { return };
        let text = text.trim().to_owned();
        self.out.truncate(start);
        for part in ["[", &text, "](", &target, ")"] {
            self.out.push_str(part);
        }
    }

    fn meta(&mut self, name: &str, content: &str) {
        match name {
            "description" | "og:description" if self.head.about.is_empty() => {
                self.head.about = head::prose(content)
            }
            "keywords" => {
                content.split(',').for_each(|tag| head::add_tag(&mut self.head.tags, &head::line(tag)))
            }
            "date" | "article:published_time" | "dcterms.date" | "dc.date" if self.head.date.is_none() => {
                self.head.date = date::day(content);
            }
            _ => {}
        }
    }

    fn finish(mut self) -> (Head, String) {
        self.line();
        let words = self.out.trim_end().len();
        self.out.truncate(words);
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        (self.head, self.out)
    }
}

/// The language in a class such as `language-rust` or `highlight-rust`.
fn language(class: Option<String>) -> String {
    let class = class.unwrap_or_default();
    let found = class
        .split_whitespace()
        .find_map(|name| name.strip_prefix("language-").or(name.strip_prefix("lang-")));
    let is_name = |name: &&str| {
        name.len() <= 32 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"+#-_".contains(&b))
    };
    found.filter(is_name).unwrap_or_default().to_owned()
}

/// The target of a link as Markdown writes it, if it leads to another page.
fn linked(target: &str) -> Option<String> {
    let lower = target.get(..11).unwrap_or(target).to_ascii_lowercase();
    if target.is_empty()
        || target.len() > MOST_TARGET
        || lower.starts_with("javascript:")
        || lower.starts_with("data:")
    {
        return None;
    }
    let mut written = String::with_capacity(target.len());
    for c in target.chars() {
        match c {
            '(' => written.push_str("%28"),
            ')' => written.push_str("%29"),
            '<' => written.push_str("%3C"),
            '>' => written.push_str("%3E"),
            '\\' => written.push_str("%5C"),
            '&' => written.push_str("&amp;"),
            c if c.is_whitespace() => written.push_str("%20"),
            c if c.is_control() => {}
            c => written.push(c),
        }
    }
    Some(written)
}

/// Adds a word so that Markdown shows it as it is.
fn escape(word: &str, out: &mut String) {
    let at_start = out.is_empty() || out.ends_with('\n') || out.ends_with("- ") || out.ends_with(". ");
    let mut chars = word.char_indices().peekable();
    let mut before = out.chars().next_back().filter(|c| !c.is_whitespace());
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let digits = || {
            at > 0 && word.get(..at).is_some_and(|before| before.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let is_mark = match c {
            '\\' | '`' | '<' | '~' | '[' | ']' => true,
            '*' => before.is_some() || next.is_some() || at_start,
            '_' => !(is_word(before) && is_word(next)),
            '&' => next.is_some_and(|next| next.is_alphanumeric() || next == '#'),
            // A tag, too.
            '#' => before.is_none(),
            '!' => next == Some('['),
            '%' => next == Some('%') || before == Some('%'),
            '=' => at == 0 || next == Some('=') || before == Some('='),
            '{' => next == Some('/'),
            '>' | '-' | '+' | '|' | ':' => at == 0 && at_start,
            '.' | ')' => at_start && next.is_none() && digits(),
            _ => false,
        };
        if is_mark {
            out.push('\\');
        }
        if !c.is_control() {
            out.push(c);
        }
        before = Some(c);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, proptest};

    use super::read;
    use crate::corpus::document::outline;

    #[track_caller]
    fn gives(html: &str, wanted: &str) {
        assert_eq!(read(html).1.trim_end(), wanted, "{html}");
    }

    #[test]
    fn headings_and_text_stay() {
        gives(
            "<!DOCTYPE html><html><head><title>T</title><style>p{}</style></head><body>\n<nav><ul><li>x</nav>\
             <h1>One <em>two</em></h1>\n<p>Some <b>bold</b>\n text<br>more.<p>Next<script>if (a<b) '</p>'</script>",
            "# One two\n\nSome bold text\nmore.\n\nNext",
        );
        gives("<h2></h2><p>a</p><h2><div>b</div><div>c</div></h2>d", "a\n\n## b c\n\nd");
        gives("<ul><li>a<li><p>b</p><ol><li>c</li></ol></ul>d", "- a\n- b\n\n   1. c\n\nd");
        gives("<table><tr><th>a</th><th>b</th></tr><tr><td>c<td>d</table>", "a | b\nc | d");
        gives("<dl><dt>a<dd>b</dl><hr><blockquote>c</blockquote>", "a\n\nb\n\nc");
    }

    #[test]
    fn code_and_links_are_written_as_markdown() {
        gives(
            "<pre><code class='language-rs'>\nlet a = &lt;b&gt;;\n\n  c</code></pre>d",
            "```rs\nlet a = <b>;\n\n  c\n```\n\nd",
        );
        gives(
            "<p>a <code>b  `c`</code>, <code></code>d</p><pre>```</pre>",
            "a `` b `c` ``, d\n\n````\n```\n````",
        );
        gives(
            "<a href='a (b).html'> x <b>y</b></a> z <a href=''>u</a><a href='javascript:v'>v</a>",
            "[x y](a%20%28b%29.html) z uv",
        );
        gives("<a href=x><h2>y</h2></a><img alt='a picture' src=z>", "## y\n\na picture");
    }

    #[test]
    fn a_page_says_things_of_itself() {
        let (head, text) = read(
            "<html lang=es><title>A &amp; B\n c</title><meta name=description content='About it'>\
             <meta name=keywords content='a, b c'><meta property='article:published_time' content='2024-05-01T10:00Z'>x",
        );
        assert_eq!((head.title.as_deref(), head.about.as_str()), (Some("A & B c"), "About it"));
        assert_eq!(head.tags, ["a", "b c"]);
        assert_eq!(
            (head.date.as_deref(), head.language),
            (Some("2024-05-01"), Some(crate::analysis::Language::Spanish))
        );
        assert_eq!(text, "x\n");
    }

    #[test]
    fn what_ends_where_it_begins_hides_nothing() {
        gives("<head><title/><script src='x'/></head><body><h1>a</h1>", "# a");
        gives("<svg><style/><title/><path/></svg><textarea/><h1>a</h1><p>b", "# a\n\nb");
        gives("a<script src='x' /></script><iframe/><b>c</b>", "a\n\nc");
        let (head, text) = read("<title/><title>a</title>b");
        assert_eq!((head.title.as_deref(), text.as_str()), (Some("a"), "b\n"));
    }

    #[test]
    fn navigation_with_a_heading_is_not_shown() {
        gives(
            "<NAV><h1>a</h1><nav><h1>b</h1></nav><a href=c>d</a></NAV><h1>e</h1><nav><h1>f</h1></nav>",
            "# e",
        );
        gives("<nav><a>x<h1>y</h1><nav>z</nav>", "# y");
    }

    #[test]
    fn what_has_no_end_hides_no_text() {
        gives("<nav><a>x<main>y", "y");
        gives("<svg><text>x<h1>y", "# y");
        gives("<p>a<code>b<p>c", "a`b`\n\nc");
        gives("<pre>a<h1>b", "```\nab\n```");
        gives("a<title>b", "a");
        gives("<script>a", "");
        gives("</p></nav></ul></li>a", "a");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 300, ..ProptestConfig::default() })]
        #[test]
        fn text_is_shown_as_it_is(text in "[a#>*_`\\[\\]()~=+|!:.1&{}%/\\\\-]{1,6}( [a#>*_`\\[\\]()~=+|!:.1&{}%/\\\\-]{1,6}){0,6}") {
            let html = format!("<p>{}</p>", text.replace('&', "&amp;"));
            let markdown = read(&html).1;
            let shown = outline::read(&markdown, None).plain.after(0).trim_end().to_owned();
            assert_eq!(shown, text, "{markdown}");
        }

        #[test]
        fn no_page_panics(text in "(<(/?)(p|h1|h6|pre|code|a href=x|ul|ol|li|td|tr|nav|script|title|svg|br|!--|div)[ >/]|[a `\n&;#é-]){0,80}") {
            read(&text);
        }
    }
}
