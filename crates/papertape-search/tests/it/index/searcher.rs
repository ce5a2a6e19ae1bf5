//! Searches succeed, whatever the model does.

use std::sync::Arc;

use papertape_search::query::{ChunkLookup, Mode, SearchResult, Searcher};
use papertape_search::store::{Filter, StoreError};

use super::models::{DIMENSION, Mood, Numbers};
use super::support::Fixture;
use super::vectors::{Replaced, synonyms};

/// Half of a file's words are in none of the others, and a model knows others for them.
async fn indexed(model: &Arc<Numbers>) -> (Fixture, Searcher) {
    let fixture = synonyms(60);
    fixture.embed(model.as_ref()).await;
    let searcher = fixture.patient(model.clone());
    (fixture, searcher)
}

async fn ask(searcher: &Searcher, query: &str) -> SearchResult {
    searcher.search(query, 5, &Filter::default()).await.unwrap()
}

fn first(result: &SearchResult) -> &str {
    result.hits.first().map_or("nothing", |hit| &hit.chunk.source)
}

#[tokio::test]
async fn both_lists_are_searched_together_and_each_alone() {
    let model = Arc::new(Numbers::new());
    let (_desk, searcher) = indexed(&model).await;
    let both = ask(&searcher, "the harbour9 vessel9").await;
    assert_eq!((both.mode, first(&both), &both.note), (Mode::Hybrid, "page9.md", &None));
    assert!(both.hits.iter().all(|hit| hit.score > 0.0 && hit.score <= 2.5));
    let meaning = ask(&searcher, "vessel33").await;
    assert_eq!((meaning.mode, first(&meaning)), (Mode::Semantic, "page33.md"));
}

#[tokio::test]
async fn without_a_model_search_is_lexical() {
    let model = Arc::new(Numbers::new());
    let (fixture, _) = indexed(&model).await;
    let searcher = fixture.lexical();
    let result = ask(&searcher, "ship9").await;
    assert_eq!((result.mode, first(&result), result.note.as_ref()), (Mode::Lexical, "page9.md", None));
    let nothing = ask(&searcher, " ?! ").await;
    assert_eq!((nothing.hits.len(), nothing.note.is_some()), (0, true));
}

#[tokio::test]
async fn a_model_that_fails_is_left_out_and_comes_back() {
    let model = Arc::new(Numbers::new());
    let (_desk, searcher) = indexed(&model).await;
    for (mood, cause) in
        [(Mood::Down, "no service there"), (Mood::GrowsAfter(0), "513"), (Mood::Refuses("ship"), "too much")]
    {
        model.feel(mood);
        let result = ask(&searcher, "ship9 of old").await;
        assert_eq!((result.mode, first(&result)), (Mode::Lexical, "page9.md"));
        let note = result.note.unwrap();
        assert!(note.starts_with("semantic search is off: ") && note.contains(cause), "{note}");
    }
    model.feel(Mood::Fine);
    assert_eq!(ask(&searcher, "ship9 of old").await.mode, Mode::Hybrid);
    model.feel(Mood::Down);
    assert_eq!(ask(&searcher, "ship9 of old").await.mode, Mode::Hybrid, "it was asked a moment ago");
}

#[tokio::test]
async fn a_model_that_does_not_respond_delays_one_query_not_the_next() {
    let model = Arc::new(Numbers::new());
    let (fixture, _) = indexed(&model).await;
    let searcher = fixture.impatient(model.clone());
    model.feel(Mood::Silent);
    let waited = ask(&searcher, "ship9").await;
    assert_eq!((waited.mode, first(&waited)), (Mode::Lexical, "page9.md"));
    assert!(waited.note.unwrap().contains("900 ms"));
    let at_once = ask(&searcher, "ship10").await;
    assert_eq!((at_once.mode, first(&at_once)), (Mode::Lexical, "page10.md"));
    assert!(at_once.note.unwrap().contains("earlier query"));
}

#[tokio::test]
async fn another_model_than_that_of_the_vectors_is_not_used() {
    let model = Arc::new(Numbers::new());
    let (fixture, _) = indexed(&model).await;
    let other = fixture.patient(Arc::new(Numbers::called("letters", 512)));
    let result = ask(&other, "ship9").await;
    assert_eq!((result.mode, first(&result)), (Mode::Lexical, "page9.md"));
    let note = result.note.unwrap();
    assert!(note.contains("numbers") && note.contains("letters"), "{note}");
}

#[tokio::test]
async fn a_model_that_does_not_know_the_language_is_left_out_without_a_note() {
    let model = Arc::new(Numbers::in_mood(Mood::Clueless));
    let (_desk, searcher) = indexed(&model).await;
    let result = ask(&searcher, "ship9").await;
    assert_eq!((result.mode, first(&result), result.note.as_deref()), (Mode::Lexical, "page9.md", None));
}

#[tokio::test]
async fn a_library_without_an_index_says_what_to_do() {
    let fixture = Fixture::new();
    let searcher = fixture.lexical();
    let error = searcher.search("anything", 5, &Filter::default()).await.unwrap_err();
    assert!(matches!(error, StoreError::Missing { .. }), "{error}");
    fixture.write("a.md", "# Anything\n");
    fixture.run().await;
    assert_eq!(first(&ask(&searcher, "anything").await), "a.md");
}

#[tokio::test]
async fn a_change_is_seen_by_the_next_query() {
    let fixture = Fixture::new();
    fixture.write("a.md", "# Apples\n");
    fixture.run().await;
    let searcher = fixture.lexical();
    assert_eq!(first(&ask(&searcher, "apples").await), "a.md");
    fixture.write("b.md", "# Pears\n");
    fixture.run().await;
    assert_eq!(first(&ask(&searcher, "pears").await), "b.md");
    assert_eq!(searcher.summary().await.unwrap().files, 2);
}

#[tokio::test]
async fn one_recipe_in_spanish_among_many_pages_in_english_is_found_by_its_terms() {
    let fixture = Fixture::new();
    for n in 0..40 {
        fixture.write(
            &format!("page{n}.md"),
            &format!("# Page {n}\n\nThis page says how the houses were built.\n"),
        );
    }
    fixture.write(
        "abuela.md",
        "# Recetas de mi abuela\n\nLas lentejas se cocinan despacio, como en las montañas.\n",
    );
    fixture.run().await;
    let searcher = fixture.lexical();
    for query in ["lentejas", "receta", "montanas", "the recetas of my abuela", "cocinar lentejas"] {
        assert_eq!(first(&ask(&searcher, query).await), "abuela.md", "{query}");
    }
    assert_ne!(first(&ask(&searcher, "building a house").await), "abuela.md");
    assert_eq!(first(&ask(&searcher, "tortilla").await), "nothing");
}

#[tokio::test]
async fn of_a_long_query_the_terms_that_occur_count() {
    let fixture = Fixture::new();
    fixture.write("keys.md", "# Keys\n\nScopes and keys.\n");
    fixture.write("other.md", "# Other\n\nNothing of that.\n");
    fixture.run().await;
    let long: String = (0..1_500).map(|n| format!("w{n} ")).collect();
    assert_eq!(first(&ask(&fixture.lexical(), &format!("{long} keys")).await), "keys.md");
}

#[tokio::test]
async fn a_missing_source_suggests_similar_ones() {
    let fixture = Fixture::new();
    fixture.write("posts/rust.md", "# Rust\n\nIt is fast.\n\n## Cargo\n\nIt builds, and this is long enough to be a chunk of its own, as chunks of a few words are put together with their neighbours, and nobody wants that in this test, which is about places.\n");
    fixture.write("posts/python.md", "# Python\n");
    fixture.write("posts/empty.md", "");
    fixture.run().await;
    let searcher = fixture.lexical();
    let last = searcher.store().chunks("posts/rust.md").await.unwrap().len() - 1;
    let last = u32::try_from(last).unwrap();
    let ChunkLookup::Found(chunk) = searcher.read("posts/rust.md", 0).await.unwrap() else { panic!() };
    assert!(chunk.text.contains("# Rust"));
    for (path, index, nearest) in [
        ("posts/rust.md", 99, ("posts/rust.md", last)),
        ("posts/rust.mdx", 0, ("posts/rust.md", 0)),
        ("pyhton.md", 7, ("posts/python.md", 0)),
        // One without anything in it is not the nearest to anything, not even to itself.
        ("posts/empty.md", 0, ("posts/rust.md", 0)),
        ("../../etc/passwd", 0, ("posts/rust.md", 0)),
    ] {
        let ChunkLookup::Missing(Some((source, place))) = searcher.read(path, index).await.unwrap() else {
            panic!("{path}")
        };
        if !path.starts_with("..") {
            assert_eq!((source.as_str(), place), nearest, "{path}");
        }
    }
    assert_eq!(searcher.sources("posts/r", 9).await.unwrap(), ["posts/rust.md"]);
    assert_eq!(searcher.sources("PYTH", 9).await.unwrap(), ["posts/python.md"]);
    assert_eq!(searcher.sources("", 1).await.unwrap(), ["posts/python.md"]);
    assert_eq!(searcher.sources("empty", 9).await.unwrap(), [""; 0], "there is nothing to read in it");
    assert_eq!(searcher.document("posts/empty.md").await.unwrap().unwrap(), "");
    assert_eq!(searcher.document("posts/python.md").await.unwrap().unwrap(), "# Python\n");
    assert_eq!(searcher.document("posts/none.md").await.unwrap(), None);
    assert_eq!(searcher.files().await.unwrap().len(), 3);
}

#[tokio::test]
async fn an_index_that_gets_another_model_during_a_query_is_searched_lexically() {
    for dimension in [DIMENSION, 64] {
        let fixture = synonyms(60);
        fixture.embed(&Numbers::new()).await;
        let model = Replaced::by(Numbers::called("newer", dimension), &fixture);
        let searcher = fixture.patient(Arc::new(model));
        let result = searcher.search("The boat7 sails", 5, &Filter::default()).await.unwrap();
        assert_eq!(result.mode, Mode::Lexical, "{dimension}");
        assert!(result.note.unwrap().contains("another model"), "{dimension}");
        assert_eq!(result.hits[0].chunk.source, "page7.md");
    }
}
