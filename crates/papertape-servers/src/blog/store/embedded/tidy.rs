//! Which segments are worth being made one, so that there are few of them and little in them is dead.

/// Segments of about the same size are merged when there are so many of them.
const SIBLINGS: usize = 8;

/// Smaller ones are all of the same size here.
const SMALLEST: u64 = 64;

/// Fewer dead ones are not worth a merge of their own.
const FEW_DEAD: u64 = 1_000;

/// A segment's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    /// What somebody needs.
    pub(super) live: u64,
    /// What nobody needs.
    pub(super) dead: u64,
}

/// Which segments to merge, if any. What is written again grows by a factor with each merge, so that a chunk is written a
/// few times at most, however often the index changes.
pub(super) fn choose(sizes: &[Size]) -> Option<Vec<usize>> {
    let wasteful = |size: &Size| size.dead >= FEW_DEAD && size.dead * 4 > size.live + size.dead;
    if let Some(number) = sizes.iter().position(|size| wasteful(size) || size.live == 0) {
        return Some(vec![number]);
    }
    let mut levels: Vec<Vec<usize>> = Vec::new();
    for (number, size) in sizes.iter().enumerate() {
        let level = to_usize((size.live + size.dead).max(SMALLEST).ilog2() / SIBLINGS.ilog2());
        if levels.len() <= level {
            levels.resize(level + 1, Vec::new());
        }
        if let Some(level) = levels.get_mut(level) {
            level.push(number);
        }
    }
    levels.into_iter().find(|level| level.len() >= SIBLINGS)
}

fn to_usize(level: u32) -> usize {
    super::bytes::to_usize(level)
}

#[cfg(test)]
mod tests {
    use super::{Size, choose};

    fn live(sizes: &[u64]) -> Vec<Size> {
        sizes.iter().map(|live| Size { live: *live, dead: 0 }).collect()
    }

    #[test]
    fn a_few_segments_are_left_alone() {
        assert_eq!(choose(&live(&[1_000_000, 5, 5, 5, 5, 5, 5, 5])), None);
        assert_eq!(choose(&[]), None);
    }

    #[test]
    fn many_of_a_size_become_one() {
        assert_eq!(choose(&live(&[1_000_000, 5, 50, 5, 60, 5, 9, 5, 5])), Some((1..9).collect()));
    }

    #[test]
    fn a_segment_with_much_that_is_dead_is_written_again() {
        assert_eq!(
            choose(&[Size { live: 9_000, dead: 10 }, Size { live: 7_000, dead: 3_000 }]),
            Some(vec![1])
        );
        assert_eq!(choose(&[Size { live: 7_000, dead: 2_000 }]), None);
        assert_eq!(choose(&[Size { live: 0, dead: 3 }]), Some(vec![0]));
    }

    #[test]
    fn a_chunk_is_written_a_few_times_at_most() {
        let (mut sizes, mut written) = (Vec::new(), 0);
        for _ in 0..10_000 {
            sizes.push(Size { live: 10, dead: 0 });
            while let Some(chosen) = choose(&sizes) {
                let merged = chosen.iter().map(|number| sizes[*number].live).sum();
                written += merged;
                let mut number = 0;
                sizes.retain(|_| {
                    number += 1;
                    !chosen.contains(&(number - 1))
                });
                sizes.push(Size { live: merged, dead: 0 });
            }
            assert!(sizes.len() < 40, "{}", sizes.len());
        }
        assert!(written < 8 * 100_000, "{written}");
    }
}
