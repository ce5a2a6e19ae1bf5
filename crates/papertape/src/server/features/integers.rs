//! Numbers such as `2.0` to `2`: JSON Schema calls both integers, and serde only the second.

use serde_json::{Number, Value};

/// Beyond this not every integer is a floating-point number, so that it is not known which was meant.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// Whether any number in it is an integer that is written as a fraction.
pub(crate) fn has_fractions(value: &Value) -> bool {
    match value {
        Value::Number(number) => as_integer(number).is_some(),
        Value::Array(items) => items.iter().any(has_fractions),
        Value::Object(members) => members.values().any(has_fractions),
        _ => false,
    }
}

/// Writes them as integers.
pub(crate) fn without_fractions(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(integer) = as_integer(number) {
                *number = integer.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_fractions),
        Value::Object(members) => members.values_mut().for_each(without_fractions),
        _ => {}
    }
}

#[expect(clippy::cast_possible_truncation, reason = "an integer between -2^53 and 2^53")]
fn as_integer(number: &Number) -> Option<i64> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    (float.fract() == 0.0 && float.abs() < LARGEST).then_some(float as i64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{has_fractions, without_fractions};

    #[test]
    fn integers_are_integers_however_they_are_written() {
        let mut value = json!({"a": 2.0, "b": [-3.0, {"c": 1e3}], "d": 2.5, "e": "2.0", "f": 1e300, "g": 7});
        assert!(has_fractions(&value));
        without_fractions(&mut value);
        assert_eq!(value, json!({"a": 2, "b": [-3, {"c": 1000}], "d": 2.5, "e": "2.0", "f": 1e300, "g": 7}));
        assert!(!has_fractions(&value));
    }
}
