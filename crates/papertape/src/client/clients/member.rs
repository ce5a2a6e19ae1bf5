//! One server of several: its prefix, and what is known of its names and URIs.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use crate::client::names::{self, LONGEST};
use crate::client::{Client, ListEntry};
use crate::protocol::{ResourceDefinition, ResourceTemplateDefinition};
use crate::server::features::uri_template::UriTemplate;
use crate::sync::lock;

/// The maximum length of a prefix: most of a name is that of the tool.
const LONGEST_PREFIX: usize = 24;

/// The most templates of a server that a URI is compared with.
const MOST_TEMPLATES: usize = 1_000;

/// The longest template that a URI is compared with, in bytes.
const LONGEST_TEMPLATE: usize = 2_048;

/// A server. It is one without a client if it could not be connected.
pub(super) struct Member {
    pub(super) name: String,
    pub(super) prefix: String,
    client: Option<Client>,
    pub(super) tools: Names,
    pub(super) prompts: Names,
    uris: Mutex<Uris>,
}

/// The names that had to be changed, as a list has them; `None` before the first list.
#[derive(Default)]
pub(super) struct Names(Mutex<Option<HashMap<String, String>>>);

/// What a server's lists say that it can read.
#[derive(Default)]
struct Uris {
    listed: HashSet<String>,
    templates: Vec<UriTemplate>,
}

impl Member {
    pub(super) fn new(name: String, prefix: String, client: Option<Client>) -> Self {
        let (tools, prompts, uris) = Default::default();
        Self { name, prefix, client, tools, prompts, uris }
    }

    pub(super) fn client(&self) -> Option<&Client> {
        self.client.as_ref()
    }

    pub(super) fn into_client(self) -> Option<Client> {
        self.client
    }

    /// The names of all servers for the names of a list, in its order.
    pub(super) fn prefixed<'a>(
        &self,
        names: &Names,
        listed: impl Iterator<Item = &'a str> + Clone,
    ) -> Vec<String> {
        let longest = LONGEST - self.prefix.len() - 1;
        // A name that needs no change has precedence over one that would become the same.
        let mut taken: HashSet<String> = listed.clone().map(str::to_owned).collect();
        let (mut changed, mut prefixed) = (HashMap::new(), Vec::new());
        for name in listed {
            let fits = names::is_plain(name) && name.len() <= longest;
            let local =
                if fits { name.to_owned() } else { names::fitted(name, longest, |it| taken.contains(it)) };
            prefixed.push(format!("{}_{local}", self.prefix));
            if !fits {
                taken.insert(local.clone());
                changed.insert(local, name.to_owned());
            }
        }
        *lock(&names.0) = Some(changed);
        prefixed
    }

    pub(super) fn set_resources(&self, resources: &[ListEntry<ResourceDefinition>]) {
        lock(&self.uris).listed = resources.iter().map(|entry| entry.item.uri.clone()).collect();
    }

    pub(super) fn set_templates(&self, templates: &[ListEntry<ResourceTemplateDefinition>]) {
        let short = templates.iter().filter(|entry| entry.item.uri_template.len() <= LONGEST_TEMPLATE);
        let templates = short.take(MOST_TEMPLATES);
        let parsed = templates.filter_map(|entry| UriTemplate::parse(&entry.item.uri_template).ok());
        lock(&self.uris).templates = parsed.collect();
    }

    pub(super) fn lists(&self, uri: &str) -> bool {
        lock(&self.uris).listed.contains(uri)
    }

    pub(super) fn has_template_for(&self, uri: &str) -> bool {
        lock(&self.uris).templates.iter().any(|template| template.match_uri(uri).is_some())
    }
}

impl Names {
    /// The server's own name for the end of a prefixed one; `None` if a list is needed to tell.
    pub(super) fn original(&self, local: &str) -> Option<String> {
        match &*lock(&self.0) {
            Some(changed) => Some(changed.get(local).cloned().unwrap_or_else(|| local.to_owned())),
            None => (!names::may_be_fitted(local)).then(|| local.to_owned()),
        }
    }
}

/// A prefix for a server. Together with the underscore that follows them, none of the prefixes is the beginning of another,
/// so that a name belongs to one server, whatever its tools are called.
pub(super) fn free_prefix(name: &str, taken: &[&str]) -> String {
    let is_free = |prefix: &str| {
        let prefix = format!("{prefix}_");
        taken.iter().all(|other| {
            let other = format!("{other}_");
            !prefix.starts_with(&other) && !other.starts_with(&prefix)
        })
    };
    let plain = names::prefix(name, LONGEST_PREFIX);
    if is_free(&plain) {
        return plain;
    }
    let dashed = plain.replace('_', "-");
    if is_free(&dashed) {
        return dashed;
    }
    let mut number = 2_u64;
    loop {
        let numbered = format!("{dashed}-{number}");
        if is_free(&numbered) {
            return numbered;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{Member, free_prefix};

    #[test]
    fn no_prefix_is_the_beginning_of_another() {
        let names =
            ["a", "a_b", "a-b", "a b", "a", "a_b_c", "", "server", "é", "x_y", "x", &"long ".repeat(20)];
        let mut prefixes: Vec<String> = Vec::new();
        for name in names {
            let taken: Vec<&str> = prefixes.iter().map(String::as_str).collect();
            let prefix = free_prefix(name, &taken);
            assert!(prefix.len() <= 30, "{prefix}");
            for other in &prefixes {
                let (one, two) = (format!("{prefix}_"), format!("{other}_"));
                assert!(!one.starts_with(&two) && !two.starts_with(&one), "{prefix} {other}");
            }
            prefixes.push(prefix);
        }
        assert_eq!(prefixes.first().map(String::as_str), Some("a"));
        assert_eq!(prefixes.get(1).map(String::as_str), Some("a-b"));
    }

    #[test]
    fn changed_names_find_their_way_back() {
        let member = Member::new("s".to_owned(), "s".to_owned(), None);
        let long = "x".repeat(80);
        let names = ["a", "a.b", "a/b", &long];
        let prefixed = member.prefixed(&member.tools, names.into_iter());
        assert_eq!(prefixed.first().map(String::as_str), Some("s_a"));
        for (name, prefixed) in names.iter().zip(&prefixed) {
            assert!(prefixed.len() <= 64, "{prefixed}");
            let local = prefixed.strip_prefix("s_").unwrap();
            assert_eq!(member.tools.original(local).as_deref(), Some(*name));
        }
        // A server that has a tool of the name that another one would get.
        let fitted = prefixed.get(1).and_then(|name| name.strip_prefix("s_")).unwrap();
        let twice = member.prefixed(&member.tools, ["a.b", fitted].into_iter());
        assert_eq!(twice.get(1).map(String::as_str), prefixed.get(1).map(String::as_str));
        assert_ne!(twice.first(), twice.get(1));
        assert_eq!(member.tools.original(fitted).as_deref(), Some(fitted));
    }
}
