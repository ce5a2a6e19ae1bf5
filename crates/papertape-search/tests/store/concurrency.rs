//! Concurrent writers and readers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use papertape_search::store::{Store, StoreError};

use crate::support::{Folder, both, file, fill, lexical_query, open, put, vector};

#[tokio::test]
async fn a_second_writer_learns_which_process_writes() {
    let folder = Folder::new();
    let (one, two) = (open(&folder.index()), open(&folder.index()));
    let writer = one.write().await.unwrap();
    for store in [&one, &two] {
        match store.write().await.err() {
            Some(StoreError::Locked { by, .. }) => assert_eq!(by, format!("process {}", std::process::id())),
            other => panic!("{other:?}"),
        }
        assert!(matches!(store.clear().await, Err(StoreError::Locked { .. })));
    }
    drop(writer);
    two.write().await.unwrap().commit().await.unwrap();
    one.write().await.unwrap();
}

#[tokio::test]
async fn the_lock_of_a_dead_process_is_released() {
    let folder = Folder::new();
    std::fs::create_dir(folder.index()).unwrap();
    std::fs::write(folder.index().join("lock"), "1\n").unwrap();
    fill(&open(&folder.index()), &[("a.md", "a")]).await.unwrap();
}

/// Each generation has its number in every file: a search that saw two generations would see two numbers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searches_see_one_generation_while_others_are_made() {
    let folder = Folder::new();
    let text = |generation: u64, number: u64| format!("everywhere generation{generation} file{number}");
    let store = Arc::new(open(&folder.index()));
    let generation = |generation: u64| {
        let path = folder.index();
        async move {
            // Another store each time, as another process would have.
            let store = open(&path);
            let mut writer = store.write().await.unwrap();
            writer.set_embedding(Some(crate::support::embedding())).await.unwrap();
            for number in 0..8 {
                let text = text(generation, number);
                let (record, entries) = file(&format!("{number}.md"), &text);
                writer.attach(vec![(entries[0].key, vector(&text))]).await.unwrap();
                writer.put(record, entries).await.unwrap();
            }
            writer.commit().await.unwrap()
        }
    };
    generation(1).await;
    let over = Arc::new(AtomicBool::new(false));
    let searchers: Vec<_> = (0..50)
        .map(|_| {
            let (store, over) = (Arc::clone(&store), Arc::clone(&over));
            tokio::spawn(async move {
                let (mut searches, mut seen) = (0, 0);
                while !over.load(Ordering::Relaxed) || searches == 0 {
                    let found = store.search(&both("everywhere", "x")).await.unwrap();
                    assert_eq!(found.hits.len(), 8);
                    let mut generations: Vec<&str> =
                        found.hits.iter().map(|hit| hit.chunk.text.split(' ').nth(1).unwrap()).collect();
                    generations.dedup();
                    assert_eq!(generations.len(), 1, "{generations:?}");
                    let generation: u64 = generations[0].trim_start_matches("generation").parse().unwrap();
                    assert!(generation >= seen);
                    (searches, seen) = (searches + 1, generation);
                }
                searches
            })
        })
        .collect();
    for number in 2..=30 {
        assert_eq!(generation(number).await.generation, number);
    }
    over.store(true, Ordering::Relaxed);
    for searcher in searchers {
        assert!(searcher.await.unwrap() > 0);
    }
    assert_eq!(store.summary().await.unwrap().generation, 30);
}

#[tokio::test]
async fn three_runs_give_the_same_index_and_a_removed_file_is_gone() {
    let mut digests = HashMap::new();
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
        let folder = Folder::new();
        let store = open(&folder.index());
        for number in order {
            let text = format!("text {number}\n\nof everybody\n\nnumber{number}");
            fill(&store, &[(&format!("{number}.md"), &text)]).await.unwrap();
        }
        *digests.entry(store.digest().await.unwrap()).or_insert(0) += 1;
        // The same again changes nothing.
        fill(&store, &[("1.md", "text 1\n\nof everybody\n\nnumber1")]).await.unwrap();
        *digests.entry(store.digest().await.unwrap()).or_insert(0) += 1;
        let mut writer = store.write().await.unwrap();
        writer.remove("1.md").await.unwrap();
        put(writer.as_mut(), "4.md", "something else").await.unwrap();
        writer.commit().await.unwrap();
        assert!(!digests.contains_key(&store.digest().await.unwrap()));
        assert_eq!(store.search(&lexical_query("number1")).await.unwrap().hits, []);
    }
    assert_eq!(digests.len(), 1);
}
