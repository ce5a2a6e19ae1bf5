//! Phrases and words that chunks must have, or must not.

use papertape_search::analysis::{Language, Phrase};
use papertape_search::store::{Query, Store};

use crate::support::{Folder, Random, both, fill, hits, lexical_query, open, put};

const FILES: [(&str, &str); 4] = [
    ("a.md", "red kiwi and green pear\n\ngreen kiwi and red pear"),
    ("b.md", "kiwi red pear green and"),
    ("c.md", "red KIWI and plum"),
    ("d.md", "plum"),
];

fn phrases(texts: &[&str]) -> Vec<Phrase> {
    texts.iter().map(|text| Phrase::of(text, &[Language::Other]).unwrap()).collect()
}

#[tokio::test]
async fn both_lists_have_what_is_required_and_nothing_that_is_excluded() {
    let folder = Folder::new();
    let store = open(&folder.index());
    fill(&store, &FILES).await.unwrap();
    let table: [(&[&str], &[&str], &[&str]); 10] = [
        (&["red kiwi"], &[], &["a.md#0", "c.md#0"]),
        (&["red kiwi and"], &["plum"], &["a.md#0"]),
        (&["red kiwi", "green pear"], &[], &["a.md#0"]),
        (&["kiwi"], &[], &["a.md#0", "a.md#1", "b.md#0", "c.md#0"]),
        (&[], &["red kiwi"], &["a.md#1", "b.md#0", "d.md#0"]),
        (&[], &["plum"], &["a.md#0", "a.md#1", "b.md#0"]),
        (&[], &["plum", "green kiwi"], &["a.md#0", "b.md#0"]),
        (&["kiwi oranges"], &[], &[]),
        (&["kiwi and", "and plum", "kiwi"], &["pear", "pear", "oranges"], &["c.md#0"]),
        (&["kiwi kiwi"], &[], &[]),
    ];
    for (required, excluded, found) in table {
        let query = Query {
            required: phrases(required),
            excluded: phrases(excluded),
            ..both("red kiwi green pear plum", "plum")
        };
        let matches = store.search(&query).await.unwrap();
        let mut all = hits(&matches);
        all.sort_unstable();
        assert_eq!(all, found, "{required:?} {excluded:?}");
        let near = matches.semantic.len();
        let lexical = store.search(&Query { vector: None, ..query }).await.unwrap();
        assert!(near == all.len() && lexical.hits.len() == all.len(), "{required:?} {excluded:?}");
    }
}

/// Deleted chunks, several segments, and more chunks than are verified at once.
#[tokio::test]
async fn a_phrase_is_found_among_many_chunks_with_its_words() {
    let folder = Folder::new();
    let store = open(&folder.index());
    let mut random = Random(5);
    for round in 0..3 {
        let mut writer = store.write().await.unwrap();
        for number in 0..500 {
            let order = if random.below(10) == 0 { "alpha in beta" } else { "beta in alpha" };
            put(writer.as_mut(), &format!("{round}/{number}.md"), &format!("{order} {number}"))
                .await
                .unwrap();
        }
        writer.commit().await.unwrap();
    }
    let mut writer = store.write().await.unwrap();
    for number in 0..100 {
        writer.remove(&format!("1/{number}.md")).await.unwrap();
    }
    writer.commit().await.unwrap();
    let search = async |required: &[&str], excluded: &[&str]| {
        let (required, excluded) = (phrases(required), phrases(excluded));
        let query = Query { required, excluded, top_k: 200, ..lexical_query("alpha in beta") };
        store.search(&query).await.unwrap()
    };
    let found = search(&["alpha in beta"], &[]).await;
    assert!(found.hits.len() > 50 && found.hits.iter().all(|hit| hit.chunk.text.starts_with("alpha")));
    let found = search(&[], &["alpha in beta"]).await;
    assert!(found.hits.len() == 100 && found.hits.iter().all(|hit| hit.chunk.text.starts_with("beta")));
    assert!(search(&[], &["beta"]).await.hits.is_empty());
}
