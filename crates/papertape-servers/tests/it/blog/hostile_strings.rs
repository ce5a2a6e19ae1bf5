//! Strings that are known to break programs: those in `hostile_strings.json`, by kind, and generated ones.

use std::collections::BTreeMap;

/// All of them, and generated families.
pub(super) fn strings() -> Vec<String> {
    let by_kind: BTreeMap<&str, Vec<String>> =
        serde_json::from_str(include_str!("hostile_strings.json")).unwrap();
    let mut all: Vec<String> = by_kind.into_values().flatten().collect();
    // Each sign of ASCII and Latin-1 that is not a letter, alone and around a term that occurs.
    for sign in (0..=0xff).filter_map(char::from_u32).filter(|sign| !sign.is_alphanumeric()) {
        all.push(sign.to_string());
        all.push(format!("{sign}bees{sign}"));
    }
    // Other blanks, joiners, marks and ends of Unicode blocks.
    for range in [0x2000..=0x206f_u32, 0x300..=0x30f, 0xfe00..=0xfe0f, 0xfff0..=0xffff] {
        all.extend(range.filter_map(char::from_u32).map(String::from));
    }
    // Long repetitions.
    for piece in ["(", "\"", "\\", "%", "bees ", "* ", "a", "\u{301}", "猫", "👨‍👩‍👧‍👦", "\u{0}", "word OR "]
    {
        all.push(piece.repeat(10_000 / piece.chars().count()));
    }
    all
}
