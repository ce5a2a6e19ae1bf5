//! Quantisation: a rotated vector to one bit for each number, and a query to bit planes that are compared with them.
//!
//! With `c` the centre of the vectors, `r = v - c` and `s` the signs of `r` after the rotation `P`, RaBitQ's estimate is
//! `<r, q - c> ~ |r|^2 / (sum of |P r|) * <s, P (q - c)>`; the rest of `<v, q> = <r, q - c> + <r, c> + <c, q>` is known.

use super::count::Count;
use super::rotate::Rotation;

/// What is subtracted from vectors before quantisation: the bits of the residual carry more information.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Centre {
    /// The mean of some vectors.
    pub(crate) mean: Vec<f32>,
    /// How many there were.
    pub(crate) learned_from: u32,
}

/// A vector as bits, with what is needed to estimate scalar products.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Code {
    /// The signs: 1 for positive.
    pub(crate) bits: Vec<u64>,
    /// What the product of signs is multiplied with, and what is added to it.
    pub(crate) factors: [f32; 2],
}

impl Code {
    /// Of a vector.
    pub(crate) fn of(vector: &[f32], centre: &Centre, rotation: &Rotation) -> Self {
        let rest = || vector.iter().zip(&centre.mean).map(|(number, mean)| number - mean);
        let turned = rotation.turn(rest());
        let square: f32 = rest().map(|number| number * number).sum();
        let sum: f32 = turned.iter().map(|number| number.abs()).sum();
        let along: f32 = rest().zip(&centre.mean).map(|(number, mean)| number * mean).sum();
        let bits = turned
            .chunks(64)
            .map(|numbers| {
                numbers
                    .iter()
                    .enumerate()
                    .fold(0, |bits, (place, number)| bits | u64::from(*number > 0.0) << place)
            })
            .collect();
        Self { bits, factors: [if sum > 0.0 { square / sum } else { 0.0 }, along] }
    }
}

/// A query, rounded to 4 bits for each number: planes of the bits that weigh 1, 2, 4 and -8.
#[derive(Debug, Clone)]
pub(crate) struct Planes {
    planes: Vec<[u64; 4]>,
    step: f32,
    total: f32,
    base: f32,
}

impl Planes {
    /// Of a query's vector, for vectors around this centre.
    pub(crate) fn of(query: &[f32], centre: &Centre, rotation: &Rotation) -> Self {
        let turned = rotation.turn(query.iter().zip(&centre.mean).map(|(number, mean)| number - mean));
        let largest = turned.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
        let step = if largest > 0.0 { largest / 7.0 } else { 1.0 };
        let mut planes = vec![[0_u64; 4]; turned.len().div_ceil(64)];
        let mut total = 0.0;
        for (numbers, planes) in turned.chunks(64).zip(&mut planes) {
            for (place, number) in numbers.iter().enumerate() {
                let rounded = (number / step).round().clamp(-8.0, 7.0);
                total += rounded;
                #[expect(clippy::cast_possible_truncation, reason = "between -8 and 7")]
                let bits = (rounded as i8).cast_unsigned();
                for (bit, plane) in planes.iter_mut().enumerate() {
                    *plane |= u64::from(bits >> bit & 1) << place;
                }
            }
        }
        let base = query.iter().zip(&centre.mean).map(|(number, mean)| number * mean).sum();
        Self { planes, step, total, base }
    }

    /// About the scalar product of the query and the vector with this code.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "has to be compiled for the processor that is there, with its caller"
    )]
    pub(crate) fn estimate(&self, count: impl Count, bits: &[u64], factors: [f32; 2]) -> f32 {
        let [one, two, four, eight] = count.common(bits, &self.planes);
        let product = to_f32(one + 2 * two + 4 * four - 8 * eight);
        let [scale, offset] = factors;
        scale * self.step * (2.0 * product - self.total) + offset + self.base
    }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "a single instruction")]
#[expect(clippy::cast_precision_loss, reason = "at most a few times as many as a vector has numbers")]
fn to_f32(count: i64) -> f32 {
    // Through 32 bits, which processors convert at once.
    i32::try_from(count).unwrap_or(i32::MAX) as f32
}

#[cfg(test)]
mod tests {
    use super::{Centre, Code, Planes};
    use crate::store::embedded::vectors::count::Anywhere;
    use crate::store::embedded::vectors::rotate::Rotation;

    fn vector(seed: u32, dimension: usize) -> Vec<f32> {
        let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
        let mut numbers: Vec<f32> = (0..dimension)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / (1 << 24) as f32 - 0.4
            })
            .collect();
        let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
        numbers.iter_mut().for_each(|number| *number /= length);
        numbers
    }

    #[test]
    fn estimates_are_near_the_product() {
        for dimension in [384, 768] {
            let rotation = Rotation::new(dimension);
            let all: Vec<_> = (0..200).map(|seed| vector(seed, dimension)).collect();
            let mean = (0..dimension).map(|i| all.iter().map(|v| v[i]).sum::<f32>() / 200.0).collect();
            let centre = Centre { mean, learned_from: 200 };
            let query = vector(1_000, dimension);
            let planes = Planes::of(&query, &centre, &rotation);
            let mut error = 0.0;
            for vector in &all {
                let code = Code::of(vector, &centre, &rotation);
                let exact: f32 = vector.iter().zip(&query).map(|(a, b)| a * b).sum();
                error += (planes.estimate(Anywhere, &code.bits, code.factors) - exact).abs();
            }
            assert!(error / 200.0 < 0.03, "{dimension}: {}", error / 200.0);
        }
    }

    #[test]
    fn a_vector_at_the_centre_is_estimated_exactly() {
        let (rotation, vector) = (Rotation::new(64), vector(3, 64));
        let centre = Centre { mean: vector.clone(), learned_from: 1 };
        let code = Code::of(&vector, &centre, &rotation);
        let planes = Planes::of(&vector, &centre, &rotation);
        assert!((planes.estimate(Anywhere, &code.bits, code.factors) - 1.0).abs() < 1e-5);
    }
}
