//! Writes and merges segments of vectors.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::Rows;
use super::code::{Centre, Code};
use super::rotate::Rotation;
use super::segment::{VectorSegment, row_digest};
use crate::background::in_background;
use crate::store::embedded::disk::to_usize;
use crate::store::embedded::file_set::FileSet;
use crate::store::embedded::index_folder::unique;
use crate::store::embedded::manifest::VectorFile;

/// More vectors than this do not make a centre better.
const ENOUGH: usize = 50_000;

/// A centre is computed again when there are so many times more vectors than it was learned from.
const GROWTH: usize = 4;

/// A vector on its way into a file.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// Its vector key.
    pub(crate) key: u64,
    /// Its numbers.
    pub(crate) vector: Vec<f16>,
}

/// Vectors in the order of their keys to a segment. `centre` is one that others were made with.
pub(crate) fn write(
    file_set: &FileSet,
    rows: &[Row],
    dimension: u32,
    centre: Option<&Centre>,
) -> io::Result<VectorFile> {
    let centre = match centre {
        Some(centre) if good_enough(centre, rows.len()) => centre.clone(),
        _ => learn(rows.iter().map(|row| row.vector.as_slice()), dimension),
    };
    let mut files = Files::new(file_set, dimension, centre)?;
    for rows in rows.chunks(4096) {
        let codes: Vec<Code> =
            in_background(|| rows.par_iter().map(|row| files.encode(&row.vector)).collect());
        for (row, code) in rows.iter().zip(codes) {
            files.push(row.key, &row.vector, &code)?;
        }
    }
    files.finish(file_set)
}

/// Merges segments, keeping only live rows. Each key comes once.
pub(crate) fn merge(
    file_set: &FileSet,
    inputs: &[(&VectorSegment, &Rows)],
) -> io::Result<Option<VectorFile>> {
    let mut order = Vec::new();
    for ((segment, live), number) in inputs.iter().zip(0_usize..) {
        let keys = &segment.codes()?.keys;
        order.extend(
            keys.iter()
                .enumerate()
                .filter(|(row, _)| live.contains(*row))
                .map(|(row, key)| (*key, number, row)),
        );
    }
    order.sort_unstable();
    let (Some((first, _)), false) = (inputs.first(), order.is_empty()) else { return Ok(None) };
    let dimension = first.file().dimension;
    let centre = centre_of(inputs, &order, dimension)?;
    let mut files = Files::new(file_set, dimension, centre)?;
    for (key, number, row) in order {
        let Some((segment, _)) = inputs.get(number) else { continue };
        let codes = segment.codes()?;
        let known = if codes.centre == files.centre { codes.code(row) } else { None };
        let mut vector = Vec::new();
        segment.read(row..row + 1, |_, numbers| vector.extend_from_slice(numbers))?;
        let code = known.unwrap_or_else(|| files.encode(&vector));
        files.push(key, &vector, &code)?;
    }
    files.finish(file_set).map(Some)
}

fn good_enough(centre: &Centre, rows: usize) -> bool {
    let learned_from = to_usize(centre.learned_from);
    learned_from >= ENOUGH || learned_from * GROWTH > rows
}

/// The best of the centres there are, or a new one if there are many more vectors now.
fn centre_of(
    inputs: &[(&VectorSegment, &Rows)],
    order: &[(u64, usize, usize)],
    dimension: u32,
) -> io::Result<Centre> {
    let mut best: Option<&Centre> = None;
    for (segment, _) in inputs {
        let centre = &segment.codes()?.centre;
        if best.is_none_or(|best| centre.learned_from > best.learned_from) {
            best = Some(centre);
        }
    }
    if let Some(best) = best.filter(|best| good_enough(best, order.len())) {
        return Ok(best.clone());
    }
    let mut sample = Vec::new();
    for (_, number, row) in order.iter().step_by(order.len().div_ceil(ENOUGH)) {
        if let Some((segment, _)) = inputs.get(*number) {
            segment.read(*row..*row + 1, |_, vector| sample.push(vector.to_owned()))?;
        }
    }
    Ok(learn(sample.iter().map(Vec::as_slice), dimension))
}

#[expect(clippy::cast_precision_loss, reason = "at most fifty thousand")]
fn learn<'a>(vectors: impl ExactSizeIterator<Item = &'a [f16]>, dimension: u32) -> Centre {
    let step = vectors.len().div_ceil(ENOUGH).max(1);
    let mut sum = vec![0.0_f32; to_usize(dimension)];
    let mut count = 0_u32;
    for vector in vectors.step_by(step) {
        for (sum, number) in sum.iter_mut().zip(vector) {
            *sum += number.to_f32();
        }
        count += 1;
    }
    for sum in &mut sum {
        *sum /= count.max(1) as f32;
    }
    Centre { mean: sum, learned_from: count }
}

/// The two files of a segment that is being written.
struct Files {
    name: String,
    dimension: u32,
    rows: BufWriter<File>,
    keys: Vec<u8>,
    factors: Vec<u8>,
    digests: Vec<u8>,
    bits: Vec<u8>,
    count: u32,
    centre: Centre,
    rotation: Rotation,
}

impl Files {
    fn new(file_set: &FileSet, dimension: u32, centre: Centre) -> io::Result<Self> {
        let name = unique();
        let rows = file_set.create_plain(&format!("{name}.rows"))?;
        Ok(Self {
            name,
            dimension,
            rows: BufWriter::with_capacity(256 * 1024, rows),
            keys: Vec::new(),
            factors: Vec::new(),
            digests: Vec::new(),
            bits: Vec::new(),
            count: 0,
            centre,
            rotation: Rotation::new(to_usize(dimension)),
        })
    }

    fn encode(&self, vector: &[f16]) -> Code {
        let mut numbers = vec![0.0; vector.len()];
        vector.convert_to_f32_slice(&mut numbers);
        Code::of(&numbers, &self.centre, &self.rotation)
    }

    fn push(&mut self, key: u64, vector: &[f16], code: &Code) -> io::Result<()> {
        let numbers: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.rows.write_all(&numbers)?;
        self.digests.extend(row_digest(key, &numbers));
        self.keys.extend(key.to_le_bytes());
        self.factors.extend(code.factors.iter().flat_map(|factor| factor.to_le_bytes()));
        self.bits.extend(code.bits.iter().flat_map(|word| word.to_le_bytes()));
        self.count += 1;
        Ok(())
    }

    fn finish(self, file_set: &FileSet) -> io::Result<VectorFile> {
        let rows = self.rows.into_inner().map_err(io::IntoInnerError::into_error)?;
        file_set.finish_plain(&rows)?;
        let file = VectorFile { name: self.name, rows: self.count, dimension: self.dimension };
        let mut sink = file_set.create(&file.codes())?;
        sink.write_all(&self.centre.learned_from.to_le_bytes())?;
        for number in &self.centre.mean {
            sink.write_all(&number.to_le_bytes())?;
        }
        sink.write_all(&self.keys)?;
        sink.write_all(&self.factors)?;
        sink.write_all(&self.digests)?;
        sink.write_all(&self.bits)?;
        file_set.finish(&file.codes(), &mut sink)?;
        Ok(file)
    }
}
