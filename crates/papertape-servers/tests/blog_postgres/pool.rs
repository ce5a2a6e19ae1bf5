//! Connections that lie idle and are dead.

use std::sync::Arc;

use papertape_servers::blog::store::Store;
use papertape_servers::blog::store::postgres::Postgres;
use tokio::time::{Instant, timeout};

use crate::corpus::question;
use crate::faults::{HANGS, backends, signal, with_apples};

/// As many as a store uses for questions.
const POOL: i64 = 8;

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn one_dead_connection_is_enough_to_suspect_the_others() {
    let (server, store) = with_apples(&[]).await;
    let client = server.client().await;

    // Questions that wait for the same lock have a connection each.
    client.batch_execute("BEGIN; LOCK TABLE papertape.postings IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let ask = |store: Arc<Postgres>| async move { store.search(&question("apples")).await };
    let questions: Vec<_> = (0..POOL).map(|_| tokio::spawn(ask(Arc::clone(&store)))).collect();
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    let end = Instant::now() + HANGS;
    while client.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) < POOL {
        assert!(Instant::now() < end, "not all of them are asked");
        tokio::task::yield_now().await;
    }
    client.batch_execute("COMMIT").await.unwrap();
    let asked = questions.len();
    for answer in questions {
        assert_eq!(answer.await.unwrap().unwrap().hits.len(), 1);
    }

    // All of them fall silent, as they do when a firewall forgets them; new ones can be had.
    let frozen = backends(&client).await;
    assert!(frozen.len() >= asked, "{frozen:?}");
    signal("STOP", &frozen);
    let found = timeout(HANGS, store.search(&question("apples"))).await;
    signal("CONT", &frozen);
    assert_eq!(found.expect("it hangs").unwrap().hits.len(), 1);
}
