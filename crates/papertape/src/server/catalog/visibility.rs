//! Which principals see an item of a list. For all others it does not exist.

use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use papertape_oauth::Principal;

use super::registry::{Listed, Registry};
use crate::server::Server;
use crate::server::features::resource::{RegisteredResource, RegisteredTemplate};

/// An item of a list, for [`Server::visible`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ListedItem<'a> {
    /// `tool`, `resource`, `resource template`, `prompt` or `skill`.
    pub kind: &'static str,
    /// The name of the tool or prompt, the URI of the resource or of the skill's `SKILL.md`, or the template.
    pub name: &'a str,
    /// The scopes that it needs.
    pub scopes: &'a [String],
}

impl<'a> ListedItem<'a> {
    fn of<T: Listed>(item: &'a T) -> Self {
        Self { kind: T::KIND, name: item.key(), scopes: item.scopes() }
    }
}

type Rule = dyn Fn(ListedItem<'_>, Option<&Principal>) -> bool + Send + Sync;

/// The rules of a server: an item is visible if all of them allow it.
#[derive(Clone, Default)]
pub(crate) struct Visibility(Vec<Arc<Rule>>);

impl Visibility {
    /// Whether principals may see different items.
    pub(crate) fn is_restricted(&self) -> bool {
        !self.0.is_empty()
    }

    pub(crate) fn allows<T: Listed>(&self, item: &T, principal: Option<&Principal>) -> bool {
        self.allow(ListedItem::of(item), principal)
    }

    /// The same for a resource of a template: if the template lists its resources, it is an item of that list, whatever spelling
    /// of its URI the client has chosen.
    pub(crate) fn allows_resource_of(
        &self,
        template: &RegisteredTemplate,
        uri: &str,
        principal: Option<&Principal>,
    ) -> bool {
        let allows_uri = |name: &str| {
            self.allow(
                ListedItem { kind: RegisteredResource::KIND, name, scopes: template.scopes() },
                principal,
            )
        };
        self.allows(template, principal)
            && (!template.has_list() || template.usual_uri(uri).is_some_and(|uri| allows_uri(&uri)))
    }

    fn allow(&self, item: ListedItem<'_>, principal: Option<&Principal>) -> bool {
        self.0.iter().all(|rule| allowed(&**rule, item, principal))
    }

    fn add(&mut self, rule: impl Fn(ListedItem<'_>, Option<&Principal>) -> bool + Send + Sync + 'static) {
        self.0.push(Arc::new(rule));
    }

    /// Adds the rules of a mounted server for its own items, which they know by their former names.
    pub(crate) fn mount(&mut self, mounted: Visibility, names: MountedNames) {
        if mounted.is_restricted() {
            self.add(move |item, principal| match names.former(item) {
                Some(name) => mounted.0.iter().all(|rule| rule(ListedItem { name, ..item }, principal)),
                None => true,
            });
        }
    }
}

/// A rule that panics hides the item: it runs before any handler, where nothing else would catch that.
fn allowed(rule: &Rule, item: ListedItem<'_>, principal: Option<&Principal>) -> bool {
    catch_unwind(AssertUnwindSafe(|| rule(item, principal))).unwrap_or_else(|_| {
        tracing::error!(kind = item.kind, name = item.name, "a rule of `Server::visible` has panicked");
        false
    })
}

impl fmt::Debug for Visibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Visibility").field(&self.0.len()).finish()
    }
}

/// Which resources principals see and have the scopes of, for notifications about them.
#[derive(Debug)]
pub(crate) struct VisibleResources {
    pub(crate) resources: Arc<Registry<RegisteredResource>>,
    pub(crate) templates: Arc<Registry<RegisteredTemplate>>,
    pub(crate) fallback: Option<RegisteredResource>,
    pub(crate) visibility: Visibility,
}

impl VisibleResources {
    /// Whether a principal sees the resource with a URI, itself, as one of a template, or as the fallback's, and has its scopes.
    pub(crate) fn allow(&self, uri: &str, principal: Option<&Principal>) -> bool {
        if principal.is_none() && !self.visibility.is_restricted() {
            return true;
        }
        let may = |scopes: &[String]| principal.is_none_or(|principal| principal.has_scopes(scopes));
        let resource = self.resources.find(uri);
        let mut hidden = resource.is_some();
        if let Some(resource) = resource.filter(|resource| self.visibility.allows(&**resource, principal)) {
            return may(resource.scopes());
        }
        let mut seen = false;
        for template in &self.templates.snapshot().items {
            if template.match_uri(uri).is_some() {
                if self.visibility.allows_resource_of(template, uri, principal) {
                    // As when it is read, the scopes of all templates that match count.
                    if !may(template.scopes()) {
                        return false;
                    }
                    seen = true;
                }
                hidden = true;
            }
        }
        let allows = |fallback: &RegisteredResource| self.visibility.allows(&fallback.at(uri), principal);
        seen || (!hidden && self.fallback.as_ref().is_none_or(allows))
    }
}

/// The items of a mounted server: their kinds and names, and what they were called before.
#[derive(Default)]
pub(crate) struct MountedNames {
    names: HashMap<&'static str, HashMap<String, String>>,
    /// Those that list their resources, which keep their URIs.
    templates: Vec<Arc<RegisteredTemplate>>,
}

impl MountedNames {
    /// What an item of the mounted server was called before.
    fn former<'a>(&'a self, item: ListedItem<'a>) -> Option<&'a str> {
        let name = self.names.get(item.kind).and_then(|of| of.get(item.name)).map(String::as_str);
        let listed = || {
            let is_listed = item.kind == RegisteredResource::KIND
                && self.templates.iter().any(|template| template.match_uri(item.name).is_some());
            is_listed.then_some(item.name)
        };
        name.or_else(listed)
    }

    /// Adds the resources that templates list.
    pub(crate) fn add_listed(&mut self, templates: &Registry<RegisteredTemplate>) {
        let templates = templates.snapshot();
        self.templates.extend(templates.items.iter().filter(|template| template.has_list()).cloned());
    }

    pub(crate) fn add<T: Listed>(&mut self, registry: &Registry<T>, name: impl Fn(&str) -> String) {
        let items = registry.snapshot();
        let names = items.keys().map(|key| (name(key), key.to_owned()));
        self.names.entry(T::KIND).or_default().extend(names);
    }

    /// Adds files of skills: resources that are not all listed, and keep their URIs.
    pub(crate) fn add_files<'a>(&mut self, uris: impl Iterator<Item = &'a str>) {
        let names = uris.map(|uri| (uri.to_owned(), uri.to_owned()));
        self.names.entry(RegisteredResource::KIND).or_default().extend(names);
    }
}

impl<S: Send + Sync + 'static> Server<S> {
    /// Shows an item of a list only to principals for whom this is true. For all others it is not in the list, and using it gives
    /// the error of one that does not exist.
    ///
    /// Of a template that [lists](crate::server::ResourceTemplate::list) its resources, it also decides about each of these, by the
    /// URI: whether it is listed, read and subscribed to.
    ///
    /// The principal is `None` where there is none: on stdio, on HTTP without authentication, and for anonymous requests. With
    /// several rules, all must allow the item. It is called for every item of every list, so it must be fast; clients are told
    /// not to share what they cache of lists (`cacheScope`).
    ///
    /// ```
    /// use papertape::Server;
    ///
    /// let server = Server::new("notes", "1.0.0").visible(|item, principal| {
    ///     !item.name.starts_with("admin_") || principal.is_some_and(|who| who.has_scopes(&["admin"]))
    /// });
    /// ```
    #[must_use]
    pub fn visible(
        mut self,
        rule: impl Fn(ListedItem<'_>, Option<&Principal>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.visibility
            .add(move |item, principal| rule(item, principal.filter(|principal| !principal.is_anonymous())));
        self
    }

    /// Hides from each principal what it lacks the scopes for, in place of a refusal with 403. So clients do not learn which
    /// scopes they could request.
    ///
    /// Without authentication (stdio, and HTTP without `http::Options::auth`) scopes have no effect.
    #[must_use]
    pub fn hide_forbidden(mut self) -> Self {
        self.visibility.add(|item, principal| principal.is_none_or(|who| who.has_scopes(item.scopes)));
        self
    }
}
