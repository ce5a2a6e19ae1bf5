//! The target of a link to the file of the directory that it means, as generators of static sites read it.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;

/// Names under which sites keep the page of a directory.
const INDEXES: [&str; 3] = ["index", "_index", "readme"];

/// The files of a directory by what links call them.
#[derive(Debug)]
pub(crate) struct Pages {
    by_name: HashMap<String, String>,
    /// By the last part of their names.
    by_last: HashMap<String, String>,
    /// By the last parts, two at least, of their names, if there is one file only: the root of a site may be a folder.
    by_end: HashMap<String, Option<String>>,
}

impl Pages {
    /// Of paths relative to the directory.
    pub(crate) fn of<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut by_name, mut by_last, mut by_end) = (HashMap::new(), HashMap::new(), HashMap::new());
        for path in paths {
            if let Some(name) = name(path) {
                for end in ends(&name).skip(1).filter(|end| end.contains('/')) {
                    let entry = by_end.entry(end.to_owned()).or_insert_with(|| Some(path.to_owned()));
                    entry.take_if(|other| other != path);
                }
                by_last.entry(last(&name).to_owned()).or_insert_with(|| path.to_owned());
                by_name.entry(name).or_insert_with(|| path.to_owned());
            }
        }
        Self { by_name, by_last, by_end }
    }

    /// The note that a link of a wiki leads to, in whatever folder it is.
    pub(crate) fn note(&self, link: &str) -> Option<&str> {
        let link = link.split(['#', '^', '|']).next()?.trim_end_matches('\\');
        let name = name(link).filter(|name| !name.is_empty())?;
        self.by_name.get(&name).or_else(|| self.by_last.get(last(&name))).map(String::as_str)
    }

    /// The file that a link on `from` leads to; none if it leads elsewhere.
    pub(crate) fn target(&self, from: &str, link: &str) -> Option<&str> {
        let link = link.split(['#', '?']).next().unwrap_or_default();
        if link.is_empty() || link.starts_with("//") || has_scheme(link) || link.contains("{{") {
            return None;
        }
        let link = percent_decode_str(link).decode_utf8_lossy();
        let candidates = candidates(from, &link);
        let exact = candidates.iter().find_map(|name| self.by_name.get(name));
        let by_end = || candidates.iter().find_map(|name| self.by_end.get(name)?.as_ref());
        exact.or_else(|| by_end().filter(|_| link.starts_with('/'))).map(String::as_str)
    }
}

/// A path, and what is left of it without its first part, its first two, and so on.
fn ends(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |end| end.split_once('/').map(|(_, end)| end))
}

/// The last part of a path.
fn last(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, last)| last)
}

fn has_scheme(link: &str) -> bool {
    link.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// What a link may mean, the likeliest first. Sites put a language and `docs` before the path of a page.
fn candidates(from: &str, link: &str) -> Vec<String> {
    let Some(absolute) = link.strip_prefix('/') else {
        let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        let page = from.rsplit_once('.').map_or(from, |(page, _)| page);
        return [format!("{folder}/{link}"), format!("{page}/{link}")]
            .iter()
            .filter_map(|path| name(path))
            .collect();
    };
    let mut candidates: Vec<String> = name(absolute).into_iter().collect();
    let (first, rest) = absolute.split_once('/').unwrap_or((absolute, ""));
    let rest = if is_language(first) { rest } else { absolute };
    candidates.extend(name(rest));
    candidates.extend(rest.strip_prefix("docs/").and_then(name));
    // The directory itself may be a folder of the site.
    candidates.extend(rest.split_once('/').and_then(|(_, rest)| name(rest)));
    candidates.retain(|name| !name.is_empty());
    candidates
}

/// `es`, `zh-cn`, `pt-BR`, `zh-Hans`.
fn is_language(part: &str) -> bool {
    let (language, region) = part.split_once('-').unwrap_or((part, "xx"));
    (2..=3).contains(&language.len())
        && (2..=4).contains(&region.len())
        && part.chars().all(|c| c.is_ascii_alphabetic() || c == '-')
}

/// A path as links call it: in lower case, without extension, without the name of an index, without dots. None
/// if it leads out of the directory.
fn name(path: &str) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part.to_lowercase()),
        }
    }
    if let Some(last) = parts.pop() {
        let bare = [".mdx", ".md", ".markdown", ".html"].iter().find_map(|end| last.strip_suffix(end));
        let last = bare.unwrap_or(&last);
        if !INDEXES.contains(&last) {
            parts.push(last.to_owned());
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::Pages;

    #[test]
    fn links_are_read_as_sites_read_them() {
        let pages = Pages::of([
            "docs/concepts/pods/_index.md",
            "docs/tasks/run.md",
            "web/css/grid/index.md",
            "a/guía.mdx",
            "README.md",
        ]);
        let cases = [
            ("docs/tasks/run.md", "/docs/concepts/pods/", Some("docs/concepts/pods/_index.md")),
            ("docs/tasks/run.md", "/zh-cn/docs/concepts/pods#what", Some("docs/concepts/pods/_index.md")),
            ("docs/tasks/run.md", "../concepts/pods", Some("docs/concepts/pods/_index.md")),
            ("docs/concepts/pods/_index.md", "../../tasks/run.md?x", Some("docs/tasks/run.md")),
            ("docs/tasks/run.md", "/es/docs/Web/CSS/Grid", Some("web/css/grid/index.md")),
            ("docs/tasks/run.md", "/docs/web/css/grid.html", Some("web/css/grid/index.md")),
            ("docs/tasks/run.md", "/a/gu%C3%ADa", Some("a/guía.mdx")),
            ("docs/tasks/run.md", "/css/grid/", Some("web/css/grid/index.md")),
            ("docs/tasks/run.md", "/site/a/guía/", Some("a/guía.mdx")),
            ("docs/tasks/run.md", "/guía/", None),
            ("a/guía.mdx", "#part", None),
            ("a/guía.mdx", "https://example.org/docs/tasks/run", None),
            ("a/guía.mdx", "mailto:me@example.org", None),
            ("a/guía.mdx", "/nowhere", None),
            ("a/guía.mdx", "../../../../..", None),
        ];
        for (from, link, expected) in cases {
            assert_eq!(pages.target(from, link), expected, "{link} on {from}");
        }
    }
}
