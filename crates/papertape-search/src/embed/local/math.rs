//! What a transformer does to numbers beside multiplying matrices, on as many of them at once as the processor can.
//!
//! Everything is written so that the compiler can turn it into vector instructions: sums go into sixteen lanes, and `exp`
//! is a polynomial. [`pulp`] picks the best instructions that this machine has.

use std::f32::consts::{FRAC_1_SQRT_2, LOG2_E};

const LANES: usize = 16;

/// GELU, the exact one, with the error function.
pub(super) fn gelu(values: &mut [f32]) {
    pulp::Arch::new().dispatch(|| {
        for x in values {
            *x = 0.5 * *x * (1.0 + erf(*x * FRAC_1_SQRT_2));
        }
    });
}

/// Each row to shares of 1.
pub(super) fn softmax(rows: &mut [f32], width: usize) {
    pulp::Arch::new().dispatch(|| {
        for row in rows.chunks_exact_mut(width) {
            let top = max(row);
            for x in row.iter_mut() {
                *x = exp(*x - top);
            }
            let share = 1.0 / sum(row, |x| x);
            for x in row {
                *x *= share;
            }
        }
    });
}

/// Each row to mean 0 and variance 1, then scaled and shifted.
pub(super) fn normalise(rows: &mut [f32], scale: &[f32], shift: &[f32], epsilon: f32) {
    let width = scale.len();
    #[expect(clippy::cast_precision_loss, reason = "the width of a model")]
    let count = width as f32;
    pulp::Arch::new().dispatch(|| {
        for row in rows.chunks_exact_mut(width) {
            let mean = sum(row, |x| x) / count;
            let variance = sum(row, |x| (x - mean) * (x - mean)) / count;
            let by = 1.0 / (variance + epsilon).sqrt();
            for ((x, scale), shift) in row.iter_mut().zip(scale).zip(shift) {
                *x = (*x - mean) * by * scale + shift;
            }
        }
    });
}

#[inline(always)]
fn sum(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane += of(*x);
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|x| of(*x)).sum::<f32>()
}

#[inline(always)]
fn max(values: &[f32]) -> f32 {
    let mut lanes = [f32::MIN; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane = if *x > *lane { *x } else { *lane };
        }
    }
    lanes.iter().chain(rest).copied().fold(f32::MIN, f32::max)
}

/// e to the power of x, for x up to 88: 2 to the nearest whole power, by its bits, times a series for the rest.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // Added to this, a number loses what follows the point, and its last bits are the exponent's.
    const ROUND: f32 = 12_582_912.0 + 127.0;
    // Their sum is the logarithm of 2. Whole multiples of the first are exact.
    const LN_2: [f32; 2] = [355.0 / 512.0, -2.121_944_4e-4];
    let x = if x < -87.0 { -87.0 } else { x };
    let rounded = x * LOG2_E + ROUND;
    let power = f32::from_bits(rounded.to_bits() << 23);
    let whole = rounded - ROUND;
    let r = x - whole * LN_2[0] - whole * LN_2[1];
    let series = 1.0
        + r * (1.0
            + r * (1.0 / 2.0 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0))))));
    power * series
}

/// The error function, within 2e-7: formula 7.1.26 of Abramowitz and Stegun.
#[inline(always)]
fn erf(x: f32) -> f32 {
    let size = x.abs();
    let t = 1.0 / (1.0 + 0.327_591_1 * size);
    let series =
        t * (0.254_829_6 + t * (-0.284_496_74 + t * (1.421_413_7 + t * (-1.453_152 + t * 1.061_405_4))));
    (1.0 - series * exp(-size * size)).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_close_to_the_library_s() {
        for i in -8_700..880 {
            let x = i as f32 / 100.0;
            let (ours, theirs) = (exp(x), x.exp());
            assert!((ours - theirs).abs() <= theirs * 2e-6, "exp({x}) = {ours}, not {theirs}");
        }
    }

    #[test]
    fn erf_is_close_to_known_values() {
        for (x, known) in [
            (0.0, 0.0),
            (0.1, 0.112_462_92),
            (0.5, 0.520_499_9),
            (1.0, 0.842_700_8),
            (2.0, 0.995_322_3),
            (4.0, 1.0),
            (50.0, 1.0),
        ] {
            assert!((erf(x) - known).abs() < 3e-7, "erf({x}) = {}", erf(x));
            assert!((erf(-x) + known).abs() < 3e-7, "erf(-{x}) = {}", erf(-x));
        }
    }

    #[test]
    fn softmax_gives_shares_of_one() {
        for width in [1, 3, 16, 17, 40] {
            let mut rows: Vec<f32> = (0..width * 2).map(|i| (i * 7 % 13) as f32 * 10.0 - 60.0).collect();
            let wanted: Vec<f32> = rows
                .chunks(width)
                .flat_map(|row| {
                    let whole: f64 = row.iter().map(|x| f64::from(*x).exp()).sum();
                    row.iter().map(move |x| (f64::from(*x).exp() / whole) as f32).collect::<Vec<_>>()
                })
                .collect();
            softmax(&mut rows, width);
            for (got, wanted) in rows.iter().zip(&wanted) {
                assert!((got - wanted).abs() < 1e-6, "{got} is not {wanted} in rows of {width}");
            }
        }
    }

    #[test]
    fn rows_are_normalised_each_for_itself() {
        let mut rows = [1.0, 2.0, 3.0, 10.0, 20.0, 30.0];
        normalise(&mut rows, &[1.0, 1.0, 2.0], &[0.0, 0.5, 0.0], 0.0);
        let edge = 1.5_f32.sqrt();
        for (got, wanted) in rows.iter().zip([-edge, 0.5, 2.0 * edge, -edge, 0.5, 2.0 * edge]) {
            assert!((got - wanted).abs() < 1e-5, "{got} is not {wanted}");
        }
    }
}
