//! Markdown to the lines of its prose, without blocks of code and headings, and a text to its words.

use std::ops::Range;

use super::links::is_cjk;

/// Which lines of a file are prose, from one chunk to the next: a block of code may be cut.
#[derive(Debug, Default)]
pub(crate) struct Prose {
    fence: Option<String>,
}

impl Prose {
    /// The lines of the next chunk of the file that are not code, headings, tables or HTML; code has no part in the others.
    pub(crate) fn of(&mut self, markdown: &str) -> String {
        let mut prose = String::new();
        for line in markdown.lines() {
            let start = line.trim_start().trim_start_matches(['>', ' ']);
            let mark: String = start.chars().take_while(|c| matches!(c, '`' | '~')).collect();
            if let Some(fence) = &self.fence {
                if start.starts_with(fence.as_str()) && start.trim().len() == mark.len() {
                    self.fence = None;
                }
            } else if mark.len() >= 3 && !start.trim_start_matches(['`', '~']).contains('`') {
                self.fence = Some(mark);
            } else if !line.starts_with("    ") && !start.starts_with(['#', '|', '<', '{', '=', ':']) {
                prose.push_str(line);
                prose.push('\n');
            } else {
                prose.push('\n');
            }
        }
        prose
    }
}

/// Where the words of a text are: runs of letters and digits; of Chinese, single characters.
pub(crate) fn words(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        match found.last_mut() {
            Some(last) if open && c.is_alphanumeric() && !is_cjk(c) => last.end = end,
            _ if c.is_alphanumeric() => found.push(at..end),
            _ => {}
        }
        open = c.is_alphanumeric() && !is_cjk(c);
    }
    found
}

/// The words of a text in lower case, with a blank before and after each: what has a phrase contains it in this form.
pub(crate) fn spaced(text: &str) -> String {
    let mut spaced = String::from(" ");
    for word in words(text) {
        spaced.push_str(&text.get(word).unwrap_or_default().to_lowercase());
        spaced.push(' ');
    }
    spaced
}

#[cfg(test)]
mod tests {
    use super::{Prose, spaced};

    #[test]
    fn code_and_headings_are_no_prose() {
        let mut prose = Prose::default();
        let first = prose.of("# Title\nOne `two`.\n\n```rust\nfn no() {}\n");
        let second = prose.of("# no heading either\n```\nThree.\n\n| a | b |\n    indented\n");
        assert_eq!(first.split_whitespace().collect::<Vec<_>>(), ["One", "`two`."]);
        assert_eq!(second.trim(), "Three.");
    }

    #[test]
    fn words_are_spaced() {
        assert_eq!(spaced("It's (e.g.) 資源 Pods."), " it s e g 資 源 pods ");
    }
}
