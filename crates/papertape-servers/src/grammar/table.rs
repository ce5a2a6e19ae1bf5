//! Lookups in the table: the verbs, and the readings of a form.

use std::sync::LazyLock;

use super::verbs::{self, Person, Tense, Verb};

#[expect(clippy::expect_used, reason = "the build script has read and checked the very same text")]
static VERBS: LazyLock<Vec<Verb<'static>>> = LazyLock::new(|| {
    verbs::parse(include_str!("verbs.txt")).expect("verbs.txt was checked when this was built")
});

/// All verbs, in the order of the file.
pub(crate) fn verbs() -> &'static [Verb<'static>] {
    &VERBS
}

/// The verb of that name, that is, of that infinitive.
pub(crate) fn verb(name: &str) -> Option<&'static Verb<'static>> {
    verbs().iter().find(|verb| verb.name == name)
}

/// "work, play, ...": every verb by name, for messages.
pub(crate) fn names() -> String {
    verbs().iter().map(|verb| verb.name).collect::<Vec<_>>().join(", ")
}

impl Person {
    /// Who that is.
    pub(crate) fn pronoun(self) -> &'static str {
        match self {
            Self::First => "I",
            Self::Second => "you",
            Self::Third => "he/she/it",
        }
    }
}

impl Tense {
    /// Those that have a form of their own. Without persons the three cells are alike, so any of them will do.
    pub(crate) fn persons(self) -> &'static [Person] {
        if self.has_persons() { &Person::ALL } else { &[Person::Third] }
    }
}

/// One thing that an English form can be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) verb: &'static Verb<'static>,
    pub(crate) tense: Tense,
    /// The infinitive and the participle have no person.
    pub(crate) person: Option<Person>,
}

impl Reading {
    pub(crate) fn spanish(&self) -> &'static str {
        // Without a person the three cells are alike, so any of them will do.
        self.verb.spanish(self.tense, self.person.unwrap_or(Person::Third))
    }
}

/// Everything that a form can be, in the order of the table: infinitive, present simple, past simple, past participle,
/// simple future. All readings of a form are of the same verb; it has none if the table does not know it.
pub(crate) fn readings(form: &str) -> Vec<Reading> {
    let form = tidy(form);
    let mut found = Vec::new();
    for verb in verbs() {
        for tense in Tense::ALL {
            for &person in tense.persons() {
                if verb.english(tense, person) == form {
                    found.push(Reading { verb, tense, person: tense.has_persons().then_some(person) });
                }
            }
        }
    }
    found
}

/// The form as the table writes it: in lower case, with single spaces.
pub(crate) fn tidy(form: &str) -> String {
    form.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_verbs_five_tenses_three_persons() {
        let forms = verbs().iter().flat_map(|verb| {
            Tense::ALL
                .into_iter()
                .flat_map(move |tense| Person::ALL.map(|person| verb.english(tense, person)))
        });
        assert_eq!(forms.filter(|form| !form.is_empty()).count(), 300);
        assert_eq!(
            names(),
            "work, play, walk, talk, listen, watch, study, finish, start, look, want, like, \
             be, have, do, go, come, see, eat, write"
        );
    }

    #[test]
    fn every_form_leads_back_to_its_verb() {
        for verb in verbs() {
            for tense in Tense::ALL {
                for person in Person::ALL {
                    let readings = readings(verb.english(tense, person));
                    assert!(readings.iter().all(|reading| reading.verb.name == verb.name));
                    assert!(readings.iter().any(|reading| reading.tense == tense));
                }
            }
        }
    }

    #[test]
    fn case_and_spaces_do_not_matter() {
        for form in ["will eat", "Will Eat", "  WILL \t eat\n"] {
            assert_eq!(readings(form).len(), 3, "{form:?}");
        }
    }

    #[test]
    fn an_unknown_form_has_no_reading() {
        for form in ["", " ", "ran", "eatz", "will", "eat ate", "\u{0}", "ÿ"] {
            assert!(readings(form).is_empty(), "{form:?}");
        }
    }
}
