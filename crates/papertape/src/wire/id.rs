//! The id of a request: read exactly, compared by value, written back exactly.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::error::{excerpt, shortened};

/// A JSON-RPC request id: a string or an integer of any size.
///
/// `1.0` and `1e0` are the integer `1` (JSON Schema says so, and so do the languages at the other end), which is why
/// integers are kept by value and not as the token that was sent.
///
/// ```
/// use papertape::wire::Id;
///
/// assert_eq!(Id::parse("7").unwrap(), Id::parse("7.0").unwrap());
/// assert_ne!(Id::parse("7").unwrap(), Id::parse("\"7\"").unwrap());
/// assert!(Id::parse("null").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Id {
    /// An integer that fits 64 bits, as nearly all do.
    Integer(i64),
    /// Any other integer: its decimal digits, with a leading `-` if negative.
    BigInteger(Box<str>),
    /// A string, unescaped.
    Text(Box<str>),
}

/// The digits an integer may have when it was written with an exponent.
/// Plain digits are bounded by the frame; `1e999999999` would not be.
const MOST_DIGITS_FROM_EXPONENT: i64 = 400;

impl Id {
    /// Reads an id from one JSON token; the error says why the token is not an id.
    ///
    /// # Errors
    /// If the token is neither a string nor an integer.
    pub fn parse(token: &str) -> Result<Self, String> {
        match token.as_bytes().first() {
            Some(b'"') => serde_json::from_str::<Box<str>>(token)
                .map(Id::Text)
                .map_err(|_| "`id` is a string that no text can hold (a lone surrogate)".to_owned()),
            Some(b'-' | b'0'..=b'9') => Self::parse_number(token),
            Some(b'n') => Err("`id` must not be null".to_owned()),
            Some(b't' | b'f') => Err("`id` must be a string or an integer, got a boolean".to_owned()),
            Some(b'[') => Err("`id` must be a string or an integer, got an array".to_owned()),
            _ => Err("`id` must be a string or an integer, got an object".to_owned()),
        }
    }

    fn parse_number(token: &str) -> Result<Self, String> {
        if let Ok(n) = token.parse::<i64>() {
            return Ok(Id::Integer(n));
        }
        let (sign, digits) = match token.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", token),
        };
        if digits.bytes().all(|b| b.is_ascii_digit()) {
            return Ok(Id::BigInteger(token.into()));
        }
        let digits = integer_from_float(digits)?;
        if digits == "0" {
            return Ok(Id::Integer(0));
        }
        let token = format!("{sign}{digits}");
        Ok(token.parse::<i64>().map_or_else(|_| Id::BigInteger(token.into()), Id::Integer))
    }

    /// Appends the id as JSON.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            // Writing to a `Vec` cannot fail.
            Id::Integer(n) => drop(serde_json::to_writer(out, n)),
            Id::BigInteger(digits) => out.extend_from_slice(digits.as_bytes()),
            Id::Text(text) => drop(serde_json::to_writer(out, text)),
        }
    }
}

/// `1.0`, `1e2` and `120e-1` are integers; the digits of the integer, or why it is not one.
fn integer_from_float(token: &str) -> Result<String, String> {
    let fraction_error = || "`id` must be an integer, got a fraction".to_owned();
    let size_error = || "`id` is an integer with too large an exponent".to_owned();
    let (mantissa, exponent) = token.split_once(['e', 'E']).unwrap_or((token, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.bytes().all(|b| b == b'0') {
        return Ok("0".to_owned());
    }
    let exponent: i64 = exponent.parse().map_err(|_| size_error())?;
    let point = i64::try_from(whole.len()).map_err(|_| size_error())?.saturating_add(exponent);
    if point <= 0 {
        return Err(fraction_error());
    }
    if point > MOST_DIGITS_FROM_EXPONENT {
        return Err(size_error());
    }
    let point = usize::try_from(point).map_err(|_| size_error())?;
    if digits.bytes().skip(point).any(|b| b != b'0') {
        return Err(fraction_error());
    }
    let integer: String = digits.chars().chain(std::iter::repeat('0')).take(point).collect();
    Ok(integer.trim_start_matches('0').to_owned())
}

/// As JSON, so that `1` and `"1"` look different in logs; long ones in part.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Integer(n) => write!(f, "{n}"),
            Id::BigInteger(digits) => f.write_str(shortened(digits)),
            Id::Text(text) => f.write_str(&excerpt(text)),
        }
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Id::Integer(n) => serializer.serialize_i64(*n),
            Id::BigInteger(digits) => RawValue::from_string(digits.to_string())
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer),
            Id::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl From<i64> for Id {
    fn from(n: i64) -> Self {
        Id::Integer(n)
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Id::Text(text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::Id;

    fn check(token: &str, written: &str) {
        let id = Id::parse(token).unwrap();
        let mut out = Vec::new();
        id.write(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), written, "{token}");
        assert_eq!(serde_json::to_string(&id).unwrap(), written, "{token}");
    }

    #[test]
    fn ids_are_exact() {
        for token in ["0", "-1", "9007199254740993", "9223372036854775807", "-9223372036854775809"] {
            check(token, token);
        }
        check("18446744073709551616", "18446744073709551616");
        check(&format!("1{}", "0".repeat(40)), &format!("1{}", "0".repeat(40)));
        check(r#""""#, r#""""#);
        check(r#""abc""#, r#""abc""#);
        check(r#""\u00e9\n""#, r#""é\n""#);
    }

    #[test]
    fn integral_floats_are_integers() {
        check("1.0", "1");
        check("1e2", "100");
        check("-1.50e1", "-15");
        check("120e-1", "12");
        check("0.0e99999999999999999999", "0");
        check("-0.0", "0");
        check("0.001e3", "1");
    }

    #[test]
    fn everything_else_is_refused_with_a_reason() {
        for (token, reason) in [
            ("1.5", "fraction"),
            ("1e-1", "fraction"),
            ("1e400", "exponent"),
            ("1e99999999999999999999", "exponent"),
            ("null", "null"),
            ("true", "boolean"),
            ("[1]", "array"),
            ("{}", "object"),
            (r#""\ud800""#, "surrogate"),
        ] {
            let error = Id::parse(token).unwrap_err();
            assert!(error.contains(reason), "{token}: {error}");
        }
    }
}
