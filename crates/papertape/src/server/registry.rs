//! What a server offers, now: looked up by name, listed page by page, changed at run time.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};

use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::value::{RawValue, to_raw_value};

use super::cursor;
use super::error::SetupError;
use super::scope::is_scope;
use crate::link::{Kind, Link};
use crate::protocol::Revision;

/// Something that a server offers in a list: a tool, a resource, a prompt.
pub(crate) trait Offer: fmt::Debug + Send + Sync {
    type Definition: Serialize;
    /// What one of them is called in messages.
    const WHAT: &'static str;
    /// The member of a result that is the list.
    const LIST: &'static str;
    /// What clients are told when the list changes.
    const KIND: Kind;
    /// How many fit on a page, whatever a server allows.
    const MOST_PER_PAGE: usize = usize::MAX;

    /// What tells it from the others of its kind.
    fn key(&self) -> &str;

    /// How it is listed in a revision.
    fn definition(&self, revision: Revision) -> Self::Definition;

    /// What whoever asks for it must be allowed to do.
    fn scopes(&self) -> &[String];
}

/// The offers of one kind, and the links to tell when they change.
#[derive(Debug)]
pub(crate) struct Registry<T> {
    now: RwLock<Arc<Snapshot<T>>>,
    links: Mutex<Vec<Weak<Link>>>,
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        let nothing = Snapshot::new(Vec::new(), HashMap::new());
        Self { now: RwLock::new(Arc::new(nothing)), links: Mutex::default() }
    }
}

impl<T: Offer> Registry<T> {
    pub(crate) fn snapshot(&self) -> Arc<Snapshot<T>> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.now.read().unwrap_or_else(PoisonError::into_inner).offers.is_empty()
    }

    /// The one of that name.
    pub(crate) fn find(&self, key: &str) -> Option<Arc<T>> {
        let now = self.now.read().unwrap_or_else(PoisonError::into_inner);
        now.by_key.get(key).and_then(|&at| now.offers.get(at)).cloned()
    }

    pub(crate) fn add(&self, offer: T) -> Result<(), SetupError> {
        check_scopes(&offer)?;
        {
            let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
            if now.by_key.contains_key(offer.key()) {
                return Err(SetupError::Duplicate { what: T::WHAT, name: offer.key().to_owned() });
            }
            // While nobody looks at the list, as when a server is built, it is changed in place.
            Arc::make_mut(&mut now).push(offer);
        }
        self.tell(|link| link.list_changed(T::KIND));
        Ok(())
    }

    pub(crate) fn remove(&self, key: &str) -> bool {
        {
            let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
            let Some(&at) = now.by_key.get(key) else { return false };
            Arc::make_mut(&mut now).remove(at);
        }
        self.tell(|link| link.list_changed(T::KIND));
        true
    }

    /// Removes some and puts others, in place of what has their names or behind all others, in one step. Clients are told
    /// once, if there are other names now.
    pub(crate) fn exchange(&self, remove: &HashSet<&str>, put: Vec<T>) -> Result<(), SetupError> {
        put.iter().try_for_each(check_scopes)?;
        let renamed = {
            let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
            Arc::make_mut(&mut now).exchange(remove, put)
        };
        if renamed {
            self.tell(|link| link.list_changed(T::KIND));
        }
        Ok(())
    }

    /// Tells this link of changes from now on.
    pub(crate) fn watch(&self, link: &Arc<Link>) {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that have gone are looked for when there is no room for another, which is seldom.
        if links.len() == links.capacity() {
            links.retain(|link| link.strong_count() > 0);
        }
        links.push(Arc::downgrade(link));
    }

    /// Tells every link something.
    pub(crate) fn tell(&self, tell: impl Fn(&Link)) {
        self.links.lock().unwrap_or_else(PoisonError::into_inner).retain(|link| {
            let Some(link) = link.upgrade() else { return false };
            tell(&link);
            true
        });
    }
}

/// A scope that cannot be written in a challenge can be asked of nobody.
fn check_scopes<T: Offer>(offer: &T) -> Result<(), SetupError> {
    match offer.scopes().iter().find(|scope| !is_scope(scope)) {
        Some(scope) => {
            let (name, scope) = (offer.key().to_owned(), scope.clone());
            Err(SetupError::Scope { what: T::WHAT, name, scope })
        }
        None => Ok(()),
    }
}

/// The offers at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot<T> {
    pub(crate) offers: Vec<Arc<T>>,
    by_key: HashMap<String, usize>,
    /// The offers by key: the order of a list that has several pages, because every replica has it alike.
    sorted: OnceLock<Vec<Arc<T>>>,
    /// The pages of the list, each written once per revision.
    pages: [OnceLock<Vec<OnceLock<Page>>>; Revision::ALL.len()],
}

/// One page of a list: the members of the result that are the list and `nextCursor`, as JSON.
type Page = Box<RawValue>;

impl<T> Snapshot<T> {
    fn new(offers: Vec<Arc<T>>, by_key: HashMap<String, usize>) -> Self {
        Self { offers, by_key, sorted: OnceLock::new(), pages: Default::default() }
    }
}

/// Whoever is still looking at a list goes on looking at it as it was.
impl<T> Clone for Snapshot<T> {
    fn clone(&self) -> Self {
        Self::new(self.offers.clone(), self.by_key.clone())
    }
}

impl<T: Offer> Snapshot<T> {
    fn push(&mut self, offer: T) {
        self.by_key.insert(offer.key().to_owned(), self.offers.len());
        self.offers.push(Arc::new(offer));
        self.has_changed();
    }

    fn remove(&mut self, at: usize) {
        self.offers.remove(at);
        self.count_anew();
        self.has_changed();
    }

    /// Whether there are other names now.
    fn exchange(&mut self, remove: &HashSet<&str>, put: Vec<T>) -> bool {
        let before = self.offers.len();
        self.offers.retain(|offer| !remove.contains(offer.key()));
        let left = self.offers.len();
        if left < before {
            self.count_anew();
        }
        for offer in put {
            let at = self.by_key.get(offer.key()).copied();
            match at.and_then(|at| self.offers.get_mut(at)) {
                Some(there) => *there = Arc::new(offer),
                None => self.push(offer),
            }
        }
        self.has_changed();
        left < before || left < self.offers.len()
    }

    fn count_anew(&mut self) {
        self.by_key =
            self.offers.iter().enumerate().map(|(at, offer)| (offer.key().to_owned(), at)).collect();
    }

    fn has_changed(&mut self) {
        self.sorted = OnceLock::new();
        self.pages = Default::default();
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.offers.iter().map(|offer| offer.key())
    }

    /// The page after a cursor, or the first; `None` if the cursor was not made here.
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
                self.sorted().partition_point(|offer| offer.key() <= last.as_str())
            }
        };
        let count = self.offers.len().div_ceil(size).max(1);
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
            let mut sorted = self.offers.clone();
            sorted.sort_unstable_by(|a, b| a.key().cmp(b.key()));
            sorted
        })
    }

    fn write_page(&self, from: usize, size: usize, revision: Revision) -> Page {
        let all = if self.offers.len() <= size && from == 0 { &self.offers } else { self.sorted() };
        let rest = all.get(from..).unwrap_or_default();
        let page = rest.get(..size).unwrap_or(rest);
        let list = page.iter().map(|offer| offer.definition(revision)).collect();
        let last = page.last().filter(|_| page.len() < rest.len());
        let next_cursor = last.map(|last| cursor::encode(T::LIST, last.key()));
        to_raw_value(&List::<T> { list, next_cursor }).unwrap_or_default()
    }
}

struct List<T: Offer> {
    list: Vec<T::Definition>,
    next_cursor: Option<String>,
}

impl<T: Offer> Serialize for List<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(T::LIST, &self.list)?;
        if let Some(next) = &self.next_cursor {
            map.serialize_entry("nextCursor", next)?;
        }
        map.end()
    }
}
