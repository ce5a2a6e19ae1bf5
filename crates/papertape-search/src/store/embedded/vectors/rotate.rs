//! A random rotation, after which every number of a vector carries as much information as any other.
//!
//! Signs drawn at random, then a Hadamard transform over as many numbers as it can take (a power of two), from the front
//! and from the back in turn. Lengths and angles stay as they are. The signs are the same for ever: they are part of the
//! format.

/// The rotation for vectors of one dimension.
#[derive(Debug, Clone)]
pub(crate) struct Rotation {
    padded: usize,
    window: usize,
    signs: Vec<Vec<f32>>,
}

const ROUNDS: u64 = 4;

impl Rotation {
    /// For vectors of this many numbers.
    pub(crate) fn new(dimension: usize) -> Self {
        let padded = dimension.max(1).next_multiple_of(64);
        let window = if padded.is_power_of_two() { padded } else { padded.next_power_of_two() / 2 };
        let signs =
            (0..ROUNDS).map(|round| (0..padded as u64).map(|place| sign(round, place)).collect()).collect();
        Self { padded, window, signs }
    }

    /// How many numbers a turned vector has: a multiple of 64.
    pub(crate) fn padded(&self) -> usize {
        self.padded
    }

    /// The vector, turned.
    pub(crate) fn turn(&self, vector: impl Iterator<Item = f32>) -> Vec<f32> {
        let mut turned: Vec<f32> = vector.take(self.padded).collect();
        turned.resize(self.padded, 0.0);
        for (signs, from_the_front) in self.signs.iter().zip([true, false].into_iter().cycle()) {
            for (number, sign) in turned.iter_mut().zip(signs) {
                *number *= sign;
            }
            let start = if from_the_front { 0 } else { self.padded - self.window };
            if let Some(window) = turned.get_mut(start..start + self.window) {
                hadamard(window);
            }
        }
        turned
    }
}

/// Keeps the length as it is.
fn hadamard(numbers: &mut [f32]) {
    let mut half = 1;
    while half < numbers.len() {
        for pair in numbers.chunks_exact_mut(2 * half) {
            let (left, right) = pair.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    #[expect(clippy::cast_precision_loss, reason = "a dimension")]
    let scale = 1.0 / (numbers.len() as f32).sqrt();
    for number in numbers {
        *number *= scale;
    }
}

fn sign(round: u64, place: u64) -> f32 {
    // SplitMix64: well mixed, and the same everywhere.
    let mut bits = (round << 32 | place).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    if (bits ^ bits >> 31) & 1 == 0 { 1.0 } else { -1.0 }
}

#[cfg(test)]
mod tests {
    use super::Rotation;

    #[test]
    fn lengths_and_angles_stay() {
        for dimension in [1, 64, 100, 384, 768, 1024, 1536] {
            let rotation = Rotation::new(dimension);
            let a: Vec<f32> = (0..dimension).map(|i| (i as f32 * 0.7).sin()).collect();
            let b: Vec<f32> = (0..dimension).map(|i| (i as f32 * 1.3).cos()).collect();
            let (x, y) = (rotation.turn(a.iter().copied()), rotation.turn(b.iter().copied()));
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            assert!((dot(&a, &b) - dot(&x, &y)).abs() < 1e-2, "{dimension}");
            assert!((dot(&a, &a) - dot(&x, &x)).abs() < 1e-2, "{dimension}");
        }
    }

    #[test]
    fn one_number_is_spread_over_all() {
        for dimension in [64, 384, 768, 1536] {
            let turned = Rotation::new(dimension).turn(std::iter::once(1.0));
            assert!(turned.iter().all(|number| number.abs() < 0.5), "{dimension}");
            assert!(
                turned.iter().filter(|number| number.abs() > 0.001).count() > dimension / 2,
                "{dimension}"
            );
        }
    }
}
