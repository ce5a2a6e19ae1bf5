//! The items of one list: looked up by name, listed page by page, changed while the server serves.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, OnceLock, RwLock};

use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::value::{RawValue, to_raw_value};

use crate::protocol::Revision;
use crate::server::catalog::cursor;
use crate::server::handler::error::SetupError;
use crate::sync::{read, write};
use papertape_oauth::is_scope;

/// An item of a list: a tool, a resource, a prompt.
pub(crate) trait Listed: fmt::Debug + Send + Sync {
    type Definition: Serialize;
    /// What one of them is called in messages.
    const KIND: &'static str;
    /// The member of a result that is the list.
    const LIST: &'static str;
    /// The most items on a page, whatever the limits of the server.
    const MOST_PER_PAGE: usize = usize::MAX;

    /// Its name or URI, which is unique in the list.
    fn key(&self) -> &str;

    /// How it is listed in a revision.
    fn definition(&self, revision: Revision) -> Self::Definition;

    /// Whether clients with MCP Apps get it listed otherwise than others.
    fn for_apps(&self) -> ForApps {
        ForApps::Same
    }

    /// Leaves out of a definition the files that a principal does not see.
    fn leave_out_files(_: &mut Self::Definition, _shows: &dyn Fn(&str) -> bool) {}

    /// Whether it is listed only for clients with MCP Apps.
    fn is_app_only(&self) -> bool {
        self.for_apps() == ForApps::Only
    }

    /// How it is listed for clients without MCP Apps.
    fn without_page(definition: Self::Definition) -> Self::Definition {
        definition
    }

    /// The scopes that a principal needs to use it.
    fn scopes(&self) -> &[String];
}

/// What MCP Apps, which is negotiated, changes about an item of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForApps {
    /// Nothing.
    Same,
    /// It names a page, or says which callers it is for.
    Page,
    /// It is listed for clients with MCP Apps only.
    Only,
}

/// The items of one list.
#[derive(Debug)]
pub(crate) struct Registry<T> {
    now: RwLock<Arc<Snapshot<T>>>,
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        let nothing = Snapshot::new(Vec::new(), HashMap::new());
        Self { now: RwLock::new(Arc::new(nothing)) }
    }
}

impl<T: Listed> Registry<T> {
    pub(crate) fn snapshot(&self) -> Arc<Snapshot<T>> {
        Arc::clone(&read(&self.now))
    }

    pub(crate) fn is_empty(&self) -> bool {
        read(&self.now).items.is_empty()
    }

    /// The item of that name.
    pub(crate) fn find(&self, key: &str) -> Option<Arc<T>> {
        let now = read(&self.now);
        now.by_key.get(key).and_then(|&at| now.items.get(at)).cloned()
    }

    pub(crate) fn add(&self, item: T) -> Result<(), SetupError> {
        check_scopes(&item)?;
        {
            let mut now = write(&self.now);
            if now.by_key.contains_key(item.key()) {
                return Err(SetupError::Duplicate { what: T::KIND, name: item.key().to_owned() });
            }
            // While no snapshot is in use, as when a server is built, it is changed in place.
            Arc::make_mut(&mut now).push(item);
        }
        Ok(())
    }

    pub(crate) fn remove(&self, key: &str) -> bool {
        {
            let mut now = write(&self.now);
            let Some(&at) = now.by_key.get(key) else { return false };
            Arc::make_mut(&mut now).remove(at);
        }
        true
    }

    /// Removes some items and puts others, in place of those with their names or behind all others, in one step. Whether the
    /// names in the list have changed.
    pub(crate) fn exchange(&self, remove: &HashSet<&str>, put: Vec<T>) -> Result<bool, SetupError> {
        put.iter().try_for_each(check_scopes)?;
        Ok(Arc::make_mut(&mut write(&self.now)).exchange(remove, put))
    }
}

impl<T: Listed> Registry<T> {
    /// Puts other items in place of all.
    pub(crate) fn replace_all(&self, items: Vec<T>) -> Result<(), SetupError> {
        let mut all = Snapshot::new(Vec::new(), HashMap::new());
        for item in items {
            check_scopes(&item)?;
            if all.by_key.contains_key(item.key()) {
                return Err(SetupError::Duplicate { what: T::KIND, name: item.key().to_owned() });
            }
            all.push(item);
        }
        *write(&self.now) = Arc::new(all);
        Ok(())
    }
}

/// A scope that cannot be written in a challenge can never be granted.
fn check_scopes<T: Listed>(item: &T) -> Result<(), SetupError> {
    match item.scopes().iter().find(|scope| !is_scope(scope)) {
        Some(scope) => {
            let (name, scope) = (item.key().to_owned(), scope.clone());
            Err(SetupError::Scope { what: T::KIND, name, scope })
        }
        None => Ok(()),
    }
}

/// The items at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot<T> {
    pub(crate) items: Vec<Arc<T>>,
    by_key: HashMap<String, usize>,
    /// The items by key: the order of a list that has several pages, because every replica has it alike.
    sorted: OnceLock<Vec<Arc<T>>>,
    /// The pages of the list, each written once per revision.
    pages: [OnceLock<Vec<OnceLock<Page>>>; Revision::ALL.len()],
    /// Whether it is for clients with MCP Apps; for all, if it makes no difference.
    for_apps: bool,
    /// What other clients get, if it makes a difference.
    without_apps: OnceLock<Option<Box<Snapshot<T>>>>,
}

/// One page of a list: the members of the result that are the list and `nextCursor`, as JSON.
pub(crate) type Page = Box<RawValue>;

impl<T> Snapshot<T> {
    pub(crate) fn new(items: Vec<Arc<T>>, by_key: HashMap<String, usize>) -> Self {
        Self {
            items,
            by_key,
            sorted: OnceLock::new(),
            pages: Default::default(),
            for_apps: true,
            without_apps: OnceLock::new(),
        }
    }
}

/// A snapshot that is in use stays as it is.
impl<T> Clone for Snapshot<T> {
    fn clone(&self) -> Self {
        Self::new(self.items.clone(), self.by_key.clone())
    }
}

impl<T: Listed> Snapshot<T> {
    fn push(&mut self, item: T) {
        self.by_key.insert(item.key().to_owned(), self.items.len());
        self.items.push(Arc::new(item));
        self.has_changed();
    }

    fn remove(&mut self, at: usize) {
        self.items.remove(at);
        self.count_anew();
        self.has_changed();
    }

    /// Whether the names have changed.
    fn exchange(&mut self, remove: &HashSet<&str>, put: Vec<T>) -> bool {
        let before = self.items.len();
        self.items.retain(|item| !remove.contains(item.key()));
        let left = self.items.len();
        if left < before {
            self.count_anew();
        }
        for item in put {
            let at = self.by_key.get(item.key()).copied();
            match at.and_then(|at| self.items.get_mut(at)) {
                Some(there) => *there = Arc::new(item),
                None => self.push(item),
            }
        }
        self.has_changed();
        left < before || left < self.items.len()
    }

    fn count_anew(&mut self) {
        self.by_key = self.items.iter().enumerate().map(|(at, item)| (item.key().to_owned(), at)).collect();
    }

    fn has_changed(&mut self) {
        self.sorted = OnceLock::new();
        self.pages = Default::default();
        self.without_apps = OnceLock::new();
    }

    /// The list for clients without MCP Apps; `None` if it is the same.
    pub(crate) fn without_apps(&self) -> Option<&Self> {
        let without = self.without_apps.get_or_init(|| {
            if self.items.iter().all(|item| item.for_apps() == ForApps::Same) {
                return None;
            }
            let others = self.items.iter().filter(|item| !item.is_app_only());
            Some(Box::new(Self { for_apps: false, ..Self::new(others.cloned().collect(), HashMap::new()) }))
        });
        without.as_deref()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.items.iter().map(|item| item.key())
    }

    /// The page after a cursor, or the first; `None` if the cursor is invalid.
    ///
    /// A list that fits on one page is in the order of registration, a longer one in that of its keys: so "after the
    /// cursor" means the same whatever has changed since, and in every replica. Nothing that is there all the time is
    /// left out.
    pub(crate) fn page(
        &self,
        cursor: Option<&str>,
        revision: Revision,
        size: usize,
    ) -> Option<Cow<'_, RawValue>> {
        let size = size.max(1);
        let from = match cursor {
            None => 0,
            Some(cursor) => {
                let last = cursor::decode(T::LIST, cursor)?;
                self.sorted().partition_point(|item| item.key() <= last.as_str())
            }
        };
        let count = self.items.len().div_ceil(size).max(1);
        let pages = self.pages.get(revision.index())?.get_or_init(|| vec![OnceLock::new(); count]);
        let write = || self.write_page(from, size, revision);
        // A list that has changed since the cursor was made may go on in the middle of a page.
        Some(match pages.get(from / size).filter(|_| from % size == 0) {
            Some(page) => Cow::Borrowed(page.get_or_init(write)),
            None => Cow::Owned(write()),
        })
    }

    fn sorted(&self) -> &[Arc<T>] {
        self.sorted.get_or_init(|| {
            let mut sorted = self.items.clone();
            sorted.sort_unstable_by(|a, b| a.key().cmp(b.key()));
            sorted
        })
    }

    fn write_page(&self, from: usize, size: usize, revision: Revision) -> Page {
        let all = if self.items.len() <= size && from == 0 { &self.items } else { self.sorted() };
        let rest = all.get(from..).unwrap_or_default();
        self.write_first(rest.iter(), size, revision, None)
    }

    /// The same of the items and files that a principal sees: for it, no others exist.
    pub(crate) fn filtered_page(
        &self,
        cursor: Option<&str>,
        revision: Revision,
        size: usize,
        shows: impl Fn(&T) -> bool,
        shows_file: &dyn Fn(&str) -> bool,
    ) -> Option<Page> {
        let size = size.max(1);
        let shown = |item: &&Arc<T>| shows(item);
        let from = match cursor {
            None => {
                let all: Vec<&Arc<T>> = self.items.iter().filter(shown).take(size + 1).collect();
                if all.len() <= size {
                    return Some(self.write_first(all.into_iter(), size, revision, Some(shows_file)));
                }
                0
            }
            Some(cursor) => {
                let last = cursor::decode(T::LIST, cursor)?;
                self.sorted().partition_point(|item| item.key() <= last.as_str())
            }
        };
        let rest = self.sorted().get(from..).unwrap_or_default();
        Some(self.write_first(rest.iter().filter(shown), size, revision, Some(shows_file)))
    }

    /// A page of the first items, with a cursor if there are more.
    fn write_first<'a>(
        &self,
        mut rest: impl Iterator<Item = &'a Arc<T>>,
        size: usize,
        revision: Revision,
        shows_file: Option<&dyn Fn(&str) -> bool>,
    ) -> Page
    where
        T: 'a,
    {
        let page: Vec<&Arc<T>> = rest.by_ref().take(size).collect();
        let last = page.last().filter(|_| rest.next().is_some());
        let next_cursor = last.map(|last| cursor::encode(T::LIST, last.key()));
        let define = |item: &&Arc<T>| {
            let mut definition = item.definition(revision);
            if let Some(shows) = shows_file {
                T::leave_out_files(&mut definition, shows);
            }
            if self.for_apps { definition } else { T::without_page(definition) }
        };
        let list = page.iter().map(define).collect();
        to_raw_value(&List::<T> { list, next_cursor }).unwrap_or_default()
    }
}

struct List<T: Listed> {
    list: Vec<T::Definition>,
    next_cursor: Option<String>,
}

impl<T: Listed> Serialize for List<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(T::LIST, &self.list)?;
        if let Some(next) = &self.next_cursor {
            map.serialize_entry("nextCursor", next)?;
        }
        map.end()
    }
}
