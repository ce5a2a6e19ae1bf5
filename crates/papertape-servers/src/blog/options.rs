//! What a user says about a blog, to the library that is meant.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::embed::{self, Choice, EmbedError, Embedder, Identity, Purpose};
use super::library::Library;
use super::store::embedded::Embedded;
use super::store::postgres::Postgres;
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
    /// The file of keys that seal an index in a folder: see [`Embedded::open_with_keys`]. Without it, the user's own.
    pub index_keys: Option<PathBuf>,
    /// The URL of a PostgreSQL database in place of the index.
    pub store: Option<String>,
    /// The model that finds meaning. Without one, words alone are searched for.
    pub embed: Option<Choice>,
    /// Where the model's service is, if not where such a service usually is.
    pub embed_url: Option<String>,
    /// How long a request to the model's service may take, if not as long as usual.
    pub embed_timeout: Option<Duration>,
    /// Whether OpenAI's key may go to another machine by plain `http://`, where others can read it.
    pub embed_insecure_http: bool,
    /// Whether tables of an older version of this program may be changed in the database.
    pub upgrade: bool,
    /// Whether to index what changes while it is served.
    pub watch: bool,
    /// How long a question waits for what is new, if there is an index already. Without it, a second.
    pub patience: Option<Duration>,
}

impl Options {
    /// The folder of Markdown, if there is one to be indexed.
    #[must_use]
    pub fn folder(&self) -> Option<PathBuf> {
        match &self.content {
            Some(content) => Some(content.clone()),
            None => self.is_implied().then(|| PathBuf::from(".")),
        }
    }

    /// Whether nobody has said where the texts are: then the current folder is meant.
    #[must_use]
    pub fn is_implied(&self) -> bool {
        self.content.is_none() && self.index.is_none() && self.store.is_none()
    }

    /// The folder of the index, where it is not in a database.
    #[must_use]
    pub fn index(&self) -> PathBuf {
        let content = self.content.as_deref().unwrap_or(Path::new("."));
        self.index.clone().unwrap_or_else(|| content.join(INDEX))
    }

    /// Whether the index may have been made of another folder: somebody has said where it is, and it is not within the
    /// folder itself.
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        let Some(content) = self.folder() else { return false };
        let whole = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
        let within = |index: &Path| match (whole(index), whole(&content)) {
            (Ok(index), Ok(content)) => index.starts_with(content),
            _ => false,
        };
        self.store.is_some() || self.index.as_deref().is_some_and(|index| !within(index))
    }

    /// The library. Whatever is missing is said when it is asked something.
    ///
    /// # Errors
    /// If what was said makes no sense.
    pub fn open(&self) -> Result<Library, StoreError> {
        let store: Arc<dyn Store> = match &self.store {
            Some(url) if self.upgrade => Arc::new(Postgres::open(url)?.upgrading()),
            Some(url) => Arc::new(Postgres::open(url)?),
            None => Arc::new(self.embedded()?),
        };
        let embedder = self.embedder().unwrap_or_else(|error| Some(Arc::new(Broken(error))));
        Ok(Library::new(store, embedder))
    }

    /// The index in a folder.
    ///
    /// # Errors
    /// If its folder cannot be one.
    pub fn embedded(&self) -> Result<Embedded, StoreError> {
        match &self.index_keys {
            Some(keys) => Embedded::open_with_keys(&self.index(), keys),
            None => Embedded::open(&self.index()),
        }
    }

    /// Clears the index, or what is in the database, if it is broken: so that it can be made anew. What is whole goes on
    /// serving until the new one is there.
    ///
    /// # Errors
    /// If it is not ours to clear, if somebody is writing, or if it cannot be read or reached now.
    pub async fn repair(&self) -> Result<(), StoreError> {
        match &self.store {
            Some(url) => Postgres::open(url)?.repair().await,
            None => self.embedded()?.repair().await,
        }
    }

    /// The model, if one was chosen.
    ///
    /// # Errors
    /// If what was said about it makes no sense.
    pub fn embedder(&self) -> Result<Option<Arc<dyn Embedder>>, EmbedError> {
        let Some(choice) = &self.embed else { return Ok(None) };
        let timeout = self.embed_timeout.unwrap_or(embed::Options::default().timeout);
        let insecure_http = self.embed_insecure_http;
        let options = embed::Options { url: self.embed_url.clone(), timeout, insecure_http };
        choice.open(&options).map(Some)
    }
}

/// Stands for a model that cannot be had: questions are answered without it, and told why.
#[derive(Debug)]
struct Broken(EmbedError);

impl Embedder for Broken {
    fn identify(&self) -> embed::Answer<'_, Identity> {
        Box::pin(async { Err(self.0.clone()) })
    }

    fn embed<'a>(&'a self, _: &'a [String], _: Purpose) -> embed::Answer<'a, Vec<Result<Vec<f32>, String>>> {
        Box::pin(async { Err(self.0.clone()) })
    }

    fn batch(&self) -> usize {
        1
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

    #[test]
    fn an_index_within_its_folder_can_be_of_no_other() {
        let path = |text: &str| Some(PathBuf::from(text));
        let notes = Options { content: path("notes"), ..Options::default() };
        assert!(!notes.is_elsewhere() && !Options::default().is_elsewhere());
        for (index, right) in
            [("notes/.papertape", false), ("./notes/deep/i", false), ("i", true), ("notes-index", true)]
        {
            assert_eq!(Options { index: path(index), ..notes.clone() }.is_elsewhere(), right, "{index}");
        }
        let database = Options { store: Some("postgres://x".into()), ..notes };
        assert!(database.is_elsewhere());
        // Who has no folder writes nothing.
        assert!(!Options { content: None, ..database }.is_elsewhere());
        assert!(!Options { index: path("i"), ..Options::default() }.is_elsewhere());
    }
}
