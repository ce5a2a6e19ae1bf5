//! A text to the language it is written in.

use std::sync::LazyLock;

use whatlang::{Detector, Lang};

use super::Language;
use super::script::{is_han, is_hangul, is_kana, is_unspaced};

/// How many characters are looked at: as good as more of them, and faster.
const SAMPLE: usize = 1_024;

/// Those with rules here, and those that are easily taken for one of them.
static DETECTOR: LazyLock<Detector> = LazyLock::new(|| {
    let others = [Lang::Bul, Lang::Cat, Lang::Ces, Lang::Pes, Lang::Pol, Lang::Ukr, Lang::Urd];
    let ours = Lang::all().iter().copied().filter(|lang| Language::detected(*lang) != Language::Other);
    Detector::with_allowlist(ours.chain(others).collect())
});

/// Small words that are frequent in one language, and rare in the others: what short texts are identified by.
const SMALL: [(Language, &[&str]); 6] = [
    (
        Language::English,
        &[
            "the", "of", "and", "to", "is", "for", "how", "with", "this", "that", "you", "your", "are", "be",
            "or", "it",
        ],
    ),
    (
        Language::Spanish,
        &[
            "el", "los", "las", "y", "del", "para", "con", "por", "una", "que", "es", "cómo", "más", "se",
            "al", "su",
        ],
    ),
    (
        Language::French,
        &[
            "le", "les", "et", "des", "du", "pour", "avec", "une", "est", "dans", "vous", "au", "ce", "sur",
            "pas",
        ],
    ),
    (
        Language::German,
        &[
            "der", "die", "das", "und", "ist", "mit", "für", "ein", "eine", "den", "zu", "auf", "nicht",
            "von", "wie",
        ],
    ),
    (
        Language::Portuguese,
        &[
            "os", "do", "da", "dos", "em", "com", "uma", "um", "não", "são", "mais", "ao", "você", "seu",
            "pelo",
        ],
    ),
    (
        Language::Italian,
        &[
            "il", "gli", "di", "della", "che", "per", "sono", "con", "nel", "una", "più", "questo", "è",
            "dei", "alla",
        ],
    ),
];

/// The language, if it can be detected.
#[must_use]
pub fn detect(text: &str) -> Language {
    let end = text.char_indices().nth(SAMPLE).map_or(text.len(), |(at, _)| at);
    let text = text.get(..end).unwrap_or_default();
    by_characters(text).unwrap_or_else(|| match DETECTOR.detect(text) {
        Some(info) if info.is_reliable() => Language::detected(info.lang()),
        Some(_) => by_small_words(text),
        None => Language::Other,
    })
}

/// A fifth is enough, because each of these characters says as much as a few letters.
fn by_characters(text: &str) -> Option<Language> {
    let (mut letters, mut dense, mut han, mut kana, mut hangul) =
        (0_usize, 0_usize, 0_usize, 0_usize, 0_usize);
    for c in text.chars().filter(|c| c.is_alphabetic()) {
        letters += 1;
        if is_unspaced(c) {
            dense += 1;
            han += usize::from(is_han(c));
            kana += usize::from(is_kana(c));
            hangul += usize::from(is_hangul(c));
        }
    }
    (dense * 5 > letters).then_some(match () {
        () if hangul * 2 > dense => Language::Korean,
        () if kana * 10 > dense => Language::Japanese,
        () if han * 2 > dense => Language::Chinese,
        () => Language::Other,
    })
}

/// Two of them at least, a tenth of all words, and more than of any other language.
fn by_small_words(text: &str) -> Language {
    let mut words = 0_usize;
    let mut found = SMALL.map(|(language, _)| (0_usize, language));
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        words += 1;
        let word = word.to_lowercase();
        for ((count, _), (_, small)) in found.iter_mut().zip(SMALL) {
            *count += usize::from(small.contains(&word.as_str()));
        }
    }
    found.sort_unstable_by_key(|(count, _)| std::cmp::Reverse(*count));
    match found {
        [(first, language), (second, _), ..] if first >= 2 && first > second && first * 10 >= words => {
            language
        }
        _ => Language::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::{Language, detect};

    #[test]
    fn languages_of_short_texts_are_detected_by_small_words() {
        for (text, language) in [
            ("This section describes how to review content.", Language::English),
            ("To learn how to generate certificates for your cluster, see Certificates.", Language::English),
            ("Las APIs de react-dom/client te permiten renderizar en el cliente.", Language::Spanish),
            ("Kubernetes API", Language::Other),
            ("", Language::Other),
            ("12 + 34", Language::Other),
        ] {
            assert_eq!(detect(text), language, "{text}");
        }
    }

    #[test]
    fn languages_of_long_texts_are_detected_by_letters() {
        for (text, language) in [
            (
                "Der schnelle braune Fuchs springt über den faulen Hund, und niemand weiß, warum er so etwas tut.",
                Language::German,
            ),
            (
                "Le rapide renard brun saute par-dessus le chien paresseux, et personne ne sait pourquoi.",
                Language::French,
            ),
            (
                "Быстрая коричневая лиса перепрыгивает через ленивую собаку, и никто не знает почему.",
                Language::Russian,
            ),
            ("Η γρήγορη καφέ αλεπού πηδάει πάνω από το τεμπέλικο σκυλί.", Language::Greek),
            ("สุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจ", Language::Other),
        ] {
            assert_eq!(detect(text), language, "{text}");
        }
    }
}
