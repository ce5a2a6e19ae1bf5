//! The hits and scores of the embedded store against BM25 and cosines computed naively, over all chunks, with the functions
//! of the ranking.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use papertape_search::rank::bm25::{Bm25, rounded_length, term_score};
use papertape_search::store::{ChunkId, DEPTH, Entry, Query, Store};

use crate::support::{Folder, Random, both, file, fill, lexical_query, open, vector};

/// Zipf-like: few terms in most chunks, many in few.
fn text(random: &mut Random) -> String {
    let word = |random: &mut Random| {
        let rank = random.below(2_000);
        format!("w{}", random.below(rank + 1))
    };
    let paragraph = |random: &mut Random| {
        let length = 5 + random.below(60);
        (0..length).map(|_| word(random)).collect::<Vec<_>>().join(" ")
    };
    (0..=random.below(4)).map(|_| paragraph(random)).collect::<Vec<_>>().join("\n\n")
}

/// All chunks that score anything, best first, from nothing but the chunks themselves.
fn naive(query: &Query, chunks: &BTreeMap<ChunkId, Entry>) -> (Bm25, Vec<(ChunkId, f32)>) {
    let forms = query.terms.iter().flat_map(|word| &word.forms);
    let with: BTreeMap<&str, u64> = forms
        .map(|form| (form.as_str(), chunks.values().filter(|entry| entry.bag.count(form) > 0).count() as u64))
        .collect();
    let tokens: u64 = chunks.values().map(|entry| u64::from(entry.bag.length())).sum();
    let scale = Bm25::new(&query.terms, &with, chunks.len() as u64, tokens as f32 / chunks.len() as f32);
    let mut weights = scale.weights.clone();
    // Floats are added in the order of the store, so that not a bit differs.
    weights.sort_by(|a, b| b.1.total_cmp(&a.1));
    let score = |entry: &Entry| {
        let norm = scale.norm(rounded_length(entry.bag.length()));
        weights.iter().fold(0.0, |sum, (term, weight)| match entry.bag.count(term) {
            0 => sum,
            times => sum + term_score(*weight, times, norm),
        })
    };
    let mut best: Vec<(ChunkId, f32)> = chunks.iter().map(|(id, entry)| (*id, score(entry))).collect();
    best.retain(|(_, score)| *score > 0.0);
    best.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    (scale, best)
}

#[tokio::test]
async fn hits_and_scores_are_those_of_bm25_over_every_chunk() {
    let folder = Folder::new();
    let store = open(&folder.index());
    let mut random = Random(21);
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    // Segments of several sizes, files that were changed, deleted and added again, and merges.
    for (round, many) in [600, 40, 9, 9, 9, 9, 9, 9, 9, 9, 9, 3].into_iter().enumerate() {
        let mut writer = store.write().await.unwrap();
        for _ in 0..many {
            let (path, content) = (format!("{}.md", random.below(900)), text(&mut random));
            let (record, entries) = file(&path, &content);
            writer.put(record, entries).await.unwrap();
            texts.insert(path, content);
        }
        if round % 3 == 1 {
            let path = texts.keys().nth(random.below(texts.len())).unwrap().clone();
            writer.remove(&path).await.unwrap();
            texts.remove(&path);
        }
        writer.commit().await.unwrap();
    }
    let chunks: BTreeMap<ChunkId, Entry> = texts
        .iter()
        .flat_map(|(path, text)| {
            file(path, text).1.into_iter().map(move |entry| (ChunkId::of(path, entry.index), entry))
        })
        .collect();
    assert_eq!(store.verify().await.unwrap().chunks, chunks.len() as u64);
    let mut lengths = BTreeSet::new();
    for number in 0..200 {
        let length = 1 + number % 9;
        let query_text = (0..length)
            .map(|_| {
                let rank = random.below(2_000);
                format!("w{}", random.below(rank + 1))
            })
            .collect::<Vec<_>>()
            .join(" ");
        let query = lexical_query(&query_text);
        let found = store.search(&query).await.unwrap();
        let (scale, mut best) = naive(&query, &chunks);
        best.truncate(DEPTH);
        assert_eq!(found.bm25, scale, "{query_text}");
        assert_eq!(found.lexical, best, "{query_text}");
        lengths.insert(best.len());
        for hit in &found.hits {
            let entry = &chunks[&ChunkId::of(&hit.chunk.source, hit.chunk.index)];
            assert_eq!((&hit.chunk.text, &hit.chunk.headings), (&entry.text, &entry.headings));
        }
    }
    assert!(lengths.len() > 10 && lengths.contains(&DEPTH), "{lengths:?}");
}

fn cosine_of(a: &[f32], b: &[f32]) -> f32 {
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    product(a, b) / (product(a, a) * product(b, b)).sqrt()
}

#[tokio::test]
async fn a_chunk_of_either_list_has_both_scores() {
    let folder = Folder::new();
    let store = open(&folder.index());
    let mut random = Random(22);
    let mut files: Vec<(String, String)> =
        (0..400).map(|number| (format!("{number}.md"), text(&mut random))).collect();
    for part in files.chunks(150) {
        let part: Vec<(&str, &str)> =
            part.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        fill(&store, &part).await.unwrap();
    }
    let mut writer = store.write().await.unwrap();
    for (path, _) in files.drain(..20) {
        writer.remove(&path).await.unwrap();
    }
    writer.commit().await.unwrap();
    let entries = files.iter().flat_map(|(path, text)| {
        file(path, text).1.into_iter().map(move |entry| (ChunkId::of(path, entry.index), entry))
    });
    let chunks: BTreeMap<ChunkId, Entry> = entries.collect();
    for number in 0..40 {
        let query = both(&format!("w{number} w{} w{}", number * 7, number * 40), &format!("query {number}"));
        let found = store.search(&query).await.unwrap();
        let (_, all) = naive(&query, &chunks);
        let words: HashMap<ChunkId, f32> = all.into_iter().collect();
        let lexical: HashMap<ChunkId, f32> = found.lexical.iter().copied().collect();
        let semantic: HashMap<ChunkId, f32> = found.semantic.iter().copied().collect();
        assert!(lexical.len() <= semantic.len() && semantic.len() > DEPTH, "{}", semantic.len());
        for (id, cosine) in &semantic {
            assert_eq!(lexical.get(id), words.get(id), "to the bit");
            let meaning = cosine_of(&vector(&chunks[id].text), query.vector.as_deref().unwrap());
            assert!((cosine - meaning).abs() < 2e-3, "{cosine} is not {meaning}");
        }
        for list in [&found.lexical, &found.semantic] {
            assert!(list.windows(2).all(|pair| pair[0].1 >= pair[1].1));
        }
    }
}
