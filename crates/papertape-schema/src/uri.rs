//! References to URIs (RFC 3986, section 5).

/// The components of a URI, without their delimiters.
struct Parts<'a> {
    scheme: Option<&'a str>,
    authority: Option<&'a str>,
    path: &'a str,
    query: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn of(uri: &'a str) -> Self {
        let is_scheme = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_alphabetic())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        };
        let (scheme, rest) = match uri.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
            _ => (None, uri),
        };
        let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
        let Some(rest) = rest.strip_prefix("//") else {
            return Self { scheme, authority: None, path: rest, query };
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        Self { scheme, authority: Some(authority), path, query }
    }
}

/// A URI or reference, and its fragment.
pub(crate) fn split_fragment(uri: &str) -> (&str, &str) {
    uri.split_once('#').unwrap_or((uri, ""))
}

/// Resolves a reference without a fragment against a base URI.
pub(crate) fn resolve(base: &str, reference: &str) -> String {
    if reference.is_empty() {
        return base.to_owned();
    }
    let to = Parts::of(reference);
    let from = Parts::of(base);
    let (scheme, authority, path, query) = if to.scheme.is_some() {
        (to.scheme, to.authority, without_dots(to.path), to.query)
    } else if to.authority.is_some() {
        (from.scheme, to.authority, without_dots(to.path), to.query)
    } else if to.path.is_empty() {
        (from.scheme, from.authority, from.path.to_owned(), to.query.or(from.query))
    } else if to.path.starts_with('/') {
        (from.scheme, from.authority, without_dots(to.path), to.query)
    } else {
        let folder = match from.path.rfind('/') {
            Some(at) => from.path.get(..=at).unwrap_or_default(),
            None if from.authority.is_some() => "/",
            None => "",
        };
        (from.scheme, from.authority, without_dots(&format!("{folder}{}", to.path)), to.query)
    };
    let scheme = scheme.map_or_else(String::new, |scheme| format!("{scheme}:"));
    let authority = authority.map_or_else(String::new, |authority| format!("//{authority}"));
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    format!("{scheme}{authority}{path}{query}")
}

/// A path without its `.` and `..`.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." if is_last => kept.push(""),
            "." => {}
            ".." => {
                // The empty segment before the first slash stays.
                if kept.len() > 1 || kept.first().is_some_and(|first| !first.is_empty()) {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    kept.join("/")
}

#[cfg(test)]
mod tests {
    use super::resolve;

    #[test]
    fn references_resolve_as_in_the_examples_of_the_rfc() {
        for (reference, expected) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("./", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("/../g", "http://a/g"),
            ("g.", "http://a/b/c/g."),
            ("..g", "http://a/b/c/..g"),
            ("./../g", "http://a/b/g"),
            ("./g/.", "http://a/b/c/g/"),
            ("g/../h", "http://a/b/c/h"),
        ] {
            assert_eq!(resolve("http://a/b/c/d;p?q", reference), expected, "{reference}");
        }
        assert_eq!(resolve("urn:uuid:1", ""), "urn:uuid:1");
        assert_eq!(resolve("http://a", "b"), "http://a/b");
        assert_eq!(resolve("file:///folder/file.json", "/absf/foobar"), "file:///absf/foobar");
    }
}
