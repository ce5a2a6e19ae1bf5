//! Entries that look like a blog's, always the same ones.

use papertape_search::analysis::{Bag, Language, QueryTerm};
use papertape_search::store::{
    Embedding, Entry, FileRecord, Lines, Query, Stamp, Store, StoreError, Summary, VectorKey,
};

pub(crate) const DIMENSION: u32 = 16;

/// A file and its chunks.
pub(crate) type Written = (FileRecord, Vec<Entry>);

/// Numbers that look random and are always the same.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        // A linear congruential generator with Knuth's numbers; its upper bits are good enough for tests.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    /// Common words are common, rare ones rare.
    pub(crate) fn word(&mut self) -> String {
        let most = self.roll(1000) + 1;
        format!("w{}", self.roll(most))
    }

    pub(crate) fn vector(&mut self) -> Vec<f32> {
        let vector: Vec<f32> =
            (0..DIMENSION).map(|_| f32::from(u16::try_from(self.roll(2000)).unwrap()) - 999.5).collect();
        let length = vector.iter().map(|it| it * it).sum::<f32>().sqrt();
        vector.into_iter().map(|it| it / length).collect()
    }
}

/// A file with the words of each of its chunks.
pub(crate) fn file(path: &str, texts: &[&str]) -> Written {
    let chunks: Vec<Entry> = texts.iter().zip(0..).map(|(text, index)| entry(index, text)).collect();
    let digest = *blake3::hash(texts.concat().as_bytes()).as_bytes();
    let size = texts.iter().map(|text| text.len() as u64).sum();
    let record = FileRecord {
        path: path.to_owned(),
        stamp: Stamp { size, modified: -1, changed: i64::MAX, inode: u64::MAX },
        digest,
        title: format!("Title of {path}"),
        date: None,
        tags: Vec::new(),
        language: Language::English,
        chunks: u32::try_from(texts.len()).unwrap(),
        size,
    };
    (record, chunks)
}

fn entry(index: u32, text: &str) -> Entry {
    let mut bag = Bag::default();
    for word in text.split_whitespace() {
        bag.add(word.to_lowercase(), 1);
    }
    let headings = vec!["Heading".to_owned(), format!("Part {index}")];
    let lines = Lines { start: index * 10 + 1, end: index * 10 + 9 };
    Entry { index, headings, text: text.to_owned(), bag, key: VectorKey::of(text), lines }
}

/// Many files: in directories, of days, with tags, of several languages.
pub(crate) fn many(files: u64, seed: u64) -> Vec<Written> {
    let mut dice = Dice(seed);
    (0..files)
        .map(|number| {
            let texts: Vec<String> = (0..dice.roll(6))
                .map(|_| {
                    let words = dice.roll(200) + 1;
                    (0..words).map(|_| dice.word()).collect::<Vec<_>>().join(" ")
                })
                .collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let (mut record, chunks) = file(&format!("folder{}/entry%_{number}.md", number % 7), &texts);
            record.date = (number % 3 != 0).then(|| format!("20{:02}-0{}-11", number % 25, number % 9 + 1));
            record.tags = ["Rust/Macros", "Ñandú", "日本"]
                .iter()
                .take(usize::try_from(number % 4).unwrap())
                .map(|it| (*it).to_owned())
                .collect();
            record.language = [Language::English, Language::Spanish, Language::Chinese]
                [usize::try_from(number % 3).unwrap()];
            (record, chunks)
        })
        .collect()
}

/// A vector for every chunk: the same for the same meaning.
pub(crate) fn vectors(written: &[Written]) -> Vec<(VectorKey, Vec<f32>)> {
    let keys = written.iter().flat_map(|(_, chunks)| chunks.iter().map(|chunk| chunk.key));
    keys.map(|key| (key, Dice(key.0).vector())).collect()
}

pub(crate) fn embedding() -> Embedding {
    Embedding {
        model: "test".to_owned(),
        dimension: DIMENSION,
        digest: "1".to_owned(),
        knows_language: true,
        judged_on: 5,
    }
}

/// Puts files into a store.
pub(crate) async fn put(store: &dyn Store, written: &[Written]) -> Result<Summary, StoreError> {
    let mut writer = store.write().await?;
    for (record, chunks) in written {
        writer.put(record.clone(), chunks.clone()).await?;
    }
    writer.commit().await
}

/// Puts files and vectors into a store.
pub(crate) async fn put_with_vectors(store: &dyn Store, written: &[Written]) -> Result<Summary, StoreError> {
    let mut writer = store.write().await?;
    writer.set_embedding(Some(embedding())).await?;
    for (record, chunks) in written {
        writer.put(record.clone(), chunks.clone()).await?;
    }
    writer.attach(vectors(written)).await?;
    writer.commit().await
}

/// A lexical query of these terms.
pub(crate) fn lexical_query(text: &str) -> Query {
    let terms = text.split_whitespace().map(|word| QueryTerm {
        forms: vec![word.to_owned()],
        count: 1,
        ..QueryTerm::default()
    });
    Query { terms: terms.collect(), top_k: 5, ..Query::default() }
}

/// The addresses of the hits of a query.
pub(crate) async fn places(store: &dyn Store, query: &Query) -> Vec<String> {
    let found = store.search(query).await.unwrap();
    found.hits.iter().map(|hit| format!("{}#{}", hit.chunk.source, hit.chunk.index)).collect()
}
