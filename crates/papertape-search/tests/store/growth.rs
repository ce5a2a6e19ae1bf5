//! Many changes, one after the other: few files, little that is dead, and the same results as an index made at once.

use papertape_search::store::{Query, Store, VectorKey};

use crate::support::{Folder, Random, both, fill, hits, lexical_query, open, vector};

fn text(random: &mut Random) -> String {
    let paragraph = |random: &mut Random| {
        (0..20).map(|_| format!("w{}", random.below(50).min(random.below(50)))).collect::<Vec<_>>().join(" ")
    };
    (0..=random.below(3)).map(|_| paragraph(random)).collect::<Vec<_>>().join("\n\n")
}

#[tokio::test]
async fn an_index_that_grew_finds_the_same_as_a_fresh_one() {
    let folder = Folder::new();
    let (grown, at_once) = (open(&folder.path().join("grown")), open(&folder.path().join("at-once")));
    let mut random = Random(5);
    let mut texts = std::collections::BTreeMap::new();
    for round in 0..60 {
        let changes: Vec<(String, String)> =
            (0..4).map(|_| (format!("{}.md", random.below(40)), text(&mut random))).collect();
        let files: Vec<(&str, &str)> =
            changes.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        fill(&grown, &files).await.unwrap();
        texts.extend(changes.iter().cloned());
        if round % 5 == 4 {
            let path = format!("{}.md", random.below(40));
            let mut writer = grown.write().await.unwrap();
            writer.remove(&path).await.unwrap();
            writer.commit().await.unwrap();
            texts.remove(&path);
        }
    }
    let files: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    fill(&at_once, &files).await.unwrap();
    assert_eq!(grown.digest().await.unwrap(), at_once.digest().await.unwrap());
    let summary = grown.verify().await.unwrap();
    assert_eq!((summary.files, summary.vectors), (texts.len() as u64, summary.chunks));
    let count = std::fs::read_dir(folder.path().join("grown")).unwrap().count();
    assert!(count < 200, "{count} files");
    for _ in 0..50 {
        let query_text = format!("w{} w{} w{} w0", random.below(50), random.below(50), random.below(50));
        let query = both(&query_text, &query_text);
        let (a, b) = (grown.search(&query).await.unwrap(), at_once.search(&query).await.unwrap());
        assert_eq!(a.bm25, b.bm25);
        assert_eq!(a.semantic, b.semantic);
        assert_eq!(a.lexical.len(), b.lexical.len());
        for ((_, left), (_, right)) in a.lexical.iter().zip(&b.lexical) {
            assert!((left - right).abs() < 1e-4, "{query_text}");
        }
        assert_eq!(hits(&a)[..3], hits(&b)[..3], "{query_text}");
    }
}

#[tokio::test]
async fn the_best_are_those_that_score_best_of_all() {
    let folder = Folder::new();
    let store = open(&folder.index());
    let mut random = Random(9);
    let texts: Vec<(String, String)> =
        (0..400).map(|number| (format!("{number}.md"), text(&mut random))).collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    fill(&store, &files).await.unwrap();
    for _ in 0..30 {
        let query_text =
            (0..=random.below(8)).map(|_| format!("w{}", random.below(50))).collect::<Vec<_>>().join(" ");
        let found = store.search(&lexical_query(&query_text)).await.unwrap();
        let mut expected: Vec<f32> = texts
            .iter()
            .flat_map(|(path, text)| crate::support::file(path, text).1)
            .map(|entry| found.bm25.score(&entry.bag))
            .filter(|score| *score > 0.0)
            .collect();
        expected.sort_by(|a, b| b.total_cmp(a));
        expected.truncate(100);
        assert_eq!(found.lexical.len(), expected.len(), "{query_text}");
        for ((_, score), expected) in found.lexical.iter().zip(expected) {
            assert!((score - expected).abs() < 1e-3, "{query_text}: {score} {expected}");
        }
    }
}

/// More than are compared exactly, so that codes decide: with one bit for each number.
#[tokio::test]
async fn the_nearest_of_many_vectors_are_found() {
    let folder = Folder::new();
    let store = open(&folder.index());
    let mut random = Random(3);
    let mut writer = store.write().await.unwrap();
    let embedding = papertape_search::store::Embedding { dimension: 256, ..crate::support::embedding() };
    writer.set_embedding(Some(embedding)).await.unwrap();
    let topics: Vec<Vec<f32>> = (0..50).map(|_| random.vector(256)).collect();
    let near = |random: &mut Random| {
        let topic = &topics[random.below(topics.len())];
        let noise = random.vector(256);
        topic.iter().zip(noise).map(|(a, b)| 0.2 + a + 0.8 * b).collect::<Vec<f32>>()
    };
    let mut vectors = Vec::new();
    for number in 0..9_000 {
        let text = format!("t{number}");
        crate::support::put(writer.as_mut(), &format!("{number}.md"), &text).await.unwrap();
        vectors.push((VectorKey::of(&text), near(&mut random)));
    }
    for part in vectors.chunks(1_000) {
        writer.attach(part.to_vec()).await.unwrap();
    }
    writer.commit().await.unwrap();
    let cosine = |a: &[f32], b: &[f32]| {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    let (mut same, mut all) = (0, 0);
    for _ in 0..20 {
        let query_text = near(&mut random);
        let query = Query { vector: Some(query_text.clone()), top_k: 10, ..Query::default() };
        let found = store.search(&query).await.unwrap();
        let mut exact: Vec<(f32, String)> = vectors
            .iter()
            .zip(0..)
            .map(|((_, vector), number)| (cosine(vector, &query_text), format!("{number}.md#0")))
            .collect();
        exact.sort_by(|a, b| b.0.total_cmp(&a.0));
        let found = hits(&found);
        same += exact[..10].iter().filter(|(_, path)| found.contains(path)).count();
        all += 10;
    }
    assert!(same * 100 >= all * 98, "{same} of {all}");
}

#[tokio::test]
async fn unreferenced_vectors_are_removed() {
    let folder = Folder::new();
    let store = open(&folder.index());
    let size = || -> u64 {
        let entries = std::fs::read_dir(folder.index()).unwrap().map(|entry| entry.unwrap());
        let rows = entries.filter(|entry| entry.file_name().to_str().unwrap().ends_with(".rows"));
        rows.map(|entry| entry.metadata().unwrap().len()).sum()
    };
    let many = |round: u32| {
        (0..3_000).map(move |number| format!("text {round} {number}")).collect::<Vec<_>>().join("\n\n")
    };
    fill(&store, &[("a.md", &many(0)), ("b.md", "stays")]).await.unwrap();
    let before = size();
    fill(&store, &[("a.md", &many(1))]).await.unwrap();
    assert_eq!(size(), before);
    assert_eq!(store.verify().await.unwrap().vectors, 3_001);
    let found = store.search(&both("", "stays")).await.unwrap();
    assert_eq!(hits(&found)[0], "b.md#0");
    assert!((found.semantic[0].1 - 1.0).abs() < 1e-3);
    assert_eq!(vector("stays").len(), 64);
}
