//! Numbers of JSON that a [`serde_json::Value`] cannot hold.
//!
//! A `Value` holds integers of 64 bits and doubles. Any other number would be rounded silently, so JSON is scanned before it
//! becomes a `Value`. These numbers are exact:
//!
//! - integers of 64 bits, and larger ones that a double has when it is written in the shortest way, as JavaScript does
//!   (`100000000000000000000`);
//! - decimals of which no digit is lost: when the double is written with as many digits, they are the same. So `0.1` is
//!   fine, and so is what C prints for it with `%.17g` or `%.20f`, while `3.14159265358979323846264` is not.

use memchr::memchr2;

/// Numbers with at most this many characters and no exponent are exact.
const SHORT: usize = 15;

/// The maximum number of digits of a double.
const MOST_DIGITS: usize = 1_100;

/// The first number in a JSON text that a `Value` cannot hold.
#[must_use]
pub fn first_inexact(json: &str) -> Option<&str> {
    inexact(json).next()
}

/// All of them. The text must be valid JSON.
pub fn inexact(json: &str) -> impl Iterator<Item = &str> {
    let mut rest = json;
    std::iter::from_fn(move || {
        loop {
            let (token, after) = next_long(rest)?;
            rest = after;
            if !is_exact(token) {
                return Some(token);
            }
        }
    })
}

/// The next number that may be inexact, and the text after it.
fn next_long(json: &str) -> Option<(&str, &str)> {
    let bytes = json.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at + 1),
            b'-' | b'0'..=b'9' => {
                let rest = bytes.get(at..)?;
                let in_number = |b: &u8| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                let length = rest.iter().position(|b| !in_number(b)).unwrap_or(rest.len());
                let token = json.get(at..at + length)?;
                at += length;
                if length > SHORT || token.contains(['e', 'E']) {
                    return Some((token, json.get(at..)?));
                }
            }
            _ => at += 1,
        }
    }
    None
}

/// Where the text after a string begins, of which the first quote has been read.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found + 1;
        if bytes.get(at - 1) == Some(&b'"') {
            return at;
        }
        at += 1;
    }
    bytes.len()
}

/// Whether a `Value` holds this number.
fn is_exact(token: &str) -> bool {
    if token.parse::<i64>().is_ok() || token.parse::<u64>().is_ok() {
        return true;
    }
    let Ok(double) = token.parse::<f64>() else { return false };
    if !double.is_finite() {
        return false;
    }
    let Some(decimal) = Decimal::read(token) else { return false };
    if Decimal::read(&format!("{double:e}")).as_ref() == Some(&decimal) {
        return true;
    }
    let is_integer = !token.contains(['.', 'e', 'E']);
    if is_integer || decimal.written > MOST_DIGITS {
        return false;
    }
    let again = format!("{double:.*e}", decimal.written.saturating_sub(1));
    Decimal::read(&again).as_ref() == Some(&decimal)
}

/// A number by value.
#[derive(Debug)]
struct Decimal {
    negative: bool,
    /// Its digits, without zeros at either end; none if it is zero.
    digits: Vec<u8>,
    /// The power of ten of the first digit.
    exponent: i64,
    /// How many digits were written from the first that is not zero on.
    written: usize,
}

/// However many zeros were written.
impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.negative == other.negative && self.digits == other.digits && self.exponent == other.exponent
    }
}

impl Decimal {
    fn read(token: &str) -> Option<Self> {
        let (negative, token) = token.strip_prefix('-').map_or((false, token), |rest| (true, rest));
        let (mantissa, exponent) = token.split_once(['e', 'E']).unwrap_or((token, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let Some(first) = digits.iter().position(|&digit| digit != b'0') else {
            return Some(Self { negative: false, digits: Vec::new(), exponent: 0, written: 0 });
        };
        digits.drain(..first);
        let written = digits.len();
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        let exponent: i64 = exponent.parse().ok()?;
        let place = i64::try_from(whole.len()).ok()? - i64::try_from(first).ok()?;
        Some(Self { negative, digits, exponent: exponent.checked_add(place)?, written })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, prop_assert_eq, proptest};
    use serde_json::Value;

    use super::{first_inexact, inexact};

    #[test]
    fn numbers_that_lose_something_are_found() {
        for lost in [
            "18446744073709551616",
            "-9223372036854775809",
            "340282366920938463463374607431768211455",
            "1180591620717411303424",
            "3.14159265358979323846264",
            "12345678901234567.8",
            "1e400",
            "-1e400",
            "1e-400",
            "1e99999999999999999999",
            "0.12345678901234567890",
        ] {
            assert_eq!(first_inexact(lost), Some(lost));
            let json = format!(r#"{{"a\\\"1e400":["x\\",{{"b\u00e9":{lost}}}],"c":1.5}}"#);
            assert_eq!(first_inexact(&json), Some(lost), "{json}");
        }
    }

    #[test]
    fn numbers_that_lose_nothing_are_not() {
        for kept in [
            "0",
            "-0",
            "-0.0",
            "0.1",
            "1e3",
            "1E+3",
            "18446744073709551615",
            "-9223372036854775808",
            "0.10000000000000001",
            "0.10000000000000000555",
            "0.1000000000000000055511151231257827021181583404541015625",
            "0.10000000000000000000",
            "3.1415926535897931",
            "3.14159265358979311600",
            "100000000000000000000",
            "73786976294838210000",
            "1.7976931348623157e308",
            "5e-324",
            "0e999999999999999999999999",
        ] {
            assert_eq!(first_inexact(kept), None, "{kept}");
        }
        let strings = r#"["1e400", "\"", "18446744073709551616", {"3.14159265358979323846264": null}]"#;
        assert_eq!(first_inexact(strings), None);
        assert_eq!(first_inexact("\"no end 1e400"), None);
    }

    #[test]
    fn all_are_found() {
        let found: Vec<&str> = inexact("[1e400, 1, {\"a\": 18446744073709551616}, 0.5]").collect();
        assert_eq!(found, ["1e400", "18446744073709551616"]);
    }

    proptest! {
        #[test]
        fn every_double_is_fine_however_it_is_printed(
            double in any::<f64>().prop_filter("a number", |double| double.is_finite()),
            digits in 16usize..40,
        ) {
            for text in [
                format!("{double:e}"),
                format!("{double:.digits$e}"),
                serde_json::to_string(&double).unwrap(),
            ] {
                prop_assert_eq!(first_inexact(&text), None);
            }
        }

        #[test]
        fn a_lossless_number_is_the_same_integer_as_a_value(integer in any::<i128>()) {
            let text = integer.to_string();
            let value: Value = serde_json::from_str(&text).unwrap();
            let same = value.as_i64().is_some() || value.as_u64().is_some() || value.as_f64().is_some_and(|float| {
                // The shortest form, without an exponent.
                format!("{float}") == text
            });
            prop_assert_eq!(first_inexact(&text).is_none(), same);
        }

        #[test]
        fn any_text_is_looked_over(text in any::<String>()) {
            let _ = inexact(&text).count();
        }
    }
}
