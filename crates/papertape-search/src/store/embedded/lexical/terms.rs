//! The term dictionary: a term to its posting list.
//!
//! Terms are sorted and stand in blocks, each term as what it does not share with the one before it, and with its
//! document frequency and the length of its posting list. The offsets of the blocks come last. So a term is found by
//! comparing it with the first terms of a few blocks, and all terms of a prefix, or near one, stand side by side.

use std::io::{self, Write};

use bytes::Bytes;

use crate::store::embedded::disk::{Reader, damaged, put_varint, to_usize};

/// How many terms stand in a block.
const BLOCK: u32 = 32;

/// The dictionary entry of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::store::embedded) struct TermInfo {
    /// Its document frequency, including deleted documents.
    pub(in crate::store::embedded) doc_freq: u32,
    /// Where its posting list begins, and how many bytes it has.
    pub(super) start: u64,
    pub(super) length: u64,
}

/// Writes a dictionary. Terms are given in their order.
#[derive(Debug)]
pub(super) struct TermsWriter<W> {
    sink: W,
    block: Vec<u8>,
    in_block: u32,
    written: u32,
    places: Vec<u32>,
    last: Vec<u8>,
    postings: u64,
}

impl<W: Write> TermsWriter<W> {
    pub(super) fn new(sink: W) -> Self {
        let (block, places, last) = (Vec::new(), Vec::new(), Vec::new());
        Self { sink, block, in_block: 0, written: 0, places, last, postings: 0 }
    }

    /// The next term, with so many documents in a posting list of so many bytes.
    pub(super) fn push(&mut self, term: &[u8], doc_freq: u32, length: u64) -> io::Result<()> {
        if self.in_block == 0 {
            self.places.push(self.written);
            put_varint(&mut self.block, self.postings);
            self.last.clear();
        }
        let shared = self.last.iter().zip(term).take_while(|(one, other)| one == other).count();
        let suffix = term.get(shared..).unwrap_or_default();
        put_varint(&mut self.block, shared as u64);
        put_varint(&mut self.block, suffix.len() as u64);
        self.block.extend_from_slice(suffix);
        put_varint(&mut self.block, u64::from(doc_freq));
        put_varint(&mut self.block, length);
        self.last.truncate(shared);
        self.last.extend_from_slice(suffix);
        self.postings += length;
        self.in_block += 1;
        if self.in_block == BLOCK { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> io::Result<()> {
        self.sink.write_all(&self.block)?;
        let end = u64::from(self.written) + self.block.len() as u64;
        self.written = u32::try_from(end).map_err(|_| io::Error::other("too many terms for a segment"))?;
        self.block.clear();
        self.in_block = 0;
        Ok(())
    }

    /// Writes the offsets of the blocks. The file has still to be finished.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.end_block()?;
        for place in &self.places {
            self.sink.write_all(&place.to_le_bytes())?;
        }
        self.sink.write_all(&u32::try_from(self.places.len()).unwrap_or_default().to_le_bytes())?;
        Ok(self.sink)
    }
}

/// A dictionary, opened.
#[derive(Debug)]
pub(in crate::store::embedded) struct TermDictionary {
    bytes: Bytes,
    /// Where blocks end and their places begin.
    end: usize,
    blocks: usize,
}

impl TermDictionary {
    /// The dictionary in these bytes.
    pub(super) fn open(bytes: Bytes) -> io::Result<Self> {
        let too_short = || damaged("a term dictionary ends too early");
        let (rest, blocks) = bytes.split_last_chunk().ok_or_else(too_short)?;
        let blocks = to_usize(u32::from_le_bytes(*blocks));
        let places = blocks.checked_mul(4).ok_or_else(too_short)?;
        let end = rest.len().checked_sub(places).ok_or_else(too_short)?;
        Ok(Self { bytes, end, blocks })
    }

    /// The last block that begins with this term or one before it.
    fn block_of(&self, term: &[u8]) -> io::Result<Option<usize>> {
        let (mut low, mut high) = (0, self.blocks);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.first(middle)? <= term { low = middle + 1 } else { high = middle }
        }
        Ok(low.checked_sub(1))
    }

    /// The entry of a term, if it occurs.
    pub(in crate::store::embedded) fn get(&self, term: &[u8]) -> io::Result<Option<TermInfo>> {
        let Some(block) = self.block_of(term)? else { return Ok(None) };
        let mut terms = BlockTerms::new(self.block(block)?)?;
        for _ in 0..BLOCK {
            match terms.next()? {
                Some((other, info)) if other == term => return Ok(Some(info)),
                Some((other, _)) if other < term => {}
                _ => break,
            }
        }
        Ok(None)
    }

    /// Every term in its order.
    pub(in crate::store::embedded) fn stream(&self) -> AllTerms<'_> {
        AllTerms { terms: self, next: 0, block: None }
    }

    /// Every term in its order, from a block on that begins with this one or before it.
    pub(in crate::store::embedded) fn stream_from(&self, term: &[u8]) -> io::Result<AllTerms<'_>> {
        Ok(AllTerms { next: self.block_of(term)?.unwrap_or_default(), ..self.stream() })
    }

    fn block(&self, number: usize) -> io::Result<Reader<'_>> {
        let place = |number: usize| -> io::Result<usize> {
            if number == self.blocks {
                return Ok(self.end);
            }
            let bytes = self.bytes.get(self.end + 4 * number..).unwrap_or_default();
            Reader(bytes).u32().map(to_usize)
        };
        let bytes = self
            .bytes
            .get(..self.end)
            .and_then(|bytes| bytes.get(place(number).ok()?..place(number + 1).ok()?));
        bytes.map(Reader).ok_or_else(|| damaged("a term dictionary has a block that is not there"))
    }

    fn first(&self, block: usize) -> io::Result<&[u8]> {
        let mut reader = self.block(block)?;
        reader.varint()?;
        reader.varint()?;
        let length = reader.length()?;
        reader.take(length)
    }
}

/// The terms of a block, one after the other.
#[derive(Debug)]
struct BlockTerms<'a> {
    reader: Reader<'a>,
    term: Vec<u8>,
    postings: u64,
}

impl<'a> BlockTerms<'a> {
    fn new(mut reader: Reader<'a>) -> io::Result<Self> {
        let postings = reader.varint()?;
        Ok(Self { reader, term: Vec::new(), postings })
    }

    fn next(&mut self) -> io::Result<Option<(&[u8], TermInfo)>> {
        if self.reader.0.is_empty() {
            return Ok(None);
        }
        let (shared, length) = (self.reader.length()?, self.reader.length()?);
        let suffix = self.reader.take(length)?;
        self.term.truncate(shared);
        self.term.extend_from_slice(suffix);
        let doc_freq =
            u32::try_from(self.reader.varint()?).map_err(|_| damaged("a document frequency is too great"))?;
        let info = TermInfo { doc_freq, start: self.postings, length: self.reader.varint()? };
        self.postings = self.postings.saturating_add(info.length);
        Ok(Some((&self.term, info)))
    }
}

/// Every term of a dictionary, one after the other.
#[derive(Debug)]
pub(in crate::store::embedded) struct AllTerms<'a> {
    terms: &'a TermDictionary,
    next: usize,
    block: Option<BlockTerms<'a>>,
}

impl AllTerms<'_> {
    /// The next term and its entry.
    pub(in crate::store::embedded) fn next(&mut self) -> io::Result<Option<(&[u8], TermInfo)>> {
        while self.block.as_ref().is_none_or(|block| block.reader.0.is_empty()) {
            if self.next == self.terms.blocks {
                return Ok(None);
            }
            self.block = Some(BlockTerms::new(self.terms.block(self.next)?)?);
            self.next += 1;
        }
        self.block.as_mut().map_or(Ok(None), BlockTerms::next)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bytes::Bytes;
    use proptest::prelude::{any, prop};
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::{TermDictionary, TermsWriter};

    fn dictionary(terms: &BTreeMap<String, (u32, u64)>) -> TermDictionary {
        let mut writer = TermsWriter::new(Vec::new());
        for (term, (doc_freq, length)) in terms {
            writer.push(term.as_bytes(), *doc_freq, *length).unwrap();
        }
        TermDictionary::open(Bytes::from(writer.finish().unwrap())).unwrap()
    }

    proptest! {
        #[test]
        fn every_term_is_found_and_no_other(
            terms in prop::collection::btree_map("[a-c]{0,6}|.{0,3}", (any::<u32>(), 0_u64..1 << 40), 0..200),
            others in prop::collection::vec("[a-c]{0,6}|.{0,3}", 0..50),
        ) {
            let dictionary = dictionary(&terms);
            let mut start = 0;
            let mut stream = dictionary.stream();
            for (term, (doc_freq, length)) in &terms {
                let info = dictionary.get(term.as_bytes()).unwrap().unwrap();
                prop_assert_eq!((info.doc_freq, info.start, info.length), (*doc_freq, start, *length));
                prop_assert_eq!(stream.next().unwrap(), Some((term.as_bytes(), info)));
                start += length;
            }
            prop_assert_eq!(stream.next().unwrap(), None);
            for other in others {
                let found = dictionary.get(other.as_bytes()).unwrap().is_some();
                prop_assert_eq!(found, terms.contains_key(&other));
                let mut rest = terms.range(other.clone()..).map(|(term, _)| term.clone()).collect::<Vec<_>>();
                let mut stream = dictionary.stream_from(other.as_bytes()).unwrap();
                while let Some((term, _)) = stream.next().unwrap() {
                    let place = rest.iter().position(|wanted| wanted.as_bytes() == term);
                    prop_assert!(place.is_none_or(|place| place == 0));
                    place.map(|place| rest.remove(place));
                }
                prop_assert!(rest.is_empty());
            }
        }

        #[test]
        fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..200), blocks in 0_u32..20) {
            let mut bytes = bytes;
            bytes.extend(blocks.to_le_bytes());
            let Ok(dictionary) = TermDictionary::open(Bytes::from(bytes)) else { return Ok(()) };
            drop(dictionary.get(b"term"));
            let mut stream = dictionary.stream();
            while matches!(stream.next(), Ok(Some(_))) {}
        }
    }
}
