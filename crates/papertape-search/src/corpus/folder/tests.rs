//! Real files, and other things in directories.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Folder, MOST_BYTES};

/// A directory for a test, gone when the test is.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("papertape-folder-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(path.join("in")).unwrap();
        Self(path.canonicalize().unwrap())
    }

    fn inside(&self) -> PathBuf {
        self.0.join("in")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.inside().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn folder(&self) -> Folder {
        Folder::open(&self.inside()).unwrap()
    }

    fn listed(&self) -> Vec<String> {
        self.folder().list().unwrap().files.into_iter().map(|file| file.path).collect()
    }

    #[track_caller]
    fn refuses(&self, path: &str) -> String {
        let problem = self.folder().read(path).expect_err("it is read");
        assert!(!problem.contains(self.0.to_str().unwrap()), "{problem}");
        problem
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[test]
fn texts_are_listed_by_path_and_the_others_counted() {
    let there = Temporary::new();
    for path in [
        "b.md",
        "a/c.MDX",
        "a/b/d.Markdown",
        "e.txt",
        "e.Ipynb",
        "f.png",
        "f.PNG",
        "a/f.docx",
        "md",
        ".hidden.png",
        "node_modules/f.png",
        ".hidden.md",
        ".git/f.md",
        "node_modules/g.md",
        "a.md",
    ] {
        there.write(path, path);
    }
    assert_eq!(there.listed(), ["a.md", "a/b/d.Markdown", "a/c.MDX", "b.md", "e.Ipynb", "e.txt"]);
    let skipped = there.folder().list().unwrap().skipped;
    assert_eq!((skipped.endings(), skipped.others()), (vec![("png", 2), ("docx", 1)], 1));
    for file in there.folder().list().unwrap().files {
        let (bytes, stamp) = there.folder().read(&file.path).unwrap();
        assert_eq!(bytes, file.path.as_bytes());
        assert_eq!(stamp, file.stamp);
    }
}

#[test]
fn ignored_files_are_left_out_with_or_without_git() {
    let there = Temporary::new();
    there.write(".gitignore", "drafts/\n*.tmp.md\n!keep.tmp.md\n");
    there.write("sub/.ignore", "x.md\n");
    for path in ["a.md", "drafts/b.md", "c.tmp.md", "keep.tmp.md", "sub/x.md", "sub/y.md"] {
        there.write(path, "");
    }
    assert_eq!(there.listed(), ["a.md", "keep.tmp.md", "sub/y.md"]);
}

#[test]
fn rules_above_the_folder_hold_within_a_repository_alone() {
    let there = Temporary::new();
    there.write("a.md", "");
    there.write("build/b.md", "");
    fs::write(there.0.join(".gitignore"), "in/build\n").unwrap();
    assert_eq!(there.listed(), ["a.md", "build/b.md"]);
    fs::create_dir(there.0.join(".git")).unwrap();
    assert_eq!(there.listed(), ["a.md"]);
    // A directory that is named on purpose is read, even if all of it is ignored.
    fs::write(there.0.join(".gitignore"), "*\n").unwrap();
    assert_eq!(there.listed(), ["a.md", "build/b.md"]);
}

#[test]
fn links_lead_nowhere() {
    let there = Temporary::new();
    fs::create_dir(there.0.join("secret")).unwrap();
    fs::write(there.0.join("secret/s.md"), "secret").unwrap();
    there.write("a.md", "a");
    symlink(there.0.join("secret/s.md"), there.inside().join("out.md")).unwrap();
    symlink("a.md", there.inside().join("in.md")).unwrap();
    symlink(there.0.join("secret"), there.inside().join("dir")).unwrap();
    symlink("loop.md", there.inside().join("loop.md")).unwrap();
    symlink("../in", there.inside().join("round")).unwrap();
    for at in 0..40 {
        symlink(format!("chain{}.md", at + 1), there.inside().join(format!("chain{at}.md"))).unwrap();
    }
    let listing = there.folder().list().unwrap();
    assert_eq!(listing.files.len(), 1);
    assert_eq!(listing.warnings.lines().len(), 45, "{:?}", listing.warnings);
    for path in ["out.md", "in.md", "dir/s.md", "loop.md", "chain0.md", "round/a.md"] {
        there.refuses(path);
    }
}

#[test]
fn paths_stay_within_the_folder() {
    let there = Temporary::new();
    there.write("a.md", "a");
    there.write("b/c.md", "c");
    fs::create_dir(there.0.join("in-secret")).unwrap();
    fs::write(there.0.join("in-secret/s.md"), "secret").unwrap();
    fs::write(there.0.join("s.md"), "secret").unwrap();
    let absolute = there.0.join("s.md");
    for path in [
        "../s.md",
        "b/../../s.md",
        "b/../a.md",
        "./a.md",
        "/a.md",
        "//a.md",
        "b//c.md",
        "a.md/",
        "a.md/.",
        "../in-secret/s.md",
        "-secret/s.md",
        "..\\s.md",
        "b\\..\\..\\s.md",
        "%2e%2e/s.md",
        "....//s.md",
        "~/s.md",
        "A.md",
        "a.md.",
        "a.md ",
        "a.md\0",
        "a.md\0.md",
        "",
        ".",
        "..",
        "/",
        "b",
        "a.md/c.md",
        absolute.to_str().unwrap(),
        "file:///s.md",
    ] {
        let refused = there.folder().read(path).expect_err(path);
        assert!(!refused.contains('\0') && !refused.contains("secret\""), "{refused}");
    }
    there.write("caf\u{e9}.md", "");
    there.refuses("cafe\u{301}.md");
}

#[test]
fn irregular_files_are_left_out_without_being_opened() {
    let there = Temporary::new();
    there.write("a.md", "a");
    let made = std::process::Command::new("mkfifo").arg(there.inside().join("pipe.md")).status().unwrap();
    assert!(made.success());
    let _socket = UnixListener::bind(there.inside().join("socket.md")).unwrap();
    there.write("folder.md/b.md", "b");
    symlink("/dev/zero", there.inside().join("zero.md")).unwrap();
    symlink("/proc/self/mem", there.inside().join("mem.md")).unwrap();
    let listing = there.folder().list().unwrap();
    let paths: Vec<_> = listing.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a.md", "folder.md/b.md"]);
    let left_out: Vec<_> =
        listing.warnings.lines().iter().filter_map(|warning| warning.split(':').next()).collect();
    assert_eq!(left_out, ["folder.md", "mem.md", "pipe.md", "socket.md", "zero.md"]);
    for path in ["pipe.md", "socket.md", "folder.md", "zero.md", "mem.md"] {
        there.refuses(path);
    }
}

#[test]
fn names_are_taken_as_they_are() {
    let there = Temporary::new();
    let long = format!("{}.md", "n".repeat(252));
    let mut names = vec!["-rf.md", "$(x).md", "a\nb.md", "a b.md", "é.md", "a\\b.md", "\u{1b}[31m.md", &long];
    for name in &names {
        there.write(name, name);
    }
    fs::write(there.inside().join(OsStr::from_bytes(b"bad\xff\xfe.md")), "").unwrap();
    let listing = there.folder().list().unwrap();
    let paths: Vec<_> = listing.files.iter().map(|file| file.path.as_str()).collect();
    names.sort_unstable();
    assert_eq!(paths, names);
    assert_eq!(listing.warnings.lines().len(), 1, "{:?}", listing.warnings);
    for name in names {
        assert_eq!(there.folder().read(name).unwrap().0, name.as_bytes());
    }
    fs::remove_file(there.inside().join("a\nb.md")).unwrap();
    assert!(!there.refuses("a\nb.md").contains('\n'));
}

#[test]
fn files_have_a_largest_size() {
    let there = Temporary::new();
    for (name, size) in
        [("sparse.md", 4 << 30), ("over.md", MOST_BYTES + 1), ("most.md", MOST_BYTES), ("none.md", 0)]
    {
        fs::File::create(there.inside().join(name)).unwrap().set_len(size).unwrap();
    }
    let listing = there.folder().list().unwrap();
    let paths: Vec<_> = listing.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["most.md", "none.md"]);
    assert_eq!(listing.warnings.lines().len(), 2);
    assert!(there.refuses("sparse.md").contains("too large"));
    assert!(there.refuses("over.md").contains("too large"));
    assert_eq!(there.folder().read("most.md").unwrap().0.len(), 8 << 20);
    assert_eq!(there.folder().read("none.md").unwrap().0, b"");
}

#[test]
fn warnings_have_a_bound() {
    let there = Temporary::new();
    for at in 0..250 {
        symlink("x", there.inside().join(format!("{at}.md"))).unwrap();
    }
    let warnings = there.folder().list().unwrap().warnings.into_lines();
    assert_eq!(warnings.len(), 101);
    assert_eq!(warnings[100], "and 150 more warnings");
}

#[test]
fn folders_may_be_deep() {
    let there = Temporary::new();
    let path = format!("{}x.md", "d/".repeat(1_000));
    there.write(&path, "deep");
    assert_eq!(there.listed(), [path.as_str()]);
    assert_eq!(there.folder().read(&path).unwrap().0, b"deep");
}

#[test]
fn a_file_that_changes_is_read_as_one_thing_or_not_at_all() {
    let there = Temporary::new();
    there.write("a.md", &"a".repeat(100_000));
    let path = there.inside().join("a.md");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for letter in ["b", "c"].iter().cycle() {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
                file.write_all(letter.repeat(100_000).as_bytes()).unwrap();
            }
        });
        let folder = there.folder();
        for _ in 0..200 {
            if let Err(problem) = folder.read("a.md") {
                assert!(problem.contains("changes"), "{problem}");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    let (bytes, _) = there.folder().read("a.md").unwrap();
    assert!(bytes.iter().all(|byte| *byte == bytes[0]));
}

#[test]
fn a_folder_must_be_there() {
    let there = Temporary::new();
    there.write("a.md", "");
    assert!(Folder::open(Path::new("/nowhere/at/all")).is_err());
    assert!(Folder::open(&there.inside().join("a.md")).is_err());
    let folder = there.folder();
    fs::remove_dir_all(there.inside()).unwrap();
    assert!(folder.list().is_err());
    assert!(folder.read("a.md").is_err());
}

#[test]
fn paths_of_several_directories_begin_with_their_names() {
    let (one, other) = (Temporary::new(), Temporary::new());
    one.write("a.md", "one");
    one.write("z/b.md", "below");
    other.write("a.md", "other");
    symlink("a.md", other.inside().join("link.md")).unwrap();
    let away = other.0.join("away");
    let folder = Folder::open_all(&[one.inside(), other.inside(), away]).unwrap();
    let listing = folder.list().unwrap();
    let paths: Vec<&str> = listing.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["in-2/a.md", "in/a.md", "in/z/b.md"]);
    assert_eq!(
        (listing.names.as_slice(), listing.unread.as_slice()),
        (&["in", "in-2"].map(String::from)[..], &["away".to_owned()][..])
    );
    let [absent] = listing.absent.as_slice() else { panic!("{listing:?}") };
    assert!(
        absent.starts_with("the directory \"away\" cannot be read (no such file or directory)"),
        "{absent}"
    );
    let [warning] = listing.warnings.lines() else { panic!("{listing:?}") };
    assert!(warning.starts_with("in-2/link.md: left out: a link"), "{warning}");
    let read = |path: &str| folder.read(path).map(|(bytes, _)| bytes);
    assert_eq!((read("in/a.md").unwrap(), read("in-2/a.md").unwrap()), (b"one".to_vec(), b"other".to_vec()));
    for path in ["a.md", "in/../in-2/a.md", "in", "in-2//a.md", "in-3/a.md", "away/a.md", "in-2/link.md"] {
        assert!(read(path).is_err(), "{path}");
    }
    // Of a directory that is away, nothing is known.
    assert_eq!(["in/a.md", "in/gone.md", "away/a.md"].map(|path| folder.is_gone(path)), [false, true, false]);
    // A single one has the paths that it always had.
    let alone = Folder::open_all(&[one.inside()]).unwrap().list().unwrap();
    assert_eq!((alone.files[0].path.as_str(), alone.names.len()), ("a.md", 0));
    assert!(Folder::open_all(&[one.0.join("x"), one.0.join("y")]).is_err() && Folder::open_all(&[]).is_err());
}
