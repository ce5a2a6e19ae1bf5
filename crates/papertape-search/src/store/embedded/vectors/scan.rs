//! Nearest-neighbour search: scans all codes, then re-ranks the best by their exact vectors.

use std::io;
use std::sync::Arc;

use half::f16;
use half::slice::HalfFloatSliceExt;
use pulp::Arch;
#[cfg(target_arch = "x86_64")]
use pulp::x86::V3;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSlice;

use super::Rows;
use super::code::Planes;
#[cfg(target_arch = "x86_64")]
use super::count::Wide;
use super::count::{Anywhere, Count};
use super::segment::{Codes, VectorSegment};

/// How many vectors are re-ranked, at least.
const PROMISING: usize = 2_000;

/// How many bytes of vectors may be read for that: short vectors have short codes, which say less, so more are read.
const BUDGET: usize = 3 * 1024 * 1024;

/// Rows that one thread scans at a time.
const STEP: usize = 16 * 1024;

/// A vector near the query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Near {
    /// The cosine.
    pub(crate) cosine: f32,
    /// Its vector key.
    pub(crate) key: u64,
}

/// The vectors nearest to a query of length 1, best first: at least as many as requested, if there are so many. Only
/// rows in `among` count, one set for each segment.
pub(crate) fn nearest(
    segments: &[Arc<VectorSegment>],
    among: &[Rows],
    query: &[f32],
    depth: usize,
) -> io::Result<Vec<Near>> {
    let promising = PROMISING.max(20 * depth).max(BUDGET / (2 * query.len().max(1)));
    let few = among.iter().map(Rows::len).sum::<usize>() <= promising;
    let mut best = Best::new(promising);
    for ((segment, among), number) in segments.iter().zip(among).zip(0..) {
        let codes = segment.codes()?;
        if few {
            // All of them are compared.
            (0..segment.len())
                .filter(|row| among.contains(*row))
                .for_each(|row| best.push(0.0, (number, row)));
            continue;
        }
        let planes = Planes::of(query, &codes.centre, &codes.rotation);
        let scanned = (0..segment.len().div_ceil(STEP))
            .into_par_iter()
            .with_min_len(2)
            .fold(|| Best::new(promising), |best, step| scan(codes, &planes, among, step, number, best))
            .reduce(|| Best::new(promising), Best::join);
        best = best.join(scanned);
    }
    let mut rows: Vec<(usize, usize)> = best.into_places();
    rows.sort_unstable();
    let rescored: io::Result<Vec<Vec<Near>>> =
        rows.par_chunks(128).map(|rows| rescore(segments, rows, query)).collect();
    let mut nearest: Vec<Near> = rescored?.into_iter().flatten().collect();
    nearest.sort_unstable_by(|a, b| b.cosine.total_cmp(&a.cosine).then(a.key.cmp(&b.key)));
    Ok(nearest)
}

/// Looks at the codes of some rows.
fn scan(codes: &Codes, planes: &Planes, among: &Rows, step: usize, segment: usize, best: Best) -> Best {
    let span = Span { codes, planes, among, first: step * STEP, segment };
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = V3::try_new() {
        return simd.vectorize(|| span.scan(Wide(simd), best));
    }
    Arch::new().dispatch(|| span.scan(Anywhere, best))
}

/// Rows that are looked at one after the other.
struct Span<'a> {
    codes: &'a Codes,
    planes: &'a Planes,
    among: &'a Rows,
    first: usize,
    segment: usize,
}

impl Span<'_> {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "has to be compiled for the processor that is there, with its caller"
    )]
    fn scan(self, count: impl Count, mut best: Best) -> Best {
        let words = self.codes.words;
        let bits = self.codes.bits.get(self.first * words..).unwrap_or_default();
        let factors = self.codes.factors.get(self.first..).unwrap_or_default();
        for ((bits, factors), row) in bits.chunks_exact(words).zip(factors).take(STEP).zip(self.first..) {
            let estimate = self.planes.estimate(count, bits, *factors);
            if estimate > best.bar && self.among.contains(row) {
                best.push(estimate, (self.segment, row));
            }
        }
        best
    }
}

/// The exact cosines of some vectors, each given as its segment and its row there, in the order of both.
pub(crate) fn rescore(
    segments: &[Arc<VectorSegment>],
    places: &[(usize, usize)],
    query: &[f32],
) -> io::Result<Vec<Near>> {
    let mut found = Vec::with_capacity(places.len());
    let mut numbers = vec![0.0; query.len()];
    // Neighbours are read together.
    for run in places.chunk_by(|a, b| a.0 == b.0 && a.1 + 1 == b.1) {
        let Some((number, first)) = run.first().copied() else { continue };
        let Some(segment) = segments.get(number) else { continue };
        segment.read(first..first + run.len(), |key, vector| {
            found.push(Near { cosine: dot(vector, query, &mut numbers), key });
        })?;
    }
    Ok(found)
}

fn dot(vector: &[f16], query: &[f32], numbers: &mut [f32]) -> f32 {
    if vector.len() != numbers.len() {
        return 0.0;
    }
    vector.convert_to_f32_slice(numbers);
    Arch::new().dispatch(|| {
        let (left, left_rest) = numbers.as_chunks::<16>();
        let (right, right_rest) = query.as_chunks::<16>();
        let mut sums = [0.0_f32; 16];
        for (left, right) in left.iter().zip(right) {
            for ((sum, a), b) in sums.iter_mut().zip(left).zip(right) {
                *sum += a * b;
            }
        }
        let rest: f32 = left_rest.iter().zip(right_rest).map(|(a, b)| a * b).sum();
        sums.iter().sum::<f32>() + rest
    })
}

/// Keeps the best of many.
#[derive(Debug)]
struct Best {
    want: usize,
    bar: f32,
    found: Vec<(f32, (usize, usize))>,
}

impl Best {
    fn new(want: usize) -> Self {
        Self { want, bar: f32::NEG_INFINITY, found: Vec::new() }
    }

    fn push(&mut self, estimate: f32, place: (usize, usize)) {
        self.found.push((estimate, place));
        if self.found.len() >= 2 * self.want {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.found.len() > self.want {
            let (_, last, _) = self.found.select_nth_unstable_by(self.want, |a, b| b.0.total_cmp(&a.0));
            self.bar = last.0;
            self.found.truncate(self.want);
        }
    }

    fn join(mut self, other: Self) -> Self {
        self.found.extend(other.found);
        self.bar = self.bar.max(other.bar);
        self.cut();
        self
    }

    fn into_places(mut self) -> Vec<(usize, usize)> {
        self.cut();
        self.found.into_iter().map(|(_, place)| place).collect()
    }
}
