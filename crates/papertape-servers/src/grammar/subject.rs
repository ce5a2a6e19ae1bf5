//! The subject of a sentence to its person and number.
//!
//! This is a rule of thumb, not a parser. It knows the pronouns, the words that come before a noun, a short list of
//! nouns that break the rule of the final s, and what "and", "or" and "of" do to a subject. Where it would have to guess
//! ("the sheep", "running shoes") it says so, because a tutor that is wrong is worse than one that asks.

use super::wordlists::{
    AFTER_NOUN, AMOUNTS, CLAUSE_STARTS, EACH, EITHER_NUMBER, GERUND_LIKE, MANY, OBJECTS, ONE,
    PLURAL_IN_IS_US, PLURAL_WITHOUT_S, QUANTITIES, SINGULAR_IN_S, TITLES, has,
};

/// Who acts, as far as English verbs care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// "I".
    I,
    /// "you", one or many.
    You,
    /// "he", "she", "it", and whatever can be called so.
    One,
    /// "we", "they", and whatever can be called so.
    Many,
}

/// Why a subject could not be judged, and what to do about it.
pub(crate) type Doubt = &'static str;

const UNCLEAR: Doubt = "could be one or many: put \"it\" or \"they\" in its place, or add \"one\", \"two\", \
                        \"this\" or \"these\"";

/// A longer text is not a subject; the bound limits the work.
const LONGEST: usize = 200;

/// Reads a subject such as "she", "the cats" or "Ana and Luis".
pub(crate) fn read(subject: &str) -> Result<Subject, Doubt> {
    if subject.chars().nth(LONGEST).is_some() {
        return Err("is too long for a subject: give the subject alone, such as \"she\" or \"the cats\"");
    }
    let words: Vec<String> = subject
        .replace('&', " and ")
        .split_whitespace()
        .map(|word| word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase())
        .filter(|word| !word.is_empty())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let nothing = "is not a subject: give one such as \"she\", \"the cats\" or \"Ana and Luis\"";
    match nearest_choice(&words) {
        [] | ["and", ..] | [.., "and"] => Err(nothing),
        words => phrase(words),
    }
}

/// In "Ana or the boys" and "neither you nor I" the verb agrees with what stands next to it.
fn nearest_choice<'w>(words: &'w [&'w str]) -> &'w [&'w str] {
    words.rsplit(|word| matches!(*word, "or" | "nor")).next().unwrap_or(words)
}

/// Reads a phrase without "or". Each step settles the phrases that the later steps would get wrong.
fn phrase(words: &[&str]) -> Result<Subject, Doubt> {
    let words = after_quantity(words);
    let &[first, ref rest @ ..] = words else { return Err(UNCLEAR) };
    if has(EACH, first) {
        return Ok(Subject::One);
    }
    if let Some(and) = rest.iter().position(|word| *word == "and") {
        // "the man with the hat and the coat" is one man, "the man with the hat and his wife" are two people.
        let inside = rest.iter().take(and).any(|word| has(AFTER_NOUN, word));
        return if inside { Err(UNCLEAR) } else { Ok(Subject::Many) };
    }
    // The pronoun decides in "you two" and "we students" as well.
    match first {
        "i" => return Ok(Subject::I),
        "you" => return Ok(Subject::You),
        "he" | "she" | "it" => return Ok(Subject::One),
        "we" | "they" => return Ok(Subject::Many),
        _ if rest.is_empty() && has(OBJECTS, first) => {
            return Err("cannot be a subject: use \"I\", \"he\", \"she\", \"we\" or \"they\"");
        }
        _ => {}
    }
    let amount = rest.first().is_some_and(|second| has(AMOUNTS, second));
    if has(MANY, first) || (has(ONE, first) && amount) || is_plural_number(first) {
        return Ok(Subject::Many);
    }
    if has(ONE, first) || has(TITLES, first) {
        return Ok(Subject::One);
    }
    if words.iter().enumerate().any(|(place, word)| hides_noun(place, word, words.len())) {
        return Err(UNCLEAR);
    }
    let ends_noun = |word: &&str| has(AFTER_NOUN, word) || has(CLAUSE_STARTS, word);
    let end = rest.iter().position(ends_noun).unwrap_or(rest.len());
    let head = rest.iter().take(end).next_back().unwrap_or(&first);
    if words.contains(&"united") && matches!(*head, "states" | "nations" | "emirates") {
        return Ok(Subject::One);
    }
    noun(head)
}

/// "a lot of people" is judged as "people".
fn after_quantity<'w>(words: &'w [&'w str]) -> &'w [&'w str] {
    QUANTITIES
        .lines()
        .find_map(|quantity| words.strip_prefix(quantity.split_whitespace().collect::<Vec<_>>().as_slice()))
        .unwrap_or(words)
}

fn is_plural_number(word: &str) -> bool {
    word != "1" && word.chars().all(|letter| letter.is_ascii_digit())
}

/// "eating apples" is one thing to do, "running shoes" are many to wear, and "the man wearing glasses" is one man: a
/// word in -ing hides which noun counts, unless it is the last word or stands right after an article.
fn hides_noun(place: usize, word: &str, length: usize) -> bool {
    word.ends_with("ing")
        && place != 1
        && place + 1 < length
        && !word.ends_with("thing")
        && !has(GERUND_LIKE, word)
}

fn noun(word: &str) -> Result<Subject, Doubt> {
    let is_possessive = word.ends_with("'s") || word.ends_with("’s");
    let looks_singular = ["ss", "us", "is", "ís"].iter().any(|end| word.ends_with(end));
    if has(EITHER_NUMBER, word) || is_possessive {
        Err(UNCLEAR)
    } else if has(PLURAL_WITHOUT_S, word) || has(PLURAL_IN_IS_US, word) {
        Ok(Subject::Many)
    } else if !word.ends_with('s') || looks_singular || has(SINGULAR_IN_S, word) {
        Ok(Subject::One)
    } else {
        Ok(Subject::Many)
    }
}

#[cfg(test)]
mod tests {
    use Subject::{I, Many, One, You};
    use proptest::prelude::{any, proptest};

    use super::*;

    fn check(right: Subject, subjects: &[&str]) {
        for subject in subjects {
            assert_eq!(read(subject), Ok(right), "{subject:?}");
        }
    }

    #[test]
    fn pronouns() {
        check(I, &["I", "i", " I "]);
        check(You, &["you", "You", "you two", "you guys", "Ana or you"]);
        check(One, &["he", "she", "it", "this", "that", "one", "everyone", "nobody", "something", "SHE"]);
        check(Many, &["we", "they", "these", "those", "both", "we students", "they all"]);
    }

    #[test]
    fn one() {
        check(
            One,
            &["the cat", "my brother", "Ana", "a dog", "this house", "water", "The teacher.", "María José"],
        );
        check(
            One,
            &["the bus", "my class", "the news", "James", "Luis", "Mr. Jones' dog", "mathematics", "Paris"],
        );
        check(One, &["each of the cats", "every boy and girl", "one of my friends", "the box of chocolates"]);
        check(
            One,
            &["the cat in the garden", "the girl who has two dogs", "the teacher I saw", "Ana's brother"],
        );
        check(
            One,
            &["he or she", "the boys or Ana", "Ana as well as Luis", "the United States", "a lot of water"],
        );
        check(One, &["Mr. Jones", "nothing in the boxes", "the king of cats", "who", "either of the boys"]);
        check(One, &["swimming", "the building", "the swimming pool", "neither of them", "1 cat"]);
    }

    #[test]
    fn many() {
        check(
            Many,
            &["the cats", "Cats", "my parents", "people", "the children", "two dogs", "12 apples", "police"],
        );
        check(
            Many,
            &["you and I", "Ana and Luis", "my brother & my sister", "Ana, Luis and Eva", "Ana, you and I"],
        );
        check(
            Many,
            &["Ana or the boys", "Ana's cats", "a lot of people", "most of the students", "a few friends"],
        );
        check(
            Many,
            &["a hundred people", "the cats in the garden", "the books that I have", "many", "the taxis"],
        );
        check(Many, &["the women", "some of the boys", "the classes", "the buses", "these sheep"]);
    }

    #[test]
    fn doubt_is_admitted() {
        for subject in ["the sheep", "running shoes", "the man wearing glasses", "there", "the fish", "Ana's"]
        {
            assert_eq!(read(subject), Err(UNCLEAR), "{subject:?}");
        }
        assert_eq!(read("the man with the hat and coat"), Err(UNCLEAR));
        assert!(read("him").unwrap_err().contains("cannot be a subject"));
        for subject in ["", "  ", "?!", "&&", "and", "Ana and", "Ana or"] {
            assert!(read(subject).is_err(), "{subject:?}");
        }
        assert!(read(&"cat ".repeat(100)).unwrap_err().contains("too long"));
    }

    proptest! {
        #[test]
        fn any_text_gets_a_verdict(text in any::<String>()) {
            let _ = read(&text);
        }

        #[test]
        fn any_words_get_a_verdict(text in "(and|or|of|a lot of|the|each|I|cats|Ana's|running|12|&| ){0,8}") {
            let _ = read(&text);
        }
    }
}
