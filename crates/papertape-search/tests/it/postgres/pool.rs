//! Idle connections that are dead.

use std::sync::Arc;
use std::time::Duration;

use papertape_search::store::Store;
use papertape_search::store::postgres::Postgres;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_postgres::Client;

use super::corpus::lexical_query;
use super::faults::{HANGS, backends, signal, with_apples};

/// The pool size of a store.
const POOL: usize = 8;

/// How many wait for a lock.
async fn waiting(client: &Client) -> usize {
    client.query("SELECT FROM pg_locks WHERE NOT granted", &[]).await.unwrap().len()
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn one_dead_connection_is_enough_to_suspect_the_others() {
    let (server, store) = with_apples(&[]).await;
    let client = server.client().await;

    // Queries that wait for the same lock have a connection each. On a busy machine the first of them may have waited too
    // long before the last one does; but then there are some connections already.
    let end = Instant::now() + Duration::from_secs(60);
    while backends(&client).await.len() < POOL {
        assert!(Instant::now() < end, "not all of them are asked");
        client.batch_execute("BEGIN; LOCK TABLE papertape.postings IN ACCESS EXCLUSIVE MODE").await.unwrap();
        let ask = |store: Arc<Postgres>| async move { store.search(&lexical_query("apples")).await };
        let queries: Vec<_> = (0..POOL).map(|_| tokio::spawn(ask(Arc::clone(&store)))).collect();
        while waiting(&client).await < POOL && !queries.iter().any(JoinHandle::is_finished) {
            tokio::task::yield_now().await;
        }
        client.batch_execute("COMMIT").await.unwrap();
        for query in queries {
            drop(query.await.unwrap());
        }
    }

    // All of them fall silent, as they do when a firewall forgets them; new ones can be had.
    let frozen = backends(&client).await;
    signal("STOP", &frozen);
    let found = timeout(HANGS, store.search(&lexical_query("apples"))).await;
    signal("CONT", &frozen);
    assert_eq!(found.expect("it hangs").unwrap().hits.len(), 1);
}
