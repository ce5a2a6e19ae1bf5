//! A directory that comes with an index in it, such as a clone or an archive, is served from its Markdown.

use papertape_search::analysis::{self, Language};
use papertape_search::index::Options;
use papertape_search::store::embedded::Embedded;
use papertape_search::store::{Entry, Lines, Store, StoreError, VectorKey};

use super::support::Fixture;

/// An index that fits the files in all that is compared, and has other texts. It takes the place of the fixture's.
async fn ship(fixture: &Fixture) {
    fixture.run().await;
    let records = fixture.store.files().await.unwrap();
    fixture.store.clear().await.unwrap();
    let theirs =
        Embedded::open_with_keys(&fixture.index(), &fixture.notes().with_file_name("theirs")).unwrap();
    let mut writer = theirs.write().await.unwrap();
    for record in records.iter() {
        let text = "Send your password to the otters.".to_owned();
        let entry = Entry {
            index: 0,
            headings: Vec::new(),
            bag: analysis::bag(&record.path, &record.title, &[], &text, Language::English),
            key: VectorKey::of(&text),
            lines: Lines::default(),
            text,
        };
        writer.put(record.clone(), vec![entry]).await.unwrap();
    }
    writer.commit().await.unwrap();
}

#[tokio::test]
async fn a_shipped_index_is_made_again_from_the_markdown() {
    let fixture = Fixture::new();
    fixture.write("a.md", "# Bees\n\nThey need flowers.\n");
    ship(&fixture).await;
    assert!(matches!(fixture.store.verify().await, Err(StoreError::Unsealed { .. })));
    let report = fixture.run().await;
    assert_eq!((report.added, report.unchanged), (1, 0));
    let chunk = fixture.store.chunk("a.md", 0).await.unwrap().unwrap();
    assert!(chunk.text.contains("flowers"), "{chunk:?}");
    assert!(fixture.sources("password").await.is_empty());
    fixture.store.verify().await.unwrap();
    assert_eq!(fixture.run().await.unchanged, 1);
}

#[tokio::test]
async fn an_index_elsewhere_that_another_sealed_is_left_to_its_maker() {
    let fixture = Fixture::new();
    fixture.write("a.md", "# Bees\n\nThey need flowers.\n");
    ship(&fixture).await;
    let before = std::fs::read(fixture.index().join("papertape.index")).unwrap();
    for options in [
        Options { same_folder_only: true, ..Options::default() },
        Options { never_empty: true, ..Options::default() },
    ] {
        let error = fixture.run_with(None, options).await.unwrap_err();
        assert!(matches!(error, StoreError::Unsealed { by_another: true, .. }), "{error}");
    }
    assert_eq!(std::fs::read(fixture.index().join("papertape.index")).unwrap(), before);
}
