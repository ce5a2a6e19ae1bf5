//! `papertape check --explain`: the page of a code, and the list of all codes.

use papertape_check::{Affected, Code};
use serde_json::{Value, json};

use super::check_report::labelled;
use super::text::{hanging, paragraphs};
use super::{Look, style};

/// The page of a code, and who breaks on it. On a terminal it is wrapped, and its marks become styles; elsewhere it stays Markdown.
pub(crate) fn page(code: Code, look: Look) -> String {
    let mut text = if look.terminal { rendered(code.page(), look) } else { code.page().to_owned() };
    let affects = code.affects();
    if !affects.is_empty() {
        text = format!("{}\n\n", text.trim_end());
    }
    for affected in affects {
        text += &match look.terminal {
            true => labelled("breaks:", &affected.sentence(), look),
            false => format!("- {}\n", affected.sentence()),
        };
    }
    text
}

/// All codes, by group.
pub(crate) fn list(look: Look) -> String {
    let mut text = String::new();
    for (group, codes) in Code::groups().into_iter().filter(|(_, codes)| !codes.is_empty()) {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &format!("{}\n", look.paint(style::HEADING, group));
        for code in codes {
            let name = code.name();
            let severity = format!("{:7}", code.severity().as_str());
            let line = hanging(&format!("  {name}  {severity}  {}", code.title()), look.width);
            text += &line.replacen(name, &look.paint(style::NAME, name), 1);
        }
    }
    text
}

/// A code for programs.
pub(crate) fn document(code: Code) -> Value {
    let affected = |affected: Affected| json!({"name": affected.name, "effect": affected.effect, "evidence": affected.evidence});
    json!({
        "code": code.name(),
        "title": code.title(),
        "group": code.group(),
        "severity": code.severity().as_str(),
        "page": code.page(),
        "affects": code.affects().into_iter().map(affected).collect::<Vec<_>>(),
    })
}

/// Headings, bold text, code and lists of Markdown for a terminal.
fn rendered(markdown: &str, look: Look) -> String {
    let mut text = String::new();
    let mut in_code = false;
    for line in markdown.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
        } else if in_code {
            text += &format!("  {}\n", look.paint(style::STRING, line));
        } else if let Some(heading) =
            line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))
        {
            text += &format!("{}\n", look.paint(style::HEADING, heading));
        } else if line.is_empty() {
            text.push('\n');
        } else {
            // Wrapped with the marks still in it, so that no style crosses a line end: pages have short marks.
            let is_item = line.trim_start().starts_with(['-', '*']) && !line.starts_with("**");
            let lines = if is_item { hanging(line, look.width) } else { paragraphs(line, look.width, "") };
            for wrapped in lines.lines() {
                text += &format!("{}\n", spans(wrapped, look));
            }
        }
    }
    text
}

/// `**bold**` and `` `code` `` in a line; a mark that is not closed there is left as it is.
fn spans(line: &str, look: Look) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['*', '`']) {
        let (before, marked) = rest.split_at(at);
        text += before;
        let mark = if marked.starts_with("**") {
            "**"
        } else if marked.starts_with('`') {
            "`"
        } else {
            ""
        };
        let inner =
            marked.strip_prefix(mark).filter(|_| !mark.is_empty()).and_then(|inner| inner.split_once(mark));
        match inner {
            Some((inner, after)) => {
                let mark_style = if mark == "`" { style::NAME } else { style::STRONG };
                text += &look.paint(mark_style, inner);
                rest = after;
            }
            None => {
                let mut characters = marked.chars();
                text.extend(characters.next());
                rest = characters.as_str();
            }
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::rendered;
    use crate::print::Look;

    #[test]
    fn a_page_on_a_terminal_has_no_marks() {
        let look = Look { colour: false, width: 40, terminal: true };
        let page = "# PT0101: Text\n\nUse `a*b` and **what to do.** 2 * 3 `\n\n```text\n**as it is**\n```\n- one two three four five six seven eight nine ten\n";
        assert_eq!(
            rendered(page, look),
            "PT0101: Text\n\nUse a*b and what to do. 2 * 3 `\n\n  **as it is**\n- one two three four five six seven\n  eight nine ten\n"
        );
    }

    #[test]
    fn marks_become_styles() {
        let look = Look { colour: true, width: 80, terminal: true };
        assert!(rendered("**a**\n", look).contains("\u{1b}[1ma\u{1b}[0m"));
    }
}
