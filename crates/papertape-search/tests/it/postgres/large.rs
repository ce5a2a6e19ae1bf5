//! Tables so large that it counts how they are read and written.

use std::collections::HashSet;

use papertape_search::store::Store;
use tokio_postgres::Client;

use super::corpus::{embedding, file, lexical_query, places, put};
use super::server::{Server, end_sessions};

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
        let some = store.without_vector(1000).await.unwrap();
        assert_eq!(read_whole(&client).await, 0);
        assert_eq!(some.iter().map(|chunk| chunk.key).collect::<HashSet<_>>().len(), 1000);
        assert_eq!(some.len(), 1000);
        assert_eq!(store.without_vector(usize::MAX).await.unwrap().len(), 5001);
        assert_eq!(store.without_vector(0).await.unwrap(), []);
    }
}

/// Nine chunks for each file that has none: 9,000, each of the same thousand words. A test would take minutes to write
/// all the rows of their words; so those are left out, and nothing else is.
const NINE_EACH: &str = "INSERT INTO papertape.words (word, chunks) SELECT 'word' || n, 9000 FROM generate_series(1, 1000) AS n;
    INSERT INTO papertape.chunks (id, file, index, headings, text, key, length, words)
    SELECT row_number() OVER (), f.id, n, '{}', '', n, 1000, w.ids FROM papertape.files f, generate_series(1, 9) AS n,
        (SELECT array_agg(id) AS ids FROM papertape.words WHERE word LIKE 'word%') AS w WHERE f.chunks = 0;
    UPDATE papertape.meta SET chunks = chunks + 9000, length = length + 9000000;
    ANALYZE papertape.chunks, papertape.postings";

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn chunks_of_any_number_can_go_at_once() {
    let server = Server::start(&["autovacuum = off"]);
    let store = server.store();
    let mut written: Vec<_> = (0..1000).map(|number| file(&format!("{number}.md"), &[])).collect();
    written.push(file("stays.md", &["apples and pears"]));
    put(&store, &written).await.unwrap();
    let client = server.client().await;
    client.batch_execute(NINE_EACH).await.unwrap();

    // The terms of all of them in one message would have 68 MiB; the limit is 64.
    let mut writer = store.write().await.unwrap();
    for (record, _) in &written[..1000] {
        writer.remove(&record.path).await.unwrap();
    }
    let summary = writer.commit().await.unwrap();
    assert_eq!((summary.files, summary.chunks), (1, 1));
    assert_eq!(places(&store, &lexical_query("pears")).await, ["stays.md#0"]);
    let sql = "SELECT (SELECT count(*) FROM papertape.words), (SELECT count(*) FROM papertape.chunks), length FROM papertape.meta";
    let left = client.query_one(sql, &[]).await.unwrap();
    assert_eq!((left.get::<_, i64>(0), left.get::<_, i64>(1), left.get::<_, i64>(2)), (3, 1, 3));
}
