//! Directories on disk: what is read, and what is refused by name.

use std::fs;
use std::path::{Path, PathBuf};

use papertape::protocol::{SkillDefinition, SkillResources};
use papertape::server::Skills;
use papertape::{Server, memory};

use super::problem;
use crate::peer::run;

/// A directory for one test, new each time.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("skills").join(test);
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(path.join("in")).unwrap();
        Self(path)
    }

    /// What the server reads.
    fn inside(&self) -> PathBuf {
        self.0.join("in")
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    /// Writes a `SKILL.md` for the skill of that name.
    fn skill(&self, folder: &str) -> &Self {
        let name = folder.rsplit('/').next().unwrap();
        self.write(
            &format!("{folder}/SKILL.md"),
            format!("---\nname: {name}\ndescription: The {name}\n---\nBody\n"),
        )
    }

    #[cfg(unix)]
    fn link(&self, name: &str, to: &str) -> &Self {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(to, path).unwrap();
        self
    }

    fn server(&self) -> Server {
        Server::new("librarian", "1.0.0").skills(Skills::folder(self.inside()))
    }

    #[track_caller]
    fn refused(&self, words: &[&str]) {
        let problem = problem(&self.server());
        for word in words {
            assert!(problem.contains(word), "{word:?} is missing in: {problem}");
        }
    }

    /// The skills that a client sees, each file of which it could read and verify.
    fn seen(&self) -> Vec<SkillDefinition> {
        let server = self.server();
        run(async {
            let client = memory::connect(server).await.unwrap();
            let mut seen = Vec::new();
            for skill in client.skills().await.unwrap() {
                assert_eq!(skill.problems, Vec::<String>::new(), "{skill:?}");
                client.read_skill(&skill.item).await.unwrap();
                for uri in uris(&skill.item) {
                    client.read_skill_file(&skill.item, uri).await.unwrap();
                }
                seen.push(skill.item);
            }
            client.close().await;
            seen
        })
    }
}

fn uris(skill: &SkillDefinition) -> Vec<&str> {
    match &skill.resources {
        SkillResources::Files(files) => files.iter().map(|file| file.uri.as_str()).collect(),
        _ => panic!("{skill:?}"),
    }
}

#[test]
fn each_folder_with_a_skill_file_is_a_skill() {
    let folder = Folder::new("tree");
    folder.skill("in/pdf").write("in/pdf/references/a b.md", "é").write("in/pdf/logo.png", [0x89, 0, 255]);
    folder.skill("in/acme/billing/refunds").write("in/acme/README.md", "no part of a skill");
    folder.skill("in/pdf/forms").write("in/pdf/forms/x.txt", "x");
    folder.write("in/pdf/.env", "secret").write("in/.git/SKILL.md", "hidden").write("in/pdf/empty.bin", "");
    let seen = folder.seen();
    let all: Vec<&str> = seen.iter().map(|skill| skill.uri.as_str()).collect();
    assert_eq!(
        all,
        ["skill://acme/billing/refunds/SKILL.md", "skill://pdf/SKILL.md", "skill://pdf/forms/SKILL.md"]
    );
    assert_eq!(
        uris(&seen[1]),
        [
            "skill://pdf/SKILL.md",
            "skill://pdf/empty.bin",
            "skill://pdf/forms/SKILL.md",
            "skill://pdf/forms/x.txt",
            "skill://pdf/logo.png",
            "skill://pdf/references/a%20b.md"
        ]
    );
    assert_eq!(uris(&seen[2]), ["skill://pdf/forms/SKILL.md", "skill://pdf/forms/x.txt"]);
    assert_eq!(seen[1].description(), "The pdf");
}

#[test]
fn a_folder_may_be_a_skill_itself() {
    let folder = Folder::new("itself");
    folder.write("in/SKILL.md", "---\nname: alone\ndescription: d\n---\n").write("in/a/b.txt", "b");
    let seen = folder.seen();
    assert_eq!(uris(&seen[0]), ["skill://alone/SKILL.md", "skill://alone/a/b.txt"]);
}

#[test]
fn bytes_are_served_as_they_are() {
    let folder = Folder::new("bytes");
    folder.write("in/a/SKILL.md", "\u{feff}---\r\nname: a\r\ndescription: d\r\n---\r\nBody\r\n");
    folder
        .write("in/a/nul.txt", "a\0b")
        .write("in/a/latin.txt", [b'a', 0xe9])
        .write("in/a/bom.txt", "\u{feff}x\r\n");
    assert_eq!(uris(&folder.seen()[0]).len(), 4);
}

#[test]
fn an_invalid_skill_folder_is_reported_with_its_path() {
    let folder = Folder::new("wrong");
    folder.refused(&["there is no SKILL.md in it"]);
    folder.write("in/a/skill.md", "---\nname: a\ndescription: d\n---\n");
    folder.refused(&["there is no SKILL.md in it"]);
    folder.write("in/a/SKILL.md", "---\nname: b\ndescription: d\n---\n");
    folder.refused(&["in/a", "must have the name of the skill, \"b\""]);
    folder.write("in/a/SKILL.md", "---\nname: a\n---\n");
    folder.refused(&["in/a", "`description`"]);
    folder.write("in/a/SKILL.md", [b"---\nname: a\ndescription: ".as_slice(), &[0xff], b"\n---\n"].concat());
    folder.refused(&["in/a", "not UTF-8"]);
    folder.write("in/a/SKILL.md", "");
    folder.refused(&["in/a", "must begin with"]);
    let nowhere = Server::new("s", "1").skills(Skills::folder(folder.0.join("nowhere")));
    assert!(problem(&nowhere).contains("nowhere"), "{}", problem(&nowhere));
}

#[test]
fn more_than_a_host_can_take_is_not_even_read() {
    let folder = Folder::new("many");
    folder.skill("in/a");
    for n in 0..511 {
        folder.write(&format!("in/a/{}/{n}", n % 7), "");
    }
    folder.server().check().unwrap();
    folder.write("in/a/one-more", "");
    folder.refused(&["more than 512 files"]);

    let folder = Folder::new("large");
    folder.skill("in/a");
    // A sparse file of a terabyte.
    fs::File::create(folder.0.join("in/a/huge")).unwrap().set_len(1 << 40).unwrap();
    folder.refused(&["in/a/huge", "more than 16777216 bytes"]);
}

#[cfg(unix)]
#[test]
fn links_stay_inside() {
    let folder = Folder::new("links");
    folder.skill("in/a").skill("in/b").write("in/a/refs/real.txt", "real").write("out/secret.txt", "secret");
    folder.link("in/b/alias.txt", "../a/refs/real.txt").link("in/b/shared", "../a/refs");
    let seen = folder.seen();
    assert_eq!(uris(&seen[1]), ["skill://b/SKILL.md", "skill://b/alias.txt", "skill://b/shared/real.txt"]);
    for (name, to) in [
        ("file", "../../out/secret.txt"),
        ("folder", "../../out"),
        ("root", "/"),
        ("beside", "../../in-other"),
    ] {
        folder.write("in-other/x", "x");
        let link = format!("in/b/{name}");
        folder.link(&link, to);
        folder.refused(&[&link, "leads out of the directory"]);
        fs::remove_file(folder.0.join(link)).unwrap();
    }
    folder.link("in/b/dangling", "nothing");
    folder.refused(&["in/b/dangling"]);
}

#[cfg(unix)]
#[test]
fn links_in_circles_end() {
    let folder = Folder::new("circles");
    folder.skill("in/a").link("in/a/again", ".").link("in/a/and-again", "..");
    folder.refused(&[]);
    let folder = Folder::new("itself-again");
    folder.skill("in/a").link("in/a/loop", "loop");
    folder.refused(&["in/a/loop"]);
}

#[cfg(unix)]
#[test]
fn only_files_are_read() {
    let folder = Folder::new("sockets");
    folder.skill("in/a");
    // Opening it for reading would hang, or fail.
    let _socket = std::os::unix::net::UnixListener::bind(folder.0.join("in/a/s")).unwrap();
    folder.refused(&["in/a/s", "neither a file nor a directory"]);
}
