//! The words and texts of a generation: a question's words to chunks, a place to its chunk.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use tantivy::columnar::{ColumnValues, StrColumn};
use tantivy::schema::{Field, IndexRecordOption, Value};
use tantivy::{
    DocAddress, DocSet, Index, ReloadPolicy, Searcher, SegmentReader, TERMINATED, TantivyDocument,
    TantivyError, Term,
};

use super::fault::Faults;
use super::schema::{Fields, ID, INDEX, KEY, LENGTH, SOURCE, schema, tokenizers};
use super::score::best;
use super::shelf::Shelf;
use super::vectors::Rows;
use crate::blog::rank::bm25::Scale;
use crate::blog::store::{Chunk, ChunkId, StoreError, VectorKey};
use crate::blog::words::Word;

/// No chunk at all.
static NONE: LazyLock<Rows> = LazyLock::new(Rows::default);

/// How many words' frequencies are remembered.
const REMEMBERED: usize = 10_000;

/// The columns of a segment.
pub(super) struct Columns {
    pub(super) id: Arc<dyn ColumnValues<u64>>,
    pub(super) key: Arc<dyn ColumnValues<u64>>,
    pub(super) index: Arc<dyn ColumnValues<u64>>,
    /// The numbers of files in the segment, and their paths.
    pub(super) source: Option<StrColumn>,
}

/// The words and texts of a generation.
pub(super) struct Words {
    searcher: Searcher,
    fields: Fields,
    columns: Vec<Columns>,
    docs: u64,
    tokens: u64,
    frequencies: Mutex<HashMap<String, u64>>,
    faults: Faults,
}

impl fmt::Debug for Words {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Words").field("docs", &self.docs).finish_non_exhaustive()
    }
}

/// What words found.
#[derive(Debug, Default)]
pub(super) struct ByWords {
    /// Best first.
    pub(super) list: Vec<(ChunkId, f32)>,
    /// Where they are.
    pub(super) places: Vec<(ChunkId, DocAddress)>,
    /// What the words weighed.
    pub(super) scale: Scale,
}

impl Words {
    /// Opens tantivy's index on a shelf.
    pub(super) fn open(shelf: Shelf, faults: &Faults) -> Result<Self, StoreError> {
        let failed = |error: TantivyError| faults.words("cannot read", &error);
        let mut index = Index::open(shelf).map_err(failed)?;
        let (expected, fields) = schema();
        if index.schema() != expected {
            return Err(faults.foreign(
                "its fields are those of another version; rebuild it with `papertape index DIR --rebuild`",
            ));
        }
        index.set_tokenizers(tokenizers());
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().map_err(failed)?;
        let searcher = reader.searcher();
        let (mut columns, mut docs, mut tokens) = (Vec::new(), 0, 0);
        for segment in searcher.segment_readers() {
            columns.push(open_columns(segment).map_err(failed)?);
            docs += u64::from(segment.num_docs());
            tokens += live_tokens(segment).map_err(failed)?;
        }
        Ok(Self {
            searcher,
            fields,
            columns,
            docs,
            tokens,
            frequencies: Mutex::default(),
            faults: faults.clone(),
        })
    }

    /// How many chunks there are.
    pub(super) fn docs(&self) -> u64 {
        self.docs
    }

    /// Which field is which.
    pub(super) fn fields(&self) -> &Fields {
        &self.fields
    }

    /// For tantivy's own functions.
    pub(super) fn searcher(&self) -> &Searcher {
        &self.searcher
    }

    /// Segments and their columns.
    pub(super) fn segments(&self) -> impl Iterator<Item = (&SegmentReader, &Columns)> {
        self.searcher.segment_readers().iter().zip(&self.columns)
    }

    fn failed(&self, error: &TantivyError) -> StoreError {
        self.faults.words("cannot search", error)
    }

    /// The best chunks for the words of a question, among those that are let through.
    pub(super) fn search(
        &self,
        words: &[Word],
        through: Option<&[Rows]>,
        depth: usize,
    ) -> Result<ByWords, StoreError> {
        let words = self.standing(words).map_err(|error| self.failed(&error))?;
        let with = self.frequencies(&words).map_err(|error| self.failed(&error))?;
        let scale = Scale::of(&words, &with, self.docs, self.average_length());
        let mut asked: Vec<(Term, f32)> = scale
            .weights
            .iter()
            .filter(|(_, weight)| *weight > 0.0)
            .map(|(term, weight)| (Term::from_field_text(self.fields.words, term), *weight))
            .collect();
        asked.sort_by(|a, b| b.1.total_cmp(&a.1));
        let segments = self.searcher.segment_readers();
        let best: tantivy::Result<Vec<_>> = segments
            .par_iter()
            .zip(&self.columns)
            .enumerate()
            .map(|(number, (segment, columns))| {
                let through = through.map(|through| through.get(number).unwrap_or(&NONE));
                best(segment, &*columns.id, &asked, &scale, through, depth)
            })
            .collect();
        let mut found = Vec::new();
        for (best, segment) in best.map_err(|error| self.failed(&error))?.into_iter().zip(0..) {
            found.extend(best.into_iter().map(|(score, doc)| {
                let place = DocAddress::new(segment, doc);
                (self.id(place), score, place)
            }));
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(depth);
        Ok(ByWords {
            list: found.iter().map(|(id, score, _)| (*id, *score)).collect(),
            places: found.iter().map(|(id, _, place)| (*id, *place)).collect(),
            scale,
        })
    }

    /// Words in a chunk, on average; at least one.
    fn average_length(&self) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "an average needs no more")]
        let average = self.tokens.max(self.docs) as f32 / self.docs.max(1) as f32;
        average
    }

    /// Words as they stand here, or as they may stand in a language that hardly any text is in.
    fn standing(&self, words: &[Word]) -> tantivy::Result<Vec<Word>> {
        let stand = |word: &Word| {
            for form in &word.forms {
                if self.frequency(form)? > 0 {
                    return Ok(word.clone());
                }
            }
            Ok(word.elsewhere())
        };
        words.iter().map(stand).collect()
    }

    /// How many chunks have each form of some words.
    fn frequencies<'a>(&self, words: &'a [Word]) -> tantivy::Result<BTreeMap<&'a str, u64>> {
        let forms = words.iter().flat_map(|word| &word.forms);
        forms.map(|form| Ok((form.as_str(), self.frequency(form)?))).collect()
    }

    /// How many chunks have a word; those that are gone do not count.
    fn frequency(&self, term: &str) -> tantivy::Result<u64> {
        let known = self.frequencies.lock().unwrap_or_else(PoisonError::into_inner).get(term).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let mut with = 0;
        let key = Term::from_field_text(self.fields.words, term);
        for segment in self.searcher.segment_readers() {
            with += live_frequency(segment, &key)?;
        }
        let mut remembered = self.frequencies.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= REMEMBERED {
            remembered.clear();
        }
        remembered.insert(term.to_owned(), with);
        Ok(with)
    }

    /// A chunk's number.
    pub(super) fn id(&self, place: DocAddress) -> ChunkId {
        ChunkId(self.column(place).map(|columns| columns.id.get_val(place.doc_id)).unwrap_or_default())
    }

    /// The number of a chunk's file, among files of the same generation: all chunks of a file are in one segment.
    pub(super) fn file(&self, place: DocAddress) -> u64 {
        let source = self.column(place).and_then(|columns| columns.source.as_ref());
        let number = source.and_then(|source| source.term_ords(place.doc_id).next()).unwrap_or_default();
        u64::from(place.segment_ord) << 32 | number
    }

    fn column(&self, place: DocAddress) -> Option<&Columns> {
        self.columns.get(super::bytes::to_usize(place.segment_ord))
    }

    /// A chunk.
    pub(super) fn chunk(&self, place: DocAddress) -> Result<Chunk, StoreError> {
        let document: TantivyDocument = self.searcher.doc(place).map_err(|error| self.failed(&error))?;
        let text = |field: Field| {
            document.get_first(field).and_then(|value| value.as_str()).map(str::to_owned).unwrap_or_default()
        };
        let columns = self.column(place);
        let headings = document.get_all(self.fields.headings);
        Ok(Chunk {
            source: text(self.fields.source),
            index: columns.map(|columns| short(columns.index.get_val(place.doc_id))).unwrap_or_default(),
            title: text(self.fields.title),
            headings: headings.filter_map(|value| value.as_str().map(str::to_owned)).collect(),
            text: text(self.fields.text),
            key: VectorKey(columns.map(|columns| columns.key.get_val(place.doc_id)).unwrap_or_default()),
        })
    }

    /// Where the chunks of a file are, in their order.
    pub(super) fn of_file(&self, path: &str) -> Result<Vec<(u32, DocAddress)>, StoreError> {
        self.find_file(path).map_err(|error| self.failed(&error))
    }

    fn find_file(&self, path: &str) -> tantivy::Result<Vec<(u32, DocAddress)>> {
        let mut found = Vec::new();
        let term = self.fields.of_file(path);
        for ((segment, columns), ord) in self.segments().zip(0..) {
            let inverted = segment.inverted_index(self.fields.source)?;
            let Some(mut docs) = inverted.read_postings(&term, IndexRecordOption::Basic)? else { continue };
            while docs.doc() != TERMINATED {
                if !segment.is_deleted(docs.doc()) {
                    found.push((short(columns.index.get_val(docs.doc())), DocAddress::new(ord, docs.doc())));
                }
                docs.advance();
            }
        }
        found.sort_unstable_by_key(|(index, _)| *index);
        Ok(found)
    }
}

fn short(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn open_columns(segment: &SegmentReader) -> tantivy::Result<Columns> {
    let column = |name| segment.fast_fields().column_first_or_default::<u64>(name);
    let source = segment.fast_fields().str(SOURCE)?;
    Ok(Columns { id: column(ID)?, key: column(KEY)?, index: column(INDEX)?, source })
}

/// Words in the chunks that are not gone. tantivy's own count is an estimate in a segment that was merged from others with
/// deleted documents.
fn live_tokens(segment: &SegmentReader) -> tantivy::Result<u64> {
    let lengths = segment.fast_fields().column_first_or_default::<u64>(LENGTH)?;
    Ok(segment.doc_ids_alive().map(|doc| lengths.get_val(doc)).sum())
}

/// Chunks of a segment that have a word and are not gone.
fn live_frequency(segment: &SegmentReader, term: &Term) -> tantivy::Result<u64> {
    let inverted = segment.inverted_index(term.field())?;
    let Some(info) = inverted.get_term_info(term)? else { return Ok(0) };
    if !segment.has_deletes() {
        return Ok(u64::from(info.doc_freq));
    }
    let mut docs = inverted.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?;
    let mut with = 0;
    while docs.doc() != TERMINATED {
        with += u64::from(!segment.is_deleted(docs.doc()));
        docs.advance();
    }
    Ok(with)
}
