//! Files that are not what was written: an error that says so, or the same results. Never a panic, never a wrong hit.

use std::path::{Path, PathBuf};

use papertape_search::store::embedded::Embedded;
use papertape_search::store::{Chunk, FileRecord, Matches, Store, StoreError};

use crate::support::{Folder, Random, both, fill, open, put};

/// An index with all there can be in one: several segments, chunks that are gone, vectors, tags, dates.
pub(crate) async fn some_index(path: &Path) -> Embedded {
    let store = open(path);
    let texts: Vec<(String, String)> = (0..40)
        .map(|number| {
            let words = |part: u64| {
                let mut random = Random(number * 7 + part);
                (0..60).map(|_| format!("word{}", random.below(300))).collect::<Vec<_>>().join(" ")
            };
            (
                format!("{}{number}.md", ["", "tagged", "dated"][number as usize % 3]),
                format!("{}\n\n{}", words(1), words(2)),
            )
        })
        .collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    fill(&store, &files[..30]).await.unwrap();
    fill(&store, &files[20..]).await.unwrap();
    let mut writer = store.write().await.unwrap();
    writer.remove("3.md").await.unwrap();
    put(writer.as_mut(), "6.md", "word1 word2 changed").await.unwrap();
    writer.commit().await.unwrap();
    store
}

pub(crate) type Results = (Matches, Matches, Vec<Chunk>, Vec<FileRecord>, Vec<Chunk>);

pub(crate) async fn ask(store: &Embedded) -> Result<Results, StoreError> {
    Ok((
        store.search(&both("word1 word2 word30", "word7")).await?,
        store.search(&both("changed", "x")).await?,
        store.chunks("6.md").await?,
        store.files().await?.to_vec(),
        store.without_vector(5).await?,
    ))
}

pub(crate) fn files(path: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

pub(crate) fn belongs_to_a_generation(path: &Path) -> bool {
    !["lock", ".gitignore"].contains(&path.file_name().unwrap().to_str().unwrap())
}

fn is_fitting(error: &StoreError) -> bool {
    error.is_absence() || matches!(error, StoreError::Corrupt { .. } | StoreError::Foreign { .. })
}

/// Asks a store that has never read anything: the same results, or an error that fits.
async fn check(path: &Path, expected: &Results, what: &str) -> bool {
    let store = open(path);
    match ask(&store).await {
        Ok(results) => assert_eq!(results, *expected, "{what}"),
        Err(error) if is_fitting(&error) => {}
        Err(error) => panic!("{what}: {error:?}"),
    }
    match store.verify().await {
        Ok(_) => false,
        Err(error) if is_fitting(&error) => true,
        Err(error) => panic!("{what}: {error:?}"),
    }
}

#[tokio::test]
async fn a_file_cut_short_anywhere_is_noticed() {
    let folder = Folder::new();
    let expected = ask(&some_index(&folder.index()).await).await.unwrap();
    for file in files(&folder.index()) {
        let bytes = std::fs::read(&file).unwrap();
        let boundaries = (0..=bytes.len()).step_by(4096).chain([bytes.len()]);
        for length in boundaries.flat_map(|length| [length.saturating_sub(1), length, length + 1]) {
            if length == bytes.len() {
                continue;
            }
            let mut other = bytes.clone();
            other.resize(length, 0);
            std::fs::write(&file, other).unwrap();
            let what = format!("{} with {length} of {} bytes", file.display(), bytes.len());
            let noticed = check(&folder.index(), &expected, &what).await;
            assert_eq!(noticed, belongs_to_a_generation(&file), "{what}");
        }
        std::fs::write(&file, bytes).unwrap();
    }
    assert!(!check(&folder.index(), &expected, "in the end").await);
}

#[tokio::test]
async fn a_bit_that_is_not_what_it_was_is_noticed() {
    let folder = Folder::new();
    let expected = ask(&some_index(&folder.index()).await).await.unwrap();
    let files: Vec<PathBuf> =
        files(&folder.index()).into_iter().filter(|file| belongs_to_a_generation(file)).collect();
    let mut random = Random(11);
    let flips = std::env::var("PAPERTAPE_FLIPS").ok().and_then(|flips| flips.parse().ok()).unwrap_or(2_000);
    for _ in 0..flips {
        let file = &files[random.below(files.len())];
        let bytes = std::fs::read(file).unwrap();
        let (place, bit) = (random.below(bytes.len()), random.below(8));
        let mut other = bytes.clone();
        other[place] ^= 1 << bit;
        std::fs::write(file, other).unwrap();
        let what = format!("bit {bit} of byte {place} of {}", file.display());
        assert!(check(&folder.index(), &expected, &what).await, "{what}");
        std::fs::write(file, bytes).unwrap();
    }
    assert!(!check(&folder.index(), &expected, "in the end").await);
}

#[tokio::test]
async fn a_file_that_is_gone_is_noticed() {
    let folder = Folder::new();
    let expected = ask(&some_index(&folder.index()).await).await.unwrap();
    for file in files(&folder.index()).into_iter().filter(|file| belongs_to_a_generation(file)) {
        let aside = folder.path().join("aside");
        std::fs::rename(&file, &aside).unwrap();
        let what = file.display().to_string();
        assert!(check(&folder.index(), &expected, &what).await, "{what}");
        std::fs::rename(&aside, &file).unwrap();
    }
}

#[tokio::test]
async fn a_damaged_index_can_be_made_anew() {
    let folder = Folder::new();
    some_index(&folder.index()).await;
    let manifest = folder.index().join("papertape.index");
    std::fs::write(&manifest, b"papertape index 3 and then nonsense").unwrap();
    let store = open(&folder.index());
    let error = store.write().await.err().unwrap();
    assert!(error.to_string().contains("--rebuild"), "{error}");
    store.clear().await.unwrap();
    assert_eq!(files(&folder.index()).len(), 2);
    fill(&store, &[("a.md", "anew")]).await.unwrap();
    store.verify().await.unwrap();
}

#[tokio::test]
async fn what_others_wrote_is_left_alone() {
    let random: Vec<u8> =
        (0..1_000_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let newer = b"papertape index 5 0000\n{}".as_slice();
    for (content, foreign) in [
        (&random[..0], true),
        (&random[..1], true),
        (&random[..], true),
        (b"SQLite format 3\0".as_slice(), true),
        (newer, true),
        (b"papertape index 2 ".as_slice(), false),
        (b"papertape index 4 ".as_slice(), false),
        (b"papertape index one".as_slice(), false),
    ] {
        // As the directory itself, and as the manifest in it.
        let folder = Folder::new();
        std::fs::write(folder.index(), content).unwrap();
        let store = open(&folder.index());
        assert!(matches!(store.summary().await, Err(StoreError::Foreign { .. })));
        assert!(matches!(store.write().await.err(), Some(StoreError::Foreign { .. })));
        assert_eq!(std::fs::read(folder.index()).unwrap(), content);

        std::fs::remove_file(folder.index()).unwrap();
        std::fs::create_dir(folder.index()).unwrap();
        std::fs::write(folder.index().join("papertape.index"), content).unwrap();
        for error in [store.summary().await.unwrap_err(), store.write().await.err().unwrap()] {
            assert_eq!(matches!(error, StoreError::Foreign { .. }), foreign, "{error}");
            assert_eq!(matches!(error, StoreError::Corrupt { .. }), !foreign, "{error}");
        }
        assert_eq!(std::fs::read(folder.index().join("papertape.index")).unwrap(), content);
    }
}

#[tokio::test]
async fn files_of_others_in_the_folder_stay() {
    let folder = Folder::new();
    let store = open(&folder.index());
    fill(&store, &[("a.md", "a")]).await.unwrap();
    let others = ["notes.txt", "0123.txt", "zz23456789abcdef0123456789abcdef.idx", PICTURE];
    for name in others {
        std::fs::write(folder.index().join(name), "mine").unwrap();
    }
    fill(&store, &[("b.md", "b")]).await.unwrap();
    store.clear().await.unwrap();
    assert_eq!(files(&folder.index()).len(), 2 + others.len());
    // It has been an index, so it may be one again.
    fill(&open(&folder.index()), &[("a.md", "a")]).await.unwrap();
    for name in others {
        assert_eq!(std::fs::read(folder.index().join(name)).unwrap(), b"mine");
    }
}

/// As a cache calls its files.
const PICTURE: &str = "d41d8cd98f00b204e9800998ecf8427e.jpg";

#[tokio::test]
async fn a_folder_that_others_use_is_refused() {
    for name in [PICTURE, "notes.txt", ".git", "lock"] {
        let folder = Folder::new();
        std::fs::create_dir(folder.index()).unwrap();
        std::fs::write(folder.index().join(name), "mine").unwrap();
        let store = open(&folder.index());
        assert!(matches!(store.summary().await, Err(StoreError::Missing { .. })));
        for error in [store.write().await.err().unwrap(), store.clear().await.unwrap_err()] {
            assert!(matches!(error, StoreError::Foreign { .. }), "{name}: {error}");
            assert!(error.to_string().contains("choose another one"), "{name}: {error}");
        }
        assert_eq!(files(&folder.index()), [folder.index().join(name)], "nothing is added to it");
        assert_eq!(std::fs::read(folder.index().join(name)).unwrap(), b"mine");
    }
}

#[tokio::test]
async fn a_manifest_of_others_is_not_cleared() {
    let folder = Folder::new();
    std::fs::create_dir(folder.index()).unwrap();
    let manifest = folder.index().join("papertape.index");
    std::fs::write(&manifest, "mine").unwrap();
    assert!(matches!(open(&folder.index()).clear().await, Err(StoreError::Foreign { .. })));
    assert_eq!(files(&folder.index()), [manifest]);
}

#[tokio::test]
async fn what_a_writer_left_before_the_first_manifest_does_not_prevent_indexing() {
    let id = "0123456789abcdef0123456789abcdef";
    let names =
        [".gitignore", "lock", &format!("{id}.texts"), &format!("{id}.store.temp"), &format!("{id}.new")];
    for many in 0..=names.len() {
        let folder = Folder::new();
        std::fs::create_dir(folder.index()).unwrap();
        for name in &names[..many] {
            std::fs::write(folder.index().join(name), "").unwrap();
        }
        std::fs::create_dir(folder.index().join("lost+found")).unwrap();
        let store = open(&folder.index());
        fill(&store, &[("a.md", "a")]).await.unwrap();
        store.verify().await.unwrap();
        assert!(!folder.index().join(format!("{id}.texts")).exists());
    }
}

#[tokio::test]
async fn links_and_pipes_are_not_followed() {
    let folder = Folder::new();
    let store = open(&folder.index());
    fill(&store, &[("a.md", "a")]).await.unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.index(), &link).unwrap();
    let linked = open(&link);
    assert!(matches!(linked.summary().await, Err(StoreError::Foreign { .. })));
    assert!(matches!(linked.write().await.err(), Some(StoreError::Foreign { .. })));
    for file in files(&folder.index()).into_iter().filter(|file| belongs_to_a_generation(file)) {
        let aside = folder.path().join("aside");
        std::fs::rename(&file, &aside).unwrap();
        std::os::unix::fs::symlink(&aside, &file).unwrap();
        assert!(open(&folder.index()).verify().await.is_err(), "{}", file.display());
        std::fs::remove_file(&file).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
        assert!(open(&folder.index()).verify().await.is_err(), "{}", file.display());
        std::fs::remove_file(&file).unwrap();
        std::fs::rename(&aside, &file).unwrap();
    }
    open(&folder.index()).verify().await.unwrap();
}

#[tokio::test]
async fn a_file_cut_short_while_it_is_used_does_not_end_the_process() {
    let folder = Folder::new();
    let store = some_index(&folder.index()).await;
    let expected = ask(&store).await.unwrap();
    for file in files(&folder.index()).into_iter().filter(|file| belongs_to_a_generation(file)) {
        if file.ends_with("papertape.index") {
            continue;
        }
        let opened = std::fs::OpenOptions::new().write(true).open(file).unwrap();
        opened.set_len(0).unwrap();
    }
    match ask(&store).await {
        Ok(results) => assert_eq!(results, expected),
        Err(error) => assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}"),
    }
}
