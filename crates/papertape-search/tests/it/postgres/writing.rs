//! What is written is found: files, chunks, terms, vectors, generations.

use papertape_search::analysis::Bag;
use papertape_search::rank::bm25::Bm25;
use papertape_search::store::{ChunkId, Embedding, Filter, Query, Store, StoreError};

use super::corpus::{self, embedding, file, lexical_query, places, put, put_with_vectors};
use super::server::Server;

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn nothing_is_there_before_the_first_index() {
    let server = Server::start(&[]);
    let store = server.store();
    for error in [
        store.summary().await.unwrap_err(),
        store.search(&lexical_query("any")).await.unwrap_err(),
        store.chunk("a.md", 0).await.unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::Missing { .. }), "{error}");
    }
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn a_file_is_found_changed_and_gone() {
    let server = Server::start(&[]);
    let store = server.store();
    let first =
        [file("a.md", &["apples and pears", "pears alone"]), file("ü/b.md", &["apples, nul \0 byte"])];
    let summary = put(&store, &first).await.unwrap();
    assert_eq!((summary.generation, summary.files, summary.chunks, summary.vectors), (1, 2, 3, 0));
    assert_eq!(places(&store, &lexical_query("pears")).await, ["a.md#1", "a.md#0"]);
    assert_eq!(store.chunk("ü/b.md", 0).await.unwrap().unwrap().text, "apples, nul \u{fffd} byte");
    assert_eq!(store.chunk("ü/b.md", 1).await.unwrap(), None);
    assert_eq!(store.chunk("no\0.md", u32::MAX).await.unwrap(), None);
    let chunks = store.chunks("a.md").await.unwrap();
    assert_eq!(
        chunks.iter().map(|it| (it.index, it.text.as_str())).collect::<Vec<_>>(),
        [(0, "apples and pears"), (1, "pears alone")]
    );
    assert_eq!((chunks[0].title.as_str(), chunks[0].headings.len()), ("Title of a.md", 2));
    assert_eq!(
        store.files().await.unwrap().iter().cloned().collect::<Vec<_>>(),
        first.iter().map(|it| it.0.clone()).collect::<Vec<_>>()
    );

    put(&store, &[file("a.md", &["plums"])]).await.unwrap();
    assert_eq!(places(&store, &lexical_query("pears")).await, [""; 0]);
    assert_eq!(places(&store, &lexical_query("plums")).await, ["a.md#0"]);

    let mut writer = store.write().await.unwrap();
    writer.remove("a.md").await.unwrap();
    writer.remove("never there").await.unwrap();
    let mut touched = first[1].0.clone();
    touched.stamp.inode = 7;
    writer.touch(touched.clone()).await.unwrap();
    let summary = writer.commit().await.unwrap();
    assert_eq!((summary.generation, summary.files, summary.chunks), (3, 1, 1));
    assert_eq!(store.files().await.unwrap().to_vec(), [touched]);
    assert_eq!(places(&store, &lexical_query("plums")).await, [""; 0]);
    assert_eq!(store.search(&lexical_query("nul")).await.unwrap().hits.len(), 1);
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn uncommitted_changes_are_discarded() {
    let server = Server::start(&[]);
    let store = server.store();
    put(&store, &[file("a.md", &["apples"])]).await.unwrap();
    let mut writer = store.write().await.unwrap();
    for (record, chunks) in corpus::many(300, 1) {
        writer.put(record, chunks).await.unwrap();
    }
    writer.remove("a.md").await.unwrap();
    assert_eq!(places(&store, &lexical_query("apples")).await, ["a.md#0"]);
    drop(writer);
    let summary = put(&store, &[]).await.unwrap();
    assert_eq!((summary.generation, summary.files, summary.chunks), (2, 1, 1));
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn a_second_writer_learns_which_process_writes() {
    let server = Server::start(&[]);
    let (one, other) = (server.store(), server.store());
    let _writer = one.write().await.unwrap();
    let error = other.write().await.map(drop).unwrap_err();
    let StoreError::Locked { by, .. } = &error else { panic!("{error}") };
    assert!(by.contains(&format!("process {}", std::process::id())), "{by}");
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn scores_are_those_of_bm25() {
    let server = Server::start(&[]);
    let store = server.store();
    let written = corpus::many(150, 2);
    put(&store, &written).await.unwrap();
    let query = lexical_query("w1 w20 w20 w333 never");
    let found = store.search(&query).await.unwrap();
    let mut wanted: Vec<(ChunkId, f32)> = Vec::new();
    for (record, chunks) in &written {
        for chunk in chunks {
            let score = found.bm25.score(&chunk.bag);
            if score > 0.0 {
                wanted.push((ChunkId::of(&record.path, chunk.index), score));
            }
        }
    }
    wanted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    wanted.truncate(100);
    assert_eq!(found.lexical.len(), wanted.len());
    for ((_, is), (_, should)) in found.lexical.iter().zip(&wanted) {
        assert!((is - should).abs() <= 1e-4 * should, "{is} {should}");
    }
    assert_eq!(found.bm25.weights.len(), 3, "one of the terms does not occur");
    let lengths: Vec<u32> =
        written.iter().flat_map(|(_, chunks)| chunks.iter().map(|it| it.bag.length())).collect();
    let average = f64::from(lengths.iter().sum::<u32>()) / lengths.len() as f64;
    assert!((f64::from(found.bm25.average_length) - average).abs() < 1e-3);
    assert_eq!(Bm25::default().score(&Bag::default()), 0.0);
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn filters_choose_files() {
    let server = Server::start(&[]);
    let store = server.store();
    let written = corpus::many(200, 3);
    put_with_vectors(&store, &written).await.unwrap();
    let vector = Some(corpus::Dice(9).vector());
    let text = |it: &str| Some(it.to_owned());
    for filter in [
        Filter { path_prefix: text("folder1/"), ..Filter::default() },
        Filter { path_prefix: text("folder1/entry%_"), ..Filter::default() },
        Filter { path_prefix: text("%"), ..Filter::default() },
        Filter { tag: text("ÑANDÚ"), ..Filter::default() },
        Filter {
            tag: text("rust"),
            since: text("2005-01-01"),
            until: text("2010-12-31"),
            ..Filter::default()
        },
        Filter { since: text("2024-01-01"), ..Filter::default() },
    ] {
        let query =
            Query { filter: filter.clone(), vector: vector.clone(), top_k: 20, ..lexical_query("w1 w2 w3") };
        let found = store.search(&query).await.unwrap();
        let fits: Vec<ChunkId> = written
            .iter()
            .filter(|(record, _)| {
                filter.path_prefix.as_ref().is_none_or(|prefix| record.path.starts_with(prefix))
                    && filter.tag.as_ref().is_none_or(|tag| {
                        let below = format!("{}/", tag.to_lowercase());
                        record.tags.iter().any(|it| format!("{}/", it.to_lowercase()).starts_with(&below))
                    })
                    && filter
                        .since
                        .as_ref()
                        .is_none_or(|day| record.date.as_ref().is_some_and(|it| it >= day))
                    && filter
                        .until
                        .as_ref()
                        .is_none_or(|day| record.date.as_ref().is_some_and(|it| it <= day))
            })
            .flat_map(|(record, chunks)| chunks.iter().map(|chunk| ChunkId::of(&record.path, chunk.index)))
            .collect();
        // The nearest, and those that only the lexical list has.
        assert!(found.semantic.len() >= fits.len().min(100), "{filter:?}");
        assert!(found.semantic.iter().chain(&found.lexical).all(|(id, _)| fits.contains(id)), "{filter:?}");
        assert_eq!(found.hits.is_empty(), fits.is_empty(), "{filter:?}");
    }
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn vectors_belong_to_their_model() {
    let server = Server::start(&[]);
    let store = server.store();
    let written = [file("a.md", &["same", "other"]), file("b.md", &["same", "more"])];
    put(&store, &written).await.unwrap();
    assert_eq!(store.without_vector(10).await.unwrap().len(), 3);

    let mut writer = store.write().await.unwrap();
    writer.set_embedding(Some(embedding())).await.unwrap();
    writer.attach(corpus::vectors(&written[..1])).await.unwrap();
    let summary = writer.commit().await.unwrap();
    assert_eq!((summary.vectors, summary.embedding), (3, Some(embedding())));
    let wanting = store.without_vector(10).await.unwrap();
    assert_eq!(wanting.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(), ["more"]);

    // The nearest of a chunk's own vector is that chunk, wherever it stands.
    let vector = corpus::vectors(&written)[0].1.clone();
    let query = Query { vector: Some(vector.clone()), top_k: 2, ..Query::default() };
    let mut found = places(&store, &query).await;
    found.sort();
    assert_eq!(found, ["a.md#0", "b.md#0"]);

    let wrong = Query { vector: Some(vec![1.0; 3]), top_k: 2, ..Query::default() };
    let error = store.search(&wrong).await.unwrap_err().to_string();
    assert!(error.contains("3 numbers") && error.contains("16"), "{error}");
    let mut writer = store.write().await.unwrap();
    for vector in [vec![0.5; 3], vec![0.0; 16], vec![f32::NAN; 16]] {
        let error = writer.attach(vec![(written[0].1[0].key, vector)]).await.unwrap_err();
        assert!(matches!(error, StoreError::Mismatch(_)), "{error}");
    }
    // Another judgement is not another model.
    writer.set_embedding(Some(Embedding { knows_language: false, ..embedding() })).await.unwrap();
    assert_eq!(writer.commit().await.unwrap().vectors, 3);

    let mut writer = store.write().await.unwrap();
    writer.set_embedding(Some(Embedding { digest: "2".to_owned(), ..embedding() })).await.unwrap();
    assert_eq!(store.search(&query).await.unwrap().semantic.len(), 3, "the old ones until the commit");
    assert_eq!(writer.commit().await.unwrap().vectors, 0);
    assert_eq!(store.search(&query).await.unwrap().semantic.len(), 0);
    assert_eq!(store.without_vector(10).await.unwrap().len(), 3);
    let mut writer = store.write().await.unwrap();
    writer.set_embedding(None).await.unwrap();
    assert_eq!(writer.commit().await.unwrap().embedding, None);
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn every_replica_is_notified_of_every_generation() {
    let server = Server::start(&[]);
    let (writing, hearing) = (server.store(), server.store());
    let mut generations = hearing.generations();
    for generation in 1..=3 {
        put(&writing, &[file("a.md", &["apples"])]).await.unwrap();
        let heard = generations.wait_for(|it| *it == generation);
        tokio::time::timeout(std::time::Duration::from_secs(20), heard).await.unwrap().unwrap();
        assert_eq!(hearing.summary().await.unwrap().generation, generation);
    }
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn long_terms_long_paths_and_special_characters_are_handled() {
    let server = Server::start(&[]);
    let store = server.store();
    let long = "x".repeat(1 << 20);
    let path = format!("{}a.md", "deep/".repeat(800));
    put(&store, &[file(&path, &[&long, "%_'; DROP TABLE x; --"])]).await.unwrap();
    assert_eq!(places(&store, &lexical_query(&long)).await, [format!("{path}#0")]);
    assert_eq!(places(&store, &lexical_query("%_';")).await, [format!("{path}#1")]);
    for text in ["", "%", "a\0b", "a & | ! ( :*", "\\", "'"] {
        assert_eq!(places(&store, &lexical_query(text)).await, [""; 0]);
    }
    let filter = Filter {
        path_prefix: Some("\0".to_owned()),
        tag: Some("\0".to_owned()),
        since: Some("\0".to_owned()),
        until: None,
        ..Filter::default()
    };
    assert_eq!(places(&store, &Query { filter, ..lexical_query("drop") }).await, [""; 0]);
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn maintained_counts_match_the_tables() {
    let server = Server::start(&[]);
    let store = server.store();
    put_with_vectors(&store, &corpus::many(120, 6)).await.unwrap();
    let mut dice = corpus::Dice(7);
    for round in 8..12 {
        let mut writer = store.write().await.unwrap();
        for (record, chunks) in corpus::many(120, round) {
            match dice.roll(4) {
                0 => writer.remove(&record.path).await.unwrap(),
                1 => writer.touch(record).await.unwrap(),
                2 => {
                    // Twice in one generation: the last one counts.
                    writer.put(record.clone(), Vec::new()).await.unwrap();
                    writer.put(record, chunks).await.unwrap();
                }
                _ => {}
            }
        }
        writer.commit().await.unwrap();
    }
    let client = server.client().await;
    for (what, sql) in [
        (
            "words",
            "SELECT count(*) FROM papertape.words w WHERE chunks <= 0 OR chunks <> (SELECT count(*) FROM papertape.postings p WHERE p.word = w.id)",
        ),
        (
            "postings",
            "SELECT count(*) FROM papertape.postings p LEFT JOIN papertape.chunks c ON c.id = p.chunk LEFT JOIN papertape.words w ON w.id = p.word WHERE c.id IS NULL OR w.id IS NULL",
        ),
        (
            "chunks",
            "SELECT count(*) FROM papertape.chunks c LEFT JOIN papertape.files f ON f.id = c.file WHERE f.id IS NULL",
        ),
        (
            "vectors",
            "SELECT count(*) FROM papertape.vectors_1 v WHERE NOT EXISTS (SELECT 1 FROM papertape.chunks c WHERE c.key = v.key)",
        ),
        (
            "wanting",
            "SELECT count(*) FROM papertape.chunks c WHERE EXISTS (SELECT 1 FROM papertape.wanting w WHERE w.chunk = c.id) = EXISTS (SELECT 1 FROM papertape.vectors_1 v WHERE v.key = c.key)",
        ),
        (
            "sums",
            "SELECT count(*) FROM papertape.meta WHERE chunks <> (SELECT count(*) FROM papertape.chunks) OR length <> (SELECT sum(length) FROM papertape.chunks) OR files <> (SELECT count(*) FROM papertape.files)",
        ),
    ] {
        let wrong: i64 = client.query_one(sql, &[]).await.unwrap().get(0);
        assert_eq!(wrong, 0, "{what}");
    }
}
