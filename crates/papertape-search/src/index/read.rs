//! A file to a record and its chunks.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::digest::Digest;
use crate::analysis::{self, AliasBags};
use crate::corpus::document::{self, Document};
use crate::corpus::folder::Folder;
use crate::store::{Entry, FileRecord, Stamp, VectorKey};

/// What a file turned out to be.
#[derive(Debug)]
pub(super) enum FileOutcome {
    /// Its bytes have not changed.
    Same(Same),
    /// It is new, or has changed.
    Fresh(Box<Fresh>),
    /// It was removed after it was listed.
    Vanished,
    /// It exists and cannot be read: which file, and why.
    Unreadable(String),
}

/// A file that has not changed.
#[derive(Debug)]
pub(super) struct Same {
    /// Its stamp now.
    pub(super) stamp: Stamp,
    pub(super) warnings: Vec<String>,
}

/// A file that was read and cut.
#[derive(Debug)]
pub(super) struct Fresh {
    pub(super) record: FileRecord,
    pub(super) entries: Vec<Entry>,
    pub(super) warnings: Vec<String>,
}

/// Reads a file and cuts it, unless its bytes are those of `known`.
pub(super) fn read(folder: &Folder, path: &str, known: Option<Digest>) -> FileOutcome {
    let (bytes, stamp) = match bytes(folder, path) {
        Ok(Some(read)) => read,
        Ok(None) => return FileOutcome::Vanished,
        Err(why) => return FileOutcome::Unreadable(why),
    };
    let digest = Digest::of(&bytes);
    if let Some(known) = known.filter(|known| known.is_as(digest)) {
        let warnings = if known.has_warnings() { document::warnings(path, &bytes) } else { Vec::new() };
        return FileOutcome::Same(Same { stamp, warnings });
    }
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let mut document = document::read(path, &bytes);
    let mut entries: Vec<Entry> = std::mem::take(&mut document.chunks)
        .into_iter()
        .zip(0_u32..)
        .map(|(section, index)| Entry {
            index,
            bag: analysis::bag(path, &document.title, &section.headings, &section.plain, document.language),
            key: VectorKey::of(&document::embedded_text(&document.title, &section)),
            lines: section.lines,
            headings: section.headings,
            text: section.text,
        })
        .collect();
    add_front_matter(&document, &mut entries);
    let record = FileRecord {
        path: path.to_owned(),
        stamp,
        digest: if document.warnings.is_empty() { digest.0 } else { digest.with_warnings().0 },
        title: document.title,
        date: document.date,
        tags: document.tags,
        language: document.language,
        chunks: u32::try_from(entries.len()).unwrap_or(u32::MAX),
        size,
    };
    FileOutcome::Fresh(Box::new(Fresh { record, entries, warnings: document.warnings }))
}

/// Other titles count in every chunk, as the title does, unless there are many; what a file is about in the first.
fn add_front_matter(document: &Document, entries: &mut [Entry]) {
    let AliasBags { everywhere, first_only } = AliasBags::new(&document.aliases, document.language);
    for entry in &mut *entries {
        entry.bag.add_all(everywhere.clone());
    }
    if let Some(first) = entries.first_mut() {
        first.bag.add_all(first_only);
        first.bag.add_all(analysis::about_bag(&document.about, document.language));
    }
}

/// How often a file is read that is replaced whenever it is read.
const TRIES: usize = 3;

/// The bytes of a file and how it looks; nothing if it is gone.
fn bytes(folder: &Folder, path: &str) -> Result<Option<(Vec<u8>, Stamp)>, String> {
    let mut failure = String::new();
    for _ in 0..TRIES {
        let begun = SystemTime::now();
        match folder.read(path) {
            Ok((bytes, stamp)) => return Ok(Some((bytes, trusted(stamp, begun)))),
            Err(_) if folder.is_gone(path) => return Ok(None),
            // It may have been away for a moment, as files are that editors save.
            Err(why) => failure = why,
        }
    }
    Err(failure)
}

/// Two writes within this time may leave the same time on a file: clocks of file systems tick every 10 ms at most.
const TICK: Duration = Duration::from_millis(20);

/// As above, where files have times in whole seconds.
const COARSE_TICK: Duration = Duration::from_secs(2);

/// Nothing looks like this.
const NEVER: i64 = i64::MIN;

/// A file that was written in the instant it was read may be written once more in that instant, and look the same: its
/// stamp says nothing, and the next run reads it again.
fn trusted(stamp: Stamp, read: SystemTime) -> Stamp {
    let tick = if last_write(&stamp) % 1_000_000_000 == 0 { COARSE_TICK } else { TICK };
    if last_write(&stamp).saturating_add(nanoseconds(tick)) < since_1970(read) {
        stamp
    } else {
        Stamp { changed: NEVER, ..stamp }
    }
}

/// How long to wait before reading so that stamps can be trusted: nothing, if the last write was long ago.
pub(super) fn settle<'a>(stamps: impl Iterator<Item = &'a Stamp>, now: SystemTime) -> Duration {
    let now = since_1970(now);
    let last = stamps.map(last_write).filter(|last| *last <= now).max();
    let left = last.map_or(0, |last| last.saturating_add(nanoseconds(TICK)).saturating_sub(now));
    // A little more than the tick, or the last write would still be within it.
    u64::try_from(left)
        .ok()
        .filter(|left| *left > 0)
        .map_or(Duration::ZERO, |left| Duration::from_nanos(left) + Duration::from_millis(1))
}

/// When the file was last written. Programs can set the time of writing, but not the time of change.
fn last_write(stamp: &Stamp) -> i64 {
    if stamp.changed == 0 { stamp.modified } else { stamp.changed }
}

fn since_1970(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).map_or(0, nanoseconds)
}

fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::{NEVER, add_front_matter, settle, trusted};
    use crate::corpus::document::Document;
    use crate::store::{Entry, Stamp, VectorKey};

    const NOW: i64 = 1_700_000_000_123_456_789;

    fn at(nanoseconds: i64) -> std::time::SystemTime {
        UNIX_EPOCH + Duration::from_nanos(u64::try_from(nanoseconds).unwrap())
    }

    fn written(changed: i64) -> Stamp {
        Stamp { size: 1, modified: 5, changed, inode: 9 }
    }

    #[test]
    fn a_stamp_is_trusted_if_the_file_was_written_well_before_it_was_read() {
        for (changed, read, is_trusted) in [
            (NOW, NOW + 21_000_000, true),
            (NOW, NOW + 19_000_000, false),
            (NOW, NOW, false),
            (NOW + 60_000_000_000, NOW, false),
            (1_700_000_000_000_000_000, 1_700_000_001_900_000_000, false),
            (1_700_000_000_000_000_000, 1_700_000_002_100_000_000, true),
        ] {
            let stamp = trusted(written(changed), at(read));
            assert_eq!(stamp == written(changed), is_trusted, "{changed} read at {read}");
            assert_eq!(stamp.changed == NEVER, !is_trusted);
        }
    }

    #[test]
    fn without_a_time_of_change_the_time_of_writing_counts() {
        let stamp = Stamp { size: 1, modified: NOW, changed: 0, inode: 0 };
        assert_eq!(trusted(stamp, at(NOW + 21_000_000)), stamp);
        assert_eq!(trusted(stamp, at(NOW + 1)).changed, NEVER);
    }

    #[test]
    fn the_wait_is_a_tick_at_most_and_the_future_is_not_waited_for() {
        let wait = |changed: i64| settle([written(3), written(changed)].iter(), at(NOW));
        assert_eq!(wait(NOW - 30_000_000), Duration::ZERO);
        assert_eq!(wait(NOW - 15_000_000), Duration::from_millis(6));
        assert_eq!(wait(NOW), Duration::from_millis(21));
        assert_eq!(wait(NOW + 60_000_000_000), Duration::ZERO);
        assert_eq!(settle([].iter(), at(NOW)), Duration::ZERO);
    }

    #[test]
    fn many_other_titles_count_in_the_first_chunk_alone() {
        let aliases: Vec<String> = (0..64).map(|n| format!("one{n} two{n} three{n} four{n}")).collect();
        let document = Document { aliases, about: "prose".to_owned(), ..Document::default() };
        let mut entries = [0, 1].map(|index| Entry {
            index,
            headings: Vec::new(),
            text: String::new(),
            bag: crate::analysis::Bag::default(),
            key: VectorKey::of(""),
            lines: crate::corpus::document::Lines::default(),
        });
        add_front_matter(&document, &mut entries);
        let [first, second] = entries.map(|entry| entry.bag);
        assert_eq!((first.iter().count(), second.iter().count()), (64 * 4 + 1, 32));
        assert!(first.count("one63") > 0 && first.count("prose") > 0);
        assert!(second.count("one7") > 0 && second.count("one8") == 0);
        assert_eq!(first.count("one7"), second.count("one7"));
    }
}
