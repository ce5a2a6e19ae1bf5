//! Validates the vectors of every model.
//!
//! A number that is missing or not finite invalidates one vector, and its text gets none. A wrong count or dimension
//! invalidates all of them: it is not known then which vector belongs to which text, or to which model.

use serde_json::value::RawValue;

use super::EmbedError;

/// A vector of length 1, or why its text has none.
pub(super) type Checked = Result<Vec<f32>, String>;

/// Checks the vectors of so many texts, and normalises them.
pub(super) fn validate(
    service: &str,
    came: Vec<Checked>,
    texts: usize,
    dimension: u32,
) -> Result<Vec<Checked>, EmbedError> {
    if came.len() != texts {
        return Err(EmbedError::InvalidResponse(format!(
            "{service} sent {} vectors for {texts} texts",
            came.len()
        )));
    }
    let mismatch = came.iter().flatten().find(|vector| vector.len() != dimension as usize);
    if let Some(mismatch) = mismatch {
        return Err(EmbedError::InvalidResponse(format!(
            "{service} sent a vector of {} numbers where {dimension} were expected: has its model been replaced? \
             Index again to use the new one",
            mismatch.len()
        )));
    }
    Ok(came.into_iter().map(|vector| vector.and_then(normalise)).collect())
}

/// A vector as it stands in JSON. Only what makes it no vector at all is found here.
pub(super) fn read(json: &RawValue) -> Checked {
    let numbers: Option<Vec<Option<f64>>> =
        serde_json::from_str(json.get()).map_err(|error| format!("its vector cannot be read: {error}"))?;
    let numbers = numbers.ok_or("it got null in place of a vector")?;
    #[expect(clippy::cast_possible_truncation, reason = "what does not fit becomes infinite, and is found")]
    Ok(numbers.into_iter().map(|number| number.map_or(f32::NAN, |number| number as f32)).collect())
}

fn normalise(mut vector: Vec<f32>) -> Checked {
    if let Some(place) = vector.iter().position(|x| !x.is_finite()) {
        return Err(format!("number {place} of its vector is missing, infinite, or none at all"));
    }
    let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    if length == 0.0 {
        return Err("its vector is all zeros".to_owned());
    }
    for x in &mut vector {
        #[expect(clippy::cast_possible_truncation, reason = "a share of the length, between -1 and 1")]
        let share = (f64::from(*x) / length) as f32;
        *x = share;
    }
    Ok(vector)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, prop_assert, proptest};

    use super::*;

    fn one(json: &str) -> Checked {
        let raw = RawValue::from_string(json.to_owned()).unwrap();
        validate("the model", vec![read(&raw)], 1, 2).unwrap().pop().unwrap()
    }

    #[test]
    fn a_good_vector_gets_length_one() {
        assert_eq!(one("[3, 4]"), Ok(vec![0.6, 0.8]));
        assert_eq!(one("[1e-40, 0]"), Ok(vec![1.0, 0.0]));
        assert_eq!(one("[3e38, 3e38]").unwrap().len(), 2);
    }

    #[test]
    fn an_invalid_number_costs_its_own_text_only() {
        for (json, said) in [
            ("[1e39, 0]", "number 0"),
            ("[0, -1e39]", "number 1"),
            ("[1, 1e999]", "cannot be read"),
            ("[null, 1]", "number 0"),
            ("null", "null"),
            ("[0, 0]", "all zeros"),
            ("[0, -0.0]", "all zeros"),
            ("[\"1\", 2]", "cannot be read"),
            ("{}", "cannot be read"),
            ("[[1, 2]]", "cannot be read"),
            ("true", "cannot be read"),
        ] {
            let why = one(json).unwrap_err();
            assert!(why.contains(said), "{json}: {why}");
        }
    }

    #[test]
    fn a_wrong_count_or_dimension_invalidates_all() {
        let good = || Ok(vec![1.0, 0.0]);
        for (came, texts, numbers) in [
            (vec![good()], 2, ["1 vectors", "2 texts"]),
            (vec![good(), good(), good()], 2, ["3 vectors", "2 texts"]),
            (vec![], 1, ["0 vectors", "1 texts"]),
            (vec![good(), Ok(vec![1.0, 0.0, 0.0])], 2, ["3 numbers", "2 were expected"]),
            (vec![good(), Ok(vec![])], 2, ["0 numbers", "2 were expected"]),
        ] {
            let EmbedError::InvalidResponse(said) = validate("the model", came, texts, 2).unwrap_err() else {
                panic!("another error")
            };
            assert!(numbers.iter().all(|number| said.contains(number)), "{said}");
        }
    }

    proptest! {
        #[test]
        fn every_vector_is_rejected_or_has_length_one(vector in prop::collection::vec(any::<f32>(), 5)) {
            let checked = validate("it", vec![Ok(vector)], 1, 5).unwrap().pop().unwrap();
            if let Ok(vector) = checked {
                let length: f64 = vector.iter().map(|x| f64::from(*x).powi(2)).sum();
                prop_assert!((length - 1.0).abs() < 1e-5);
            }
        }
    }
}
