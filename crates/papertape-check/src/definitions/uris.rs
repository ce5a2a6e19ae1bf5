//! The URIs of resources, and the templates of others.

use std::collections::BTreeMap;

use super::entry::Entries;
use super::hits::Hits;
use super::uri_template;
use crate::code::definitions::{PT0412, PT0414};
use crate::finding::{Finding, Severity};

/// What is wrong with URIs and templates.
pub(super) fn inspect(entries: &Entries<'_>) -> Vec<Finding> {
    let (mut relative, mut characters) = (Hits::default(), Hits::default());
    for entry in &entries.resources {
        let Some(uri) = entry.key() else { continue };
        if !has_scheme(uri) {
            relative.push(*entry, "/uri".to_owned(), entry.get("uri"));
        } else if !has_valid_characters(uri) {
            characters.push(*entry, "/uri".to_owned(), entry.get("uri"));
        }
    }
    let mut templates: BTreeMap<String, Hits<'_>> = BTreeMap::new();
    for entry in &entries.templates {
        if let Some(problem) = entry.key().and_then(|template| uri_template::problem(template).err()) {
            templates.entry(problem).or_default().push(
                *entry,
                "/uriTemplate".to_owned(),
                entry.get("uriTemplate"),
            );
        }
    }
    let relative = relative.finding(
        PT0412,
        "`uri` has no scheme",
        "write a URI with a scheme, of your own if you like: `file:///home/notes.md`, `notes://today`",
    );
    let characters = characters
        .finding(
            PT0412,
            "`uri` has a character that a URI cannot have",
            "percent-encode it: a space is `%20`, and letters outside of ASCII are encoded as UTF-8",
        )
        .map(|finding| finding.severity(Severity::Warning).affects(Vec::new()));
    let mut found: Vec<Finding> = [relative, characters].into_iter().flatten().collect();
    for (problem, hits) in templates {
        let cause = format!("`uriTemplate` is not a template of RFC 6570: {problem}");
        found.extend(hits.finding(PT0414, &cause, "write variables as `{name}`: `notes://{year}/{title}`"));
    }
    found
}

/// Whether a URI has a scheme (RFC 3986, section 3.1).
pub(super) fn has_scheme(uri: &str) -> bool {
    uri.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

fn has_valid_characters(uri: &str) -> bool {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c);
    let mut encoded = uri.split('%').skip(1);
    uri.chars().all(is_valid)
        && encoded.all(|rest| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2)
}
