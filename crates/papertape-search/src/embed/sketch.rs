//! A short sketch of a vector, by which models are distinguished and compared.
//!
//! A service that does not say which model it runs is known by what it makes of one fixed text. The same model makes not
//! quite the same of it each time (other hardware, another batch), so that such names are compared for likeness; the
//! vectors of two models have nothing in common.

/// The text.
pub(super) const PROBE: &str = "A paper tape holds every byte that crossed the wire.";

/// How many numbers of the vector are kept.
const KEPT: usize = 64;

/// The cosine from which on it is the same model. Services that are least exact stay above 0.999.
const ALIKE: f64 = 0.98;

/// The sketch of a vector: `context`, whatever else distinguishes models, then its first numbers in one byte each.
pub(super) fn draw(context: &str, vector: &[f32]) -> String {
    let largest = vector.iter().take(KEPT).fold(f32::MIN_POSITIVE, |largest, x| largest.max(x.abs()));
    let bytes = vector.iter().take(KEPT).map(|x| {
        #[expect(clippy::cast_possible_truncation, reason = "between -127 and 127")]
        let byte = (x / largest * 127.0).round() as i8;
        format!("{:02x}", byte.cast_unsigned())
    });
    format!("probe-{context}-{}", bytes.collect::<String>())
}

/// Whether two digests are of the same model: equal, or sketches of almost the same vector.
pub(super) fn alike(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let (Some((context, one)), Some((other_context, other))) = (split(one), split(other)) else {
        return false;
    };
    let product =
        |a: &[i8], b: &[i8]| -> f64 { a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum() };
    let lengths = (product(&one, &one) * product(&other, &other)).sqrt();
    context == other_context && one.len() == other.len() && product(&one, &other) > ALIKE * lengths
}

fn split(digest: &str) -> Option<(&str, Vec<i8>)> {
    let (context, sketch) = digest.strip_prefix("probe-")?.split_once('-')?;
    let (pairs, []) = sketch.as_bytes().as_chunks::<2>() else { return None };
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes = pairs.iter().map(byte).collect::<Option<Vec<u8>>>()?;
    Some((context, bytes.into_iter().map(u8::cast_signed).collect()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, prop_assert, proptest};

    use super::*;

    fn vector(seed: u32) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32 - 0.5
        };
        (0..384).map(|_| next()).collect()
    }

    #[test]
    fn noise_does_not_make_another_model() {
        let (once, noise) = (vector(1), vector(2));
        let again: Vec<f32> = once.iter().zip(&noise).map(|(x, noise)| x + noise * 0.01).collect();
        let (once, again) = (draw("m", &once), draw("m", &again));
        assert_ne!(once, again);
        assert!(alike(&once, &again));
    }

    #[test]
    fn another_model_or_context_has_another_sketch() {
        for seed in 2..200 {
            assert!(!alike(&draw("m", &vector(1)), &draw("m", &vector(seed))));
        }
        assert!(!alike(&draw("m", &vector(1)), &draw("n", &vector(1))));
        assert!(!alike(&draw("m", &vector(1)), "0a109f422b47"));
        assert!(alike("0a109f422b47", "0a109f422b47"));
    }

    proptest! {
        #[test]
        fn any_digest_is_like_itself_and_nothing_panics(a in any::<String>(), b in "probe-[a-f]?-[0-9a-fg]{0,8}", v in prop::collection::vec(any::<f32>(), 0..80)) {
            prop_assert!(alike(&a, &a));
            alike(&a, &b);
            alike(&b, &draw("", &v));
        }
    }
}
