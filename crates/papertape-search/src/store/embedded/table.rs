//! The records of all indexed files to bytes, and back.

use std::io;

use super::disk::{Reader, put_text};
use crate::analysis::Language;
use crate::store::{FileRecord, Stamp};

/// The bytes of the table.
pub(super) fn encode<'a>(records: impl Iterator<Item = &'a FileRecord>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in records {
        put(&mut bytes, record);
    }
    bytes
}

fn put(bytes: &mut Vec<u8>, record: &FileRecord) {
    put_text(bytes, &record.path);
    let Stamp { size, modified, changed, inode } = record.stamp;
    bytes.extend(size.to_le_bytes());
    bytes.extend(modified.to_le_bytes());
    bytes.extend(changed.to_le_bytes());
    bytes.extend(inode.to_le_bytes());
    bytes.extend(record.digest);
    put_text(bytes, &record.title);
    put_text(bytes, record.date.as_deref().unwrap_or_default());
    bytes.extend(u32::try_from(record.tags.len()).unwrap_or(u32::MAX).to_le_bytes());
    for tag in record.tags.iter().take(u32::MAX as usize) {
        put_text(bytes, tag);
    }
    put_text(bytes, record.language.code());
    bytes.extend(record.chunks.to_le_bytes());
    bytes.extend(record.size.to_le_bytes());
}

/// The records in the table.
pub(super) fn decode(bytes: &[u8]) -> io::Result<Vec<FileRecord>> {
    let mut reader = Reader(bytes);
    let mut records = Vec::new();
    while !reader.0.is_empty() {
        records.push(take(&mut reader)?);
    }
    Ok(records)
}

fn take(reader: &mut Reader<'_>) -> io::Result<FileRecord> {
    let path = reader.text()?;
    let stamp = Stamp {
        size: reader.u64()?,
        modified: i64::from_le_bytes(reader.array()?),
        changed: i64::from_le_bytes(reader.array()?),
        inode: reader.u64()?,
    };
    Ok(FileRecord {
        path,
        stamp,
        digest: reader.array()?,
        title: reader.text()?,
        date: Some(reader.text()?).filter(|date| !date.is_empty()),
        tags: (0..reader.u32()?).map(|_| reader.text()).collect::<io::Result<_>>()?,
        language: Language::from_code(&reader.text()?).unwrap_or_default(),
        chunks: reader.u32()?,
        size: reader.u64()?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, prop};
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::{decode, encode};
    use crate::analysis::Language;
    use crate::store::{FileRecord, Stamp};

    fn record() -> impl Strategy<Value = FileRecord> {
        (".{0,9}", any::<[i64; 4]>(), prop::option::of(".{1,9}"), prop::collection::vec(".{0,4}", 0..4))
            .prop_map(|(path, [size, modified, changed, inode], date, tags)| FileRecord {
                stamp: Stamp { size: size.cast_unsigned(), modified, changed, inode: inode.cast_unsigned() },
                digest: [modified.to_le_bytes()[0]; 32],
                title: path.clone(),
                path,
                date,
                tags,
                language: Language::Spanish,
                chunks: 7,
                size: inode.cast_unsigned(),
            })
    }

    proptest! {
        #[test]
        fn records_come_back_as_they_were(records in prop::collection::vec(record(), 0..5)) {
            prop_assert_eq!(decode(&encode(records.iter())).unwrap(), records);
        }

        #[test]
        fn a_table_cut_short_is_an_error(records in prop::collection::vec(record(), 1..3), cut in 1_usize..30) {
            let bytes = encode(records.iter());
            prop_assert!(decode(&bytes[..bytes.len() - cut]).is_err());
        }

        #[test]
        fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            drop(decode(&bytes));
        }
    }
}
