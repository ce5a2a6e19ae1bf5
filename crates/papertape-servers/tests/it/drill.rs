//! The tool `drill`: a user who answers, one who does not want to, one who cannot be asked, and one who is gone.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use papertape::Client;
use papertape::client::{CallOptions, ClientOptions, Progress};
use papertape::protocol::Content;
use papertape::protocol::{CallToolResult, ElicitResult, Revision};
use papertape_servers::grammar;
use serde_json::{Value, json};

type Log<T> = Arc<Mutex<Vec<T>>>;

/// With this seed the questions and answers are these.
const SEED: u32 = 64;
const QUESTIONS: [&str; 5] = [
    "What is the past simple of \"go\" for he/she/it?",
    "What is the present simple of \"see\" for he/she/it?",
    "What is the simple future of \"work\" for you?",
    "What is the simple future of \"do\" for I?",
    "What is the past participle of \"watch\"?",
];
const ANSWERS: [&str; 5] = ["went", "sees", "will work", "will do", "watched"];

const ASKED_IN: [Revision; 3] = [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28];

/// A user who takes a second for each answer, gives these, and then says what `at_last` says.
fn user(answers: &[&str], at_last: fn() -> ElicitResult) -> (ClientOptions, Log<String>) {
    let seen: Log<String> = Arc::default();
    let log = Arc::clone(&seen);
    let answers: Vec<String> = answers.iter().map(|answer| (*answer).to_owned()).collect();
    let options = ClientOptions::new().on_form(move |form| {
        let form_schema = json!({
            "type": "object",
            "properties": {"answer": {"type": "string", "description": "The form alone, such as \"sang\" or \"will sing\"."}},
            "required": ["answer"],
        });
        assert_eq!(form.requested_schema, form_schema);
        let mut log = log.lock().unwrap();
        let answer = answers.get(log.len()).map_or_else(at_last, |answer| {
            ElicitResult::accept(json!({ "answer": answer }).as_object().cloned().unwrap())
        });
        log.push(form.message);
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            answer
        }
    });
    (options, seen)
}

async fn open(revision: Revision, options: ClientOptions) -> Client {
    let client = crate::open(grammar::server(), revision, options).await;
    // Having seen the list, the client checks each result against the tool's schema.
    client.tools().await.unwrap();
    client
}

/// The result of a drill, and its progress notifications.
async fn drill(client: &Client, arguments: Value) -> (Value, Vec<Progress>) {
    let progress: Log<Progress> = Arc::default();
    let log = Arc::clone(&progress);
    let options = CallOptions::new().on_progress(move |progress| log.lock().unwrap().push(progress));
    let result = client.call_with("drill", arguments, options).await.unwrap();
    assert!(!result.is_error, "{result:?}");
    let progress = progress.lock().unwrap().clone();
    (json_of(&result, client.revision()), progress)
}

/// The structured result, which is the text as well.
fn json_of(result: &CallToolResult, revision: Revision) -> Value {
    let [Content::Text(text)] = &result.content[..] else { panic!("{result:?}") };
    let json: Value = serde_json::from_str(&text.text).unwrap();
    let structured = result.structured_content.as_ref().map(|json| json.to_value().unwrap());
    assert_eq!(structured, revision.has_structured_output().then(|| json.clone()));
    json
}

fn mark(number: usize, given: &str, right: bool) -> Value {
    json!({"question": QUESTIONS[number], "given": given, "answer": ANSWERS[number], "right": right})
}

fn step(done: u8, total: u8) -> Progress {
    let message = format!("question {} of {total}", done + 1);
    Progress { progress: done.into(), total: Some(total.into()), message: Some(message) }
}

#[tokio::test(start_paused = true)]
async fn a_user_answers_to_the_end() {
    for revision in ASKED_IN {
        let (options, seen) =
            user(&["Went.", "see", "you will  work", "I WILL DO", "have watched"], ElicitResult::cancel);
        let client = open(revision, options).await;
        let (drilled, progress) = drill(&client, json!({"seed": SEED, "questions": 5})).await;
        let marks = [
            mark(0, "Went.", true),
            mark(1, "see", false),
            mark(2, "you will  work", true),
            mark(3, "I WILL DO", true),
            mark(4, "have watched", false),
        ];
        assert_eq!(
            drilled,
            json!({"asked": true, "summary": "3 of 5 right.", "seed": SEED, "score": 3, "marks": marks}),
            "{revision}"
        );
        let asked: Vec<String> =
            (1..).zip(QUESTIONS).map(|(number, question)| format!("{question} ({number} of 5)")).collect();
        assert_eq!(*seen.lock().unwrap(), asked);
        assert_eq!(progress, [0, 1, 2, 3, 4].map(|done| step(done, 5)), "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn three_questions_are_usual_and_they_can_be_about_one_verb() {
    for revision in ASKED_IN {
        let (options, seen) = user(&["been", "is", "will be"], ElicitResult::cancel);
        let client = open(revision, options).await;
        let (drilled, progress) = drill(&client, json!({"seed": 1, "verb": "be"})).await;
        assert_eq!(drilled["summary"], "2 of 3 right.");
        assert_eq!(
            *seen.lock().unwrap(),
            [
                "What is the past participle of \"be\"? (1 of 3)",
                "What is the present simple of \"be\" for you? (2 of 3)",
                "What is the simple future of \"be\" for I? (3 of 3)",
            ]
        );
        assert_eq!(progress, [0, 1, 2].map(|done| step(done, 3)), "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_user_may_stop() {
    for revision in ASKED_IN {
        for stop in [ElicitResult::decline, ElicitResult::cancel] {
            let (options, seen) = user(&["went"], stop);
            let client = open(revision, options).await;
            let (drilled, progress) = drill(&client, json!({"seed": SEED})).await;
            let summary = "1 of 1 right; the user stopped at question 2 of 3.";
            let marks = [mark(0, "went", true)];
            assert_eq!(
                drilled,
                json!({"asked": true, "summary": summary, "seed": SEED, "score": 1, "marks": marks})
            );
            assert_eq!(seen.lock().unwrap().len(), 2);
            assert_eq!(progress, [step(0, 3), step(1, 3)]);

            let (options, _) = user(&[], stop);
            let client = open(revision, options).await;
            let (drilled, _) = drill(&client, json!({"seed": SEED})).await;
            let summary = "The user did not answer any of the 3 questions.";
            assert_eq!(
                drilled,
                json!({"asked": true, "summary": summary, "seed": SEED, "score": 0, "marks": []})
            );
        }
    }
}

#[tokio::test]
async fn a_client_without_elicitation_gets_the_quiz() {
    let summary = "The user cannot be asked from here. Ask these questions yourself, one at a time, without their answers; \
                   then tell the user what was right, and the score.";
    let quiz = json!({"questions": QUESTIONS[..3], "answers": ANSWERS[..3]});
    let wanted = json!({"asked": false, "summary": summary, "seed": SEED, "quiz": quiz});
    for revision in Revision::ALL {
        let client = open(revision, ClientOptions::new()).await;
        assert_eq!(drill(&client, json!({"seed": SEED})).await, (wanted.clone(), vec![]), "{revision}");
    }
    // These know nothing of forms, whatever the client could do.
    for revision in [Revision::V2024_11_05, Revision::V2025_03_26] {
        let (options, seen) = user(&[], ElicitResult::cancel);
        let client = open(revision, options).await;
        assert_eq!(drill(&client, json!({"seed": SEED})).await, (wanted.clone(), vec![]), "{revision}");
        assert!(seen.lock().unwrap().is_empty());
    }
}

/// The page asks in place of the server, even of clients that could be asked; the model gets no answers.
#[tokio::test]
async fn a_host_with_apps_shows_the_questions_and_its_page_has_the_answers_marked() {
    for revision in ASKED_IN {
        let (options, seen) = user(&[], ElicitResult::cancel);
        let client = open(revision, options.apps()).await;
        let (drilled, _) = drill(&client, json!({"seed": SEED, "questions": 5})).await;
        let summary = "The questions are shown to the user in a page, which marks the answers. Do not ask or answer them here.";
        assert_eq!(
            drilled,
            json!({"asked": true, "summary": summary, "seed": SEED, "questions": QUESTIONS}),
            "{revision}"
        );
        assert!(seen.lock().unwrap().is_empty());

        let answer = |number: usize, answer: &str| json!({"seed": SEED, "questions": 5, "number": number, "answer": answer});
        for (number, given, right) in [(0, "Went.", true), (1, "see", false)] {
            let marked = client.call("mark_answer", answer(number + 1, given)).await.unwrap();
            assert_eq!(json_of(&marked, revision), mark(number, given, right));
        }
        for wrong in [answer(0, ""), answer(6, "")] {
            assert!(client.call("mark_answer", wrong).await.map_or(true, |result| result.is_error));
        }
        let two = json!({"seed": SEED, "questions": 2, "number": 3, "answer": ""});
        let result = client.call("mark_answer", two).await.unwrap();
        let Content::Text(text) = &result.content[0] else { panic!("{result:?}") };
        assert_eq!(text.text, "number: the drill has 2 questions, there is no 3");
        assert!(result.is_error);

        let tools = client.tools().await.unwrap();
        let ui = |name: &str| tools.iter().find(|tool| tool.item.name == name).unwrap().item.ui().unwrap();
        assert!(!ui("mark_answer").for_model());
        let page = client.read(&ui("drill").resource_uri.unwrap()).await.unwrap().remove(0);
        let html = page.text.clone().unwrap();
        assert!(html.starts_with("<!doctype html>") && html.contains("<title>Verb drill</title>"));
        assert_eq!(
            serde_json::to_value(page.ui().unwrap()).unwrap(),
            json!({"csp": {}, "prefersBorder": true})
        );
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_seed_the_questions_are_new_each_time_but_stay_the_same_within_a_drill() {
    for revision in ASKED_IN {
        let (options, seen) = user(&["?"; 10], ElicitResult::cancel);
        let client = open(revision, options).await;
        let mut drills = Vec::new();
        for _ in 0..2 {
            let (drilled, _) = drill(&client, json!({"questions": 5})).await;
            let again = open(revision, ClientOptions::new()).await;
            let (quiz, _) = drill(&again, json!({"questions": 5, "seed": drilled["seed"]})).await;
            let marks = drilled["marks"].as_array().unwrap();
            let asked: Vec<Value> = marks.iter().map(|mark| mark["question"].clone()).collect();
            assert_eq!(quiz["quiz"]["questions"], json!(asked));
            drills.push(asked);
        }
        assert_ne!(drills[0], drills[1]);
        assert_eq!(seen.lock().unwrap().len(), 10);
    }
}

#[tokio::test]
async fn bad_arguments_are_refused() {
    let client = open(Revision::MODERN, ClientOptions::new()).await;
    for (arguments, reason) in [
        (json!({"questions": 0}), "\"questions\""),
        (json!({"questions": 6}), "\"questions\""),
        (json!({"seed": -1}), "\"seed\""),
        (json!({"verb": "run"}), "\"run\" is out of scope"),
        (json!({"verbs": "eat"}), "\"verbs\""),
    ] {
        let result = client.call("drill", arguments.clone()).await.unwrap();
        let [Content::Text(text)] = &result.content[..] else { panic!("{result:?}") };
        assert!(result.is_error && text.text.contains(reason), "{arguments}: {}", text.text);
    }
    let (quiz, _) = drill(&client, json!({"verb": null, "seed": null})).await;
    assert_eq!(quiz["quiz"]["questions"].as_array().unwrap().len(), 3);
}

/// Legacy clients are asked while the call runs; a modern one has its response by then, and has nothing to cancel.
#[tokio::test(start_paused = true)]
async fn a_drill_that_is_cancelled_cancels_its_elicitation() {
    for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
        let frames: Log<Value> = Arc::default();
        let log = Arc::clone(&frames);
        let options = ClientOptions::new()
            .on_form(|_| std::future::pending())
            .on_frame(move |frame| log.lock().unwrap().push(serde_json::from_slice(frame.bytes).unwrap()));
        let client = open(revision, options).await;
        // A caller who stops waiting cancels the call.
        let call = client.call("drill", json!({"seed": SEED}));
        assert!(tokio::time::timeout(Duration::from_secs(5), call).await.is_err());
        // The server goes on serving.
        let eat = json!({"verb": "eat", "tense": "past simple", "person": "3sg"});
        assert_eq!(client.call("conjugate", eat).await.unwrap().content, [Content::text("ate")]);
        let frames = frames.lock().unwrap();
        let id_of = |method: &str, tool: Option<&str>| {
            let is_it =
                |frame: &&Value| frame["method"] == method && frame["params"]["name"].as_str() == tool;
            frames.iter().find(is_it).unwrap()["id"].clone()
        };
        let cancelled: Vec<&Value> = frames
            .iter()
            .filter(|frame| frame["method"] == "notifications/cancelled")
            .map(|frame| &frame["params"]["requestId"])
            .collect();
        assert_eq!(
            cancelled,
            [&id_of("tools/call", Some("drill")), &id_of("elicitation/create", None)],
            "{revision}"
        );
        // A cancelled call gets no response.
        assert!(!frames.iter().any(|frame| frame["result"]["structuredContent"].is_object()));
    }
}
