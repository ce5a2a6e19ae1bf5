//! So many vectors that not each is compared: the HNSW index gives what comparing each would, nearly always.

use std::collections::HashSet;

use papertape_search::store::{ChunkId, Filter, Query, Store};

use super::corpus::{Dice, file, put_with_vectors, vectors};
use super::server::{Server, end_sessions};

const FILES: u64 = 1_100;

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn beyond_ten_thousand_vectors_the_hnsw_index_is_used() {
    let server = Server::start(&[]);
    let store = server.store();
    let written: Vec<_> = (0..FILES)
        .map(|number| {
            let texts: Vec<String> = (0..10).map(|chunk| format!("text {number} {chunk}")).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            file(&format!("{}/{number}.md", if number % 100 == 0 { "few" } else { "many" }), &texts)
        })
        .collect();
    put_with_vectors(&store, &written).await.unwrap();
    let client = server.client().await;
    let sql = "SELECT graph, vectors FROM papertape.meta";
    let meta = client.query_one(sql, &[]).await.unwrap();
    assert_eq!((meta.get::<_, bool>(0), meta.get::<_, i32>(1)), (true, 1));
    let used = "SELECT idx_scan FROM pg_stat_user_indexes WHERE relname = 'vectors_1' AND indexrelname LIKE '%embedding%'";

    let all = vectors(&written);
    for (prefix, exact) in [(None, false), (Some("many/"), false), (Some("few/"), true)] {
        let (mut same, mut asked, mut dice) = (0, 0, Dice(5));
        for _ in 0..40 {
            let vector = dice.vector();
            let filter = Filter { path_prefix: prefix.map(str::to_owned), ..Filter::default() };
            let query = Query { vector: Some(vector.clone()), filter, top_k: 10, ..Query::default() };
            let found = store.search(&query).await.unwrap();
            let got: HashSet<ChunkId> = found.semantic.iter().take(10).map(|(id, _)| *id).collect();
            let chunks =
                written.iter().flat_map(|(record, chunks)| chunks.iter().map(move |chunk| (record, chunk)));
            let mut near: Vec<(f32, ChunkId)> = chunks
                .zip(&all)
                .filter(|((record, _), _)| prefix.is_none_or(|prefix| record.path.starts_with(prefix)))
                .map(|((record, chunk), (_, other))| {
                    (
                        vector.iter().zip(other).map(|(a, b)| a * b).sum(),
                        ChunkId::of(&record.path, chunk.index),
                    )
                })
                .collect();
            near.sort_by(|a, b| b.0.total_cmp(&a.0));
            same += near.iter().take(10).filter(|(_, id)| got.contains(id)).count();
            asked += 10;
            assert_eq!(found.semantic.len(), near.len().min(100));
        }
        let least = if exact { 0.995 } else { 0.98 };
        assert!(
            f64::from(u32::try_from(same).unwrap()) >= least * f64::from(asked),
            "{prefix:?}: {same} of {asked}"
        );
    }
    drop(store);
    end_sessions(&client).await;
    let used = client.query_one(used, &[]).await.unwrap().get::<_, i64>(0);
    assert!(used >= 80, "the index was used {used} times");
}
