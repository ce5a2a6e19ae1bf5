//! The store in PostgreSQL beside the one in files of our own: the same lists, the same hits.
//!
//! The same means: in the same order, unless two scores are within a ten-thousandth of each other.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use papertape_search::analysis::{self, Language, Phrase};
use papertape_search::corpus::folder::Folder;
use papertape_search::index;
use papertape_search::rank::{self, Files};
use papertape_search::store::embedded::Embedded;
use papertape_search::store::postgres::Postgres;
use papertape_search::store::{
    ChunkId, FileRecord, FileTerms, Filter, Matches, Query, Store, Summary, VectorKey,
};

use super::corpus::{self, Dice, embedding, lexical_query, many, put_with_vectors};
use super::server::Server;

/// Both stores, and what they need.
struct Both {
    postgres: Postgres,
    embedded: Embedded,
    _server: Server,
    folder: std::path::PathBuf,
}

impl Both {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("papertape-same-{name}-{}", std::process::id()));
        // A run that was killed may have left something under the same number.
        drop(std::fs::remove_dir_all(&folder));
        let server = Server::start(&[]);
        let embedded = Embedded::open_with_keys(&folder.join("index"), &folder.join("keys")).unwrap();
        Self { postgres: server.store(), embedded, _server: server, folder }
    }

    fn stores(&self) -> [&dyn Store; 2] {
        [&self.postgres, &self.embedded]
    }

    /// The file of each chunk, as the stores report it.
    async fn files(&self) -> Files {
        let files = self.embedded.files().await.unwrap();
        let chunks = files.iter().zip(0..).flat_map(|(file, number)| {
            (0..file.chunks).map(move |index| (ChunkId::of(&file.path, index), number))
        });
        chunks.collect()
    }

    /// Searches both stores, compares the results, and returns the number of hits.
    async fn compare(&self, query: &Query) -> usize {
        let (a, b) = tokio::join!(self.postgres.search(query), self.embedded.search(query));
        let (a, b) = (a.unwrap(), b.unwrap());
        same_list("lexical", query, &a.lexical, &b.lexical);
        same_list("meanings", query, &a.semantic, &b.semantic);
        assert_eq!(a.corrections, b.corrections, "{query:?}");
        assert_eq!(a.bm25.weights.len(), b.bm25.weights.len());
        for (one, other) in a.bm25.weights.iter().zip(&b.bm25.weights) {
            assert_eq!(one.0, other.0);
            assert!(close(one.1, other.1), "{one:?} {other:?}");
        }
        assert!(close(a.bm25.average_length, b.bm25.average_length));
        assert!(close(a.bm25.max_score(), b.bm25.max_score()));
        let files = self.files().await;
        for found in [&a, &b] {
            let Matches { lexical, semantic, .. } = found;
            let most = found.bm25.max_score();
            assert_eq!(hits(found), rank::hits(lexical, semantic, most, query.top_k, &files));
        }
        // What one list alone had got its score in the other.
        let summary = self.embedded.summary().await.unwrap();
        if !b.semantic.is_empty() && summary.vectors == summary.chunks {
            let near: HashSet<ChunkId> = b.semantic.iter().map(|(id, _)| *id).collect();
            assert!(b.lexical.iter().all(|(id, _)| near.contains(id)), "{query:?}");
        }
        // Lists without ties leave no choice.
        let order = |list: &[(ChunkId, f32)]| list.iter().map(|(id, _)| *id).collect::<Vec<_>>();
        if order(&a.lexical) == order(&b.lexical) && order(&a.semantic) == order(&b.semantic) {
            same_list("hits", query, &hits(&a), &hits(&b));
        }
        for hit in &a.hits {
            let place = (&hit.chunk.source, hit.chunk.index);
            let theirs = b.hits.iter().find(|hit| (&hit.chunk.source, hit.chunk.index) == place);
            assert!(theirs.is_none_or(|theirs| theirs.chunk == hit.chunk), "{theirs:?} {hit:?}");
        }
        a.hits.len()
    }
}

impl Drop for Both {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

fn close(a: f32, b: f32) -> bool {
    (a - b).abs() <= 1e-4 * a.abs().max(b.abs()).max(1e-3)
}

fn hits(found: &Matches) -> Vec<(ChunkId, f32)> {
    found.hits.iter().map(|hit| (ChunkId::of(&hit.chunk.source, hit.chunk.index), hit.score)).collect()
}

/// Every place has the same score, and every chunk its own, unless it ties with the last place.
fn same_list(what: &str, query: &Query, a: &[(ChunkId, f32)], b: &[(ChunkId, f32)]) {
    assert_eq!(a.len(), b.len(), "{what} of {query:?}");
    for ((_, one), (_, other)) in a.iter().zip(b) {
        assert!(close(*one, *other), "{what} of {query:?}: {one} {other}");
    }
    let scores: HashMap<ChunkId, f32> = b.iter().copied().collect();
    let last = b.last().map_or(0.0, |(_, score)| *score);
    for (id, score) in a {
        let theirs = scores.get(id).copied().unwrap_or(last);
        assert!(close(*score, theirs), "{what} of {query:?}: {id:?} has {score} and {theirs}");
    }
}

fn without_generation(summary: Summary) -> Summary {
    Summary { generation: 0, ..summary }
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn made_up_entries_are_found_alike() {
    let both = Both::new("made-up");
    let mut written = many(400, 11);
    for store in both.stores() {
        put_with_vectors(store, &written).await.unwrap();
    }
    compare_many_queries(&both, 12).await;
    // Some change, some go: what is gone counts no more.
    let changed = many(400, 13);
    for number in (0..400).step_by(3) {
        written[number] = changed[number].clone();
    }
    for store in both.stores() {
        let mut writer = store.write().await.unwrap();
        for (number, (record, chunks)) in written.iter().enumerate() {
            match number % 6 {
                0 => writer.put(record.clone(), chunks.clone()).await.unwrap(),
                3 => writer.remove(&record.path).await.unwrap(),
                _ => {}
            }
        }
        writer.commit().await.unwrap();
    }
    compare_many_queries(&both, 14).await;
    let (a, b) = (both.postgres.summary().await.unwrap(), both.embedded.summary().await.unwrap());
    assert!(a.vectors < a.chunks, "some want vectors");
    assert_eq!(without_generation(a), without_generation(b));
    assert_eq!(both.postgres.files().await.unwrap(), both.embedded.files().await.unwrap());
    want_alike(&both).await;
}

/// The same texts want vectors, each once, in whatever order and wherever they stand first.
async fn want_alike(both: &Both) {
    let mut lists = Vec::new();
    for store in both.stores() {
        let all = store.without_vector(usize::MAX).await.unwrap();
        let keys: BTreeMap<VectorKey, &str> =
            all.iter().map(|chunk| (chunk.key, chunk.text.as_str())).collect();
        assert_eq!(keys.len(), all.len(), "each key once");
        assert!(all.len() > 50, "{}", all.len());
        for chunk in &all {
            assert_eq!(store.chunk(&chunk.source, chunk.index).await.unwrap().as_ref(), Some(chunk));
        }
        let some = store.without_vector(50).await.unwrap();
        assert_eq!(some.len(), 50);
        assert!(some.iter().all(|chunk| all.contains(chunk)));
        lists.push(keys.into_iter().map(|(key, text)| (key, text.to_owned())).collect::<Vec<_>>());
    }
    assert_eq!(lists[0], lists[1]);
}

async fn compare_many_queries(both: &Both, seed: u64) {
    let mut dice = Dice(seed);
    let text = |it: &str| Some(it.to_owned());
    let terms = |tags: &[&str], paths: &[&str], titles: &[&str]| {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        FileTerms { tags: texts(tags), paths: texts(paths), titles: texts(titles) }
    };
    let filters = [
        Filter::default(),
        Filter { all_of: terms(&["#RUST", "ñandú"], &["/Folder"], &["TITLE of"]), ..Filter::default() },
        Filter { none_of: terms(&["日本"], &["der3/"], &["_7"]), ..Filter::default() },
        Filter { tag: text("rust/macro"), ..Filter::default() },
        Filter { path_prefix: text("folder2/"), ..Filter::default() },
        Filter { tag: text("ñandÚ"), ..Filter::default() },
        Filter { since: text("2006-01-01"), until: text("2019-05-05"), ..Filter::default() },
        Filter { tag: text("unused tag"), ..Filter::default() },
    ];
    let mut hits = 0;
    for turn in 0..120_usize {
        let words: Vec<String> = (0..dice.roll(6)).map(|_| dice.word()).collect();
        let mut phrase = |sides: u64, words: u64| {
            let words: Vec<String> = (0..words).map(|_| format!("w{}", dice.roll(sides))).collect();
            Phrase::of(&words.join(", "), &[Language::English]).unwrap()
        };
        let (mut required, mut excluded) = (Vec::new(), Vec::new());
        match turn % 10 {
            1 => required.push(phrase(9, 2)),
            2 => excluded.push(phrase(30, 1)),
            3 => excluded.push(phrase(9, 2)),
            4 => (required, excluded) = (vec![phrase(9, 1), phrase(9, 2)], vec![phrase(99, 1), phrase(9, 2)]),
            _ => {}
        }
        let query = Query {
            required,
            excluded,
            vector: (turn % 3 != 0).then(|| dice.vector()),
            filter: filters[turn % filters.len()].clone(),
            top_k: usize::try_from(dice.roll(25)).unwrap(),
            ..lexical_query(&words.join(" "))
        };
        hits += both.compare(&query).await;
    }
    assert!(hits > 500, "{hits}");
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn our_own_documentation_is_found_alike() {
    let both = Both::new("docs");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let folder = Folder::open(&root.join("docs")).unwrap();
    for store in both.stores() {
        let report = index::run(&folder, store, None, &|_| ()).await.unwrap();
        assert!(report.added > 0);
        let chunks = store.without_vector(usize::MAX).await.unwrap();
        let vectors = chunks.iter().map(|chunk| (chunk.key, Dice(chunk.key.0).vector())).collect();
        let mut writer = store.write().await.unwrap();
        writer.set_embedding(Some(embedding())).await.unwrap();
        writer.attach(vectors).await.unwrap();
        let summary = writer.commit().await.unwrap();
        assert_eq!(summary.vectors, summary.chunks);
    }
    for misspelt in [
        "notificatoin",
        "sessoin",
        "authorizatoin",
        "trasnport",
        "reponse",
        "notificaton",
        "servr",
        "zzzzzzzz",
        "the respones of a sevrer",
        "manageemnt of sessoins",
    ] {
        let languages = both.embedded.summary().await.unwrap().languages;
        let terms = analysis::query_terms(misspelt, &languages);
        let query = Query { terms, correct: true, top_k: 20, ..Query::default() };
        let found = both.compare(&query).await;
        let corrected = both.embedded.search(&query).await.unwrap().corrections.len();
        assert_eq!(
            (found > 0, corrected > 0),
            (misspelt != "zzzzzzzz", misspelt != "zzzzzzzz"),
            "{misspelt}"
        );
    }
    for asked in [
        "how do I serve a tool over HTTP",
        "tokens and secrets",
        "what happens to a frame that is not JSON",
        "cómo se prueba un servidor",
        "服务器 工具",
        "the the the",
    ] {
        let all = [Language::English, Language::Spanish, Language::Chinese];
        // As if there were but a few pages in the other two.
        let strays = analysis::query_terms(asked, &[Language::English]);
        assert!(both.compare(&Query { terms: strays, top_k: 20, ..Query::default() }).await > 0, "{asked}");
        let terms = analysis::query_terms(asked, &all);
        for vector in [None, Some(corpus::Dice(asked.len() as u64).vector())] {
            both.compare(&Query { terms: terms.clone(), vector, top_k: 20, ..Query::default() }).await;
        }
    }
}

/// What is found depends on what the store holds, not on the order in which it came.
#[tokio::test]
#[ignore = "interop/blog/run"]
async fn an_edited_store_finds_the_same_as_a_fresh_one() {
    let (one, other) = (Server::start(&[]), Server::start(&[]));
    let (edited, clean) = (one.store(), other.store());
    // Of each file there are three that are the same but for their paths, so that many score the same.
    let same = |seed: u64| {
        let copies = |copy: u64| {
            let renamed = move |(record, chunks): corpus::Written| {
                let path = format!("{copy}-{}", record.path);
                (FileRecord { path, ..record }, chunks)
            };
            many(40, seed).into_iter().map(renamed)
        };
        (0..3).flat_map(copies).collect::<Vec<_>>()
    };
    for seed in 1..6 {
        let mut files = same(seed);
        // Each time in another order.
        files.rotate_left(usize::try_from(seed * 17).unwrap());
        put_with_vectors(&edited, &files).await.unwrap();
    }
    put_with_vectors(&clean, &same(5)).await.unwrap();
    assert_eq!(
        edited.files().await.unwrap(),
        clean.files().await.unwrap(),
        "both hold the same: every file was replaced each time"
    );
    let mut dice = Dice(3);
    for _ in 0..60 {
        let words = (0..=dice.roll(6)).map(|_| dice.word()).collect::<Vec<_>>().join(" ");
        let query = Query { vector: Some(dice.vector()), ..lexical_query(&words) };
        let (a, b) = (edited.search(&query).await.unwrap(), clean.search(&query).await.unwrap());
        assert_eq!(a, b, "{words}");
    }
}
