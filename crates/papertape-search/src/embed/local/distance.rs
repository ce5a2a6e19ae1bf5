//! How far two tokens are apart to what that counts in attention: what MPNet has beside positions.

use ndarray::Array2;

/// How many classes of distances there are, half of them for each direction.
pub(super) const CLASSES: usize = 32;

/// Distances below this have a class each; beyond it, classes grow wider until [`FARTHEST`].
const EXACT: usize = 8;

/// From here on, all distances are the same.
const FARTHEST: f32 = 128.0;

/// What each class of distances counts, for each head.
#[derive(Debug)]
pub(super) struct Distances(pub(super) Array2<f32>);

impl Distances {
    /// For texts of this length, and a head: what each distance counts, from the farthest one back to the farthest one ahead.
    pub(super) fn of(&self, length: usize, head: usize) -> Vec<f32> {
        let back = (1..length).rev().map(|distance| class(distance, false));
        let ahead = (0..length).map(|distance| class(distance, distance > 0));
        back.chain(ahead).map(|class| self.0.row(class).get(head).copied().unwrap_or_default()).collect()
    }
}

fn class(distance: usize, ahead: bool) -> usize {
    let half = CLASSES / 2;
    let class = if distance < EXACT {
        distance
    } else {
        #[expect(clippy::cast_precision_loss, reason = "a count of tokens")]
        let (distance, exact) = (distance as f32, EXACT as f32);
        let share = (distance / exact).ln() / (FARTHEST / exact).ln();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 20")]
        let wide = (share * exact) as usize;
        (EXACT + wide).min(half - 1)
    };
    if ahead { class + half } else { class }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_distances_are_exact_and_far_ones_are_alike() {
        for (distance, ahead, wanted) in [
            (0, false, 0),
            (7, false, 7),
            (8, false, 8),
            (16, false, 10),
            (32, false, 12),
            (64, false, 14),
            (127, false, 15),
            (500, false, 15),
            (1, true, 17),
            (16, true, 26),
            (500, true, 31),
        ] {
            assert_eq!(class(distance, ahead), wanted, "{distance}");
        }
    }
}
