//! The script of a character.

/// Of a script without spaces between words, or whose words are found by their pairs of characters: Chinese, Japanese,
/// Korean, Thai and some of its neighbours.
pub(crate) fn is_unspaced(c: char) -> bool {
    c >= '\u{e00}' && (is_han_or_kana(c) || is_hangul(c) || is_south_east(c))
}

/// Of Chinese or Japanese: lines may end within a word.
pub(crate) fn is_han_or_kana(c: char) -> bool {
    is_han(c) || is_kana(c)
}

pub(super) fn is_han(c: char) -> bool {
    matches!(c,
        '\u{2e80}'..='\u{2fdf}'
        | '\u{3005}'..='\u{3007}'
        | '\u{3021}'..='\u{3029}'
        | '\u{3105}'..='\u{312f}'
        | '\u{31a0}'..='\u{31bf}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

pub(super) fn is_kana(c: char) -> bool {
    matches!(c,
        '\u{3031}'..='\u{3035}'
        | '\u{3041}'..='\u{3096}'
        | '\u{309d}'..='\u{309f}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{30fc}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{ff66}'..='\u{ff9f}')
}

pub(super) fn is_hangul(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}')
}

/// Thai, Lao, Burmese, Khmer.
fn is_south_east(c: char) -> bool {
    matches!(c, '\u{e01}'..='\u{e4e}' | '\u{e81}'..='\u{ece}' | '\u{1000}'..='\u{103f}' | '\u{1780}'..='\u{17d3}')
}
