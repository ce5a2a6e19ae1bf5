//! Vectors of length 1, of which the scalar product is the cosine: the same for every store.

/// The vector with length 1; none if it points nowhere.
pub(super) fn unit(vector: &[f32]) -> Option<Vec<f32>> {
    let square: f64 = vector.iter().map(|number| f64::from(*number).powi(2)).sum();
    if !square.is_finite() || square < 1e-24 {
        return None;
    }
    let length = square.sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "between -1 and 1")]
    let unit = vector.iter().map(|number| (f64::from(*number) / length) as f32).collect();
    Some(unit)
}
