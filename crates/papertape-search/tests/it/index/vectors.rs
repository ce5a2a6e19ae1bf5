//! Chunks get vectors, whatever the model does, and it is judged whether they are used.

use papertape_search::corpus::folder::Folder;
use papertape_search::embed::{EmbedFuture, Embedder, Identity, Purpose};
use papertape_search::index::{self, Options};
use papertape_search::store::embedded::Embedded;
use papertape_search::store::{Store, StoreError};

use super::models::{DIMENSION, Mood, Numbers};
use super::support::Fixture;

/// Files whose headings say in other words what their bodies say: `boat17` above `ship17`.
pub(crate) fn synonyms(count: usize) -> Fixture {
    let fixture = Fixture::new();
    for n in 1..=count {
        let text = format!(
            "# Page of leaf{n}\n\nIntroduction.\n\n## The boat{n} sails\n\nEverything on ship{n} and harbour{n}, said at some length.\n"
        );
        fixture.write(&format!("page{n}.md"), &text);
    }
    fixture
}

#[tokio::test]
async fn every_chunk_gets_a_vector_and_a_model_that_knows_the_language_is_used() {
    let (fixture, model) = (synonyms(60), Numbers::new());
    let report = fixture.embed(&model).await;
    assert_eq!(report.warnings, [""; 0]);
    assert_eq!(report.summary.vectors, report.summary.chunks);
    let embedding = report.summary.embedding.unwrap();
    assert_eq!((embedding.model.as_str(), embedding.dimension), ("numbers", 512));
    assert_eq!((embedding.knows_language, embedding.judged_on), (true, report.summary.chunks));
}

#[tokio::test]
async fn a_model_that_understands_nothing_is_not_used() {
    let (fixture, model) = (synonyms(60), Numbers::in_mood(Mood::Clueless));
    let summary = fixture.embed(&model).await.summary;
    assert_eq!(summary.vectors, summary.chunks);
    let embedding = summary.embedding.unwrap();
    assert_eq!((embedding.knows_language, embedding.judged_on), (false, summary.chunks));
}

#[tokio::test]
async fn a_model_to_which_all_is_the_same_is_not_used() {
    let (fixture, model) = (synonyms(60), Numbers::in_mood(Mood::Numb));
    let summary = fixture.embed(&model).await.summary;
    assert_eq!(summary.vectors, summary.chunks);
    assert!(!summary.embedding.unwrap().knows_language);
}

/// A model that is replaced by another while it is judged.
#[derive(Debug)]
pub(crate) struct Replaced {
    old: Numbers,
    new: Numbers,
    store: Embedded,
    folder: Folder,
    was: std::sync::atomic::AtomicBool,
}

impl Replaced {
    pub(crate) fn by(new: Numbers, fixture: &Fixture) -> Self {
        let (store, folder) = (fixture.store.clone(), fixture.folder());
        Self { old: Numbers::new(), new, store, folder, was: false.into() }
    }
}

impl Embedder for Replaced {
    fn identify(&self) -> EmbedFuture<'_, Identity> {
        self.old.identify()
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        purpose: Purpose,
    ) -> EmbedFuture<'a, Vec<Result<Vec<f32>, String>>> {
        Box::pin(async move {
            if purpose == Purpose::Query && !self.was.swap(true, std::sync::atomic::Ordering::SeqCst) {
                let again = Options { reembed: true, ..Options::default() };
                index::run_with(&self.folder, &self.store, Some(&self.new), again, &|_| {}).await.unwrap();
            }
            self.old.embed(texts, purpose).await
        })
    }

    fn batch(&self) -> usize {
        self.old.batch()
    }
}

#[tokio::test]
async fn vectors_of_another_process_stay() {
    let fixture = synonyms(60);
    let model = Replaced::by(Numbers::called("newer", 512), &fixture);
    let error = fixture.run_with(Some(&model), Options::default()).await.unwrap_err();
    assert!(matches!(&error, StoreError::Mismatch(why) if why.contains("newer")), "{error:?}");
    let summary = fixture.store.summary().await.unwrap();
    assert_eq!(summary.embedding.unwrap().model, "newer");
    assert_eq!(summary.vectors, summary.chunks);
}

#[tokio::test]
async fn a_few_headings_prove_nothing() {
    let (fixture, model) = (synonyms(20), Numbers::in_mood(Mood::Clueless));
    assert!(fixture.embed(&model).await.summary.embedding.unwrap().knows_language);
}

#[tokio::test]
async fn the_same_corpus_and_model_give_the_same_judgement() {
    let model = Numbers::new();
    let mut judgements = Vec::new();
    for _ in 0..2 {
        judgements.push(synonyms(60).embed(&model).await.summary.embedding);
    }
    assert_eq!(judgements[0], judgements[1]);
}

#[tokio::test]
async fn a_second_run_sends_no_text_to_the_model() {
    let (fixture, model) = (synonyms(60), Numbers::new());
    let first = fixture.embed(&model).await.summary;
    let seen = model.seen();
    assert_eq!(fixture.embed(&model).await.summary, first);
    assert_eq!(model.seen(), seen);
}

#[tokio::test]
async fn a_changed_file_costs_the_model_its_own_chunks_alone() {
    let (fixture, model) = (synonyms(60), Numbers::new());
    fixture.embed(&model).await;
    let seen = model.seen();
    fixture.write("page7.md", "# Page of leaf7\n\nAll of it is new.\n");
    let summary = fixture.embed(&model).await.summary;
    assert_eq!(model.seen(), seen + 1);
    assert_eq!(summary.vectors, summary.chunks);
    std::fs::rename(fixture.notes().join("page7.md"), fixture.notes().join("page007.md")).unwrap();
    let summary = fixture.embed(&model).await.summary;
    assert_eq!(model.seen(), seen + 1, "a renamed file says what it said");
    assert_eq!(summary.vectors, summary.chunks);
}

#[tokio::test]
async fn a_corpus_that_grew_by_more_than_a_fifth_is_judged_again() {
    let (fixture, model) = (synonyms(60), Numbers::new());
    let first = fixture.embed(&model).await.summary;
    for n in 0..70 {
        fixture.write(&format!("more{n}.md"), &format!("# More {n}\n"));
    }
    let summary = fixture.embed(&model).await.summary;
    assert_eq!(summary.embedding.as_ref().unwrap().judged_on, summary.chunks);
    assert!(summary.chunks > first.chunks);
}

#[tokio::test]
async fn another_model_is_refused_before_anything_is_written() {
    let (fixture, model) = (synonyms(5), Numbers::new());
    let before = fixture.embed(&model).await.summary;
    fixture.write("new.md", "# New\n");
    let mut same_name = Numbers::new();
    same_name.identity.digest = "other".to_owned();
    for (other, said) in [
        (Numbers::called("letters", 384), ["numbers", "letters", "512", "384"]),
        (Numbers::called("letters", DIMENSION), ["numbers", "letters", "--reembed", "mixed"]),
        (same_name, ["numbers", "other", "--reembed", "mixed"]),
    ] {
        let refused = fixture.run_with(Some(&other), Options::default()).await.unwrap_err();
        let StoreError::Mismatch(reported) = &refused else { panic!("{refused}") };
        assert!(said.iter().all(|word| reported.contains(word)), "{reported}");
        assert_eq!(fixture.store.summary().await.unwrap(), before);
    }
}

#[tokio::test]
async fn another_model_that_is_wanted_makes_every_vector_anew() {
    let (fixture, model) = (synonyms(50), Numbers::new());
    fixture.embed(&model).await;
    let other = Numbers::called("letters", 300);
    let options = Options { reembed: true, ..Options::default() };
    let summary = fixture.run_with(Some(&other), options).await.unwrap().summary;
    assert_eq!(summary.vectors, summary.chunks);
    let embedding = summary.embedding.unwrap();
    assert_eq!((embedding.model.as_str(), embedding.dimension), ("letters", 300));
    assert_eq!(embedding.judged_on, summary.chunks);
    assert!(other.seen() >= usize::try_from(summary.chunks).unwrap());
}

#[tokio::test]
async fn without_a_model_vectors_stay() {
    let (fixture, model) = (synonyms(40), Numbers::new());
    let before = fixture.embed(&model).await.summary;
    fixture.write("new.md", "# New\n\nWords.\n");
    let after = fixture.run().await.summary;
    assert_eq!((after.vectors, &after.embedding), (before.vectors, &before.embedding));
    assert_eq!(after.chunks, before.chunks + 1);
}

#[tokio::test]
async fn vectors_of_another_dimension_in_the_middle_are_not_written() {
    let (fixture, model) = (synonyms(150), Numbers::in_mood(Mood::GrowsAfter(150)));
    let report = fixture.embed(&model).await;
    let reported = report.warnings.join("\n");
    assert!(reported.contains("512") && reported.contains("513"), "{reported}");
    assert_eq!(report.summary.vectors, 0);
    assert_eq!(report.summary.embedding, None);
    assert_eq!(fixture.sources("introduction leaf3").await[0], "page3.md");
    model.feel(Mood::Fine);
    let summary = fixture.embed(&model).await.summary;
    assert_eq!(summary.vectors, summary.chunks);
}

#[tokio::test]
async fn a_model_that_is_down_costs_a_warning_and_vectors_come_later() {
    let (fixture, model) = (synonyms(40), Numbers::in_mood(Mood::Down));
    let report = fixture.embed(&model).await;
    assert_eq!(report.added, 40);
    assert_eq!(report.warnings.len(), 1);
    assert!(report.warnings[0].contains("no service there"), "{:?}", report.warnings);
    assert_eq!(fixture.sources("introduction leaf3").await[0], "page3.md");
    model.feel(Mood::Fine);
    let summary = fixture.embed(&model).await.summary;
    assert_eq!(summary.vectors, summary.chunks);
}

#[tokio::test]
async fn what_a_model_gave_before_it_died_is_kept() {
    let (fixture, model) = (synonyms(150), Numbers::in_mood(Mood::DiesAfter(200)));
    let report = fixture.embed(&model).await;
    assert!(report.warnings[0].contains("it went away"), "{:?}", report.warnings);
    assert_eq!(report.summary.vectors, 200);
    assert_eq!(report.summary.embedding.unwrap().judged_on, 0);
    let model = Numbers::new();
    let summary = fixture.embed(&model).await.summary;
    assert_eq!(summary.vectors, summary.chunks);
    assert!(summary.embedding.unwrap().judged_on > 0);
}

#[tokio::test]
async fn a_rejected_text_is_found_lexically() {
    let (fixture, model) = (synonyms(40), Numbers::in_mood(Mood::Refuses("ship17 ")));
    let report = fixture.embed(&model).await;
    assert_eq!(report.summary.vectors, report.summary.chunks - 1);
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    assert!(report.warnings[0].contains("page17.md#chunk"), "{:?}", report.warnings);
    assert_eq!(fixture.sources("ship17").await, ["page17.md"]);
    let again = fixture.embed(&model).await;
    assert_eq!(again.summary, report.summary, "no change, no generation");
}

#[tokio::test]
async fn a_model_that_rejects_everything_is_not_called_for_ever() {
    let (fixture, model) = (synonyms(40), Numbers::in_mood(Mood::Refuses("leaf")));
    let report = fixture.embed(&model).await;
    assert_eq!(report.summary.vectors, 0);
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    assert_eq!(model.seen(), usize::try_from(report.summary.chunks).unwrap());
}
