//! The merge policy: which segments to merge, so that there are few of them with few deleted entries.

/// How many segments of about the same size are merged into one.
const SIBLINGS: usize = 8;

/// Smaller segments count as this size.
const SMALLEST: u64 = 64;

/// A segment with fewer deleted entries is not rewritten because of them.
const FEW_DEAD: u64 = 1_000;

/// A segment's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentSize {
    /// Entries that are referenced.
    pub(super) live: u64,
    /// Deleted or unreferenced entries.
    pub(super) dead: u64,
}

/// Which segments to merge, if any. Sizes grow geometrically with each merge, so an entry is rewritten O(log n) times.
pub(super) fn choose_segments(sizes: &[SegmentSize]) -> Option<Vec<usize>> {
    let wasteful = |size: &SegmentSize| size.dead >= FEW_DEAD && size.dead * 4 > size.live + size.dead;
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
    super::disk::to_usize(level)
}

#[cfg(test)]
mod tests {
    use super::{SegmentSize, choose_segments};

    fn live(sizes: &[u64]) -> Vec<SegmentSize> {
        sizes.iter().map(|live| SegmentSize { live: *live, dead: 0 }).collect()
    }

    #[test]
    fn a_few_segments_are_left_alone() {
        assert_eq!(choose_segments(&live(&[1_000_000, 5, 5, 5, 5, 5, 5, 5])), None);
        assert_eq!(choose_segments(&[]), None);
    }

    #[test]
    fn segments_of_a_size_are_merged() {
        assert_eq!(choose_segments(&live(&[1_000_000, 5, 50, 5, 60, 5, 9, 5, 5])), Some((1..9).collect()));
    }

    #[test]
    fn a_segment_with_many_deletions_is_rewritten() {
        assert_eq!(
            choose_segments(&[
                SegmentSize { live: 9_000, dead: 10 },
                SegmentSize { live: 7_000, dead: 3_000 }
            ]),
            Some(vec![1])
        );
        assert_eq!(choose_segments(&[SegmentSize { live: 7_000, dead: 2_000 }]), None);
        assert_eq!(choose_segments(&[SegmentSize { live: 0, dead: 3 }]), Some(vec![0]));
    }

    #[test]
    fn a_chunk_is_rewritten_a_few_times_at_most() {
        let (mut sizes, mut written) = (Vec::new(), 0);
        for _ in 0..10_000 {
            sizes.push(SegmentSize { live: 10, dead: 0 });
            while let Some(chosen) = choose_segments(&sizes) {
                let merged = chosen.iter().map(|number| sizes[*number].live).sum();
                written += merged;
                let mut number = 0;
                sizes.retain(|_| {
                    number += 1;
                    !chosen.contains(&(number - 1))
                });
                sizes.push(SegmentSize { live: merged, dead: 0 });
            }
            assert!(sizes.len() < 40, "{}", sizes.len());
        }
        assert!(written < 8 * 100_000, "{written}");
    }
}
