//! A directory's links to queries with known relevant results: what an author calls a page is looked for.

use std::collections::{BTreeMap, BTreeSet};

use papertape_search::corpus::document;

use super::chunks::{Chunks, Query};
use super::resolve::Pages;

/// The text of links, and the pages it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkText {
    /// What is asked for.
    pub(crate) text: String,
    /// The pages that links with this text lead to: any of them is right.
    pub(crate) targets: BTreeSet<String>,
    /// The other pages that have a link with this text. They contain it word for word because they link, and are left out
    /// of the results.
    pub(crate) linking: BTreeSet<String>,
}

/// The texts of all links from one file to another that has text to find.
pub(crate) fn queries(files: &[(String, String)], chunks: &Chunks) -> Vec<Query> {
    let queries = link_texts(files).into_iter().map(|link| Query {
        ask: link.text,
        relevant: link.targets.iter().flat_map(|page| chunks.of(page)).collect(),
        hidden: link.linking.iter().flat_map(|page| chunks.of(page)).collect(),
    });
    queries.filter(|query| !query.relevant.is_empty()).collect()
}

/// The texts of all links from one file to another, each once.
pub(crate) fn link_texts(files: &[(String, String)]) -> Vec<LinkText> {
    let pages = Pages::of(files.iter().map(|(path, _)| path.as_str()));
    let mut by_text: BTreeMap<String, LinkText> = BTreeMap::new();
    for (path, markdown) in files {
        for link in document::links(path, markdown) {
            let text = link.text.split_whitespace().collect::<Vec<_>>().join(" ");
            let target = match link.wiki {
                true => pages.note(&link.target),
                false => pages.target(path, &link.target),
            };
            let target = target.filter(|target| target != path && says_enough(&text));
            let Some(target) = target else { continue };
            let entry = by_text.entry(text.to_lowercase()).or_insert_with(|| LinkText {
                text,
                targets: BTreeSet::new(),
                linking: BTreeSet::new(),
            });
            entry.targets.insert(target.to_owned());
            entry.linking.insert(path.clone());
        }
    }
    let mut found: Vec<LinkText> = by_text.into_values().collect();
    for link in &mut found {
        link.linking.retain(|page| !link.targets.contains(page));
    }
    found
}

/// Two words, or four characters of Chinese, Japanese or Korean; no placeholder of a site's generator.
pub(crate) fn says_enough(text: &str) -> bool {
    let cjk = text.chars().filter(|c| is_cjk(*c)).count();
    let words =
        text.split(|c: char| !c.is_alphanumeric() || is_cjk(c)).filter(|word| !word.is_empty()).count();
    !text.contains("{{") && (words >= 2 || cjk >= 4 || (words == 1 && cjk >= 2))
}

pub(crate) fn is_cjk(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}

#[cfg(test)]
mod tests {
    use super::{link_texts, says_enough};

    #[test]
    fn the_same_text_is_asked_once_and_any_page_it_leads_to_is_right() {
        let files = [
            (
                "a.md",
                "---\ntitle: x\n---\nSee [the *first*\n`page`](b.md) and [one](c.md), [more here](https://b.md).",
            ),
            ("b.md", "# B\n[The first page](/c) ![a picture of it](c.md)"),
            ("c.md", "```\n[not a link](b.md)\n```\n[back to here](c.md)"),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let found = link_texts(&files);
        let found: Vec<_> =
            found.iter().map(|link| (link.text.as_str(), &link.targets, &link.linking)).collect();
        let set = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
        assert_eq!(found, [("the first page", &set(&["b.md", "c.md"]), &set(&["a.md"]))]);
    }

    #[test]
    fn links_of_wikis_lead_to_notes_by_their_names() {
        let files = [
            ("a.md", "[[Second note]] and [[Third#Its part|a part of it]] and [[Third#Its part]]"),
            ("deep/Second Note.md", "# B"),
            ("deep/er/Third.md", "| table |\n|---|\n| [[Second note\\|other words]] |"),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let found: Vec<_> = link_texts(&files)
            .into_iter()
            .map(|link| (link.text, link.targets.into_iter().collect::<Vec<_>>().join(" ")))
            .collect();
        let wanted = [
            ("a part of it", "deep/er/Third.md"),
            ("other words", "deep/Second Note.md"),
            ("Second note", "deep/Second Note.md"),
            ("Third > Its part", "deep/er/Third.md"),
        ];
        assert_eq!(found, wanted.map(|(text, path)| (text.to_owned(), path.to_owned())));
    }

    #[test]
    fn short_texts_are_not_queries() {
        for text in ["here", "文档", "v1", "{{ a link }}", "..."] {
            assert!(!says_enough(text), "{text}");
        }
        for text in ["read on", "资源配额", "使用 Pod", "control-plane"] {
            assert!(says_enough(text), "{text}");
        }
    }
}
