//! What a store finds depends on what it holds, not on how it came to hold it: an index that was edited again and again
//! gives the same hits, in the same order, with the same scores, as one that was made at once.

use std::collections::BTreeMap;

use papertape_search::store::{Query, Store};

use crate::support::{Folder, Random, both, fill, lexical_query, open};

/// Paragraphs of which many are the same, so that many score the same, and most are longer than their length is kept
/// exactly.
fn text(random: &mut Random) -> String {
    let paragraph = |random: &mut Random| {
        let mut same = Random(random.next() % 12);
        let length = 5 + same.below(90);
        (0..length).map(|_| format!("w{}", same.below(40).min(same.below(40)))).collect::<Vec<_>>().join(" ")
    };
    (0..=random.below(3)).map(|_| paragraph(random)).collect::<Vec<_>>().join("\n\n")
}

fn queries(random: &mut Random) -> Vec<Query> {
    let word = |random: &mut Random| format!("w{}", random.below(40));
    let mut queries = vec![lexical_query("w0"), lexical_query("w1 w2 w3 w0")];
    for _ in 0..10 {
        let asked = (0..=random.below(4)).map(|_| word(random)).collect::<Vec<_>>().join(" ");
        queries.push(lexical_query(&asked));
        queries.push(both(&asked, &asked));
    }
    queries
}

#[tokio::test]
async fn an_edited_index_finds_the_same_as_a_fresh_one() {
    for seed in 0..4 {
        let folder = Folder::new();
        let (edited, clean) = (open(&folder.path().join("edited")), open(&folder.path().join("clean")));
        let mut random = Random(seed);
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        for round in 0..20 {
            let many = if round == 0 { 150 } else { 12 };
            let changes: BTreeMap<String, String> =
                (0..many).map(|_| (format!("{}.md", random.below(200)), text(&mut random))).collect();
            let files: Vec<(&str, &str)> =
                changes.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            fill(&edited, &files).await.unwrap();
            texts.extend(changes);
            let mut writer = edited.write().await.unwrap();
            for _ in 0..random.below(5) {
                let path = format!("{}.md", random.below(200));
                writer.remove(&path).await.unwrap();
                texts.remove(&path);
            }
            writer.commit().await.unwrap();
        }
        let files: Vec<(&str, &str)> =
            texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        fill(&clean, &files).await.unwrap();
        assert_eq!(edited.digest().await.unwrap(), clean.digest().await.unwrap());
        for query in queries(&mut random) {
            let (a, b) = (edited.search(&query).await.unwrap(), clean.search(&query).await.unwrap());
            assert_eq!(a.bm25, b.bm25, "seed {seed}: {query:?}");
            assert_eq!(a, b, "seed {seed}: {query:?}");
        }
    }
}
