//! A chunk to a document of tantivy, and its fields.

use tantivy::schema::{
    Field, IndexRecordOption, NumericOptions, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::store::Compressor;
use tantivy::tokenizer::TokenizerManager;
use tantivy::{IndexSettings, TantivyDocument, Term};

use super::tokens::{Unpack, pack};
use crate::blog::document::is_day;
use crate::blog::store::{ChunkId, Entry, FileRecord};

const BAG: &str = "bag";

/// Names of the columns.
pub(super) const ID: &str = "id";
pub(super) const KEY: &str = "key";
pub(super) const INDEX: &str = "index";
pub(super) const LENGTH: &str = "length";
pub(super) const SOURCE: &str = "source";

/// Which field is which.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    /// What a chunk is found by.
    pub(super) words: Field,
    /// Its file.
    pub(super) source: Field,
    /// The file's title.
    pub(super) title: Field,
    /// The headings above it, one value each.
    pub(super) headings: Field,
    /// Its Markdown.
    pub(super) text: Field,
    /// The file's tags, in small letters.
    pub(super) tags: Field,
    /// The file's date: `YYYYMMDD` as a number.
    pub(super) date: Field,
    id: Field,
    key: Field,
    index: Field,
    length: Field,
}

/// The same for every index of this version.
pub(super) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let bag = TextFieldIndexing::default()
        .set_tokenizer(BAG)
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(true);
    let column = NumericOptions::default().set_fast();
    let fields = Fields {
        words: builder.add_text_field("words", TextOptions::default().set_indexing_options(bag)),
        source: builder.add_text_field(SOURCE, (STRING | STORED).set_fast("raw")),
        title: builder.add_text_field("title", STORED),
        headings: builder.add_text_field("headings", STORED),
        text: builder.add_text_field("text", STORED),
        tags: builder.add_text_field("tags", STRING),
        date: builder.add_u64_field("date", column.clone()),
        id: builder.add_u64_field(ID, column.clone()),
        key: builder.add_u64_field(KEY, column.clone()),
        index: builder.add_u64_field(INDEX, column.clone()),
        length: builder.add_u64_field(LENGTH, column),
    };
    (builder.build(), fields)
}

/// How texts are kept.
pub(super) fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compression: Compressor::Lz4,
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}

/// What takes bags apart.
pub(super) fn tokenizers() -> TokenizerManager {
    let tokenizers = TokenizerManager::default();
    tokenizers.register(BAG, Unpack::default());
    tokenizers
}

impl Fields {
    /// A chunk of a file.
    pub(super) fn document(&self, file: &FileRecord, entry: &Entry) -> TantivyDocument {
        let mut document = TantivyDocument::default();
        document.add_text(self.words, pack(&entry.bag));
        document.add_text(self.source, &file.path);
        document.add_text(self.title, &file.title);
        for heading in &entry.headings {
            document.add_text(self.headings, heading);
        }
        document.add_text(self.text, &entry.text);
        for tag in &file.tags {
            document.add_text(self.tags, tag.to_lowercase());
        }
        if let Some(date) = file.date.as_deref().and_then(day) {
            document.add_u64(self.date, date);
        }
        document.add_u64(self.id, ChunkId::of(&file.path, entry.index).0);
        document.add_u64(self.key, entry.key.0);
        document.add_u64(self.index, u64::from(entry.index));
        document.add_u64(self.length, u64::from(entry.bag.length()));
        document
    }

    /// Every chunk of a file.
    pub(super) fn of_file(&self, path: &str) -> Term {
        Term::from_field_text(self.source, path)
    }
}

/// `YYYY-MM-DD` as a number that grows with time.
pub(super) fn day(date: &str) -> Option<u64> {
    if is_day(date) { date.replace('-', "").parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::day;

    #[test]
    fn days_are_numbers_in_order() {
        assert_eq!(day("2026-07-28"), Some(20_260_728));
        for odd in [
            "",
            "2026",
            "2026-13-01",
            "2026-02-31",
            "2026-07-28T00:00",
            "2026-07-00",
            "1-2-3-4",
            "99999999999999999999-1-1",
        ] {
            assert_eq!(day(odd), None, "{odd}");
        }
    }
}
