//! A text to the language it is written in.

use super::Language;
use super::script::{is_han, is_hangul, is_kana, is_unspaced};

/// The language, if it can be told.
#[must_use]
pub fn detect(text: &str) -> Language {
    let (mut letters, mut dense, mut han, mut kana, mut hangul) =
        (0_usize, 0_usize, 0_usize, 0_usize, 0_usize);
    for c in text.chars().filter(|c| c.is_alphabetic()) {
        letters += 1;
        dense += usize::from(is_unspaced(c));
        han += usize::from(is_han(c));
        kana += usize::from(is_kana(c));
        hangul += usize::from(is_hangul(c));
    }
    // These are told by their characters; a fifth is enough, because each of them says as much as a few letters.
    if dense * 5 > letters {
        return match () {
            () if hangul * 2 > dense => Language::Korean,
            () if kana * 10 > dense => Language::Japanese,
            () if han * 2 > dense => Language::Chinese,
            () => Language::Other,
        };
    }
    whatlang::detect(text)
        .filter(whatlang::Info::is_reliable)
        .map_or(Language::Other, |info| Language::detected(info.lang()))
}
