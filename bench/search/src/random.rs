//! A seed to numbers that look like chance, the same ones each time (SplitMix64).

/// Where the numbers come from.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The same seed, the same numbers.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Numbers of a thing's own: the same ones in whatever order things are made.
    pub(crate) fn of(seed: u64, thing: usize) -> Self {
        Self(Self(seed ^ (thing as u64).wrapping_mul(0xd6e8_feb8_6659_fd93)).any())
    }

    /// Numbers of a text's own, however many other texts there are.
    pub(crate) fn of_text(seed: u64, text: &str) -> Self {
        // FNV-1a.
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(seed ^ hash)
    }

    /// Any number.
    pub(crate) fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 if there is none.
    #[expect(clippy::cast_possible_truncation, reason = "it is below a usize")]
    pub(crate) fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.any() % end as u64) as usize }
    }

    /// Between 0 and 1.
    #[expect(clippy::cast_precision_loss, reason = "24 bits are enough, and exact")]
    pub(crate) fn unit(&mut self) -> f32 {
        (self.any() >> 40) as f32 / 16_777_216.0
    }

    /// From a bell curve around 0 with a variance of 1: the sum of four evens is close to one.
    pub(crate) fn normal(&mut self) -> f32 {
        let any = self.any();
        let sum: f32 = [0, 16, 32, 48].iter().map(|shift| f32::from(low_half(any >> shift))).sum();
        (sum / 65_535.0 - 2.0) * 3_f32.sqrt()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low bits are meant")]
fn low_half(number: u64) -> u16 {
    number as u16
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn normal_numbers_have_mean_0_and_variance_1() {
        let mut random = Random::new(1);
        let drawn: Vec<f32> = (0..100_000).map(|_| random.normal()).collect();
        let mean = drawn.iter().sum::<f32>() / 100_000.0;
        let variance = drawn.iter().map(|value| value * value).sum::<f32>() / 100_000.0;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
    }
}
