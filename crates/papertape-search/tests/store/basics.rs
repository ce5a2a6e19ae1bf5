//! What goes in comes out.

use std::sync::Arc;
use std::time::Duration;

use papertape_search::query::Searcher;
use papertape_search::rank::bm25::{B, K1, idf};
use papertape_search::store::{
    ChunkId, Embedding, Filter, Lines, Query, Stamp, Store, StoreError, VectorKey,
};

use tokio::time::timeout;

use crate::support::{Folder, both, embedding, file, fill, hits, lexical_query, open, put, record, vector};

const FILES: [(&str, &str); 4] = [
    ("a/one.md", "apples and pears\n\npears and plums"),
    ("a/tagged.md", "apples apples apples"),
    ("b/dated.md", "cherries and apples in a very long sentence about many other things too"),
    ("c.md", "nothing of that"),
];

#[tokio::test]
async fn without_an_index_everything_says_what_to_do() {
    let folder = Folder::new();
    let store = open(&folder.index());
    for error in [
        store.summary().await.unwrap_err(),
        store.search(&lexical_query("x")).await.unwrap_err(),
        store.files().await.unwrap_err(),
        store.verify().await.unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::Missing { .. }), "{error}");
    }
    assert!(!folder.index().exists());
}

#[tokio::test]
async fn what_was_put_is_found() {
    let folder = Folder::new();
    let store = open(&folder.index());
    let summary = fill(&store, &FILES).await.unwrap();
    assert_eq!((summary.generation, summary.files, summary.chunks, summary.vectors), (1, 4, 5, 5));
    for store in [store, open(&folder.index())] {
        assert_eq!(store.summary().await.unwrap(), summary);
        assert_eq!(store.verify().await.unwrap(), summary);
        let found = store.search(&lexical_query("apples")).await.unwrap();
        assert_eq!(hits(&found), ["a/tagged.md#0", "a/one.md#0", "b/dated.md#0"]);
        let chunk = store.chunk("a/one.md", 1).await.unwrap().unwrap();
        assert_eq!(chunk.text, "pears and plums");
        assert_eq!(chunk.headings, ["Heading", "Part 1"]);
        assert_eq!(chunk.title, "About a/one.md");
        assert_eq!(chunk.key, VectorKey::of("pears and plums"));
        assert_eq!(chunk.lines, Lines { start: 3, end: 3 });
        assert_eq!(store.chunk("a/one.md", 2).await.unwrap(), None);
        assert_eq!(store.chunks("a/one.md").await.unwrap().len(), 2);
        assert_eq!(store.chunks("a/on").await.unwrap(), []);
        let files = store.files().await.unwrap();
        assert_eq!(files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), FILES.map(|file| file.0));
        assert_eq!(files[2], file(FILES[2].0, FILES[2].1).0);
        assert_eq!(store.without_vector(10).await.unwrap(), []);
    }
}

#[tokio::test]
async fn scores_are_those_of_bm25_among_the_chunks_that_are_there() {
    let folder = Folder::new();
    let store = open(&folder.index());
    fill(&store, &FILES).await.unwrap();
    fill(&store, &[("c.md", "apples here now")]).await.unwrap();
    let mut writer = store.write().await.unwrap();
    writer.remove("a/tagged.md").await.unwrap();
    writer.commit().await.unwrap();
    let found = store.search(&lexical_query("apples plums")).await.unwrap();
    let average = (3 + 3 + 13 + 3) as f32 / 4.0;
    assert!((found.bm25.average_length - average).abs() < 1e-6);
    assert_eq!(found.bm25.weights, [("apples".to_owned(), idf(3, 4)), ("plums".to_owned(), idf(1, 4))]);
    for ((id, score), (path, index)) in
        found.lexical.iter().zip([("a/one.md", 1), ("a/one.md", 0), ("c.md", 0)])
    {
        let norm = K1 * (1.0 - B + B * 3.0 / average);
        let weight = if index == 1 { idf(1, 4) } else { idf(3, 4) };
        assert!((score - weight * (1.0 + K1) / (1.0 + norm)).abs() < 1e-5, "{path}");
        assert!(*id == ChunkId::of(path, index) || index == 0);
    }
}

#[tokio::test]
async fn vectors_find_what_terms_do_not() {
    let folder = Folder::new();
    let store = open(&folder.index());
    fill(&store, &FILES).await.unwrap();
    let found = store.search(&both("cherries", "nothing of that")).await.unwrap();
    assert_eq!(found.semantic[0].0, ChunkId::of("c.md", 0));
    assert!((found.semantic[0].1 - 1.0).abs() < 1e-3);
    assert_eq!(found.semantic.len(), 5);
    assert_eq!(hits(&found)[..2], ["b/dated.md#0", "c.md#0"]);
}

#[tokio::test]
async fn filters_apply_to_both_lists() {
    let folder = Folder::new();
    let store = open(&folder.index());
    fill(&store, &FILES).await.unwrap();
    let some = |text: &str| Some(text.to_owned());
    let table: [(Filter, &[&str]); 8] = [
        (Filter { path_prefix: some("a/"), ..Filter::default() }, &["a/one.md", "a/tagged.md"]),
        (Filter { path_prefix: some("a/one.md"), ..Filter::default() }, &["a/one.md"]),
        (Filter { path_prefix: some("x"), ..Filter::default() }, &[]),
        (Filter { tag: some("zÜRICH"), ..Filter::default() }, &["a/tagged.md"]),
        (Filter { since: some("2026-07-28"), ..Filter::default() }, &["b/dated.md"]),
        (Filter { since: some("2026-07-29"), ..Filter::default() }, &[]),
        (Filter { until: some("2026-07-28"), path_prefix: some("b"), ..Filter::default() }, &["b/dated.md"]),
        (Filter { until: some("2026-07-27"), ..Filter::default() }, &[]),
    ];
    for (filter, paths) in table {
        let query = Query { filter: filter.clone(), ..both("apples", "c") };
        let found = store.search(&query).await.unwrap();
        let mut sources: Vec<_> = found.hits.iter().map(|hit| hit.chunk.source.as_str()).collect();
        sources.sort_unstable();
        sources.dedup();
        assert_eq!(sources, paths, "{filter:?}");
        assert_eq!(found.lexical.len(), paths.len(), "{filter:?}");
        assert!(found.semantic.len() >= paths.len(), "{filter:?}");
    }
    let query =
        Query { filter: Filter { since: some("soon"), ..Filter::default() }, ..lexical_query("apples") };
    assert!(store.search(&query).await.unwrap_err().to_string().contains("YYYY-MM-DD"));
}

#[tokio::test]
async fn a_file_is_replaced_touched_and_removed() {
    let folder = Folder::new();
    let store = open(&folder.index());
    fill(&store, &FILES).await.unwrap();
    let mut writer = store.write().await.unwrap();
    put(writer.as_mut(), "a/one.md", "only oranges").await.unwrap();
    put(writer.as_mut(), "a/one.md", "only lemons").await.unwrap();
    let mut touched = record("c.md", "nothing of that", 1);
    touched.stamp = Stamp { size: 1, modified: 2, changed: -3, inode: 4 };
    writer.touch(touched.clone()).await.unwrap();
    writer.remove("a/tagged.md").await.unwrap();
    writer.remove("never.md").await.unwrap();
    let before = store.search(&lexical_query("apples oranges lemons")).await.unwrap();
    assert_eq!(hits(&before).len(), 3);
    let summary = writer.commit().await.unwrap();
    assert_eq!((summary.generation, summary.files, summary.chunks, summary.vectors), (2, 3, 3, 2));
    let after = store.search(&lexical_query("apples oranges lemons")).await.unwrap();
    assert_eq!(hits(&after), ["a/one.md#0", "b/dated.md#0"]);
    assert_eq!(store.files().await.unwrap()[2], touched);
    assert_eq!(store.chunks("a/tagged.md").await.unwrap(), []);
    let wanting = store.without_vector(10).await.unwrap();
    assert_eq!(wanting.iter().map(|chunk| chunk.text.as_str()).collect::<Vec<_>>(), ["only lemons"]);
    assert_eq!(store.verify().await.unwrap(), summary);
}

#[tokio::test]
async fn a_writer_that_is_dropped_never_was() {
    let folder = Folder::new();
    let store = open(&folder.index());
    fill(&store, &FILES).await.unwrap();
    let files = || std::fs::read_dir(folder.index()).unwrap().count();
    let before = (store.digest().await.unwrap(), files());
    let mut writer = store.write().await.unwrap();
    for number in 0..3_000 {
        put(writer.as_mut(), &format!("{number}.md"), "much\n\nmore").await.unwrap();
    }
    drop(writer);
    assert_eq!((store.digest().await.unwrap(), files()), before);
    assert_eq!(store.summary().await.unwrap().generation, 1);
    let writer = store.write().await.unwrap();
    assert_eq!(writer.commit().await.unwrap().generation, 1);
}

#[tokio::test]
async fn chunks_with_the_same_text_share_a_vector() {
    let folder = Folder::new();
    let store = open(&folder.index());
    let mut writer = store.write().await.unwrap();
    for path in ["b.md", "a.md", "c.md"] {
        put(writer.as_mut(), path, "the same\n\nbut not this").await.unwrap();
    }
    writer.commit().await.unwrap();
    let wanting = store.without_vector(10).await.unwrap();
    assert_eq!(
        wanting.iter().map(|chunk| (chunk.source.as_str(), chunk.index)).collect::<Vec<_>>(),
        [("a.md", 0), ("a.md", 1)]
    );
    assert_eq!(store.without_vector(1).await.unwrap().len(), 1);
    let mut writer = store.write().await.unwrap();
    writer.set_embedding(Some(embedding())).await.unwrap();
    writer.attach(vec![(VectorKey::of("the same"), vector("the same"))]).await.unwrap();
    assert_eq!(writer.commit().await.unwrap().vectors, 3);
    let found = store.search(&both("", "the same")).await.unwrap();
    assert_eq!(found.semantic.len(), 3);
    assert_eq!(store.without_vector(10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn another_model_drops_every_vector() {
    let folder = Folder::new();
    let store = open(&folder.index());
    fill(&store, &FILES).await.unwrap();
    let mut writer = store.write().await.unwrap();
    writer
        .set_embedding(Some(Embedding { knows_language: false, judged_on: 5, ..embedding() }))
        .await
        .unwrap();
    let summary = writer.commit().await.unwrap();
    assert_eq!((summary.vectors, summary.embedding.map(|embedding| embedding.judged_on)), (5, Some(5)));
    for other in [Some(Embedding { digest: "2".to_owned(), ..embedding() }), None] {
        let mut writer = store.write().await.unwrap();
        writer.set_embedding(other.clone()).await.unwrap();
        let summary = writer.commit().await.unwrap();
        assert_eq!((summary.vectors, summary.embedding), (0, other));
        assert_eq!(store.search(&both("apples", "x")).await.unwrap().semantic, []);
    }
}

#[tokio::test]
async fn vectors_that_do_not_fit_are_refused() {
    let folder = Folder::new();
    let store = open(&folder.index());
    let mut writer = store.write().await.unwrap();
    let attach = |vector: Vec<f32>| vec![(VectorKey(1), vector)];
    assert!(matches!(writer.attach(attach(vec![1.0; 64])).await, Err(StoreError::Mismatch(_))));
    writer.set_embedding(Some(embedding())).await.unwrap();
    for invalid in [vec![1.0; 63], vec![], vec![0.0; 64], vec![f32::NAN; 64], vec![f32::INFINITY; 64]] {
        assert!(matches!(writer.attach(attach(invalid)).await, Err(StoreError::Mismatch(_))));
    }
    let message = writer.attach(attach(vec![1.0; 3])).await.unwrap_err().to_string();
    assert!(message.contains('3') && message.contains("64"), "{message}");
    put(writer.as_mut(), "a.md", "a").await.unwrap();
    writer.attach(vec![(VectorKey::of("a"), vec![1e30; 64])]).await.unwrap();
    assert_eq!(writer.commit().await.unwrap().vectors, 1);
    for invalid in [vec![1.0; 3], vec![0.0; 64], vec![f32::NAN; 64]] {
        let query = Query { vector: Some(invalid), ..lexical_query("a") };
        assert!(matches!(store.search(&query).await, Err(StoreError::Mismatch(_))));
    }
}

#[tokio::test]
async fn an_empty_index_is_an_index() {
    let folder = Folder::new();
    let store = open(&folder.index());
    let summary = store.write().await.unwrap().commit().await.unwrap();
    assert_eq!((summary.generation, summary.files, summary.chunks), (1, 0, 0));
    assert_eq!(store.search(&both("anything", "x")).await.unwrap().hits, []);
    assert_eq!(store.verify().await.unwrap(), summary);
    let text = std::fs::read_to_string(folder.index().join(".gitignore")).unwrap();
    assert_eq!(text, "*\n");
}

#[tokio::test]
async fn generations_of_all_processes_are_published() {
    let folder = Folder::new();
    let (here, there) = (open(&folder.index()), open(&folder.index()));
    let (mut ours, mut theirs) = (here.generations(), there.generations());
    fill(&here, &FILES).await.unwrap();
    ours.wait_for(|generation| *generation == 1).await.unwrap();
    theirs.wait_for(|generation| *generation == 1).await.unwrap();
    fill(&there, &[("new.md", "something new")]).await.unwrap();
    assert_eq!(hits(&here.search(&lexical_query("new")).await.unwrap()), ["new.md#0"]);
    ours.wait_for(|generation| *generation == 2).await.unwrap();
}

#[tokio::test]
async fn a_replaced_index_is_a_new_generation() {
    let folder = Folder::new();
    let store = open(&folder.index());
    let searcher = Searcher::new(Arc::new(store.clone()), None);
    let mut generations = store.generations();
    let soon = Duration::from_secs(30);
    fill(&open(&folder.index()), &FILES).await.unwrap();
    timeout(soon, generations.wait_for(|number| *number > 0)).await.unwrap().unwrap();
    let first = searcher.summary().await.unwrap();
    assert_eq!((first.generation, first.files), (1, 4));
    // At once, and after it was missed.
    for (gone, many) in [(false, 1), (true, 2)] {
        let seen = *generations.borrow_and_update();
        let aside = folder.path().join(format!("aside{many}"));
        let other = open(&folder.path().join("other"));
        let summary = fill(&other, &FILES[..many]).await.unwrap();
        assert_eq!(summary.generation, 1);
        std::fs::rename(folder.index(), aside).unwrap();
        if gone {
            timeout(soon, generations.changed()).await.unwrap().unwrap();
            assert!(matches!(searcher.summary().await, Err(StoreError::Missing { .. })));
        }
        std::fs::rename(folder.path().join("other"), folder.index()).unwrap();
        timeout(soon, generations.changed()).await.unwrap().unwrap();
        timeout(soon, async { while searcher.summary().await.is_err() {} }).await.unwrap();
        let summary = searcher.summary().await.unwrap();
        assert_eq!(summary.files, many as u64);
        assert!(summary.generation > seen, "{summary:?} after {seen}");
        assert_eq!(summary.generation, *generations.borrow());
    }
    // Later generations notify every subscriber.
    let summary = fill(&store, &[("new.md", "new")]).await.unwrap();
    assert_eq!(open(&folder.index()).summary().await.unwrap(), summary);
}

#[tokio::test]
async fn a_cleared_index_is_missing() {
    let folder = Folder::new();
    let store = open(&folder.index());
    fill(&store, &FILES).await.unwrap();
    let digest = store.digest().await.unwrap();
    store.clear().await.unwrap();
    assert!(matches!(store.summary().await, Err(StoreError::Missing { .. })));
    assert!(fill(&store, &FILES).await.unwrap().generation > 1);
    assert_eq!(store.digest().await.unwrap(), digest);
}
