//! A database that is down, refuses, dies, freezes or is full: queries end in time, the index is never half written, and
//! no restart is needed.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use papertape_search::store::postgres::Postgres;
use papertape_search::store::{Query, Store, StoreError};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Client;

use super::corpus::{self, embedding, file, lexical_query, many, places, put, put_with_vectors};
use super::server::Server;

/// Every call ends within 5 s; this is for machines that are busy.
pub(crate) const HANGS: Duration = Duration::from_secs(15);

/// How long it may take until queries succeed again; this is for failures only.
const RECOVERS: Duration = Duration::from_secs(120);

/// Sends a signal to processes. One whose connection was given up may have ended meanwhile.
pub(crate) fn signal(name: &str, processes: &[i32]) {
    for process in processes {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(process.to_string()).output().unwrap();
        let ended = !Path::new(&format!("/proc/{process}")).exists();
        assert!(sent.status.success() || ended, "{}", String::from_utf8_lossy(&sent.stderr));
    }
}

/// The database's processes for the stores of this test.
pub(crate) async fn backends(client: &Client) -> Vec<i32> {
    let sql = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'papertape%'";
    client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

/// Retries a query until it succeeds, as clients do.
async fn recovered(store: &Postgres) {
    let end = Instant::now() + RECOVERS;
    loop {
        match timeout(HANGS, store.search(&lexical_query("apples"))).await.expect("it hangs") {
            Ok(found) => return assert_eq!(found.hits.len(), 1),
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// How many queries succeeded, and the errors of the others.
type Asked = JoinHandle<(usize, Vec<String>)>;

/// Four tasks that query without a pause until they are stopped. Each has succeeded once.
async fn load(store: &Arc<Postgres>, over: &Arc<AtomicBool>) -> [Asked; 4] {
    let (start, mut started) = mpsc::channel(4);
    let tasks = [(); 4].map(|()| ask(Arc::clone(store), Arc::clone(over), start.clone()));
    for _ in &tasks {
        timeout(RECOVERS, started.recv()).await.expect("no query succeeds").unwrap();
    }
    tasks
}

fn ask(store: Arc<Postgres>, over: Arc<AtomicBool>, start: mpsc::Sender<()>) -> Asked {
    tokio::spawn(async move {
        let (mut succeeded, mut failed) = (0, Vec::new());
        while !over.load(Ordering::Relaxed) {
            match timeout(HANGS, store.search(&lexical_query("apples"))).await.expect("it hangs") {
                Ok(found) => {
                    assert_eq!(found.hits.len(), 1, "a wrong result");
                    if succeeded == 0 {
                        start.send(()).await.unwrap();
                    }
                    succeeded += 1;
                }
                Err(StoreError::Unreachable(why)) => failed.push(why),
                Err(other) => panic!("{other:?}"),
            }
        }
        (succeeded, failed)
    })
}

pub(crate) async fn with_apples(settings: &[&str]) -> (Server, Arc<Postgres>) {
    let server = Server::start(settings);
    let store = server.store();
    put(&store, &[file("a.md", &["apples"])]).await.unwrap();
    (server, Arc::new(store))
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn a_database_may_come_after_its_store() {
    let server = Server::start(&[]);
    server.control(&["stop"]);
    let store = server.store();
    let mut generations = store.generations();
    let error = store.summary().await.unwrap_err();
    assert!(matches!(error, StoreError::Unreachable(_)), "{error}");
    server.control(&["start"]);
    put(&server.store(), &[file("a.md", &["apples"])]).await.unwrap();
    timeout(HANGS, generations.wait_for(|it| *it == 1)).await.expect("it does not listen").unwrap();
    recovered(&store).await;
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn an_authentication_error_names_the_cause_without_the_password() {
    let server = Server::start(&[]);
    for (url, why) in [
        (server.url_with("tester", "s3cret", "postgres"), "the user or the password"),
        (server.url_with("nobody", "s3cret", "postgres"), "the user or the password"),
        (server.url_with("tester", "right", "elsewhere"), "no database of this name"),
        (format!("{}?sslmode=require", server.url()), "sslmode=disable"),
    ] {
        let store = Postgres::open(&url).unwrap();
        for error in
            [store.summary().await.map(drop).unwrap_err(), store.write().await.map(drop).unwrap_err()]
        {
            let shown = format!("{error} {error:?} {store:?}");
            assert!(shown.contains(why), "{shown}");
            assert!(!shown.contains("s3cret") && !shown.contains("right"), "{shown}");
        }
    }
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn too_many_connections_are_waited_out() {
    let server =
        Server::start(&["max_connections = 5", "superuser_reserved_connections = 0", "max_wal_senders = 0"]);
    put(&server.store(), &[file("a.md", &["apples"])]).await.unwrap();
    let mut others = Vec::new();
    while let Ok((client, connection)) = tokio_postgres::connect(&server.url(), tokio_postgres::NoTls).await {
        tokio::spawn(connection);
        others.push(client);
    }
    let store = server.store();
    let error = store.summary().await.unwrap_err().to_string();
    assert!(error.contains("too many connections"), "{error}");
    drop(others);
    recovered(&store).await;
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn terminated_connections_are_replaced() {
    let (server, store) = with_apples(&[]).await;
    let client = server.client().await;
    let over = Arc::new(AtomicBool::new(false));
    let tasks = load(&store, &over).await;
    for _ in 0..20 {
        let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'papertape%'";
        client.query(sql, &[]).await.unwrap();
        recovered(&store).await;
    }
    over.store(true, Ordering::Relaxed);
    for task in tasks {
        let (succeeded, _) = task.await.unwrap();
        assert!(succeeded > 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "interop/blog/run"]
async fn a_restart_in_the_middle_of_everything_gives_no_wrong_result() {
    let (server, store) = with_apples(&[]).await;
    let mut generations = store.generations();
    let over = Arc::new(AtomicBool::new(false));
    let tasks = load(&store, &over).await;
    recovered(&store).await;
    tokio::task::block_in_place(|| server.control(&["restart", "-m", "immediate"]));
    recovered(&store).await;
    signal("KILL", &[server.postmaster()]);
    tokio::task::block_in_place(|| server.start_again());
    recovered(&store).await;
    over.store(true, Ordering::Relaxed);
    for task in tasks {
        let (succeeded, failed) = task.await.unwrap();
        assert!(succeeded > 0, "{failed:?}");
    }
    put(&*store, &[file("b.md", &["pears"])]).await.unwrap();
    put(&server.store(), &[file("c.md", &["plums"])]).await.unwrap();
    timeout(HANGS, generations.wait_for(|it| *it == 3)).await.expect("it does not listen").unwrap();
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn frozen_connections_are_given_up_for_others() {
    let (server, store) = with_apples(&[]).await;
    recovered(&store).await;
    let client = server.client().await;
    let frozen = backends(&client).await;
    signal("STOP", &frozen);
    let found = timeout(HANGS, store.search(&lexical_query("apples"))).await.expect("it hangs");
    signal("CONT", &frozen);
    assert_eq!(found.unwrap().hits.len(), 1);

    // All of it stands still: there can be no response, but the query must end.
    let postmaster = [server.postmaster()];
    let mut all = backends(&client).await;
    all.extend(postmaster);
    signal("STOP", &all);
    let asked = lexical_query("apples");
    let results =
        timeout(HANGS, async { tokio::join!(store.search(&asked), store.summary(), store.write()) }).await;
    signal("CONT", &all);
    let (search, summary, write) = results.expect("it hangs");
    for error in [search.map(drop).unwrap_err(), summary.map(drop).unwrap_err(), write.map(drop).unwrap_err()]
    {
        assert!(matches!(error, StoreError::Unreachable(_)), "{error:?}");
    }
    recovered(&store).await;
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn a_lock_of_another_session_is_not_waited_for_for_ever() {
    let (server, store) = with_apples(&[]).await;
    let client = server.client().await;
    client.batch_execute("BEGIN; LOCK TABLE papertape.postings IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let error = timeout(HANGS, store.search(&lexical_query("apples"))).await.expect("it hangs").unwrap_err();
    // Whichever comes first: the third time that the lock is not waited for any longer, or the end of the time for all.
    assert!(matches!(error, StoreError::Crossed(_) | StoreError::Unreachable(_)), "{error:?}");

    // Cancelled queries give their connections back and stop in the database.
    for _ in 0..20 {
        drop(timeout(Duration::from_millis(20), store.search(&lexical_query("apples"))).await);
    }
    store.summary().await.unwrap();
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'papertape%' AND wait_event_type = 'Lock'";
    let end = Instant::now() + HANGS;
    while client.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) > 0 {
        assert!(Instant::now() < end, "they still wait");
        sleep(Duration::from_millis(20)).await;
    }
    client.batch_execute("COMMIT").await.unwrap();
    recovered(&store).await;
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn a_writer_that_loses_its_connection_has_written_nothing() {
    let (server, store) = with_apples(&[]).await;
    let client = server.client().await;
    let mut writer = store.write().await.unwrap();
    for (record, chunks) in many(200, 5) {
        writer.put(record, chunks).await.unwrap();
    }
    let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'papertape%'";
    client.query(sql, &[]).await.unwrap();
    let error = writer.commit().await.unwrap_err();
    assert!(matches!(error, StoreError::Unreachable(_)), "{error:?}");
    let summary = store.summary().await.unwrap();
    assert_eq!((summary.generation, summary.files), (1, 1));
    assert_eq!(places(&*store, &lexical_query("apples")).await, ["a.md#0"]);
    put(&*store, &many(20, 5)).await.unwrap();
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn a_deadlock_leaves_the_index_as_it_was_and_the_next_try_works() {
    let (server, store) = with_apples(&[]).await;
    put(&*store, &[file("b.md", &["pears"])]).await.unwrap();
    let other = server.client().await;
    // The writer looks for deadlocks, and so it is the one that ends.
    other.batch_execute("SET deadlock_timeout = '1h'; BEGIN").await.unwrap();
    other.batch_execute("SELECT 1 FROM papertape.files WHERE path = 'a.md' FOR UPDATE").await.unwrap();
    let mut writer = store.write().await.unwrap();
    for text in ["plums", "cherries"] {
        // The second time the first one is written.
        let (record, chunks) = file("b.md", &[text]);
        writer.put(record, chunks).await.unwrap();
    }
    let waits = tokio::spawn(async move {
        other.batch_execute("SELECT 1 FROM papertape.files WHERE path = 'b.md' FOR UPDATE; ROLLBACK").await
    });
    let client = server.client().await;
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    let end = Instant::now() + HANGS;
    while client.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) == 0 {
        assert!(Instant::now() < end, "it does not wait");
    }
    writer.remove("a.md").await.unwrap();
    let error = timeout(HANGS, writer.commit()).await.expect("it hangs").unwrap_err();
    assert!(error.to_string().contains("nothing was changed: try again"), "{error}");
    waits.await.unwrap().unwrap();
    let summary = store.summary().await.unwrap();
    assert_eq!((summary.generation, summary.files), (2, 2));
    assert_eq!(places(&*store, &lexical_query("pears")).await, ["b.md#0"]);
    put(&*store, &[file("b.md", &["plums"])]).await.unwrap();
    assert_eq!(places(&*store, &lexical_query("plums")).await, ["b.md#0"]);
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn a_database_that_may_not_be_written_keeps_its_index() {
    let (server, store) = with_apples(&[]).await;
    let client = server.client().await;
    client.batch_execute("ALTER SYSTEM SET default_transaction_read_only = on").await.unwrap();
    client.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    let written = many(20, 5);
    let end = Instant::now() + HANGS;
    let error = loop {
        // The other processes take note of it in their own time.
        match put(&*store, &written).await {
            Ok(_) => assert!(Instant::now() < end, "it can be written"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("read-only"), "{error}");
    recovered(&store).await;
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn a_full_disk_keeps_the_index_as_it_was() {
    let disk = SmallDisk::mount().expect("a small disk can be mounted: this test needs to be root");
    let server = Server::start(&[]);
    let store = server.store();
    server.give(&disk.folder);
    let client = server.client().await;
    let place = disk.folder.display();
    client.batch_execute(&format!("CREATE TABLESPACE small LOCATION '{place}'")).await.unwrap();
    client.batch_execute("ALTER SYSTEM SET default_tablespace = small").await.unwrap();
    client.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    server.control(&["restart"]);
    put(&store, &[file("a.md", &["apples"])]).await.unwrap();
    let error = put(&store, &many(3000, 5)).await.unwrap_err().to_string();
    assert!(error.contains("disk is full"), "{error}");
    let summary = store.summary().await.unwrap();
    assert_eq!((summary.generation, summary.files), (1, 1));
    recovered(&store).await;
}

/// A disk of a few megabytes, in memory.
struct SmallDisk {
    folder: std::path::PathBuf,
}

impl SmallDisk {
    fn mount() -> Option<Self> {
        let folder = std::env::temp_dir().join(format!("papertape-small-disk-{}", std::process::id()));
        // A run that was killed may have left something under the same number.
        drop(Self { folder: folder.clone() });
        std::fs::create_dir(&folder).unwrap();
        let options = ["-t", "tmpfs", "-o", "size=12m", "tmpfs"];
        let mounted = Command::new("mount").args(options).arg(&folder).output();
        if mounted.is_ok_and(|done| done.status.success()) {
            return Some(Self { folder });
        }
        std::fs::remove_dir(&folder).unwrap();
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.folder).output());
        drop(std::fs::remove_dir(&self.folder));
    }
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn tables_of_another_version_are_left_alone() {
    let (server, store) = with_apples(&[]).await;
    let client = server.client().await;
    for (version, expected) in [(99, "newer"), (0, "older")] {
        client.execute("UPDATE papertape.meta SET version = $1", &[&version]).await.unwrap();
        let read = store.search(&lexical_query("apples")).await.map(drop).unwrap_err();
        let write = store.write().await.map(drop).unwrap_err();
        for error in [read, write] {
            assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
    // What cannot be read can still be rebuilt, and replicas are notified.
    let mut generations = store.generations();
    store.clear().await.unwrap();
    put(&*store, &[file("a.md", &["apples"])]).await.unwrap();
    timeout(HANGS, generations.wait_for(|it| *it == 3)).await.expect("it does not listen").unwrap();
    recovered(&store).await;
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn tables_of_the_first_version_are_brought_up_to_date() {
    const FIRST: &str = include_str!("../../../src/store/postgres/migrations/001_first.sql");
    let server = Server::start(&[]);
    let client = server.client().await;
    client.batch_execute(FIRST).await.unwrap();
    let error = server.store().write().await.map(drop).unwrap_err();
    assert!(error.to_string().contains("older format 1"), "{error}");
    let store = server.store().upgrading();
    put(&store, &[file("a.md", &["apples", "pears"])]).await.unwrap();
    recovered(&store).await;
    let lines = store.chunk("a.md", 1).await.unwrap().unwrap().lines;
    assert_eq!((lines.start, lines.end), (11, 19));
    drop(store);
    // Other programs of this version read and write it, too.
    put(&server.store(), &[file("b.md", &["plums"])]).await.unwrap();
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn only_a_damaged_index_is_rebuilt() {
    let (server, store) = with_apples(&[]).await;
    put_with_vectors(&*store, &many(10, 1)).await.unwrap();
    let client = server.client().await;
    let before = store.summary().await.unwrap();
    store.repair().await.unwrap();
    assert_eq!(store.summary().await.unwrap(), before);
    for harm in [
        "DELETE FROM papertape.meta",
        "DELETE FROM papertape.chunks",
        "DROP TABLE papertape.meta",
        "DROP TABLE papertape.postings",
        "ALTER TABLE papertape.meta DROP COLUMN wanting",
        "DO $$ BEGIN EXECUTE 'DROP TABLE papertape.vectors_' || (SELECT vectors FROM papertape.meta); END $$",
    ] {
        client.batch_execute(harm).await.unwrap();
        if harm.contains("meta") && !harm.starts_with("DO") {
            let error = store.write().await.map(drop).unwrap_err();
            assert!(error.to_string().contains("--rebuild"), "{harm}: {error}");
        }
        let mut generations = store.generations();
        let seen = *generations.borrow_and_update();
        store.repair().await.unwrap();
        put_with_vectors(&*store, &[file("a.md", &["apples"])]).await.unwrap();
        timeout(HANGS, generations.wait_for(|it| *it > seen)).await.expect(harm).unwrap();
        recovered(&store).await;
        let summary = store.summary().await.unwrap();
        assert_eq!((summary.files, summary.chunks), (1, 1), "{harm}");
    }
    // Another version's, and another program's.
    client.batch_execute("UPDATE papertape.meta SET version = 99").await.unwrap();
    store.repair().await.unwrap();
    assert!(matches!(store.write().await.err(), Some(StoreError::Foreign { .. })));
    client
        .batch_execute(
            "DROP SCHEMA papertape CASCADE; CREATE SCHEMA papertape; CREATE TABLE papertape.meta (version text); \
             INSERT INTO papertape.meta VALUES ('mine')",
        )
        .await
        .unwrap();
    assert!(matches!(store.repair().await, Err(StoreError::Foreign { .. })));
    let theirs = client.query_one("SELECT version FROM papertape.meta", &[]).await.unwrap();
    assert_eq!(theirs.get::<_, String>(0), "mine");
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn without_pgvector_search_is_lexical() {
    let server = Server::start(&[]);
    let client = server.client().await;
    client.batch_execute("CREATE ROLE plain LOGIN PASSWORD 'plain'").await.unwrap();
    client.batch_execute("CREATE DATABASE theirs OWNER plain").await.unwrap();
    let store = Postgres::open(&server.url_with("plain", "plain", "theirs")).unwrap();
    let mut writer = store.write().await.unwrap();
    let (record, chunks) = file("a.md", &["apples"]);
    writer.put(record, chunks).await.unwrap();
    let error = writer.set_embedding(Some(embedding())).await.unwrap_err().to_string();
    assert!(error.contains("CREATE EXTENSION vector"), "{error}");
    let summary = writer.commit().await.unwrap();
    assert_eq!((summary.chunks, summary.embedding), (1, None));
    recovered(&store).await;
}

#[tokio::test]
#[ignore = "interop/blog/run"]
async fn a_read_only_user_can_search() {
    let (server, store) = with_apples(&[]).await;
    put_with_vectors(&*store, &many(10, 1)).await.unwrap();
    let client = server.client().await;
    let grants = "CREATE ROLE reader LOGIN PASSWORD 'reader'; GRANT USAGE ON SCHEMA papertape TO reader; \
                  GRANT SELECT ON ALL TABLES IN SCHEMA papertape TO reader";
    client.batch_execute(grants).await.unwrap();
    let reader = Postgres::open(&server.url_with("reader", "reader", "postgres")).unwrap();
    recovered(&reader).await;
    let query = Query { vector: Some(corpus::Dice(1).vector()), ..lexical_query("w1") };
    assert!(!reader.search(&query).await.unwrap().semantic.is_empty());
    let error = put(&reader, &many(3, 1)).await.unwrap_err().to_string();
    assert!(error.contains("grant"), "{error}");
}
