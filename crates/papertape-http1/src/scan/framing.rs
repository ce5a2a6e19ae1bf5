//! `Content-Length` and `Transfer-Encoding`, parsed so strictly that no other parser reads them differently.
//!
//! At most one space may follow the colon: other white space is a sign of request smuggling.

use super::fault::Fault;

pub(super) fn length(value: &[u8]) -> Result<u64, Fault> {
    let digits = value.strip_prefix(b" ").unwrap_or(value);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Fault::bad("the Content-Length is not a number"));
    }
    digits
        .iter()
        .try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
        .filter(|length| i64::try_from(*length).is_ok())
        .ok_or(Fault::bad("the Content-Length is too large"))
}

pub(super) fn coding(value: &[u8]) -> Result<(), Fault> {
    let coding = value.strip_prefix(b" ").unwrap_or(value);
    if coding.eq_ignore_ascii_case(b"chunked") {
        return Ok(());
    }
    let mut codings = coding.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).rev();
    let last = codings.next().unwrap_or_default();
    if last.eq_ignore_ascii_case(b"chunked") && codings.next().is_some() {
        return Err(Fault::unknown("the only supported Transfer-Encoding is chunked"));
    }
    Err(Fault::bad("the Transfer-Encoding is not chunked"))
}
