//! Vectors of length 1, whose scalar product is the cosine.

/// The vector with length 1; none if its length is 0 or not finite.
pub(super) fn normalised(vector: &[f32]) -> Option<Vec<f32>> {
    let square: f64 = vector.iter().map(|number| f64::from(*number).powi(2)).sum();
    if !square.is_finite() || square < 1e-24 {
        return None;
    }
    let length = square.sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "between -1 and 1")]
    let normalised = vector.iter().map(|number| (f64::from(*number) / length) as f32).collect();
    Some(normalised)
}
