//! Directories of real files in PostgreSQL, run after run.

use std::fs;
use std::path::PathBuf;

use papertape_search::corpus::folder::Folder;
use papertape_search::index::{self, Options};
use papertape_search::store::StoreError;
use papertape_search::store::postgres::Postgres;

use super::server::Server;

/// A directory that goes away again.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, files: &[(&str, &[u8])]) -> Self {
        let folder = std::env::temp_dir().join(format!("papertape-folders-{name}-{}", std::process::id()));
        // A run that was killed may have left something under the same number.
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        for (path, bytes) in files {
            fs::write(folder.join(path), bytes).unwrap();
        }
        Self(folder)
    }

    async fn index(&self, store: &Postgres, options: Options) -> Result<index::Report, StoreError> {
        let folder = Folder::open(&self.0).unwrap();
        index::run_with(&folder, store, None, options, &|_| ()).await
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn every_run_repeats_warnings_and_writes_nothing() {
    let server = Server::start(&[]);
    let store = server.store();
    let notes = Scratch::new("warnings", &[("fine.md", b"# Fine\n"), ("latin.md", b"# Espa\xf1a\n")]);
    let first = notes.index(&store, Options::default()).await.unwrap();
    assert_eq!((first.added, first.warnings.len()), (2, 1), "{:?}", first.warnings);
    for _ in 0..2 {
        let again = notes.index(&store, Options::default()).await.unwrap();
        assert_eq!((again.unchanged, &again.warnings, &again.summary), (2, &first.warnings, &first.summary));
    }
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn same_folder_only_refuses_another_directory() {
    let server = Server::start(&[]);
    let store = server.store();
    let careful = Options { same_folder_only: true, ..Options::default() };
    let (one, two) = (Scratch::new("one", &[("a.md", b"# A\n")]), Scratch::new("two", &[("b.md", b"# B\n")]));
    assert_eq!(one.index(&store, careful).await.unwrap().added, 1);
    let refused = two.index(&store, careful).await.unwrap_err();
    assert!(refused.to_string().contains("--rebuild"), "{refused}");
    assert_eq!(one.index(&store, careful).await.unwrap().unchanged, 1);
    let replaced = two.index(&store, Options { full: true, ..Options::default() }).await.unwrap();
    assert_eq!((replaced.added, replaced.removed, replaced.summary.files), (1, 1, 1));
}

/// D-05: three tries, no more.
#[tokio::test]
#[ignore = "interop/blog/run"]
async fn a_serialization_failure_is_tried_three_times() {
    let server = Server::start(&[]);
    let store = server.store();
    let notes = Scratch::new("crossed", &[("a.md", b"# Apples\n")]);
    notes.index(&store, Options::default()).await.unwrap();
    // A counter keeps its steps when a transaction is undone.
    let refuse_twice = "
        CREATE SEQUENCE tries;
        CREATE FUNCTION cross_others() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF nextval('tries') <= 2 THEN RAISE EXCEPTION 'others' USING ERRCODE = '40001'; END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER cross_others BEFORE INSERT ON papertape.files FOR EACH ROW EXECUTE FUNCTION cross_others()";
    let client = server.client().await;
    client.batch_execute(refuse_twice).await.unwrap();
    fs::write(notes.0.join("b.md"), "# Pears\n").unwrap();
    let report = notes.index(&store, Options::default()).await.unwrap();
    assert_eq!((report.added, report.summary.generation), (1, 2));

    client.batch_execute("ALTER SEQUENCE tries MINVALUE -100 RESTART WITH -100").await.unwrap();
    fs::write(notes.0.join("c.md"), "# Plums\n").unwrap();
    let error = notes.index(&store, Options::default()).await.unwrap_err();
    assert!(matches!(error, StoreError::Crossed(_)), "{error:?}");
    let row = client.query_one("SELECT last_value FROM tries", &[]).await.unwrap();
    assert_eq!(row.get::<_, i64>(0), -98, "three of them");
}
