//! A listing of the directory and the records of the store to the files that must be read.

use std::collections::{HashMap, HashSet};

use super::Options;
use super::digest::Digest;
use super::error::{IndexError, no_files};
use crate::corpus::folder::{ListedFile, Listing};
use crate::store::{FileRecord, Stamp};

/// Where the directory and the store may differ.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Difference {
    /// Files that are new, have another stamp, or had warnings that were not logged yet.
    pub(super) suspects: Vec<Suspect>,
    /// Files of the store that the directory does not have.
    pub(super) gone: Vec<String>,
    /// How many have the same stamp, or cannot be read.
    pub(super) unchanged: u64,
    /// How many of these cannot be read.
    unread: usize,
    /// Of several directories, those that are not there, and why.
    pub(super) absent: Vec<String>,
}

/// A file that must be read to know whether it has changed, or what to warn of.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Suspect {
    /// As the directory shows it.
    pub(super) seen: ListedFile,
    /// Its place among the store's records, if it is one of them.
    pub(super) known: Option<usize>,
}

/// With less than one file in this many in common, the index is taken to be of another directory. A `README.md` is in
/// most directories, and proves nothing.
const ONE_IN: usize = 10;

impl Difference {
    /// Why the index must not be changed, if the options enable that check.
    pub(super) fn objection(&self, records: &[FileRecord], options: Options) -> Option<IndexError> {
        if let Some(stayed) =
            self.common_files_of_another_folder(records).filter(|_| options.same_folder_only)
        {
            return Some(IndexError::other_folder(records.len(), stayed));
        }
        (options.never_empty && self.leaves_nothing()).then(|| IndexError::no_files(records.len()))
    }

    /// The store has files, and none would be left.
    fn leaves_nothing(&self) -> bool {
        self.suspects.is_empty() && self.unchanged == 0 && !self.gone.is_empty()
    }

    /// How many files the store and the directory have in common, under any name, if they are too few for an index of
    /// this directory. A directory without any file may be a disk that is not mounted.
    fn common_files_of_another_folder(&self, records: &[FileRecord]) -> Option<usize> {
        let before: HashSet<_> = records.iter().map(|record| same_wherever(&record.stamp)).collect();
        let new = || self.suspects.iter().filter(|suspect| suspect.known.is_none());
        let now: HashSet<_> = new().map(|suspect| same_wherever(&suspect.seen.stamp)).collect();
        let has_gone = |record: &&FileRecord| {
            self.gone.binary_search(&record.path).is_ok() && !now.contains(&same_wherever(&record.stamp))
        };
        let is_new = |suspect: &&Suspect| !before.contains(&same_wherever(&suspect.seen.stamp));
        let here = self.suspects.len().saturating_add(usize::try_from(self.unchanged).unwrap_or(usize::MAX));
        // Files that cannot be read prove nothing either way.
        let (here, records_seen) = (here - self.unread, records.len() - self.unread);
        let stayed = records_seen - records.iter().filter(has_gone).count();
        let known = here - new().filter(is_new).count();
        (are_few(stayed, records_seen) && (here == 0 || are_few(known, here))).then_some(stayed)
    }
}

fn are_few(files: usize, of: usize) -> bool {
    files.saturating_mul(ONE_IN) < of
}

/// The part of a stamp that stays when a file is renamed.
fn same_wherever(stamp: &Stamp) -> (u64, u64, i64) {
    (stamp.inode, stamp.size, stamp.modified)
}

/// Of several directories, those that have no files, and how many they had.
fn emptied(listing: &Listing, records: &[FileRecord]) -> Vec<(String, usize)> {
    let has_none = |name: &&String| {
        let files = listing.files.iter().map(|file| &file.path);
        !files.chain(&listing.unread).any(|path| is_within(path, name))
    };
    let had = |name: &str| records.iter().filter(|record| is_within(&record.path, name)).count();
    let without = listing.names.iter().filter(has_none);
    without.map(|name| (name.clone(), had(name))).filter(|(_, had)| *had > 0).collect()
}

/// A file with the same stamp is taken to be unchanged, as git does, except in a full run. So are files below a directory
/// that cannot be read.
pub(super) fn compare(listing: Listing, records: &[FileRecord], options: Options) -> Difference {
    let mut places: HashMap<&str, usize> =
        records.iter().zip(0..).map(|(record, place)| (record.path.as_str(), place)).collect();
    let mut difference = Difference::default();
    let emptied = if options.never_empty { emptied(&listing, records) } else { Vec::new() };
    for seen in listing.files {
        let known = places.remove(seen.path.as_str());
        let record = known.and_then(|place| records.get(place));
        let is_unchanged = record.is_some_and(|record| {
            let digest = Digest(record.digest);
            record.stamp == seen.stamp
                && digest.is_current()
                && (options.warnings_logged || !digest.has_warnings())
        });
        if is_unchanged && !options.full {
            difference.unchanged += 1;
        } else {
            difference.suspects.push(Suspect { seen, known });
        }
    }
    let kept: Vec<&String> = listing.unread.iter().chain(emptied.iter().map(|(name, _)| name)).collect();
    let (unread, gone): (Vec<&str>, Vec<&str>) =
        places.into_keys().partition(|path| kept.iter().any(|place| is_within(path, place)));
    difference.absent = listing.absent;
    difference
        .absent
        .extend(emptied.iter().map(|(name, had)| no_files(&format!("the directory {name:?}"), *had)));
    difference.unread = unread.len();
    difference.unchanged += u64::try_from(unread.len()).unwrap_or(u64::MAX);
    difference.gone = gone.into_iter().map(str::to_owned).collect();
    difference.gone.sort_unstable();
    difference
}

/// Whether a file is what stands at the place, or below it.
fn is_within(path: &str, place: &str) -> bool {
    let below = path.strip_prefix(place);
    place.is_empty() || below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::{Difference, is_within};
    use crate::analysis::Language;
    use crate::corpus::folder::{ListedFile, Listing};
    use crate::index::digest::Digest;
    use crate::index::{IndexError, Options};
    use crate::store::{FileRecord, Stamp};

    fn stamp(modified: i64) -> Stamp {
        Stamp { size: 5, modified, changed: modified, inode: 7 }
    }

    fn seen(path: &str, modified: i64) -> ListedFile {
        ListedFile { path: path.to_owned(), stamp: stamp(modified) }
    }

    fn record(path: &str, modified: i64) -> FileRecord {
        FileRecord {
            path: path.to_owned(),
            stamp: stamp(modified),
            digest: Digest::of(b"").0,
            title: String::new(),
            date: None,
            tags: Vec::new(),
            language: Language::Other,
            chunks: 1,
            size: 5,
        }
    }

    fn compare(files: Vec<ListedFile>, records: &[FileRecord], options: Options) -> Difference {
        super::compare(Listing { files, ..Listing::default() }, records, options)
    }

    fn paths(difference: &Difference) -> Vec<&str> {
        difference.suspects.iter().map(|suspect| suspect.seen.path.as_str()).collect()
    }

    #[test]
    fn only_what_is_new_or_looks_different_is_read() {
        let seen = vec![seen("new.md", 1), seen("other.md", 2), seen("same.md", 3)];
        let records = [record("gone.md", 1), record("other.md", 1), record("same.md", 3)];
        let difference = compare(seen, &records, Options::default());
        assert_eq!(paths(&difference), ["new.md", "other.md"]);
        assert_eq!(difference.gone, ["gone.md"]);
        assert_eq!(difference.unchanged, 1);
        assert_eq!(difference.suspects.iter().map(|s| s.known).collect::<Vec<_>>(), [None, Some(1)]);
    }

    #[test]
    fn a_file_of_the_same_size_and_time_but_another_inode_is_read() {
        let mut replaced = seen("a.md", 1);
        replaced.stamp.inode = 8;
        assert_eq!(paths(&compare(vec![replaced], &[record("a.md", 1)], Options::default())), ["a.md"]);
    }

    #[test]
    fn a_file_that_was_read_by_other_rules_is_read() {
        let mut old = record("a.md", 1);
        old.digest = [0; 32];
        assert_eq!(paths(&compare(vec![seen("a.md", 1)], &[old], Options::default())), ["a.md"]);
    }

    #[test]
    fn a_file_that_is_odd_is_read_each_time() {
        let mut warned = record("a.md", 1);
        warned.digest = Digest(warned.digest).with_warnings().0;
        let warned = [warned];
        assert_eq!(paths(&compare(vec![seen("a.md", 1)], &warned, Options::default())), ["a.md"]);
        let logged = Options { warnings_logged: true, ..Options::default() };
        assert_eq!(compare(vec![seen("a.md", 1)], &warned, logged).unchanged, 1);
    }

    /// How many files stayed, if the store is of another directory.
    fn strangers(seen: Vec<ListedFile>, records: &[FileRecord]) -> Option<usize> {
        compare(seen, records, Options::default()).common_files_of_another_folder(records)
    }

    #[test]
    fn a_folder_without_any_file_of_the_store_is_another_one() {
        let records = [record("a.md", 1), record("b.md", 2)];
        assert_eq!(strangers(vec![seen("c.md", 3)], &records), Some(0));
        assert_eq!(strangers(vec![seen("c.md", 3), seen("b.md", 4)], &records), None, "b.md has changed");
        assert_eq!(strangers(vec![seen("c.md", 1)], &records), None, "c.md was a.md");
        assert_eq!(strangers(vec![], &records), Some(0), "a disk that is not there");
        assert_eq!(strangers(vec![], &[]), None);
        assert_eq!(strangers(vec![seen("c.md", 3)], &[]), None);
    }

    #[test]
    fn never_empty_rejects_only_a_directory_without_files() {
        let records = [record("a.md", 1), record("b.md", 2)];
        let objection = |seen: Vec<ListedFile>, records: &[FileRecord], never_empty: bool| {
            let options = Options { never_empty, ..Options::default() };
            compare(seen, records, options).objection(records, options)
        };
        let refused = objection(vec![], &records, true);
        assert!(matches!(&refused, Some(IndexError::NoFiles(why)) if why.contains("(2)")), "{refused:?}");
        assert!(objection(vec![], &records, false).is_none());
        assert!(objection(vec![], &[], true).is_none());
        assert!(objection(vec![seen("c.md", 3)], &records, true).is_none(), "all are others");
        assert!(objection(vec![seen("a.md", 1)], &records, true).is_none());
    }

    #[test]
    fn a_path_that_most_folders_have_does_not_make_them_one() {
        let records = |count: i64| -> Vec<FileRecord> {
            let others = (0..count).map(|n| record(&format!("a{n}.md"), n));
            others.chain([record("README.md", -1)]).collect()
        };
        let folder = |count: i64, readme: i64| -> Vec<ListedFile> {
            let others = (0..count).map(|n| seen(&format!("b{n}.md"), 1_000 + n));
            others.chain([seen("README.md", readme)]).collect()
        };
        assert_eq!(strangers(folder(20, 5), &records(20)), Some(1));
        assert_eq!(strangers(folder(20, -1), &records(20)), Some(1), "even if it is the same file");
        // Ten files have one in ten in common.
        assert_eq!(strangers(folder(9, 5), &records(20)), None);
        assert_eq!(strangers(folder(20, 5), &records(9)), None);
        assert_eq!(strangers(folder(10, 5), &records(10)), Some(1));
    }

    #[test]
    fn every_name_of_a_known_file_is_known() {
        let names: Vec<ListedFile> = (0..50).map(|n| seen(&format!("{n}.md"), 1)).collect();
        let records: Vec<FileRecord> =
            (0..50).map(|n| record(&format!("a{n}.md"), 100 + n)).chain([record("a.md", 1)]).collect();
        assert_eq!(strangers(names, &records), None);
    }

    #[test]
    fn what_is_below_a_folder_that_cannot_be_read_stays() {
        let records =
            [record("a.md", 1), record("sub/b.md", 2), record("sub/deep/c.md", 3), record("sub.md", 4)];
        let listing = |files: Vec<ListedFile>, unread: &str| Listing {
            files,
            unread: vec![unread.to_owned()],
            ..Listing::default()
        };
        let careful = Options { same_folder_only: true, never_empty: true, ..Options::default() };
        for (unread, gone, unchanged) in [
            ("sub", &["sub.md"][..], 3),
            ("sub/deep", &["sub.md", "sub/b.md"], 2),
            ("sub/b.md", &["sub.md", "sub/deep/c.md"], 2),
            ("su", &["sub.md", "sub/b.md", "sub/deep/c.md"], 1),
            ("", &[], 4),
        ] {
            let difference = super::compare(listing(vec![seen("a.md", 1)], unread), &records, careful);
            assert_eq!(difference.gone, gone, "{unread}");
            assert_eq!(difference.unchanged, unchanged, "{unread}");
            assert!(difference.objection(&records, careful).is_none(), "{unread}");
        }
        // All that there is cannot be looked at: that says nothing of whose it is, and removes nothing.
        let difference = super::compare(listing(vec![], "sub"), &records[1..3], careful);
        assert!(difference.gone.is_empty() && difference.objection(&records[1..3], careful).is_none());
        // What can be looked at is of another directory.
        let difference = super::compare(listing(vec![seen("x.md", 9)], "sub"), &records, careful);
        assert!(difference.objection(&records, careful).is_some());
    }

    #[test]
    fn a_directory_of_several_that_has_no_files_keeps_those_it_had() {
        let records = [record("a/1.md", 1), record("b/1.md", 2), record("b/2.md", 3), record("old/1.md", 4)];
        let names = || ["a".to_owned(), "b".to_owned(), "c".to_owned()].to_vec();
        let listing = || Listing { files: vec![seen("a/1.md", 1)], names: names(), ..Listing::default() };
        let careful = Options { never_empty: true, ..Options::default() };
        let difference = super::compare(listing(), &records, careful);
        assert_eq!((difference.gone.as_slice(), difference.unchanged), (&["old/1.md".to_owned()][..], 3));
        let [absent] = difference.absent.as_slice() else { panic!("{difference:?}") };
        assert!(
            absent.starts_with("the directory \"b\" has no files any more") && absent.contains("(2)"),
            "{absent}"
        );
        let difference = super::compare(listing(), &records, Options::default());
        assert_eq!(difference.gone, ["b/1.md", "b/2.md", "old/1.md"]);
        assert!(difference.absent.is_empty());
        // Both are away.
        let none = Listing { names: names(), ..Listing::default() };
        let difference = super::compare(none, &records[..3], careful);
        assert!(difference.gone.is_empty() && difference.objection(&records[..3], careful).is_none());
        assert_eq!(difference.absent.len(), 2);
    }

    #[test]
    fn a_place_is_a_whole_name() {
        for (path, place, right) in
            [("a/b.md", "a", true), ("a.md", "a", false), ("ab/c.md", "a", false), ("a.md", "a.md", true)]
        {
            assert_eq!(is_within(path, place), right, "{path} {place}");
        }
    }

    #[test]
    fn a_full_run_reads_everything() {
        let difference = compare(
            vec![seen("same.md", 3)],
            &[record("same.md", 3)],
            Options { full: true, ..Options::default() },
        );
        assert_eq!(paths(&difference), ["same.md"]);
        assert_eq!(difference.unchanged, 0);
    }
}
