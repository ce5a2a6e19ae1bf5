//! What the grammar server offers beside its tools: resources, a prompt, and completion for both.

use papertape::Client;
use papertape::client::ClientOptions;
use papertape::protocol::Content;
use papertape::protocol::content::Annotations;
use papertape::protocol::{Reference, Revision, Role};
use papertape::server::Warning;
use papertape_servers::grammar;
use serde_json::{Map, Value, json};

use crate::{refusal, refused};

async fn open(revision: Revision) -> Client {
    crate::open(grammar::server(), revision, ClientOptions::new()).await
}

const EAT: &str = "\
# eat (irregular)

| tense           | I        | you      | he/she/it | yo     | tú      | él/ella |
|-----------------|----------|----------|-----------|--------|---------|---------|
| infinitive      | eat      | eat      | eat       | comer  | comer   | comer   |
| present simple  | eat      | eat      | eats      | como   | comes   | come    |
| past simple     | ate      | ate      | ate       | comí   | comiste | comió   |
| past participle | eaten    | eaten    | eaten     | comido | comido  | comido  |
| simple future   | will eat | will eat | will eat  | comeré | comerás | comerá  |
";

#[tokio::test]
async fn the_table_is_listed_with_its_size_and_can_be_read() {
    for revision in Revision::ALL {
        let client = open(revision).await;
        let listed = client.resources().await.unwrap();
        assert_eq!(listed.len(), 1);
        let table = &listed[0].item;
        assert_eq!((table.uri.as_str(), table.name.as_str()), ("grammar://table", "table"));
        assert_eq!(table.title.is_some(), revision.has_structured_output());
        assert!(table.description.as_ref().unwrap().starts_with("Every form of every verb"));
        let hints = Annotations::new().audience(Role::User).audience(Role::Assistant).priority(0.5);
        assert_eq!(table.annotations, Some(hints), "{revision}");

        let read = client.read("grammar://table").await.unwrap();
        assert_eq!(read.len(), 1);
        let text = read[0].text.as_ref().unwrap();
        assert_eq!(
            (read[0].uri.as_str(), read[0].mime_type.as_deref()),
            ("grammar://table", table.mime_type.as_deref())
        );
        assert_eq!(
            (table.mime_type.as_deref(), table.size),
            (Some("text/markdown"), Some(text.len() as u64))
        );
        assert!(text.contains(&format!("\n\n#{EAT}\n## write (irregular)\n")), "{text}");
        // 20 verbs: a heading, a row of persons, a rule and five tenses each.
        let rows = |start| text.lines().filter(|line: &&str| line.starts_with(start)).count();
        assert_eq!((rows("## "), rows("| "), rows("|--")), (20, 120, 20));
    }
}

#[tokio::test]
async fn a_verb_can_be_read_by_its_name() {
    for revision in Revision::ALL {
        let client = open(revision).await;
        let listed = client.resource_templates().await.unwrap();
        assert_eq!(listed.len(), 1);
        let verb = &listed[0].item;
        assert_eq!((verb.uri_template.as_str(), verb.name.as_str()), ("grammar://verb/{verb}", "verb"));
        assert_eq!(verb.mime_type.as_deref(), Some("text/markdown"));
        let read = client.read("grammar://verb/eat").await.unwrap();
        assert_eq!((read.len(), read[0].text.as_deref()), (1, Some(EAT)));
        assert_eq!(
            (read[0].uri.as_str(), read[0].mime_type.as_deref()),
            ("grammar://verb/eat", Some("text/markdown"))
        );
        assert_eq!(client.read("grammar://verb/%65at").await.unwrap()[0].text.as_deref(), Some(EAT));
        for unknown in [
            "grammar://verb/run",
            "grammar://verb/ate",
            "grammar://verb/",
            "grammar://verb/eat/x",
            "grammar://",
        ] {
            let error = refused(client.read(unknown).await);
            assert_eq!(error.code, revision.resource_not_found_code(), "{revision} {unknown}");
            assert!(error.message.starts_with(&format!("unknown resource: {unknown:?}")), "{error:?}");
            assert_eq!(error.data, Some(json!({"uri": unknown})), "{revision}");
        }
    }
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

#[tokio::test]
async fn a_tense_is_explained_with_its_forms_and_the_whole_verb() {
    for revision in Revision::ALL {
        let client = open(revision).await;
        let listed = client.prompts().await.unwrap();
        assert_eq!(listed.len(), 1);
        let prompt = &listed[0].item;
        assert_eq!(prompt.name, "explain_tense");
        let described = "Explain a tense of an English verb to a learner who speaks Spanish, with the forms from the tutor's \
                         table.";
        assert_eq!(prompt.description.as_deref(), Some(described));
        let mut arguments: Vec<_> = prompt.arguments.iter().collect();
        arguments.sort_by_key(|argument| &argument.name);
        assert_eq!(
            arguments
                .iter()
                .map(|a| (a.name.as_str(), a.required, a.description.as_deref().unwrap()))
                .collect::<Vec<_>>(),
            [
                ("tense", true, "The tense, such as \"past simple\"."),
                ("verb", true, "The verb, as its infinitive without \"to\"."),
            ]
        );
        for tense in ["past simple", "past_simple"] {
            let filled = client
                .prompt("explain_tense", object(&json!({"verb": "eat", "tense": tense})))
                .await
                .unwrap();
            assert_eq!(filled.description.as_deref(), Some(described));
            assert!(filled.messages.iter().all(|message| message.role == Role::User));
            assert_eq!(Warning::of_prompt("explain_tense", &filled), []);
            let request = "Explain the past simple of \"eat\", an irregular English verb, to a learner who speaks Spanish: \
                           how it is formed, when it is used, and which mistake to avoid. Give a short example for each \
                           person. Its forms are I ate (comí), you ate (comiste), he/she/it ate (comió). Take every form \
                           from the table that follows.";
            assert_eq!(
                filled.messages.into_iter().map(|message| message.content).collect::<Vec<_>>(),
                // All in one: some hosts read nothing but the text of the first message.
                [Content::text(format!("{request}\n\n{EAT}"))]
            );
        }
    }
}

#[tokio::test]
async fn a_prompt_that_cannot_be_filled_in_says_why() {
    let client = open(Revision::MODERN).await;
    let table = [
        (
            json!({"verb": "run", "tense": "past simple"}),
            "\"run\" is out of scope: this tutor knows 20 verbs: work, play,",
        ),
        (
            json!({"verb": "ate", "tense": "past simple"}),
            "\"ate\" is a form of \"eat\": give the verb as \"eat\"",
        ),
        (json!({"verb": "eat", "tense": "future"}), "\"future\" is none of: infinitive, present simple,"),
        (json!({"verb": "eat"}), "the argument \"tense\" is missing"),
    ];
    for (arguments, reason) in table {
        let (code, said) = refusal(client.prompt("explain_tense", object(&arguments)).await);
        assert_eq!(code, -32602);
        assert!(said.starts_with(&format!("prompt \"explain_tense\": {reason}")), "{said}");
    }
}

#[tokio::test]
async fn verbs_and_tenses_are_completed() {
    for revision in Revision::ALL {
        let client = open(revision).await;
        let prompt = || Reference::Prompt { name: "explain_tense".into() };
        let template = || Reference::Resource { uri: "grammar://verb/{verb}".into() };
        let table: [(Reference, &str, &str, &[&str]); 7] = [
            (prompt(), "verb", "wa", &["walk", "watch", "want"]),
            (prompt(), "verb", "x", &[]),
            (prompt(), "tense", "past", &["past simple", "past participle"]),
            (prompt(), "tense", "past_", &["past_simple", "past_participle"]),
            (template(), "verb", "s", &["study", "start", "see"]),
            (template(), "verb", "E", &["eat"]),
            (template(), "tense", "", &[]),
        ];
        for (of, argument, typed, right) in table {
            let completion = client.complete(of, argument, typed, Map::new()).await.unwrap();
            assert_eq!(completion.values, right, "{revision} {argument} {typed:?}");
            assert_eq!((completion.total, completion.has_more), (Some(right.len() as u64), false));
        }
        let all = client.complete(template(), "verb", "", Map::new()).await.unwrap();
        assert_eq!(all.values.len(), 20);
    }
}
