//! Questions are answered, whatever the model does.

use std::sync::Arc;

use papertape_servers::blog::library::{Answered, Library, Mode, Reading};
use papertape_servers::blog::store::{Filter, StoreError};

use crate::models::{DIMENSION, Mood, Numbers};
use crate::support::Desk;
use crate::vectors::{Replaced, synonyms};

/// Half of a file's words are in none of the others, and a model knows others for them.
async fn shelf(model: &Arc<Numbers>) -> (Desk, Library) {
    let desk = synonyms(60);
    desk.embed(model.as_ref()).await;
    let library = desk.patient(model.clone());
    (desk, library)
}

async fn ask(library: &Library, question: &str) -> Answered {
    library.search(question, 5, &Filter::default()).await.unwrap()
}

fn first(answered: &Answered) -> &str {
    answered.hits.first().map_or("nothing", |hit| &hit.chunk.source)
}

#[tokio::test]
async fn words_and_meaning_answer_together_and_each_alone() {
    let model = Arc::new(Numbers::new());
    let (_desk, library) = shelf(&model).await;
    let both = ask(&library, "the harbour9 vessel9").await;
    assert_eq!((both.mode, first(&both), &both.note), (Mode::Hybrid, "page9.md", &None));
    assert!(both.hits.iter().all(|hit| hit.score > 0.0 && hit.score <= 1.0));
    let meaning = ask(&library, "vessel33").await;
    assert_eq!((meaning.mode, first(&meaning)), (Mode::Semantic, "page33.md"));
}

#[tokio::test]
async fn without_a_model_words_answer() {
    let model = Arc::new(Numbers::new());
    let (desk, _) = shelf(&model).await;
    let library = desk.words();
    let answered = ask(&library, "ship9").await;
    assert_eq!((answered.mode, first(&answered), answered.note.as_ref()), (Mode::Lexical, "page9.md", None));
    let nothing = ask(&library, " ?! ").await;
    assert_eq!((nothing.hits.len(), nothing.note.is_some()), (0, true));
}

#[tokio::test]
async fn a_model_that_fails_is_left_out_and_comes_back() {
    let model = Arc::new(Numbers::new());
    let (_desk, library) = shelf(&model).await;
    for (mood, cause) in
        [(Mood::Down, "nobody is there"), (Mood::GrowsAfter(0), "513"), (Mood::Refuses("ship"), "too much")]
    {
        model.feel(mood);
        let answered = ask(&library, "ship9 of old").await;
        assert_eq!((answered.mode, first(&answered)), (Mode::Lexical, "page9.md"));
        let note = answered.note.unwrap();
        assert!(note.starts_with("semantic search is off: ") && note.contains(cause), "{note}");
    }
    model.feel(Mood::Fine);
    assert_eq!(ask(&library, "ship9 of old").await.mode, Mode::Hybrid);
    model.feel(Mood::Down);
    assert_eq!(ask(&library, "ship9 of old").await.mode, Mode::Hybrid, "it was asked a moment ago");
}

#[tokio::test]
async fn a_model_that_does_not_answer_keeps_one_question_waiting_not_the_next() {
    let model = Arc::new(Numbers::new());
    let (desk, _) = shelf(&model).await;
    let library = desk.impatient(model.clone());
    model.feel(Mood::Silent);
    let waited = ask(&library, "ship9").await;
    assert_eq!((waited.mode, first(&waited)), (Mode::Lexical, "page9.md"));
    assert!(waited.note.unwrap().contains("900 ms"));
    let at_once = ask(&library, "ship10").await;
    assert_eq!((at_once.mode, first(&at_once)), (Mode::Lexical, "page10.md"));
    assert!(at_once.note.unwrap().contains("earlier question"));
}

#[tokio::test]
async fn another_model_than_that_of_the_vectors_is_not_asked() {
    let model = Arc::new(Numbers::new());
    let (desk, _) = shelf(&model).await;
    let other = desk.patient(Arc::new(Numbers::called("letters", 512)));
    let answered = ask(&other, "ship9").await;
    assert_eq!((answered.mode, first(&answered)), (Mode::Lexical, "page9.md"));
    let note = answered.note.unwrap();
    assert!(note.contains("numbers") && note.contains("letters"), "{note}");
}

#[tokio::test]
async fn meaning_that_helps_nothing_is_not_asked_for() {
    let model = Arc::new(Numbers::in_mood(Mood::Clueless));
    let (_desk, library) = shelf(&model).await;
    let answered = ask(&library, "ship9").await;
    assert_eq!((answered.mode, first(&answered)), (Mode::Lexical, "page9.md"));
    assert!(answered.note.unwrap().starts_with("semantic search is off: "));
}

#[tokio::test]
async fn a_library_without_an_index_says_what_to_do() {
    let desk = Desk::new();
    let library = desk.words();
    let error = library.search("anything", 5, &Filter::default()).await.unwrap_err();
    assert!(matches!(error, StoreError::Missing { .. }), "{error}");
    desk.write("a.md", "# Anything\n");
    desk.run().await;
    assert_eq!(first(&ask(&library, "anything").await), "a.md");
}

#[tokio::test]
async fn a_change_is_seen_by_the_next_question() {
    let desk = Desk::new();
    desk.write("a.md", "# Apples\n");
    desk.run().await;
    let library = desk.words();
    assert_eq!(first(&ask(&library, "apples").await), "a.md");
    desk.write("b.md", "# Pears\n");
    desk.run().await;
    assert_eq!(first(&ask(&library, "pears").await), "b.md");
    assert_eq!(library.summary().await.unwrap().files, 2);
}

#[tokio::test]
async fn one_recipe_in_spanish_among_many_pages_in_english_is_found_by_its_words() {
    let desk = Desk::new();
    for n in 0..40 {
        desk.write(
            &format!("page{n}.md"),
            &format!("# Page {n}\n\nThis page says how the houses were built.\n"),
        );
    }
    desk.write(
        "abuela.md",
        "# Recetas de mi abuela\n\nLas lentejas se cocinan despacio, como en las montañas.\n",
    );
    desk.run().await;
    let library = desk.words();
    for question in ["lentejas", "receta", "montanas", "the recetas of my abuela", "cocinar lentejas"] {
        assert_eq!(first(&ask(&library, question).await), "abuela.md", "{question}");
    }
    assert_ne!(first(&ask(&library, "building a house").await), "abuela.md");
    assert_eq!(first(&ask(&library, "tortilla").await), "nothing");
}

#[tokio::test]
async fn of_a_long_question_those_words_count_that_stand_somewhere() {
    let desk = Desk::new();
    desk.write("keys.md", "# Keys\n\nScopes and keys.\n");
    desk.write("other.md", "# Other\n\nNothing of that.\n");
    desk.run().await;
    let long: String = (0..1_500).map(|n| format!("w{n} ")).collect();
    assert_eq!(first(&ask(&desk.words(), &format!("{long} keys")).await), "keys.md");
}

#[tokio::test]
async fn what_is_not_there_leads_to_what_is() {
    let desk = Desk::new();
    desk.write("posts/rust.md", "# Rust\n\nIt is fast.\n\n## Cargo\n\nIt builds, and this is long enough to be a chunk of its own, as chunks of a few words are put together with their neighbours, and nobody wants that in this test, which is about places.\n");
    desk.write("posts/python.md", "# Python\n");
    desk.write("posts/empty.md", "");
    desk.run().await;
    let library = desk.words();
    let last = library.store().chunks("posts/rust.md").await.unwrap().len() - 1;
    let last = u32::try_from(last).unwrap();
    let Reading::Chunk(chunk) = library.read("posts/rust.md", 0).await.unwrap() else { panic!() };
    assert!(chunk.text.contains("# Rust"));
    for (path, index, nearest) in [
        ("posts/rust.md", 99, ("posts/rust.md", last)),
        ("posts/rust.mdx", 0, ("posts/rust.md", 0)),
        ("pyhton.md", 7, ("posts/python.md", 0)),
        // One without anything in it is not the nearest to anything, not even to itself.
        ("posts/empty.md", 0, ("posts/rust.md", 0)),
        ("../../etc/passwd", 0, ("posts/rust.md", 0)),
    ] {
        let Reading::Missing(Some((source, place))) = library.read(path, index).await.unwrap() else {
            panic!("{path}")
        };
        if !path.starts_with("..") {
            assert_eq!((source.as_str(), place), nearest, "{path}");
        }
    }
    assert_eq!(library.sources("posts/r", 9).await.unwrap(), ["posts/rust.md"]);
    assert_eq!(library.sources("PYTH", 9).await.unwrap(), ["posts/python.md"]);
    assert_eq!(library.sources("", 1).await.unwrap(), ["posts/python.md"]);
    assert_eq!(library.sources("empty", 9).await.unwrap(), [""; 0], "there is nothing to read in it");
    assert_eq!(library.document("posts/empty.md").await.unwrap().unwrap(), "");
    assert_eq!(library.document("posts/python.md").await.unwrap().unwrap(), "# Python\n");
    assert_eq!(library.document("posts/none.md").await.unwrap(), None);
    assert_eq!(library.files().await.unwrap().len(), 3);
}

#[tokio::test]
async fn an_index_that_gets_another_model_during_a_question_answers_by_words() {
    for dimension in [DIMENSION, 64] {
        let desk = synonyms(60);
        desk.embed(&Numbers::new()).await;
        let model = Replaced::by(Numbers::called("newer", dimension), &desk);
        let library = desk.patient(Arc::new(model));
        let answered = library.search("The boat7 sails", 5, &Filter::default()).await.unwrap();
        assert_eq!(answered.mode, Mode::Lexical, "{dimension}");
        assert!(answered.note.unwrap().contains("another model"), "{dimension}");
        assert_eq!(answered.hits[0].chunk.source, "page7.md");
    }
}
