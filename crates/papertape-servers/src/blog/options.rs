//! What a user says about a blog, to the library that is meant.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::library::Library;
use super::store::embedded::Embedded;
use super::store::{Store, StoreError};

/// The folder for the index, within that of the texts.
const INDEX: &str = ".papertape";

/// Where a blog is, and what it is searched with.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The folder of Markdown. Without it, the current one; none at all if `index` or `store` says where to search.
    pub content: Option<PathBuf>,
    /// The folder of the index. Without it, `.papertape` within the folder of Markdown.
    pub index: Option<PathBuf>,
    /// The URL of a PostgreSQL database in place of the index.
    pub store: Option<String>,
    /// Whether to index what changes while it is served.
    pub watch: bool,
}

impl Options {
    /// The folder of Markdown, if there is one to be indexed.
    #[must_use]
    pub fn folder(&self) -> Option<PathBuf> {
        match &self.content {
            Some(content) => Some(content.clone()),
            None if self.index.is_none() && self.store.is_none() => Some(PathBuf::from(".")),
            None => None,
        }
    }

    /// The folder of the index, where it is not in a database.
    #[must_use]
    pub fn index(&self) -> PathBuf {
        let content = self.content.as_deref().unwrap_or(Path::new("."));
        self.index.clone().unwrap_or_else(|| content.join(INDEX))
    }

    /// The library. Whatever is missing is said when it is asked something.
    ///
    /// # Errors
    /// If what was said makes no sense.
    pub fn open(&self) -> Result<Library, StoreError> {
        let store: Arc<dyn Store> = Arc::new(self.embedded()?);
        Ok(Library::new(store, None))
    }

    /// The index in a folder.
    ///
    /// # Errors
    /// If its folder cannot be one.
    pub fn embedded(&self) -> Result<Embedded, StoreError> {
        Embedded::open(&self.index())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_folder_is_meant_unless_something_else_is_said() {
        let path = |text: &str| Some(PathBuf::from(text));
        let usual = Options::default();
        assert_eq!((usual.folder(), usual.index()), (path("."), PathBuf::from("./.papertape")));
        let notes = Options { content: path("notes"), ..Options::default() };
        assert_eq!((notes.folder(), notes.index()), (path("notes"), PathBuf::from("notes/.papertape")));
        let index = Options { index: path("i"), ..Options::default() };
        assert_eq!((index.folder(), index.index()), (None, PathBuf::from("i")));
        let both = Options { content: path("notes"), index: path("i"), ..Options::default() };
        assert_eq!((both.folder(), both.index()), (path("notes"), PathBuf::from("i")));
        let database = Options { store: Some("postgres://x".into()), ..Options::default() };
        assert_eq!(database.folder(), None);
    }
}
