//! An index that another user made is not used, whatever its checksums say; and no index can be read by others.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use papertape_search::store::embedded::Embedded;
use papertape_search::store::{Store, StoreError};

use crate::damage::{ask, belongs_to_a_generation, files, some_index};
use crate::support::{Folder, file, fill, hits, keys, lexical_query, open, put};

const BLOCK: usize = 16 * 1024;

fn with_keys(folder: &Folder, keys: &str) -> Embedded {
    Embedded::open_with_keys(&folder.index(), &folder.path().join(keys)).unwrap()
}

async fn is_unsealed(store: &Embedded) -> String {
    let mut errors = vec![
        store.summary().await.unwrap_err(),
        store.search(&lexical_query("word1")).await.unwrap_err(),
        store.chunk("1.md", 0).await.unwrap_err(),
        store.chunks("1.md").await.unwrap_err(),
        store.files().await.unwrap_err(),
        store.without_vector(1).await.unwrap_err(),
        store.digest().await.unwrap_err(),
    ];
    errors.push(store.verify().await.unwrap_err());
    assert!(errors.iter().all(|error| matches!(error, StoreError::Unsealed { .. })), "{errors:?}");
    errors.pop().unwrap().to_string()
}

#[tokio::test]
async fn an_index_of_another_user_is_not_read_and_is_made_again() {
    let folder = Folder::new();
    let theirs = with_keys(&folder, "theirs");
    fill(&theirs, &[("a.md", "the texts of another user")]).await.unwrap();
    let mine = with_keys(&folder, "mine");
    let said = is_unsealed(&mine).await;
    assert!(said.contains("there is no key here") && said.contains("papertape/index.key"), "{said}");
    assert!(!folder.path().join("mine").exists(), "reading makes no key");

    let mut writer = mine.write().await.unwrap();
    assert!(matches!(theirs.summary().await, Err(StoreError::Missing { .. })), "it is gone at once");
    put(writer.as_mut(), "b.md", "my own texts").await.unwrap();
    writer.commit().await.unwrap();
    mine.verify().await.unwrap();
    assert_eq!(hits(&mine.search(&lexical_query("texts")).await.unwrap()), ["b.md#0"]);
    let said = is_unsealed(&theirs).await;
    assert!(said.contains("its seal is not by your key") && said.contains("--rebuild"), "{said}");
}

#[tokio::test]
async fn readers_are_notified_when_an_index_of_another_user_replaces_theirs() {
    let folder = Folder::new();
    let mine = with_keys(&folder, "mine");
    fill(&mine, &[("a.md", "mine")]).await.unwrap();
    let mut generations = mine.generations();
    let before = *generations.borrow_and_update();
    let elsewhere = folder.path().join("elsewhere");
    let theirs = Embedded::open_with_keys(&elsewhere, &folder.path().join("theirs")).unwrap();
    fill(&theirs, &[("a.md", "theirs")]).await.unwrap();
    for file in files(&elsewhere).into_iter().filter(|file| belongs_to_a_generation(file)) {
        fs::rename(&file, folder.index().join(file.file_name().unwrap())).unwrap();
    }
    generations.changed().await.unwrap();
    assert!(*generations.borrow() > before);
    is_unsealed(&mine).await;
}

#[tokio::test]
async fn an_index_of_another_is_repaired_and_cleared_like_a_broken_one() {
    let folder = Folder::new();
    fill(&with_keys(&folder, "theirs"), &[("a.md", "a")]).await.unwrap();
    let mine = with_keys(&folder, "mine");
    mine.repair().await.unwrap();
    assert!(matches!(mine.summary().await, Err(StoreError::Missing { .. })));
    assert_eq!(files(&folder.index()).len(), 2, "the lock and .gitignore");
}

#[tokio::test]
async fn a_maker_whose_key_is_added_is_trusted() {
    let folder = Folder::new();
    let (theirs, mine) = (with_keys(&folder, "theirs"), with_keys(&folder, "mine"));
    fill(&mine, &[("a.md", "mine")]).await.unwrap();
    fill(&theirs, &[("a.md", "theirs")]).await.unwrap();
    is_unsealed(&mine).await;
    let key = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    fs::write(folder.path().join("mine"), format!("{}# the other machine\n{}", key("mine"), key("theirs")))
        .unwrap();
    mine.verify().await.unwrap();
    // What is written is sealed with the user's own key all the same.
    fill(&mine, &[("b.md", "mine")]).await.unwrap();
    is_unsealed(&theirs).await;
}

#[tokio::test]
async fn an_index_of_an_older_version_is_made_again() {
    let folder = Folder::new();
    let store = some_index(&folder.index()).await;
    let manifest = folder.index().join("papertape.index");
    let body = fs::read_to_string(&manifest).unwrap().split_once('\n').unwrap().1.to_owned();
    let check = blake3::hash(body.as_bytes()).to_hex();
    let key = blake3::Hash::from_hex(fs::read_to_string(keys()).unwrap().trim()).unwrap();
    let seal = blake3::keyed_hash(key.as_bytes(), body.as_bytes()).to_hex();
    for old in [
        format!("papertape index 1 {check}\n{body}"),
        format!("papertape index 2 {check} {seal}\n{body}"),
        format!("papertape index 3 {check} {seal}\n{body}"),
    ] {
        fs::write(&manifest, old).unwrap();
        let leftover = folder.index().join("0123456789abcdef0123456789abcdef.fieldnorm");
        fs::write(&leftover, "of the older version").unwrap();
        let said = is_unsealed(&store).await;
        assert!(said.contains("older version") && said.contains("--rebuild"), "{said}");
        fill(&store, &[("a.md", "anew")]).await.unwrap();
        assert_eq!(store.verify().await.unwrap().files, 1);
        assert!(!leftover.exists());
    }
}

#[tokio::test]
async fn an_index_of_an_older_version_that_another_sealed_is_left_to_its_maker() {
    let folder = Folder::new();
    let (theirs, mine) = (with_keys(&folder, "theirs"), with_keys(&folder, "mine"));
    fill(&theirs, &[("a.md", "theirs")]).await.unwrap();
    fs::write(folder.path().join("mine"), "0a".repeat(32)).unwrap();
    let manifest = folder.index().join("papertape.index");
    let text = fs::read_to_string(&manifest).unwrap();
    let older = text.replacen("papertape index 4", "papertape index 3", 1);
    assert_ne!(older, text);
    fs::write(&manifest, older).unwrap();
    let error = mine.summary().await.unwrap_err();
    assert!(matches!(error, StoreError::Unsealed { by_another: true, .. }), "{error}");
}

/// An attacker with all the files of an index but not the key: every checksum is recomputed.
#[tokio::test]
async fn a_manifest_that_was_changed_is_not_parsed() {
    let folder = Folder::new();
    some_index(&folder.index()).await;
    let manifest = folder.index().join("papertape.index");
    let whole = fs::read_to_string(&manifest).unwrap();
    let (head, body) = whole.split_once('\n').unwrap();
    let (rest, seal) = head.rsplit_once(' ').unwrap();
    let (version, _) = rest.rsplit_once(' ').unwrap();
    for (from, to) in [
        ("\"name\": \"", "\"name\": \"../"),
        ("\"lexical\": [", "\"lexical\": [nonsense"),
        ("\"length\": ", "\"length\": 999999"),
        ("\"rows\": ", "\"rows\": 99999"),
    ] {
        let forged = body.replace(from, to);
        assert_ne!(forged, body, "{from}");
        let check = blake3::hash(forged.as_bytes()).to_hex();
        for seal in [seal, check.as_str(), ""] {
            fs::write(&manifest, format!("{version} {check} {seal}\n{forged}")).unwrap();
            is_unsealed(&open(&folder.index())).await;
        }
    }
    fs::write(&manifest, whole).unwrap();
    open(&folder.index()).verify().await.unwrap();
}

#[tokio::test]
async fn a_sealed_manifest_pins_every_byte_of_every_file() {
    let folder = Folder::new();
    let expected = ask(&some_index(&folder.index()).await).await.unwrap();
    let data = |file: &PathBuf| belongs_to_a_generation(file) && !file.ends_with("papertape.index");
    let mut kinds = std::collections::BTreeSet::new();
    for file in files(&folder.index()).into_iter().filter(data) {
        let bytes = fs::read(&file).unwrap();
        let rows = file.extension().is_some_and(|kind| kind == "rows");
        kinds.insert(file.extension().unwrap().to_owned());
        // So many bytes of data, and then a digest of 32 bytes for each block of them.
        let length = if rows { bytes.len() } else { data_length(bytes.len()) };
        for place in [0, length / 2, length - 1] {
            let mut forged = bytes[..length].to_vec();
            forged[place] ^= 1;
            if !rows {
                let digests: Vec<u8> =
                    forged.chunks(BLOCK).flat_map(|block| *blake3::hash(block).as_bytes()).collect();
                forged.extend(digests);
            }
            assert_eq!(forged.len(), bytes.len(), "{}", file.display());
            fs::write(&file, forged).unwrap();
            let store = open(&folder.index());
            let error = store.verify().await.unwrap_err();
            assert!(matches!(error, StoreError::Corrupt { .. }), "{}: {error}", file.display());
            match ask(&store).await {
                Ok(results) => assert_eq!(results, expected),
                Err(error) => assert!(matches!(error, StoreError::Corrupt { .. }), "{error}"),
            }
        }
        fs::write(&file, bytes).unwrap();
    }
    assert!(kinds.len() > 6, "{kinds:?}");
}

#[tokio::test]
async fn a_vector_that_changes_after_it_was_read_is_noticed() {
    let folder = Folder::new();
    let store = some_index(&folder.index()).await;
    let expected = ask(&store).await.unwrap();
    assert_eq!(ask(&store).await.unwrap(), expected, "what was checked once is read again");
    for file in
        files(&folder.index()).into_iter().filter(|file| file.extension().is_some_and(|it| it == "rows"))
    {
        let mut bytes = fs::read(&file).unwrap();
        bytes.iter_mut().step_by(64).for_each(|byte| *byte ^= 1);
        fs::write(&file, bytes).unwrap();
    }
    assert!(matches!(ask(&store).await, Err(StoreError::Corrupt { .. })));
}

fn data_length(size: usize) -> usize {
    (0..=size).find(|length| length + length.div_ceil(BLOCK) * 32 == size).unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn assert_private(index: &Path) {
    assert_eq!(mode(index), 0o700);
    for file in files(index) {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[tokio::test]
async fn an_index_is_for_its_user_alone() {
    let folder = Folder::new();
    let store = open(&folder.path().join("made/index"));
    let index = folder.path().join("made/index");
    let mut writer = store.write().await.unwrap();
    // Texts are written before the commit.
    for number in 0..300 {
        let text = vec![format!("word{number}"); 10].join("\n\n");
        put(writer.as_mut(), &format!("{number}.md"), &text).await.unwrap();
    }
    assert_private(&index);
    writer.commit().await.unwrap();
    fill(&store, &[("a.md", "with vectors")]).await.unwrap();
    assert_private(&index);
    assert_eq!(mode(&folder.path().join("made")), 0o700);
}

#[tokio::test]
async fn an_index_that_others_can_read_is_taken_from_them_when_it_is_written() {
    let folder = Folder::new();
    fs::create_dir(folder.index()).unwrap();
    fs::set_permissions(folder.index(), fs::Permissions::from_mode(0o755)).unwrap();
    let store = some_index(&folder.index()).await;
    let open_up = || {
        fs::set_permissions(folder.index(), fs::Permissions::from_mode(0o755)).unwrap();
        for file in files(&folder.index()) {
            fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
        }
    };
    open_up();
    let other = folder.path().join("other");
    fs::write(&other, "").unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o644)).unwrap();
    let link = folder.index().join("0123456789abcdef0123456789abcdef.idx");
    std::os::unix::fs::symlink(&other, &link).unwrap();
    let (record, entries) = file("a.md", "more");
    let mut writer = store.write().await.unwrap();
    writer.put(record, entries).await.unwrap();
    writer.commit().await.unwrap();
    assert!(!link.exists());
    assert_private(&folder.index());
    assert_eq!(mode(&other), 0o644, "no link is followed");
}
