//! The languages with stemmers or other rules here.

use rust_stemmers::Algorithm;
use whatlang::Lang;

/// What a text is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Language {
    /// One without rules here: words are folded, not stemmed.
    #[default]
    Other,
    /// English.
    English,
    /// Spanish.
    Spanish,
    /// Chinese.
    Chinese,
    /// Japanese.
    Japanese,
    /// Korean.
    Korean,
    /// Arabic.
    Arabic,
    /// Danish.
    Danish,
    /// Dutch.
    Dutch,
    /// Finnish.
    Finnish,
    /// French.
    French,
    /// German.
    German,
    /// Greek.
    Greek,
    /// Hungarian.
    Hungarian,
    /// Italian.
    Italian,
    /// Norwegian.
    Norwegian,
    /// Portuguese.
    Portuguese,
    /// Romanian.
    Romanian,
    /// Russian.
    Russian,
    /// Swedish.
    Swedish,
    /// Tamil.
    Tamil,
    /// Turkish.
    Turkish,
}

impl Language {
    /// Every one of them, in the order of their declaration.
    pub const ALL: [Self; 22] = [
        Self::Other,
        Self::English,
        Self::Spanish,
        Self::Chinese,
        Self::Japanese,
        Self::Korean,
        Self::Arabic,
        Self::Danish,
        Self::Dutch,
        Self::Finnish,
        Self::French,
        Self::German,
        Self::Greek,
        Self::Hungarian,
        Self::Italian,
        Self::Norwegian,
        Self::Portuguese,
        Self::Romanian,
        Self::Russian,
        Self::Swedish,
        Self::Tamil,
        Self::Turkish,
    ];

    /// Two letters, as in ISO 639: `en`, `es`, `zh`. `xx` for another language.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Other => "xx",
            Self::English => "en",
            Self::Spanish => "es",
            Self::Chinese => "zh",
            Self::Japanese => "ja",
            Self::Korean => "ko",
            Self::Arabic => "ar",
            Self::Danish => "da",
            Self::Dutch => "nl",
            Self::Finnish => "fi",
            Self::French => "fr",
            Self::German => "de",
            Self::Greek => "el",
            Self::Hungarian => "hu",
            Self::Italian => "it",
            Self::Norwegian => "no",
            Self::Portuguese => "pt",
            Self::Romanian => "ro",
            Self::Russian => "ru",
            Self::Swedish => "sv",
            Self::Tamil => "ta",
            Self::Turkish => "tr",
        }
    }

    /// The language of a code, with or without a region: `es`, `es-MX`, `zh_TW`.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        let code = code.trim().split(['-', '_']).next()?;
        if code.eq_ignore_ascii_case("nb") || code.eq_ignore_ascii_case("nn") {
            return Some(Self::Norwegian);
        }
        Self::ALL.into_iter().find(|language| language.code().eq_ignore_ascii_case(code))
    }

    /// How its words are stemmed.
    pub(super) fn algorithm(self) -> Option<Algorithm> {
        Some(match self {
            Self::Other | Self::Chinese | Self::Japanese | Self::Korean => return None,
            Self::English => Algorithm::English,
            Self::Spanish => Algorithm::Spanish,
            Self::Arabic => Algorithm::Arabic,
            Self::Danish => Algorithm::Danish,
            Self::Dutch => Algorithm::Dutch,
            Self::Finnish => Algorithm::Finnish,
            Self::French => Algorithm::French,
            Self::German => Algorithm::German,
            Self::Greek => Algorithm::Greek,
            Self::Hungarian => Algorithm::Hungarian,
            Self::Italian => Algorithm::Italian,
            Self::Norwegian => Algorithm::Norwegian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Romanian => Algorithm::Romanian,
            Self::Russian => Algorithm::Russian,
            Self::Swedish => Algorithm::Swedish,
            Self::Tamil => Algorithm::Tamil,
            Self::Turkish => Algorithm::Turkish,
        })
    }

    /// Its words of plain Latin letters are English, as a rule: it has letters of its own, or is a text too short to
    /// detect it.
    pub(super) fn has_english_words(self) -> bool {
        matches!(
            self,
            Self::Other
                | Self::Chinese
                | Self::Japanese
                | Self::Korean
                | Self::Arabic
                | Self::Greek
                | Self::Russian
                | Self::Tamil
        )
    }

    /// As the detector calls it.
    pub(super) fn detected(lang: Lang) -> Self {
        match lang {
            Lang::Eng => Self::English,
            Lang::Spa => Self::Spanish,
            Lang::Cmn => Self::Chinese,
            Lang::Jpn => Self::Japanese,
            Lang::Kor => Self::Korean,
            Lang::Ara => Self::Arabic,
            Lang::Dan => Self::Danish,
            Lang::Nld => Self::Dutch,
            Lang::Fin => Self::Finnish,
            Lang::Fra => Self::French,
            Lang::Deu => Self::German,
            Lang::Ell => Self::Greek,
            Lang::Hun => Self::Hungarian,
            Lang::Ita => Self::Italian,
            Lang::Nob => Self::Norwegian,
            Lang::Por => Self::Portuguese,
            Lang::Ron => Self::Romanian,
            Lang::Rus => Self::Russian,
            Lang::Swe => Self::Swedish,
            Lang::Tam => Self::Tamil,
            Lang::Tur => Self::Turkish,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Language;

    #[test]
    fn codes_go_both_ways() {
        for (place, language) in Language::ALL.into_iter().enumerate() {
            assert_eq!(Language::from_code(language.code()), Some(language));
            assert_eq!(language as usize, place);
        }
    }

    #[test]
    fn regions_do_not_matter() {
        assert_eq!(Language::from_code(" zh-Hans_CN"), Some(Language::Chinese));
        assert_eq!(Language::from_code("ES_mx"), Some(Language::Spanish));
        assert_eq!(Language::from_code("nb"), Some(Language::Norwegian));
        assert_eq!(Language::from_code("english"), None);
        assert_eq!(Language::from_code(""), None);
    }
}
