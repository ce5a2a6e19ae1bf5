//! A mistyped name to the one that was meant.

/// Names of more bytes than this are not compared.
const LONGEST: usize = 100;

/// The known name nearest to what was typed, if any is near.
#[must_use]
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer ones are not typed by hand, and take long to compare.
    let known = known.into_iter().filter(|name| name.len() <= LONGEST && typed.len() <= LONGEST);
    let meant = folded(typed);
    let scored = known.filter_map(|name| {
        // Of two that are equally near, the one that needs fewer corrections.
        Some(((distance(&meant, &folded(name))?, strsim::damerau_levenshtein(typed, name)), name))
    });
    scored.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// ": did you mean "x"?", or nothing.
#[must_use]
pub fn hint<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(typed, known).map(|name| format!(": did you mean \"{name}\"?")).unwrap_or_default()
}

/// How far two names are apart; nothing if too far to be the same.
fn distance(typed: &str, name: &str) -> Option<usize> {
    let (shorter, longer) = if typed.len() < name.len() { (typed, name) } else { (name, typed) };
    // Half of a name, such as `spanish` for `lookup_spanish`, counts as a slip of a few letters.
    let part = (shorter.len() >= 3 && longer.contains(shorter)).then_some(3);
    let slips = strsim::damerau_levenshtein(typed, name);
    let near = slips <= (longer.chars().count() / 3).max(1) && slips < longer.chars().count();
    part.into_iter().chain(near.then_some(slips)).min()
}

fn folded(name: &str) -> String {
    name.to_lowercase().replace(['-', ' ', '.'], "_")
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn typos_are_corrected_and_other_words_are_not() {
        let known = ["conjugate", "lookup_spanish", "echo", "a"];
        for (typed, right) in [
            ("conjugat", Some("conjugate")),
            ("Conjugate", Some("conjugate")),
            ("cojnugate", Some("conjugate")),
            ("lookup-spanish", Some("lookup_spanish")),
            ("spanish", Some("lookup_spanish")),
            ("ecoh", Some("echo")),
            ("b", None),
            ("word_count", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, known), right, "{typed}");
        }
        assert_eq!(nearest("past_simpel", ["past simple", "past_simple"]), Some("past_simple"));
    }
}
