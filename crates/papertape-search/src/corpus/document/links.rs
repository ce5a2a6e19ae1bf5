//! Markdown to the links in it.

use pulldown_cmark::{Event, LinkType, Parser, Tag, TagEnd};

use super::format::Format;
use super::{outline, parsable, readable, wiki};

/// What a reader sees of a link, and where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Without marks; the description of an image, if there is one in it.
    pub text: String,
    /// As it is written: a path, an address, a part of a page.
    pub target: String,
    /// Written as `[[target]]` or `[[target|text]]`: the target is the name of a page, wherever in the directory it is, or
    /// the end of its path.
    pub wiki: bool,
}

/// Every link of a file, in order; none of a file that is not Markdown, nor converted to it.
#[must_use]
pub fn links(path: &str, text: &str) -> Vec<Link> {
    let readable = readable(path, text);
    if matches!(readable.format, Format::Plain | Format::Rst | Format::AsciiDoc | Format::Org) {
        return Vec::new();
    }
    let markdown = parsable(readable.format, &readable.body, readable.head.unread);
    let mut links = Vec::new();
    let mut open: Option<Link> = None;
    // The text is the target.
    let mut is_name = false;
    for event in Parser::new_ext(&markdown, outline::OPTIONS) {
        match event {
            Event::Start(Tag::Link { link_type: LinkType::WikiLink { has_pothole }, dest_url, .. }) => {
                let target = wiki::page(&dest_url).to_owned();
                is_name = !has_pothole;
                open = Some(Link { text: String::new(), target, wiki: true });
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                open = Some(Link { text: String::new(), target: dest_url.into_string(), wiki: false });
            }
            Event::End(TagEnd::Link) => {
                is_name = false;
                // In place of what is no Markdown, links without anything stand.
                links.extend(open.take().filter(|link| !(link.text.is_empty() && link.target.is_empty())));
            }
            Event::Text(text) if is_name => {
                if let Some(link) = &mut open {
                    link.text.push_str(&wiki::shown(&text));
                }
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(link) = &mut open {
                    link.text.push_str(&text);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(link) = &mut open {
                    link.text.push(' ');
                }
            }
            _ => {}
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::links;

    #[test]
    fn links_have_a_text_and_a_target() {
        let markdown = "---\ntitle: '[a](b)'\n---\n\
            [One *two* `three`](/a/b.md#c \"t\") and [ref][r] and ![image](i.png)\n\
            [![alt](i.png)](x.md) [[wiki|shown]] <https://e.org/> `[no](no)`\n\n[r]: ../r.md\n";
        let found: Vec<_> =
            links("a.md", markdown).into_iter().map(|link| (link.text, link.target)).collect();
        let wanted = [
            ("One two three", "/a/b.md#c"),
            ("ref", "../r.md"),
            ("alt", "x.md"),
            ("shown", "wiki"),
            ("https://e.org/", "https://e.org/"),
        ];
        assert_eq!(found, wanted.map(|(text, target)| (text.to_owned(), target.to_owned())));
    }

    #[test]
    fn wiki_links_name_pages() {
        let markdown = "[[Page]], [[a/Page|a *text*]], [[Page#Heading]], [[Page#^id]], ![[embedded]] [x](y.md)\n\n\
            | [[In table#One\\|shown]] | `[[code]]` |\n|---|---|\n";
        let found: Vec<_> =
            links("a.md", markdown).into_iter().map(|link| (link.text, link.target, link.wiki)).collect();
        let wanted = [
            ("Page", "Page", true),
            ("a text", "a/Page", true),
            ("Page > Heading", "Page#Heading", true),
            ("Page", "Page#^id", true),
            ("x", "y.md", false),
            ("shown", "In table#One", true),
        ];
        assert_eq!(found, wanted.map(|(text, target, wiki)| (text.to_owned(), target.to_owned(), wiki)));
    }

    #[test]
    fn tags_of_mdx_hide_no_links() {
        let found = links("a.mdx", "import x from '[a](b)'\n\n<Note>\nSee [this](that.md).\n</Note>\n");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].target, "that.md");
    }
}
