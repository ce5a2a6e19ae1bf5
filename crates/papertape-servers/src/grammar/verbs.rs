//! The text of `verbs.txt` to verbs.
//!
//! The build script compiles this file as well, so that a table which does not parse cannot be built. That is why
//! nothing but the standard library is used here.

use std::fmt;

/// One verb with all its forms. It borrows from the text it was read from.
#[derive(Debug)]
pub(crate) struct Verb<'a> {
    pub(crate) name: &'a str,
    pub(crate) regular: bool,
    infinitive: Row<'a>,
    present: Row<'a>,
    past: Row<'a>,
    participle: Row<'a>,
    future: Row<'a>,
}

impl<'a> Verb<'a> {
    pub(crate) fn row(&self, tense: Tense) -> &Row<'a> {
        match tense {
            Tense::Infinitive => &self.infinitive,
            Tense::PresentSimple => &self.present,
            Tense::PastSimple => &self.past,
            Tense::PastParticiple => &self.participle,
            Tense::SimpleFuture => &self.future,
        }
    }

    pub(crate) fn english(&self, tense: Tense, person: Person) -> &'a str {
        self.row(tense).english.of(person)
    }

    pub(crate) fn spanish(&self, tense: Tense, person: Person) -> &'a str {
        self.row(tense).spanish.of(person)
    }
}

/// One line of the table: a tense of a verb.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    pub(crate) english: Forms<'a>,
    pub(crate) spanish: Forms<'a>,
}

/// The forms of one tense in one language, by person.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Forms<'a> {
    first: &'a str,
    second: &'a str,
    third: &'a str,
}

impl<'a> Forms<'a> {
    pub(crate) fn of(&self, person: Person) -> &'a str {
        match person {
            Person::First => self.first,
            Person::Second => self.second,
            Person::Third => self.third,
        }
    }

    pub(crate) fn are_alike(&self) -> bool {
        self.first == self.second && self.second == self.third
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tense {
    Infinitive,
    PresentSimple,
    PastSimple,
    PastParticiple,
    SimpleFuture,
}

impl Tense {
    /// In the order of the rows of the file.
    pub(crate) const ALL: [Self; 5] =
        [Self::Infinitive, Self::PresentSimple, Self::PastSimple, Self::PastParticiple, Self::SimpleFuture];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Infinitive => "infinitive",
            Self::PresentSimple => "present simple",
            Self::PastSimple => "past simple",
            Self::PastParticiple => "past participle",
            Self::SimpleFuture => "simple future",
        }
    }

    /// Whether the form depends on the person: infinitive and participle do not.
    pub(crate) fn has_persons(self) -> bool {
        !matches!(self, Self::Infinitive | Self::PastParticiple)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Person {
    First,
    Second,
    Third,
}

impl Person {
    /// In the order of the columns of the file.
    pub(crate) const ALL: [Self; 3] = [Self::First, Self::Second, Self::Third];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::First => "1st singular",
            Self::Second => "2nd singular",
            Self::Third => "3rd singular",
        }
    }
}

/// What is wrong with the file, and in which line.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) line: usize,
    pub(crate) what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// Reads the whole file. It says whether the shape is right; whether the forms are plausible is for `check.rs`.
pub(crate) fn parse(text: &str) -> Result<Vec<Verb<'_>>, Problem> {
    let mut lines = content_lines(text);
    let mut verbs = Vec::new();
    while let Some((line, heading)) = lines.next() {
        let (name, regular) = parse_heading(heading).map_err(|what| Problem { line, what })?;
        let mut row = |tense: Tense| match lines.next() {
            Some((line, content)) => parse_row(content, name, tense).map_err(|what| Problem { line, what }),
            None => {
                let what = format!("the file ends before the {} row of \"{name}\"", tense.name());
                Err(Problem { line, what })
            }
        };
        verbs.push(Verb {
            name,
            regular,
            infinitive: row(Tense::Infinitive)?,
            present: row(Tense::PresentSimple)?,
            past: row(Tense::PastSimple)?,
            participle: row(Tense::PastParticiple)?,
            future: row(Tense::SimpleFuture)?,
        });
    }
    Ok(verbs)
}

/// The headings and rows of the file, each with its line number.
pub(crate) fn content_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    // Some Windows editors begin a file with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..)
        .zip(text.lines().map(str::trim))
        .filter(|(_, content)| !content.is_empty() && !content.starts_with('#'))
}

fn parse_heading(content: &str) -> Result<(&str, bool), String> {
    if content.contains('|') {
        return Err(
            "this row has no verb: a heading such as \"eat irregular\" and five rows make a verb".into()
        );
    }
    match content.split_whitespace().collect::<Vec<_>>().as_slice() {
        [name, "regular"] => Ok((name, true)),
        [name, "irregular"] => Ok((name, false)),
        _ => Err(format!("\"{content}\" is not a heading: write the verb and \"regular\" or \"irregular\"")),
    }
}

fn parse_row<'a>(content: &'a str, verb: &str, tense: Tense) -> Result<Row<'a>, String> {
    let tense = tense.name();
    let cells: Vec<&str> = content.split('|').map(str::trim).collect();
    let &[found, i, you, he, yo, tu, el] = cells.as_slice() else {
        let count = cells.len();
        return Err(format!(
            "the {tense} row of \"{verb}\" must have 7 cells with \"|\" between them, and this line has {count}"
        ));
    };
    if found != tense {
        return Err(format!("\"{found}\" stands where the {tense} row of \"{verb}\" is expected"));
    }
    if cells.contains(&"") {
        return Err(format!("the {tense} row of \"{verb}\" has an empty cell"));
    }
    Ok(Row {
        english: Forms { first: i, second: you, third: he },
        spanish: Forms { first: yo, second: tu, third: el },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EAT: &str = "\
# A comment, and an empty line.

eat irregular
infinitive      | eat      | eat      | eat      | comer  | comer   | comer
present simple  | eat      | eat      | eats     | como   | comes   | come
past simple     | ate      | ate      | ate      | comí   | comiste | comió
past participle | eaten    | eaten    | eaten    | comido | comido  | comido
simple future   | will eat | will eat | will eat | comeré | comerás | comerá
";

    #[test]
    fn a_verb_is_a_heading_and_five_rows() {
        let verbs = parse(EAT).unwrap();
        let [eat] = verbs.as_slice() else { panic!("one verb expected, got {verbs:?}") };
        assert_eq!((eat.name, eat.regular), ("eat", false));
        assert_eq!(eat.english(Tense::PresentSimple, Person::Third), "eats");
        assert_eq!(eat.english(Tense::SimpleFuture, Person::First), "will eat");
        assert_eq!(eat.spanish(Tense::PastSimple, Person::Second), "comiste");
    }

    #[test]
    fn windows_line_ends_and_a_byte_order_mark_do_no_harm() {
        let text = format!("\u{feff}{}", EAT.replace('\n', "\r\n"));
        assert_eq!(parse(&text).unwrap().len(), 1);
    }

    #[test]
    fn a_slip_is_named_with_its_line() {
        let broken = [
            ("eat irregular", "eat", "line 3: \"eat\" is not a heading"),
            ("eat irregular", "eat odd", "line 3: \"eat odd\" is not a heading"),
            ("eat irregular", "", "line 4: this row has no verb"),
            ("| comiste | comió", "| comió", "line 6: the past simple row of \"eat\" must have 7 cells"),
            ("| comiste |", "|  |", "line 6: the past simple row of \"eat\" has an empty cell"),
            ("past simple ", "simple past ", "line 6: \"simple past\" stands where the past simple row"),
            ("past simple ", "# ", "line 7: \"past participle\" stands where the past simple row"),
            ("simple future ", "# ", "line 3: the file ends before the simple future row of \"eat\""),
        ];
        for (from, to, message) in broken {
            let problem = parse(&EAT.replace(from, to)).unwrap_err().to_string();
            assert!(problem.starts_with(message), "{from:?} -> {to:?}: {problem}");
        }
    }

    #[test]
    fn an_empty_text_has_no_verbs() {
        assert!(parse("# nothing yet\n").unwrap().is_empty());
    }
}
