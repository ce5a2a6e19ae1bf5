//! Tables so large that it counts how they are read and written.

use std::collections::HashSet;

use papertape_servers::blog::store::Store;
use tokio_postgres::Client;

use crate::corpus::{embedding, put};
use crate::server::{Server, end_sessions};

/// Chunks of the usual size. Half of them say the same.
const CHUNKS: &str = "INSERT INTO papertape.chunks (id, file, index, headings, text, key, length, words)
    SELECT n, n / 20, n % 20, '{}', repeat('word ', 300), CASE WHEN n % 2 = 0 THEN 9 ELSE n * 7919 % 100003 END, 1, '{}'
    FROM generate_series(20, 10019) AS n";

/// Files that have those chunks.
const FILES: &str = "INSERT INTO papertape.files
    (id, path, stamp, digest, title, tags, folded_tags, language, chunks, size)
    SELECT n, n || '.md', '{1,2,3,4}', '', '', '{}', '{}', 'en', 20, 30000 FROM generate_series(1, 500) AS n";

/// How often all chunks were read since the last time.
async fn read_whole(client: &Client) -> i64 {
    end_sessions(client).await;
    let sql = "SELECT seq_scan FROM pg_stat_user_tables WHERE relid = 'papertape.chunks'::regclass";
    let times = client.query_one(sql, &[]).await.unwrap().get(0);
    let sql = "SELECT pg_stat_reset_single_table_counters('papertape.chunks'::regclass)::text";
    client.query_one(sql, &[]).await.unwrap();
    times
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn what_wants_vectors_is_found_without_reading_all_chunks() {
    let server = Server::start(&["autovacuum = off"]);
    let client = server.client().await;
    let store = server.store();
    put(&store, &[]).await.unwrap();
    client.batch_execute(&format!("{FILES}; {CHUNKS}; ANALYZE papertape.chunks")).await.unwrap();
    for model in [None, Some(embedding())] {
        if model.is_some() {
            let mut writer = store.write().await.unwrap();
            writer.set_embedding(model).await.unwrap();
            writer.commit().await.unwrap();
        }
        read_whole(&client).await;
        let some = store.wanting(1000).await.unwrap();
        assert_eq!(read_whole(&client).await, 0);
        assert_eq!(some.iter().map(|chunk| chunk.key).collect::<HashSet<_>>().len(), 1000);
        assert_eq!(some.len(), 1000);
        assert_eq!(store.wanting(usize::MAX).await.unwrap().len(), 5001);
        assert_eq!(store.wanting(0).await.unwrap(), []);
    }
}
