//! A quiz about verb forms, put to the user one question at a time: the tool `drill`.
//!
//! The handler is replayed after each answer, see [`Cx::ask`]; so the questions follow from a seed in the state, and
//! progress is reported when a question is put, not on every replay.
//!
//! Hosts with MCP Apps show the questions in a page instead, which has each answer marked by the tool `mark_answer`.

use std::hash::{BuildHasher, RandomState};

use papertape::server::{App, Elicited, Form, Tool};
use papertape::{Cx, Json, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::KnownVerb;
use super::quiz::{self, Question};
use crate::page;

/// Drill the user on verb forms: questions, put to the user one at a time, and at the end a score and the right answers.
/// The user may stop at any question. If the user cannot be asked from here, the quiz comes back with its answers, for you
/// to ask.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Drill {
    /// The verb to ask about, as its infinitive without "to". Without it, the questions are about all verbs.
    #[serde(default)]
    verb: Option<KnownVerb>,
    /// How many questions to ask.
    // Five at most: clients stop after ten rounds of questions, and users sooner.
    #[serde(default = "usual_questions")]
    #[schemars(range(min = 1, max = 5))]
    questions: u8,
    /// Decides which questions are asked: the same seed asks the same ones again. Without it, they are different each time.
    #[serde(default)]
    seed: Option<u32>,
}

fn usual_questions() -> u8 {
    3
}

/// What the user fills in.
#[derive(Debug, Deserialize, JsonSchema)]
struct Answer {
    /// The form alone, such as "sang" or "will sing".
    answer: String,
}

/// How a drill went, or the quiz if the user could not be asked.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Drilled {
    /// Whether the user was asked.
    asked: bool,
    /// How it went, or what to do now.
    summary: String,
    /// The seed that asks these questions again.
    seed: u32,
    /// How many answers are right, if the user has answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<usize>,
    /// Each question that the user answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    marks: Option<Vec<Mark>>,
    /// The questions, if a page shows them to the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    questions: Option<Vec<String>>,
    /// The quiz, if the user was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    quiz: Option<Quiz>,
}

/// Mark one answer of a drill that a page shows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MarkAnswer {
    /// The verb of the drill, if it is about one.
    #[serde(default)]
    verb: Option<KnownVerb>,
    /// How many questions the drill has.
    #[schemars(range(min = 1, max = 5))]
    questions: u8,
    /// The seed of the drill.
    seed: u32,
    /// Which question is answered, from 1.
    #[schemars(range(min = 1, max = 5))]
    number: u8,
    /// What the user answered.
    #[schemars(length(max = 1_000))]
    answer: String,
}

/// One answer.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Mark {
    /// What was asked.
    question: String,
    /// What the user answered.
    given: String,
    /// The right answer.
    answer: String,
    /// Whether the user's is right.
    right: bool,
}

/// A quiz for the model to ask.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct Quiz {
    /// The questions.
    questions: Vec<String>,
    /// Their answers, in the same order.
    answers: Vec<String>,
}

/// Read-only, but not idempotent: a repeated call asks the user again.
pub(super) fn tool() -> Tool {
    Tool::new("drill").title("Drill verb forms").read_only().closed_world().ui(PAGE)
}

/// For the page alone: a model that asks has the answers.
pub(super) fn mark_tool() -> Tool {
    Tool::new("mark_answer").title("Mark an answer").read_only().idempotent().closed_world().app_only()
}

const PAGE: &str = "ui://papertape-grammar/drill";

/// The drill for hosts with MCP Apps.
pub(super) fn page() -> App {
    page::page(PAGE, include_str!("drill.html")).name("drill").title("Verb drill")
}

pub(super) async fn mark_answer(args: MarkAnswer, _: Cx) -> Result<Json<Mark>, ToolError> {
    let questions = quiz::pick(args.verb, args.questions.into(), args.seed);
    let question = usize::from(args.number).checked_sub(1).and_then(|at| questions.get(at));
    let question = question.ok_or_else(|| {
        ToolError::failed(format!(
            "number: the drill has {} questions, there is no {}",
            questions.len(),
            args.number
        ))
    })?;
    Ok(Json(mark(question, args.answer)))
}

pub(super) async fn drill(args: Drill, cx: Cx) -> Result<Json<Drilled>, ToolError> {
    let seed = match args.seed {
        Some(seed) => seed,
        None => cx.keep("seed", any_seed)?,
    };
    let questions = quiz::pick(args.verb, args.questions.into(), seed);
    if cx.client_supports_apps() {
        return Ok(Json(in_a_page(&questions, seed)));
    }
    if !cx.can_ask() {
        return Ok(Json(not_asked(&questions, seed)));
    }
    let (mut marks, total) = (Vec::new(), args.questions);
    for (number, question) in (1..=total).zip(&questions) {
        let name = format!("question_{number}");
        let form = Form::<Answer>::new(format!("{} ({number} of {total})", question.text()));
        let reply = cx.ask(&name, form).inspect_err(|_| {
            let message = format!("question {number} of {total}");
            cx.progress(f64::from(number - 1), f64::from(total), message.as_str());
        });
        match reply? {
            Elicited::Accepted(Answer { answer }) => marks.push(mark(question, answer)),
            Elicited::Declined | Elicited::Cancelled => break,
        }
    }
    Ok(Json(asked(marks, questions.len(), seed)))
}

/// A random seed, from the random keys of the standard library's hash maps.
fn any_seed() -> u32 {
    (RandomState::new().hash_one("drill") >> 32) as u32
}

fn mark(question: &Question, given: String) -> Mark {
    let right = question.accepts(&given);
    Mark { question: question.text(), given, answer: question.answer().to_owned(), right }
}

fn asked(marks: Vec<Mark>, total: usize, seed: u32) -> Drilled {
    let (score, answered) = (marks.iter().filter(|mark| mark.right).count(), marks.len());
    let summary = match answered {
        0 => format!("The user did not answer any of the {total} questions."),
        _ if answered < total => {
            format!("{score} of {answered} right; the user stopped at question {} of {total}.", answered + 1)
        }
        _ => format!("{score} of {total} right."),
    };
    Drilled {
        asked: true,
        summary,
        seed,
        score: Some(score),
        marks: Some(marks),
        questions: None,
        quiz: None,
    }
}

fn in_a_page(questions: &[Question], seed: u32) -> Drilled {
    let summary = "The questions are shown to the user in a page, which marks the answers. Do not ask or answer them here.";
    let questions = Some(questions.iter().map(Question::text).collect());
    Drilled {
        asked: true,
        summary: summary.to_owned(),
        seed,
        score: None,
        marks: None,
        questions,
        quiz: None,
    }
}

fn not_asked(questions: &[Question], seed: u32) -> Drilled {
    let summary = "The user cannot be asked from here. Ask these questions yourself, one at a time, without their \
                   answers; then tell the user what was right, and the score.";
    let quiz = Quiz {
        questions: questions.iter().map(Question::text).collect(),
        answers: questions.iter().map(|question| question.answer().to_owned()).collect(),
    };
    Drilled {
        asked: false,
        summary: summary.to_owned(),
        seed,
        score: None,
        marks: None,
        questions: None,
        quiz: Some(quiz),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;

    use super::*;

    fn args(arguments: serde_json::Value) -> Drill {
        serde_json::from_value(arguments).unwrap()
    }

    #[test]
    fn everything_may_be_left_out() {
        let Drill { verb, questions, seed } = args(json!({}));
        assert_eq!((verb.is_none(), questions, seed), (true, 3, None));
        let Drill { verb, questions, seed } = args(json!({ "verb": "eat", "questions": 5, "seed": 7 }));
        assert_eq!((verb.unwrap().0.name, questions, seed), ("eat", 5, Some(7)));
    }

    #[test]
    fn a_summary_says_how_it_went() {
        let questions = quiz::pick(None, 3, 64);
        let answers = ["went", "see", "will work"];
        let summary = |answered: usize| {
            let given = questions.iter().zip(answers).take(answered);
            let marks = given.map(|(question, answer)| mark(question, answer.to_owned())).collect();
            let drilled = asked(marks, 3, 64);
            assert!(drilled.asked && drilled.quiz.is_none());
            (drilled.score.unwrap(), drilled.summary)
        };
        assert_eq!(summary(3), (2, "2 of 3 right.".into()));
        assert_eq!(summary(2), (1, "1 of 2 right; the user stopped at question 3 of 3.".into()));
        assert_eq!(summary(1), (1, "1 of 1 right; the user stopped at question 2 of 3.".into()));
        assert_eq!(summary(0), (0, "The user did not answer any of the 3 questions.".into()));
    }

    #[test]
    fn a_quiz_has_its_answers_apart() {
        let drilled = not_asked(&quiz::pick(None, 2, 64), 64);
        let quiz = json!({
            "questions": [
                "What is the past simple of \"go\" for he/she/it?",
                "What is the present simple of \"see\" for he/she/it?",
            ],
            "answers": ["went", "sees"],
        });
        let json = json!({ "asked": false, "summary": drilled.summary, "seed": 64, "quiz": quiz });
        assert_eq!(serde_json::to_value(drilled).unwrap(), json);
    }

    #[test]
    fn seeds_are_different() {
        let seeds: HashSet<u32> = (0..100).map(|_| any_seed()).collect();
        assert!(seeds.len() > 90, "{seeds:?}");
    }
}
