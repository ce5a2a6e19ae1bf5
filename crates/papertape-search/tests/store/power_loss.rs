//! The power fails: what was not brought to the disk is lost, or is not.
//!
//! What a writer does is recorded and done again on a disk that is only thought of. After each step it is known what is
//! certain; of all the rest any part may be there: names without their bytes, bytes without their names, a name that is
//! removed before another that came earlier. What is there then is an index, and the next writer completes it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::process::Command;

use papertape_search::store::StoreError;

use crate::crash::{before_and_after, block_on, bring, copy, recovers};
use crate::support::{Folder, open};
use crate::tools::{Call, Traced, traced, wait_for_strace};

const MANIFEST: &str = "papertape.index";

/// Every call that changes what is on a disk, or brings it there. Not every machine has each.
const CHANGES: &str = "trace=?open,openat,?creat,write,writev,pwrite64,pwritev,pwritev2,ftruncate,truncate,fallocate,\
                       fsync,fdatasync,sync_file_range,syncfs,?rename,?renameat,?renameat2,?link,linkat,?symlink,\
                       symlinkat,?unlink,unlinkat,?mkdir,mkdirat,?rmdir,copy_file_range,sendfile";

/// A file's bytes, and those that are certain.
#[derive(Debug, Default, Clone)]
struct File {
    bytes: Vec<u8>,
    certain: Vec<u8>,
}

/// What became of bytes that are not certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Fate {
    There,
    Lost,
    Half,
    Zeros,
}

const FATES: [Fate; 4] = [Fate::There, Fate::Lost, Fate::Half, Fate::Zeros];

impl File {
    fn after(&self, fate: Fate) -> Vec<u8> {
        match fate {
            Fate::There => self.bytes.clone(),
            Fate::Lost => self.certain.clone(),
            Fate::Half => self.bytes[..self.bytes.len() / 2].to_vec(),
            Fate::Zeros => vec![0; self.bytes.len()],
        }
    }
}

/// What a path names: a file by its number, or a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    File(usize),
    Folder,
}

/// A change of names in a directory: it happens as a whole or not at all.
#[derive(Debug, Clone)]
struct Change {
    folder: String,
    removed: Option<String>,
    set: Option<(String, Node)>,
}

type Names = BTreeMap<String, Node>;

fn apply(names: &mut Names, change: &Change) {
    if let Some(name) = &change.removed {
        names.remove(name);
    }
    if let Some((name, node)) = &change.set {
        names.insert(name.clone(), *node);
    }
}

/// A disk that is only thought of. Names are paths.
#[derive(Debug, Default)]
struct Disk {
    root: String,
    files: Vec<File>,
    now: Names,
    certain: Names,
    changes: Vec<Change>,
    /// Every name that a file ever had.
    known: HashSet<String>,
    /// What manifests name.
    named: RefCell<HashMap<(usize, usize, Fate), Vec<String>>>,
}

/// What an index is made of after a loss: its manifest and what that names, each with its length and its fate.
type Kind = BTreeMap<String, Option<(Node, usize, Fate)>>;

/// What is on a disk after a loss: files with their bytes, and directories.
type Left = BTreeMap<String, Option<Vec<u8>>>;

impl Disk {
    /// With what is there, all of which is certain.
    fn with(folder: &Path) -> Self {
        let root = folder.to_str().unwrap().to_owned();
        let mut disk = Self { root, ..Self::default() };
        disk.load(folder);
        disk.certain = disk.now.clone();
        disk.known = disk.now.keys().cloned().collect();
        disk
    }

    fn load(&mut self, folder: &Path) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_str().unwrap().to_owned();
            if path.is_dir() {
                self.now.insert(name, Node::Folder);
                self.load(&path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                self.now.insert(name, Node::File(self.files.len()));
                self.files.push(File { certain: bytes.clone(), bytes });
            }
        }
    }

    fn change(&mut self, removed: Option<&str>, set: Option<(&str, Node)>) {
        let any = set.map(|(name, _)| name).or(removed).unwrap();
        let change = Change {
            folder: any.rsplit_once('/').unwrap().0.to_owned(),
            removed: removed.map(str::to_owned),
            set: set.map(|(name, node)| (name.to_owned(), node)),
        };
        apply(&mut self.now, &change);
        self.known.insert(any.to_owned());
        self.changes.push(change);
    }

    fn file(&mut self, name: &str) -> &mut File {
        match self.now.get(name) {
            Some(Node::File(number)) => &mut self.files[*number],
            other => panic!("{name} is {other:?}"),
        }
    }

    /// What a call does when it begins.
    fn begin(&mut self, call: &Call) {
        let (strings, handle) = (call.strings(), call.handle());
        match (call.name.as_str(), strings.as_slice()) {
            ("open" | "openat", [name]) if call.text.contains("O_CREAT") && !self.now.contains_key(name) => {
                self.files.push(File::default());
                self.change(None, Some((name, Node::File(self.files.len() - 1))));
            }
            ("open" | "openat", [name]) if call.text.contains("O_TRUNC") => self.file(name).bytes.clear(),
            ("open" | "openat", [_]) | ("fsync" | "fdatasync", []) => {}
            ("write", _) => {
                let written = call.result().try_into().unwrap();
                let bytes = call.bytes();
                self.file(&handle.unwrap()).bytes.extend(&bytes[..written]);
            }
            ("ftruncate", []) => {
                let length = call.text.split([' ', ')']).nth(1).unwrap().parse().unwrap();
                self.file(&handle.unwrap()).bytes.resize(length, 0);
            }
            ("rename" | "renameat" | "renameat2", [from, to]) => {
                let node = self.now[from];
                self.change(Some(from), Some((to, node)));
            }
            ("unlink" | "unlinkat", [name]) => self.change(Some(name), None),
            ("mkdir" | "mkdirat", [name]) => self.change(None, Some((name, Node::Folder))),
            other => panic!("what does {other:?} do to a disk?"),
        }
    }

    /// What is certain when everything has been brought to the disk that a file or directory had at some time before.
    fn end(&mut self, name: &str, had: Had) {
        match had {
            Had::Bytes(bytes) => self.file(name).certain = bytes,
            Had::Changes(mut count) => {
                let certain = &mut self.certain;
                self.changes.retain(|change| {
                    let done = count > 0 && change.folder == name;
                    count = count.saturating_sub(1);
                    if done {
                        apply(certain, change);
                    }
                    !done
                });
            }
        }
    }

    /// What names there may be after a loss.
    fn losses(&self) -> Vec<Names> {
        let all: BTreeSet<usize> = (0..self.changes.len()).collect();
        let mut choices = vec![BTreeSet::new(), all.clone()];
        for number in 0..self.changes.len() {
            choices.push(BTreeSet::from([number]));
            choices.push(all.iter().copied().filter(|other| *other != number).collect());
            choices.push((0..number).collect());
        }
        let mut losses = Vec::new();
        for choice in choices {
            let mut all = self.certain.clone();
            choice.iter().for_each(|number| apply(&mut all, &self.changes[*number]));
            // What is in a directory that is not there is not there.
            let mut names = Names::new();
            for (name, node) in all {
                let folder = name.rsplit_once('/').unwrap().0;
                if folder == self.root || names.contains_key(folder) {
                    names.insert(name, node);
                }
            }
            losses.push(names);
        }
        losses
    }

    fn left(&self, names: &Names, fate: Fate) -> Left {
        let bytes = |node: &Node| match node {
            Node::File(number) => Some(self.files[*number].after(fate)),
            Node::Folder => None,
        };
        names.iter().map(|(name, node)| (name.clone(), bytes(node))).collect()
    }

    fn kind(&self, index: &str, names: &Names, fate: Fate) -> Kind {
        let fate_of = |name: &str| {
            let node = *names.get(name)?;
            let Node::File(number) = node else { return None };
            let File { bytes, certain } = &self.files[number];
            Some((node, bytes.len(), if bytes == certain { Fate::There } else { fate }))
        };
        let manifest = format!("{index}/{MANIFEST}");
        let mut kind = Kind::from([(manifest.clone(), fate_of(&manifest))]);
        if let Some((Node::File(number), length, fate)) = kind[&manifest] {
            let mut named = self.named.borrow_mut();
            let named = named.entry((number, length, fate)).or_insert_with(|| {
                let text = String::from_utf8_lossy(&self.files[number].after(fate)).into_owned();
                // Every file is named in quotes; of vectors the first part is.
                let words = text.split(['"', '\\']).filter(|word| word.len() >= 32);
                words.flat_map(|word| [format!("{index}/{word}"), format!("{index}/{word}.rows")]).collect()
            });
            for name in named.iter().filter(|name| self.known.contains(*name)) {
                kind.insert(name.clone(), fate_of(name));
            }
        }
        kind
    }
}

/// What a file or a directory had when it was begun to be brought to the disk.
enum Had {
    Bytes(Vec<u8>),
    Changes(usize),
}

impl Call {
    fn strings(&self) -> Vec<String> {
        let quoted = self.text.split('"').skip(1).step_by(2);
        if self.name == "write" { Vec::new() } else { quoted.map(text).collect() }
    }

    /// What it writes.
    fn bytes(&self) -> Vec<u8> {
        unhex(self.text.split('"').nth(1).unwrap())
    }

    /// The path of the first file handle.
    fn handle(&self) -> Option<String> {
        let first = self.text.split(',').next().unwrap();
        Some(text(first.split_once('<')?.1.split_once('>')?.0))
    }

    /// Whether it brings the names in the index's directory to the disk.
    fn is_of_names(&self) -> bool {
        self.name == "fsync" && self.handle().is_some_and(|name| name.ends_with("/index"))
    }

    fn result(&self) -> i64 {
        let result = self.text.rsplit_once("= ").unwrap().1;
        result.split(['<', ' ']).next().unwrap().parse().unwrap()
    }

    fn is_about(&self, folder: &str) -> bool {
        self.strings().into_iter().chain(self.handle()).any(|path| path.starts_with(folder))
    }
}

/// `\x61\x62` as strace writes it.
fn unhex(text: &str) -> Vec<u8> {
    text.split("\\x").skip(1).map(|digits| u8::from_str_radix(digits, 16).unwrap()).collect()
}

fn text(hex: &str) -> String {
    String::from_utf8(unhex(hex)).unwrap()
}

/// Does again what was recorded, and gives what each step may leave behind if the power fails after it.
fn replay(disk: &mut Disk, index: &str, run: &Traced) -> Vec<(String, Left)> {
    let mut steps: Vec<(usize, bool, &Call)> = Vec::new();
    for call in run.calls.iter().filter(|call| call.is_about(&disk.root) && call.result() >= 0) {
        steps.push((call.lines.0, true, call));
        if call.name.ends_with("sync") {
            steps.push((call.lines.1, false, call));
        }
    }
    steps.sort_by_key(|(line, begins, _)| (*line, !begins));
    let mut known: BTreeSet<Kind> = BTreeSet::new();
    let mut had: HashMap<usize, Had> = HashMap::new();
    let mut found = Vec::new();
    let mut look = |disk: &Disk, what: &str| {
        for names in disk.losses() {
            for fate in FATES {
                if known.insert(disk.kind(index, &names, fate)) {
                    found.push((format!("{what}, bytes {fate:?}"), disk.left(&names, fate)));
                }
            }
        }
    };
    for (_, begins, call) in steps {
        if !begins {
            let name = call.handle().unwrap();
            disk.end(&name, had.remove(&call.lines.0).unwrap());
        } else if call.name.ends_with("sync") {
            look(disk, &call.name);
            let name = call.handle().unwrap();
            let has = match disk.now.get(&name) {
                Some(Node::File(number)) => Had::Bytes(disk.files[*number].bytes.clone()),
                _ => Had::Changes(disk.changes.len()),
            };
            had.insert(call.lines.0, has);
        } else {
            disk.begin(call);
            if call.name != "write" {
                look(disk, &format!("{} {:?}", call.name, call.strings()));
            }
        }
    }
    look(disk, "the end");
    found
}

/// What says to this binary that it is to write, and where. With a second word it clears what is there first.
const RECORDED: &str = "PAPERTAPE_STORE_RECORDED";

/// A test like any other, except in a process that is recorded.
#[test]
fn recorded() {
    let Ok(what) = std::env::var(RECORDED) else { return };
    wait_for_strace();
    let (index, clear) = what.split_once('|').unwrap();
    let store = open(Path::new(index));
    block_on(async {
        if !clear.is_empty() {
            store.clear().await.unwrap();
        }
        bring(&store, 1).await.unwrap();
    });
    std::process::exit(0);
}

/// Records a writer, and tries everything that it may leave behind if the power fails.
async fn survives_losses(first: bool, clear: &str, fault: Option<&str>) -> Traced {
    let folder = Folder::new();
    let (_, after) = before_and_after(&folder).await;
    let disk_folder = folder.path().join("disk");
    std::fs::create_dir(&disk_folder).unwrap();
    let index = if first { disk_folder.join("one/two/index") } else { disk_folder.join("index") };
    if !first {
        copy(&folder.path().join("before"), &index);
    }
    let mut disk = Disk::with(&disk_folder);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "power_loss::recorded", "--nocapture"]);
    command.env(RECORDED, format!("{}|{clear}", index.display()));
    let mut options = vec!["-y", "-xx", "-s", "10000000", "-e", CHANGES];
    options.extend(fault.iter().flat_map(|fault| ["-e", fault]));
    let run = traced(&mut command, &options, &folder.path().join("log"));
    assert_eq!(run.success, run.injected() == 0, "{}", run.stderr);
    let name = index.to_str().unwrap();
    let found = replay(&mut disk, name, &run);
    let is = Disk::with(&disk_folder);
    assert_eq!(disk.left(&disk.now, Fate::There), is.left(&is.now, Fate::There));
    // Before, and after each commit at least.
    assert!(found.len() > 3 || !run.success, "{}", found.len());
    for (what, left) in found {
        put_back(&disk_folder, &left);
        if left.contains_key(&format!("{name}/{MANIFEST}")) {
            recovers(&index, after, &what).await;
        } else {
            let store = open(&index);
            let nothing = store.verify().await;
            assert!(matches!(nothing, Err(StoreError::Missing { .. })), "{what}: {nothing:?}");
            assert!(first || !clear.is_empty(), "the index is lost: {what}");
            bring(&store, 1).await.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(store.digest().await.unwrap(), after, "{what}");
        }
    }
    // It had said that it was done: now nothing may be lost.
    for names in disk.losses().into_iter().filter(|_| run.success) {
        for fate in FATES {
            assert_eq!(disk.kind(name, &names, fate), disk.kind(name, &disk.now, Fate::There));
        }
    }
    run
}

fn put_back(folder: &Path, left: &Left) {
    std::fs::remove_dir_all(folder).unwrap();
    std::fs::create_dir(folder).unwrap();
    for (name, bytes) in left {
        match bytes {
            Some(bytes) => std::fs::write(name, bytes).unwrap(),
            None => std::fs::create_dir(name).unwrap(),
        }
    }
}

#[tokio::test]
async fn a_power_loss_leaves_one_generation_or_the_next() {
    survives_losses(false, "", None).await;
}

#[tokio::test]
async fn a_power_loss_while_an_index_is_made_anew_leaves_none_or_one() {
    survives_losses(false, "clear", None).await;
}

/// When what was published cannot be taken back for certain either.
#[tokio::test]
async fn a_power_loss_leaves_one_generation_or_the_next_even_if_no_fsync_works_any_more() {
    for first in [false, true] {
        let run = survives_losses(first, "", None).await;
        let mut hit = 0;
        for number in run.numbers_of(Call::is_of_names) {
            let fault = format!("inject=fsync:error=EIO:when={number}+");
            let run = survives_losses(first, "", Some(&fault)).await;
            let renamed = run.calls.iter().any(|call| call.name.starts_with("rename") && call.result() >= 0);
            hit += usize::from(renamed);
        }
        assert!(hit > 1, "{hit} manifests were published: too few to say anything");
    }
}

#[tokio::test]
async fn a_power_loss_during_the_first_index_leaves_none_or_one_even_after_a_failed_fsync() {
    let run = survives_losses(true, "", None).await;
    let mut hit = 0;
    // From the last one on: with small numbers others fail before, in other threads.
    for number in run.numbers_of(Call::is_of_names).into_iter().rev() {
        let fault = format!("inject=fsync:error=EIO:when={number}");
        let run = survives_losses(true, "", Some(&fault)).await;
        hit += run.calls.iter().filter(|call| call.is_of_names() && call.result() < 0).count();
        if hit == 2 {
            return;
        }
    }
    panic!("{hit} directories were not brought to the disk: too few to say anything");
}
