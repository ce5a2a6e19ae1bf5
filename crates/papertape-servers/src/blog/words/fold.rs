//! A word to the same word without accents.

use std::borrow::Cow;

use unicode_normalization::char::decompose_canonical;

/// Without accents and the like; letters that are none in their own language go to what others type for them.
pub(super) fn folded(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return Cow::Borrowed(word);
    }
    let mut result = String::with_capacity(word.len());
    for c in word.chars() {
        match c {
            'ß' => result.push_str("ss"),
            'æ' => result.push_str("ae"),
            'œ' => result.push_str("oe"),
            'ø' => result.push('o'),
            'ł' => result.push('l'),
            'đ' | 'ð' => result.push('d'),
            'þ' => result.push_str("th"),
            'ı' => result.push('i'),
            _ => decompose_canonical(c, |part| {
                if !is_accent(part) {
                    result.push(part);
                }
            }),
        }
    }
    Cow::Owned(result)
}

/// Accents of Latin, Greek and Cyrillic letters, vowel signs of Hebrew and Arabic. Other scripts' signs are no accents.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}')
}
