//! Writers that are killed in the middle of everything.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use papertape_search::store::embedded::Embedded;
use papertape_search::store::{Store, StoreError, VectorKey};

use crate::support::{Folder, Random, embedding, file, open, vector};
use crate::tools::wait_for_strace;

/// What says to this binary that it is a child, and where its index is.
const CHILD: &str = "PAPERTAPE_STORE_CHILD";

/// What a directory holds at two times.
fn content(time: u64) -> Vec<(String, String)> {
    (0..60)
        .filter(|number| number % 10 != time)
        .map(|number| {
            let version = if number % 3 == 0 { time } else { 0 };
            let mut random = Random(number * 100 + version);
            let text = |random: &mut Random| {
                (0..30).map(|_| format!("word{}", random.below(200))).collect::<Vec<_>>().join(" ")
            };
            (format!("{number}.md"), format!("{}\n\n{}", text(&mut random), text(&mut random)))
        })
        .collect()
}

/// Brings an index to what the directory holds: terms first, then vectors, as indexing does.
pub(crate) async fn bring(store: &Embedded, time: u64) -> Result<(), StoreError> {
    let there = match store.files().await {
        Ok(files) => files.to_vec(),
        Err(StoreError::Missing { .. }) => Vec::new(),
        Err(error) => return Err(error),
    };
    let content = content(time);
    let mut writer = store.write().await?;
    for record in &there {
        if !content.iter().any(|(path, _)| *path == record.path) {
            writer.remove(&record.path).await?;
        }
    }
    for (path, text) in &content {
        let (mut record, entries) = file(path, text);
        record.digest = *VectorKey::of(text).0.to_le_bytes().repeat(4).first_chunk().unwrap();
        if !there.iter().any(|other| other.path == *path && other.digest == record.digest) {
            writer.put(record, entries).await?;
        }
    }
    writer.commit().await?;
    loop {
        let wanting = store.without_vector(40).await?;
        if wanting.is_empty() {
            return Ok(());
        }
        let mut writer = store.write().await?;
        writer.set_embedding(Some(embedding())).await?;
        writer.attach(wanting.iter().map(|chunk| (chunk.key, vector(&chunk.text))).collect()).await?;
        writer.commit().await?;
    }
}

/// A test like any other, except in a process that was started to be killed. A failure of it is not a panic: others would
/// be.
#[test]
fn child() {
    let Ok(folder) = std::env::var(CHILD) else { return };
    wait_for_strace();
    let brought = block_on(bring(&open(Path::new(&folder)), 1));
    if let Err(error) = &brought {
        // That may fail too.
        std::io::stderr().write_all(format!("{error}\n").as_bytes()).unwrap_or_default();
    }
    std::process::exit(brought.is_err().into());
}

/// With nothing in the runtime that makes calls of its own, and always on the same threads.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap().block_on(work)
}

/// This binary again, as a writer.
pub(crate) fn writer(folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "crash::child", "--nocapture"]).env(CHILD, folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Writers that go on from the same index, to be killed.
pub(crate) struct Victims<'a> {
    before: &'a Path,
    index: &'a Path,
    /// How long one takes that is not killed, in nanoseconds.
    whole: u64,
}

/// How often it is found out how long a writer takes that is not killed: other processes may be in its way.
const TIMED: usize = 3;

impl<'a> Victims<'a> {
    /// Such that some are killed late enough to have written something, even if they are slow.
    pub(crate) fn slow(before: &'a Path, index: &'a Path) -> Self {
        let mut victims = Self { before, index, whole: 0 };
        victims.whole = victims.timed().into_iter().fold(0, u64::max);
        victims
    }

    /// Such that some are killed early enough to have left something to do, even if they are fast.
    pub(crate) fn fast(before: &'a Path, index: &'a Path) -> Self {
        let mut victims = Self { before, index, whole: 0 };
        victims.whole = victims.timed().into_iter().fold(u64::MAX, u64::min);
        victims
    }

    fn timed(&self) -> [u64; TIMED] {
        [(); TIMED].map(|()| {
            let (mut child, started) = self.start();
            assert!(child.wait().unwrap().success());
            u64::try_from(started.elapsed().as_nanos()).unwrap()
        })
    }

    fn start(&self) -> (Child, Instant) {
        begin(self.before, self.index);
        (writer(self.index).spawn().unwrap(), Instant::now())
    }

    /// Kills one at some instant of its time, which is the fault: nothing is waited for. Gives the instant.
    pub(crate) fn kill(&self, random: &mut Random) -> Duration {
        let (mut child, started) = self.start();
        let instant = Duration::from_nanos(random.next() % self.whole);
        std::thread::sleep(instant.saturating_sub(started.elapsed()));
        child.kill().unwrap();
        child.wait().unwrap();
        instant
    }
}

/// The index as it was before.
pub(crate) fn begin(before: &Path, index: &Path) {
    std::fs::remove_dir_all(index).unwrap_or_default();
    copy(before, index);
}

pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// The index before, and the digest it has after.
pub(crate) async fn before_and_after(folder: &Folder) -> ([u8; 32], [u8; 32]) {
    let (before, after) = (open(&folder.path().join("before")), open(&folder.path().join("after")));
    bring(&before, 0).await.unwrap();
    bring(&after, 1).await.unwrap();
    let digests = (before.digest().await.unwrap(), after.digest().await.unwrap());
    assert_ne!(digests.0, digests.1);
    digests
}

/// Whatever happened to a writer: one generation or the other is there, and the next writer makes the same of it.
pub(crate) async fn recovers(index: &Path, after: [u8; 32], what: &str) -> [u8; 32] {
    let store = open(index);
    store.verify().await.unwrap_or_else(|error| panic!("{what}: {error}"));
    let digest = store.digest().await.unwrap();
    bring(&store, 1).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(store.digest().await.unwrap(), after, "{what}");
    store.verify().await.unwrap();
    digest
}

#[tokio::test]
async fn a_writer_killed_at_any_instant_leaves_a_whole_generation() {
    let folder = Folder::new();
    let (before, after) = before_and_after(&folder).await;
    let kills = std::env::var("PAPERTAPE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(100);
    let (start, index) = (folder.path().join("before"), folder.index());
    let victims = Victims::slow(&start, &index);
    let mut random = Random(1);
    let (mut old, mut new, mut between) = (0, 0, 0);
    for number in 0..kills {
        let instant = victims.kill(&mut random);
        match recovers(&index, after, &format!("kill {number} after {instant:?}")).await {
            digest if digest == before => old += 1,
            digest if digest == after => new += 1,
            _ => between += 1,
        }
    }
    assert_eq!(old + new + between, kills);
    assert!(old < kills, "no writer got anywhere");
}
