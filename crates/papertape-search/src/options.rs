//! What a user configures, to a searcher.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::corpus::folder::Folder;
use crate::embed::{self, Choice, EmbedError, EmbedFuture, Embedder, Identity, Purpose};
use crate::query::Searcher;
use crate::store::embedded::Embedded;
use crate::store::{Store, StoreError};

/// The directory for the index, within that of the texts.
const INDEX: &str = ".papertape";

/// Where the texts and their index are, and which model makes vectors.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The directory of Markdown. Without it, the current one; none at all if `index` or `store` says where to search.
    pub content: Option<PathBuf>,
    /// Further directories of Markdown in the same index. With any, the paths of files begin with the name of their directory:
    /// see [`Folder::open_all`].
    pub further: Vec<PathBuf>,
    /// The directory of the index. Without it, `.papertape` within the directory of Markdown; of several directories, one
    /// within the first with a name that is made from all their paths.
    pub index: Option<PathBuf>,
    /// The file of keys that seal an index in a directory: see [`Embedded::open_with_keys`]. Without it, the user's own.
    pub index_keys: Option<PathBuf>,
    /// The URL of a PostgreSQL database in place of the index.
    pub store: Option<String>,
    /// The embedding model. Without one, search is lexical.
    pub embed: Option<Choice>,
    /// The URL of the model's service, if not the default one.
    pub embed_url: Option<String>,
    /// The timeout of a request to the model's service, if not the default one.
    pub embed_timeout: Option<Duration>,
    /// Whether the API key may be sent to another machine over plain `http://`.
    pub embed_insecure_http: bool,
    /// Whether tables of an older version of this program may be changed in the database.
    pub upgrade: bool,
    /// Whether to watch the directory and index what changes.
    pub watch: bool,
    /// How long a query waits for changed files to be indexed, if there is an index already: one second by default.
    pub freshness_wait: Option<Duration>,
}

impl Options {
    /// The directory of Markdown, if there is one to be indexed.
    #[must_use]
    pub fn folder(&self) -> Option<PathBuf> {
        match &self.content {
            Some(content) => Some(content.clone()),
            None => self.is_implied().then(|| PathBuf::from(".")),
        }
    }

    /// The directories of Markdown, if there are any to be indexed.
    #[must_use]
    pub fn folders(&self) -> Vec<PathBuf> {
        match self.folder() {
            Some(first) => [first].into_iter().chain(self.further.iter().cloned()).collect(),
            None => Vec::new(),
        }
    }

    /// Whether no option names a place: then the current directory is meant.
    #[must_use]
    pub fn is_implied(&self) -> bool {
        self.content.is_none() && self.index.is_none() && self.store.is_none()
    }

    /// The directory of the index, where it is not in a database.
    #[must_use]
    pub fn index(&self) -> PathBuf {
        let content = self.content.as_deref().unwrap_or(Path::new("."));
        match &self.index {
            Some(index) => index.clone(),
            None if self.further.is_empty() => content.join(INDEX),
            // The same directory may have an index of its own, whose files have other paths.
            None => content.join(format!("{INDEX}-{}", self.digest())),
        }
    }

    /// What tells lists of directories apart, also while one of them is away.
    fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for folder in self.folders() {
            let absolute = std::path::absolute(&folder).unwrap_or(folder);
            let normal: PathBuf = absolute.components().collect();
            hasher.update(normal.as_os_str().as_bytes()).update(&[0]);
        }
        hasher.finalize().to_hex().chars().take(12).collect()
    }

    /// Whether the index may have been made from another directory: an option names its place, and it is not within the
    /// directory itself.
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

    /// Opens the index. A model that cannot be used is reported in the notes of searches.
    ///
    /// # Errors
    /// If an option is invalid, or names what this build leaves out.
    pub fn open(&self) -> Result<Searcher, StoreError> {
        let store = self.open_store()?;
        let embedder = match self.embedder() {
            Err(EmbedError::Unsupported(why)) => return Err(StoreError::Other(why)),
            Err(error) => Some(Arc::new(Unusable(error)) as Arc<dyn Embedder>),
            Ok(embedder) => embedder,
        };
        Ok(Searcher::new(store, embedder))
    }

    fn open_store(&self) -> Result<Arc<dyn Store>, StoreError> {
        if let Some(why) = Folder::conflict(&self.folders()) {
            return Err(StoreError::Other(why));
        }
        match &self.store {
            Some(url) => self.postgres(url),
            None => Ok(Arc::new(self.embedded()?)),
        }
    }

    #[cfg(feature = "postgres")]
    fn postgres(&self, url: &str) -> Result<Arc<dyn Store>, StoreError> {
        let store = crate::store::postgres::Postgres::open(url)?;
        Ok(Arc::new(if self.upgrade { store.upgrading() } else { store }))
    }

    #[cfg(not(feature = "postgres"))]
    fn postgres(&self, _: &str) -> Result<Arc<dyn Store>, StoreError> {
        Err(StoreError::Other(crate::features::no_postgres()))
    }

    /// The index in a directory.
    ///
    /// # Errors
    /// If its directory cannot be one.
    pub fn embedded(&self) -> Result<Embedded, StoreError> {
        match &self.index_keys {
            Some(keys) => Embedded::open_with_keys(&self.index(), keys),
            None => Embedded::open(&self.index()),
        }
    }

    /// Clears the index, or what is in the database, if it is damaged, so that it can be rebuilt. An intact index is
    /// searched until the new one is there.
    ///
    /// # Errors
    /// If it is not ours to clear, is being written, or cannot be read or reached now.
    pub async fn repair(&self) -> Result<(), StoreError> {
        self.open_store()?.repair().await
    }

    /// The model, if one was chosen.
    ///
    /// # Errors
    /// If an option is invalid, or the model cannot run in this build.
    pub fn embedder(&self) -> Result<Option<Arc<dyn Embedder>>, EmbedError> {
        let Some(choice) = &self.embed else { return Ok(None) };
        let timeout = self.embed_timeout.unwrap_or(embed::Options::default().timeout);
        let insecure_http = self.embed_insecure_http;
        let options = embed::Options { url: self.embed_url.clone(), timeout, insecure_http };
        choice.open(&options).map(Some)
    }
}

/// In place of a model that cannot be used: searches are lexical, and their notes say why.
#[derive(Debug)]
struct Unusable(EmbedError);

impl Embedder for Unusable {
    fn identify(&self) -> EmbedFuture<'_, Identity> {
        Box::pin(async { Err(self.0.clone()) })
    }

    fn embed<'a>(&'a self, _: &'a [String], _: Purpose) -> EmbedFuture<'a, Vec<Result<Vec<f32>, String>>> {
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
    fn the_current_folder_is_the_default() {
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
    fn several_folders_have_an_index_of_their_own() {
        let of = |first: &str, further: &[&str]| Options {
            content: Some(first.into()),
            further: further.iter().map(PathBuf::from).collect(),
            ..Options::default()
        };
        let both = of("notes", &["blog"]);
        assert_eq!(both.folders(), [PathBuf::from("notes"), PathBuf::from("blog")]);
        let index = both.index();
        assert!(index.starts_with("notes") && index.to_str().unwrap().contains("/.papertape-"), "{index:?}");
        assert!(!both.is_elsewhere());
        assert_eq!(of("./notes/", &["./blog"]).index().file_name(), index.file_name());
        for other in [of("notes", &[]), of("notes", &["blog2"]), of("notes", &["blog", "c"])] {
            assert_ne!(other.index(), index);
        }
        let nested = of("notes", &["notes/old"]).open().unwrap_err().to_string();
        assert!(nested.contains("notes/old is inside notes"), "{nested}");
    }

    #[test]
    fn an_index_within_its_folder_is_not_elsewhere() {
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
        // Without a directory, nothing is written.
        assert!(!Options { content: None, ..database }.is_elsewhere());
        assert!(!Options { index: path("i"), ..Options::default() }.is_elsewhere());
    }
}
