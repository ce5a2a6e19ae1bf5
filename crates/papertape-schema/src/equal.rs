//! Equality and order of JSON values, in which `1` and `1.0` are the same.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use serde_json::{Number, Value};

/// Whether two values are equal.
pub(crate) fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::String(one), Value::String(other)) => one == other,
        (Value::Number(one), Value::Number(other)) => compare(one, other) == Ordering::Equal,
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| equal(one, other)))
        }
        (one, other) => one == other,
    }
}

/// The order of two numbers.
#[inline]
pub(crate) fn compare(one: &Number, other: &Number) -> Ordering {
    if let (Some(one), Some(other)) = (one.as_i64(), other.as_i64()) {
        return one.cmp(&other);
    }
    compare_any(one, other)
}

fn compare_any(one: &Number, other: &Number) -> Ordering {
    match (integer(one), integer(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        (Some(one), None) => compare_mixed(one, float(other)),
        (None, Some(other)) => compare_mixed(other, float(one)).reverse(),
        (None, None) => float(one).total_cmp(&float(other)),
    }
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// Without the sign of zero.
fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or_default() + 0.0
}

fn compare_mixed(integer: i128, float: f64) -> Ordering {
    // Integers have 64 bits, so that a float beyond 127 is beyond all of them; the conversion saturates.
    let whole = float.trunc();
    integer.cmp(&(whole as i128)).then_with(|| whole.total_cmp(&float))
}

/// Up to this length, every item of an array is compared with every other.
const FEW: usize = 16;

/// Whether no two items are equal.
pub(crate) fn are_unique(items: &[Value]) -> bool {
    if items.len() <= FEW {
        let rest = |at: usize| items.get(at + 1..).unwrap_or_default();
        return items.iter().enumerate().all(|(at, one)| !rest(at).iter().any(|other| equal(one, other)));
    }
    let state = RandomState::new();
    let mut seen: HashMap<u64, Vec<&Value>> = HashMap::with_capacity(items.len());
    items.iter().all(|item| {
        let same = seen.entry(hash(item, &state)).or_default();
        let is_new = !same.iter().any(|known| equal(known, item));
        same.push(item);
        is_new
    })
}

/// Equal values have the same hash.
fn hash(value: &Value, state: &RandomState) -> u64 {
    match value {
        Value::Null => state.hash_one(0u8),
        Value::Bool(value) => state.hash_one((1u8, value)),
        Value::Number(number) => state.hash_one((2u8, float(number).to_bits())),
        Value::String(text) => state.hash_one((3u8, text)),
        Value::Array(items) => {
            let mut hasher = state.build_hasher();
            (4u8, items.len()).hash(&mut hasher);
            items.iter().for_each(|item| hash(item, state).hash(&mut hasher));
            hasher.finish()
        }
        // The order of members does not count.
        Value::Object(members) => {
            members.iter().fold(state.hash_one((5u8, members.len())), |sum, (name, value)| {
                sum.wrapping_add(state.hash_one((name, hash(value, state))))
            })
        }
    }
}

/// Whether a number is a multiple of another, by the decimals they are written with: `0.3` is one of `0.1`.
pub(crate) fn is_multiple(number: &Number, of: &Number) -> bool {
    let (number, of) = (Decimal::of(number), Decimal::of(of));
    if of.digits == 0 {
        return false;
    }
    match u32::try_from(number.exponent - of.exponent) {
        // number = digits * 10^shift, in units of the other.
        Ok(shift) => {
            let power = (0..shift).fold(1, |power, _| power * 10 % of.digits);
            number.digits % of.digits * power % of.digits == 0
        }
        Err(_) => {
            let shift = (of.exponent - number.exponent).unsigned_abs();
            let unit = 10u128.checked_pow(shift).and_then(|power| power.checked_mul(of.digits));
            unit.map_or(number.digits == 0, |unit| number.digits % unit == 0)
        }
    }
}

/// The absolute value of a number: its digits, which fit 64 bits, and the power of ten to multiply them with.
struct Decimal {
    digits: u128,
    exponent: i32,
}

impl Decimal {
    fn of(number: &Number) -> Self {
        if let Some(integer) = integer(number) {
            return Self { digits: integer.unsigned_abs(), exponent: 0 };
        }
        // The shortest digits that give the same float, as in `1.25e-3`.
        let text = format!("{:e}", float(number).abs());
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let exponent: i32 = exponent.parse().unwrap_or_default();
        Self {
            digits: format!("{whole}{fraction}").parse().unwrap_or_default(),
            exponent: exponent - i32::try_from(fraction.len()).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
    use serde_json::{Number, Value, json};

    use super::{are_unique, equal, is_multiple};

    fn number(value: Value) -> Number {
        match value {
            Value::Number(number) => number,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn numbers_are_equal_by_value() {
        for (one, other, right) in [
            (json!(1), json!(1.0), true),
            (json!(0), json!(-0.0), true),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992.0), false),
            (json!(u64::MAX), json!(18_446_744_073_709_551_616.0), false),
            (json!(i64::MIN), json!(-9_223_372_036_854_775_808.0), true),
            (json!(1), json!(1.5), false),
            (json!(-1), json!(-1.5), false),
            (json!({"a": 1, "b": [2]}), json!({"b": [2.0], "a": 1.0}), true),
            (json!([1]), json!([true]), false),
        ] {
            assert_eq!(equal(&one, &other), right, "{one} {other}");
            assert_eq!(equal(&other, &one), right, "{one} {other}");
        }
    }

    #[test]
    fn multiples_are_decimal() {
        for (one, of, right) in [
            (json!(0.3), json!(0.1), true),
            (json!(0.0075), json!(0.0001), true),
            (json!(0.007_51), json!(0.0001), false),
            (json!(1e308), json!(0.5), true),
            (json!(1e308), json!(0.123_456_789), false),
            (json!(5), json!(1e300), false),
            (json!(0), json!(1e300), true),
            (json!(-4), json!(2), true),
            (json!(4.5), json!(1.5), true),
            (json!(u64::MAX), json!(u64::MAX), true),
            (json!(1e-320), json!(1e300), false),
        ] {
            assert_eq!(is_multiple(&number(one.clone()), &number(of.clone())), right, "{one} {of}");
        }
    }

    proptest! {
        #[test]
        fn long_arrays_are_compared_as_short_ones_are(mut items in proptest::collection::vec(any::<i16>(), 17..60)) {
            let values = |items: &[i16]| -> Vec<Value> { items.iter().map(|item| json!(f64::from(*item))).collect() };
            let unique = are_unique(&values(&items));
            items.sort_unstable();
            prop_assert_eq!(unique, items.windows(2).all(|pair| pair[0] != pair[1]));
            let mut twice = values(&items);
            twice.push(json!(items[0]));
            prop_assert!(!are_unique(&twice));
        }
    }
}
