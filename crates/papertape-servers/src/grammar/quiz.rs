//! The questions of a quiz, picked by a seed, and their marking.

use super::arguments::KnownVerb;
use super::table;
use super::verbs::{Person, Tense, Verb};
use super::wordlists::{SUBJECT_PRONOUNS, has};

/// The tenses asked for; the infinitive is in every question already.
const TENSES: [Tense; 4] =
    [Tense::PresentSimple, Tense::PastSimple, Tense::PastParticiple, Tense::SimpleFuture];

/// A question about one form.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question {
    verb: &'static Verb<'static>,
    tense: Tense,
    person: Person,
}

impl Question {
    /// `What is the past simple of "eat" for he/she/it?`
    pub(super) fn text(&self) -> String {
        let (tense, verb) = (self.tense.name(), self.verb.name);
        let whose =
            if self.tense.has_persons() { format!(" for {}", self.person.pronoun()) } else { String::new() };
        format!("What is the {tense} of \"{verb}\"{whose}?")
    }

    pub(super) fn answer(&self) -> &'static str {
        self.verb.english(self.tense, self.person)
    }

    /// Capitals, spaces, punctuation around it and a pronoun before it are ignored.
    pub(super) fn accepts(&self, given: &str) -> bool {
        let given = table::tidy(given.trim_matches(|letter: char| !letter.is_alphanumeric()));
        let form = match given.split_once(' ') {
            Some((pronoun, form)) if has(SUBJECT_PRONOUNS, pronoun) => form,
            _ => &given,
        };
        form == self.answer()
    }

    /// Whether both ask for the same form: "ate" for I and "ate" for you.
    fn is_like(&self, other: &Self) -> bool {
        self.verb.name == other.verb.name && self.tense == other.tense && self.answer() == other.answer()
    }
}

/// Questions about one verb or about all of them. The same seed gives the same questions, in the same order.
pub(super) fn pick(verb: Option<KnownVerb>, count: usize, seed: u32) -> Vec<Question> {
    let places = (u64::from(seed) << 32..).map(scattered);
    let mut all: Vec<(u64, Question)> = places.zip(questions(verb)).collect();
    all.sort_by_key(|(place, _)| *place);
    let mut picked: Vec<Question> = Vec::new();
    for (_, question) in all {
        if picked.len() < count && !picked.iter().any(|earlier| earlier.is_like(&question)) {
            picked.push(question);
        }
    }
    picked
}

/// Every question there is, in the order of the table.
fn questions(verb: Option<KnownVerb>) -> Vec<Question> {
    let verbs = verb.map_or(table::verbs(), |verb| std::slice::from_ref(verb.0));
    let mut all = Vec::new();
    for verb in verbs {
        for tense in TENSES {
            all.extend(tense.persons().iter().map(|&person| Question { verb, tense, person }));
        }
    }
    all
}

/// One step of SplitMix64, a generator of random numbers: neighbours come out far apart.
fn scattered(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::*;

    fn about(verb: &str) -> Option<KnownVerb> {
        Some(KnownVerb(table::verb(verb).unwrap()))
    }

    fn question(verb: &str, tense: Tense, person: Person) -> Question {
        Question { verb: table::verb(verb).unwrap(), tense, person }
    }

    #[test]
    fn a_question_in_words() {
        let table = [
            (Tense::PastSimple, Person::Third, "What is the past simple of \"eat\" for he/she/it?", "ate"),
            (Tense::PresentSimple, Person::First, "What is the present simple of \"eat\" for I?", "eat"),
            (Tense::PastParticiple, Person::Third, "What is the past participle of \"eat\"?", "eaten"),
            (
                Tense::SimpleFuture,
                Person::Second,
                "What is the simple future of \"eat\" for you?",
                "will eat",
            ),
        ];
        for (tense, person, text, answer) in table {
            let question = question("eat", tense, person);
            assert_eq!((question.text().as_str(), question.answer()), (text, answer));
        }
    }

    #[test]
    fn what_is_accepted() {
        let ate = question("eat", Tense::PastSimple, Person::Third);
        for given in
            ["ate", "Ate", "  ATE\t", "ate.", "\"ate\"", "he ate", "She  ate!", "it ate", "he/she/it ate"]
        {
            assert!(ate.accepts(given), "{given:?}");
        }
        for given in
            ["", " ", "he", "eated", "eat", "ate it", "Ana ate", "heate", "he she ate", "até", "\u{0}"]
        {
            assert!(!ate.accepts(given), "{given:?}");
        }
        let will = question("be", Tense::SimpleFuture, Person::First);
        assert!(will.accepts("will be") && will.accepts("I will  be") && !will.accepts("be"));
    }

    #[test]
    fn the_same_seed_gives_the_same_questions() {
        let texts = |seed| pick(None, 5, seed).iter().map(Question::text).collect::<Vec<_>>();
        assert_eq!(texts(1), texts(1));
        let different: HashSet<_> = (0..100).map(texts).collect();
        assert_eq!(different.len(), 100);
    }

    /// If this fails, a seed from an earlier release now gives another quiz.
    #[test]
    fn questions_of_a_seed_are_stable_across_releases() {
        let answers = |verb, seed| pick(verb, 5, seed).iter().map(Question::answer).collect::<Vec<_>>();
        assert_eq!(answers(None, 1), ["will look", "started", "will eat", "go", "eat"]);
        assert_eq!(answers(about("be"), 1), ["been", "are", "will be", "was", "were"]);
    }

    #[test]
    fn every_form_but_the_infinitive_comes_up() {
        let asked: HashSet<_> = (0..2000).flat_map(|seed| pick(None, 5, seed)).map(|q| q.text()).collect();
        assert_eq!(asked.len(), questions(None).len());
        assert_eq!(asked.len(), 200);
    }

    proptest! {
        #[test]
        fn no_verb_has_too_few_questions(verb in 0..20_usize, count in 1..=5_usize, seed in any::<u32>()) {
            let picked = pick(Some(KnownVerb(&table::verbs()[verb])), count, seed);
            let different: HashSet<_> = picked.iter().map(|q| (q.tense.name(), q.answer())).collect();
            prop_assert_eq!((picked.len(), different.len()), (count, count));
        }

        #[test]
        fn any_answer_is_judged(given in any::<String>()) {
            let _ = question("go", Tense::PastSimple, Person::First).accepts(&given);
        }
    }
}
