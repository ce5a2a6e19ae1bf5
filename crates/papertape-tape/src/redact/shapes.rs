//! Secrets that are recognised by their shape, wherever they are: keys of well-known services, JSON Web Tokens, private keys.

use std::ops::Range;

use memchr::memmem;

/// A key that begins with a prefix.
struct Shape {
    kind: &'static str,
    prefix: &'static str,
    /// How many characters follow the prefix at least.
    shortest: usize,
    /// Which those are.
    has: fn(u8) -> bool,
}

const SHAPES: [Shape; 22] = [
    Shape { kind: "API key", prefix: "sk-", shortest: 20, has: is_word },
    Shape { kind: "API key", prefix: "sk_live_", shortest: 16, has: is_word },
    Shape { kind: "API key", prefix: "sk_test_", shortest: 16, has: is_word },
    Shape { kind: "API key", prefix: "rk_live_", shortest: 16, has: is_word },
    Shape { kind: "API key", prefix: "AIza", shortest: 35, has: is_word },
    Shape { kind: "API key", prefix: "pt_", shortest: 40, has: is_word },
    Shape { kind: "GitHub token", prefix: "ghp_", shortest: 30, has: is_word },
    Shape { kind: "GitHub token", prefix: "gho_", shortest: 30, has: is_word },
    Shape { kind: "GitHub token", prefix: "ghu_", shortest: 30, has: is_word },
    Shape { kind: "GitHub token", prefix: "ghs_", shortest: 30, has: is_word },
    Shape { kind: "GitHub token", prefix: "ghr_", shortest: 30, has: is_word },
    Shape { kind: "GitHub token", prefix: "github_pat_", shortest: 22, has: is_word },
    Shape { kind: "GitLab token", prefix: "glpat-", shortest: 20, has: is_word },
    Shape { kind: "Slack token", prefix: "xoxa-", shortest: 10, has: is_word },
    Shape { kind: "Slack token", prefix: "xoxb-", shortest: 10, has: is_word },
    Shape { kind: "Slack token", prefix: "xoxp-", shortest: 10, has: is_word },
    Shape { kind: "AWS key", prefix: "AKIA", shortest: 16, has: is_capital },
    Shape { kind: "AWS key", prefix: "ASIA", shortest: 16, has: is_capital },
    Shape { kind: "npm token", prefix: "npm_", shortest: 36, has: is_word },
    Shape { kind: "Hugging Face token", prefix: "hf_", shortest: 30, has: is_word },
    Shape { kind: "Google token", prefix: "ya29.", shortest: 20, has: is_word },
    Shape { kind: "JSON Web Token", prefix: "eyJ", shortest: 20, has: is_jwt },
];

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

fn is_capital(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn is_jwt(byte: u8) -> bool {
    is_word(byte) || byte == b'.'
}

fn is_token(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
}

/// Where secrets are in a text, and of which kind they are; ranges may overlap.
pub(super) fn find(text: &str, found: &mut Vec<(Range<usize>, &'static str)>) {
    let bytes = text.as_bytes();
    private_keys(bytes, found);
    user_information(bytes, found);
    if !has_long_word(bytes) {
        return;
    }
    let is_at_boundary = |at: usize| {
        at.checked_sub(1).and_then(|before| bytes.get(before)).is_none_or(|&before| !is_word(before))
    };
    let length = |from: usize, has: fn(u8) -> bool| {
        bytes.get(from..).unwrap_or_default().iter().take_while(|byte| has(**byte)).count()
    };
    for shape in &SHAPES {
        let mut next = 0;
        for at in memmem::find_iter(bytes, shape.prefix) {
            if at < next || !is_at_boundary(at) {
                continue;
            }
            let start = at + shape.prefix.len();
            let end = start + length(start, shape.has);
            next = end;
            let rest = bytes.get(start..end).unwrap_or_default();
            // A full stop ends the sentence, and not the token.
            let rest = rest.strip_suffix(b".").unwrap_or(rest);
            let end = start + rest.len();
            let is_random = rest.iter().any(u8::is_ascii_digit);
            let is_jwt = shape.prefix != "eyJ" || rest.iter().filter(|byte| **byte == b'.').count() >= 2;
            if rest.len() >= shape.shortest && is_random && is_jwt {
                found.push((at..end, shape.kind));
            }
        }
    }
    for scheme in ["earer ", "EARER ", "PoP "] {
        const SHORTEST: usize = 16;
        for at in memmem::find_iter(bytes, scheme) {
            let start = at + scheme.len();
            let end = start + length(start, is_token);
            let token = bytes.get(start..end).unwrap_or_default();
            if token.len() >= SHORTEST && token.iter().any(u8::is_ascii_digit) {
                found.push((start..end, "bearer token"));
            }
        }
    }
}

/// Whether a word is as long as the shortest of all keys: most texts have none.
fn has_long_word(bytes: &[u8]) -> bool {
    const SHORTEST: usize = 14;
    bytes.split(|byte| !is_token(*byte)).any(|word| word.len() >= SHORTEST)
}

/// `-----BEGIN PRIVATE KEY-----` to its end, or to the end of the text.
fn private_keys(bytes: &[u8], found: &mut Vec<(Range<usize>, &'static str)>) {
    const END: &[u8] = b"PRIVATE KEY-----";
    let mut from = 0;
    while let Some(begin) = memmem::find(bytes.get(from..).unwrap_or_default(), b"-----BEGIN ") {
        let begin = from + begin;
        let label = bytes.get(begin..).unwrap_or_default();
        let label = label.get(..60).unwrap_or(label);
        let Some(header) = memmem::find(label, END).map(|at| begin + at + END.len()) else {
            from = begin + 1;
            continue;
        };
        let rest = bytes.get(header..).unwrap_or_default();
        let end = memmem::find(rest, END).map_or(bytes.len(), |at| header + at + END.len());
        found.push((begin..end, "private key"));
        from = end;
    }
}

/// The password of `https://user:password@host`.
fn user_information(bytes: &[u8], found: &mut Vec<(Range<usize>, &'static str)>) {
    for at in memmem::find_iter(bytes, "://") {
        let start = at + 3;
        let rest = bytes.get(start..).unwrap_or_default();
        let end = rest.iter().position(|&byte| {
            !(byte.is_ascii_graphic()) || matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\\' | b'<' | b'>')
        });
        let authority = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let Some(sign) = memchr::memrchr(b'@', authority) else { continue };
        let Some(colon) = memchr::memchr(b':', authority.get(..sign).unwrap_or_default()) else { continue };
        if colon + 1 < sign {
            found.push((start + colon + 1..start + sign, "password"));
        }
    }
}
