//! Plausibility checks of the table: finds the first mistake in its English or Spanish.
//!
//! The build script runs this over `verbs.txt`, so a table with a slip fails `cargo build`. The rules catch what a hand
//! gets wrong in a big table (a cell in the wrong column, a lost accent, a copied row); they cannot know every form.

use std::collections::HashMap;

use super::verbs::{Forms, Person, Problem, Tense, Verb, content_lines, parse};

/// Reads the table, looks at every cell and stops at the first slip.
pub(crate) fn check(text: &str) -> Result<(), Problem> {
    let verbs = parse(text)?;
    if verbs.is_empty() {
        return Err(Problem { line: 1, what: "the table has no verbs".into() });
    }
    let mut earlier = HashMap::new();
    for (index, verb) in verbs.iter().enumerate() {
        check_verb(verb, &mut earlier)
            .map_err(|slip| Problem { line: line_of(text, index, slip.tense), what: slip.what })?;
    }
    Ok(())
}

/// What is wrong in one row of a verb.
struct Slip {
    tense: Tense,
    what: String,
}

/// The verb that a form belongs to, for the verbs seen so far.
type Owners<'a> = HashMap<&'a str, &'a str>;

fn check_verb<'a>(verb: &Verb<'a>, earlier: &mut Owners<'a>) -> Result<(), Slip> {
    check_letters(verb)?;
    check_english(verb)?;
    check_spanish(verb)?;
    check_unique(verb, earlier)
}

/// A table that parses is a heading and one row per tense, again and again, so a row can be found by counting.
fn line_of(text: &str, verb: usize, tense: Tense) -> usize {
    let before = verb * (1 + Tense::ALL.len());
    let row = 1 + Tense::ALL.iter().take_while(|&&other| other != tense).count();
    content_lines(text).nth(before + row).map_or(1, |(line, _)| line)
}

/// A stray letter is most often a typing slip, or an accent typed as a separate mark, which would not match a search.
fn check_letters(verb: &Verb<'_>) -> Result<(), Slip> {
    for (tense, person) in cells() {
        let english = verb.english(tense, person);
        let spanish = verb.spanish(tense, person);
        let is_english = |letter: char| letter.is_ascii_lowercase() || letter == ' ';
        let is_spanish = |letter: char| is_english(letter) || "áéíóúüñ".contains(letter);
        let stray = english.chars().find(|&letter| !is_english(letter)).map(|letter| (english, letter));
        let stray =
            stray.or(spanish.chars().find(|&letter| !is_spanish(letter)).map(|letter| (spanish, letter)));
        if let Some((form, letter)) = stray {
            return Err(Slip { tense, what: format!("{letter:?} does not belong in \"{form}\"") });
        }
    }
    Ok(())
}

fn check_english(verb: &Verb<'_>) -> Result<(), Slip> {
    let name = verb.name;
    let past = regular_past(name);
    expect_all(verb, Tense::Infinitive, name)?;
    expect_all(verb, Tense::SimpleFuture, &format!("will {name}"))?;
    if verb.regular {
        expect(verb, Tense::PresentSimple, Person::Third, &third_person(name))?;
        expect_all(verb, Tense::PastSimple, &past)?;
        expect_all(verb, Tense::PastParticiple, &past)?;
    } else if verb.english(Tense::PastSimple, Person::Third) == past {
        let what = format!("\"{name}\" is called irregular, but its past is the regular \"{past}\"");
        return Err(Slip { tense: Tense::PastSimple, what });
    }
    // "be" is the one verb of English whose forms differ between I and you, and between persons in the past.
    if name != "be" {
        expect(verb, Tense::PresentSimple, Person::First, name)?;
        expect(verb, Tense::PresentSimple, Person::Second, name)?;
        expect_alike(verb, Tense::PastSimple, &verb.row(Tense::PastSimple).english)?;
    }
    expect_alike(verb, Tense::PastParticiple, &verb.row(Tense::PastParticiple).english)
}

fn check_spanish(verb: &Verb<'_>) -> Result<(), Slip> {
    for tense in Tense::ALL.into_iter().filter(|tense| !tense.has_persons()) {
        expect_alike(verb, tense, &verb.row(tense).spanish)?;
    }
    for (tense, person) in cells() {
        let endings: &[&str] = match tense {
            Tense::Infinitive => &["ar", "er", "ir", "ír"],
            Tense::PastParticiple => &["do", "to", "cho"],
            Tense::SimpleFuture => &["é", "ás", "á"],
            // These two are too varied for a rule.
            Tense::PresentSimple | Tense::PastSimple => &[""],
        };
        let form = verb.spanish(tense, person);
        if !endings.iter().any(|ending| form.ends_with(ending)) {
            let what =
                format!("\"{form}\" must end in {} to be a Spanish {}", endings.join(" or "), tense.name());
            return Err(Slip { tense, what });
        }
    }
    Ok(())
}

/// A form leads back to one verb only; the tools rely on it. A verb that stands twice is caught here as well.
fn check_unique<'a>(verb: &Verb<'a>, earlier: &mut Owners<'a>) -> Result<(), Slip> {
    for (tense, person) in cells() {
        if let Some(owner) = earlier.get(verb.english(tense, person)) {
            let what = format!("\"{}\" is a form of \"{owner}\", further up", verb.english(tense, person));
            return Err(Slip { tense, what });
        }
    }
    earlier.extend(cells().map(|(tense, person)| (verb.english(tense, person), verb.name)));
    Ok(())
}

fn cells() -> impl Iterator<Item = (Tense, Person)> {
    Tense::ALL.into_iter().flat_map(|tense| Person::ALL.map(|person| (tense, person)))
}

fn expect_alike(verb: &Verb<'_>, tense: Tense, forms: &Forms<'_>) -> Result<(), Slip> {
    if forms.are_alike() {
        return Ok(());
    }
    let all = Person::ALL.map(|person| forms.of(person)).join(", ");
    let what = format!("{} of \"{}\": {all} should be the same for every person", tense.name(), verb.name);
    Err(Slip { tense, what })
}

fn expect_all(verb: &Verb<'_>, tense: Tense, right: &str) -> Result<(), Slip> {
    Person::ALL.iter().try_for_each(|&person| expect(verb, tense, person, right))
}

fn expect(verb: &Verb<'_>, tense: Tense, person: Person, right: &str) -> Result<(), Slip> {
    let form = verb.english(tense, person);
    if form == right {
        return Ok(());
    }
    let name = verb.name;
    let what = format!("{} of \"{name}\", {}: \"{form}\" should be \"{right}\"", tense.name(), person.name());
    Err(Slip { tense, what })
}

/// The -ed form by the spelling rules. Doubling ("stop", "stopped") depends on stress, and no verb so far needs it.
fn regular_past(name: &str) -> String {
    match stem_before_y(name) {
        Some(stem) => format!("{stem}ied"),
        None if name.ends_with('e') => format!("{name}d"),
        None => format!("{name}ed"),
    }
}

/// The -s form by the spelling rules.
fn third_person(name: &str) -> String {
    match stem_before_y(name) {
        Some(stem) => format!("{stem}ies"),
        None if ["s", "x", "z", "ch", "sh", "o"].iter().any(|end| name.ends_with(end)) => format!("{name}es"),
        None => format!("{name}s"),
    }
}

/// "study" gives "stud", but "play" gives nothing: a y after a vowel stays.
fn stem_before_y(name: &str) -> Option<&str> {
    name.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u']))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERBS: &str = include_str!("verbs.txt");

    fn slip(from: &str, to: &str) -> String {
        assert!(VERBS.contains(from), "{from:?} is not in the table any more");
        let Err(problem) = check(&VERBS.replacen(from, to, 1)) else {
            panic!("{from:?} -> {to:?} went unnoticed")
        };
        problem.to_string()
    }

    #[test]
    fn the_table_we_ship_has_no_slip() {
        check(VERBS).unwrap();
    }

    #[test]
    fn slips_are_found() {
        let table = [
            (
                "| watches ",
                "| watchs ",
                "present simple of \"watch\", 3rd singular: \"watchs\" should be \"watches\"",
            ),
            ("| studies ", "| studys ", "\"studys\" should be \"studies\""),
            ("| liked ", "| likeed ", "\"likeed\" should be \"liked\""),
            ("| plays ", "| play ", "\"play\" should be \"plays\""),
            ("| ate ", "| eat ", "past simple of \"eat\": eat, ate, ate should be the same for every person"),
            ("| will eat ", "| will ate ", "\"will ate\" should be \"will eat\""),
            ("| eaten ", "| ate ", "past participle of \"eat\": ate, eaten, eaten should be the same"),
            ("write  irregular", "write  regular", "\"wrote\" should be \"writed\""),
            ("work  regular", "work  irregular", "called irregular, but its past is the regular \"worked\""),
            ("| comió", "| comio\u{301}", "does not belong in"),
            ("| works ", "| Works ", "'W' does not belong in \"Works\""),
            (
                "| comerás ",
                "| comeras ",
                "\"comeras\" must end in é or ás or á to be a Spanish simple future",
            ),
            ("| comido ", "| comida ", "\"eat\": comida, comido, comido should be the same for every person"),
            (
                "| escribir ",
                "| escribe ",
                "\"write\": escribe, escribir, escribir should be the same for every person",
            ),
        ];
        for (from, to, what) in table {
            let problem = slip(from, to);
            assert!(problem.contains(what), "{from:?} -> {to:?}: {problem}");
        }
    }

    #[test]
    fn the_line_named_is_the_line_of_the_slip() {
        for (from, to) in
            [("| works ", "| worked "), ("| watches ", "| watchs "), ("| escribirá", "| escribira")]
        {
            let line = VERBS.lines().position(|line| line.contains(from)).unwrap() + 1;
            let problem = slip(from, to);
            assert!(problem.starts_with(&format!("line {line}: ")), "{problem} is not in line {line}");
        }
    }

    #[test]
    fn no_verb_and_no_form_stands_twice() {
        let (_, write) = VERBS.split_at(VERBS.find("\nwrite ").unwrap());
        let problem = check(&format!("{VERBS}{write}")).unwrap_err();
        assert_eq!(problem.what, "\"write\" is a form of \"write\", further up");

        let saw = "past simple     | saw           | saw           | saw ";
        assert!(
            slip(saw, "past simple | did | did | did").ends_with("\"did\" is a form of \"do\", further up")
        );
    }

    #[test]
    fn an_empty_table_is_refused() {
        assert_eq!(check("# nothing\n").unwrap_err().to_string(), "line 1: the table has no verbs");
    }

    #[test]
    fn the_spelling_rules() {
        let table = [
            ("study", "studies", "studied"),
            ("play", "plays", "played"),
            ("watch", "watches", "watched"),
            ("finish", "finishes", "finished"),
            ("like", "likes", "liked"),
            ("fix", "fixes", "fixed"),
            ("go", "goes", "goed"),
        ];
        for (name, third, past) in table {
            assert_eq!((third_person(name).as_str(), regular_past(name).as_str()), (third, past));
        }
    }
}
