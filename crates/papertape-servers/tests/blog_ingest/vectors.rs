//! Words get vectors, whatever the model does, and vectors get the weight they are worth.

use papertape_servers::blog::embed::{Answer, Embedder, Identity, Purpose};
use papertape_servers::blog::folder::Folder;
use papertape_servers::blog::ingest::{self, Options};
use papertape_servers::blog::store::embedded::Embedded;
use papertape_servers::blog::store::{Store, StoreError};

use crate::models::{DIMENSION, Mood, Numbers};
use crate::support::Desk;

/// Files whose headings say in other words what their bodies say: `boat17` above `ship17`.
pub(crate) fn synonyms(count: usize) -> Desk {
    let desk = Desk::new();
    for n in 1..=count {
        let text = format!(
            "# Page of leaf{n}\n\nIntroduction.\n\n## The boat{n} sails\n\nEverything on ship{n} and harbour{n}, said at some length.\n"
        );
        desk.write(&format!("page{n}.md"), &text);
    }
    desk
}

#[tokio::test]
async fn every_chunk_gets_a_vector_and_meaning_that_helps_gets_weight() {
    let (desk, model) = (synonyms(60), Numbers::new());
    let report = desk.embed(&model).await;
    assert_eq!(report.warnings, [""; 0]);
    assert_eq!(report.summary.vectors, report.summary.chunks);
    let embedding = report.summary.embedding.unwrap();
    assert_eq!((embedding.model.as_str(), embedding.dimension), ("numbers", 512));
    assert_eq!(embedding.calibrated_on, report.summary.chunks);
    assert!(embedding.weight > 0.0);
}

#[tokio::test]
async fn a_model_that_understands_nothing_gets_none() {
    let (desk, model) = (synonyms(60), Numbers::in_mood(Mood::Clueless));
    let summary = desk.embed(&model).await.summary;
    assert_eq!(summary.vectors, summary.chunks);
    let embedding = summary.embedding.unwrap();
    assert_eq!((embedding.weight, embedding.calibrated_on), (0.0, summary.chunks));
}

#[tokio::test]
async fn a_model_to_which_all_is_the_same_gets_none() {
    let (desk, model) = (synonyms(60), Numbers::in_mood(Mood::Numb));
    let summary = desk.embed(&model).await.summary;
    assert_eq!(summary.vectors, summary.chunks);
    assert_eq!(summary.embedding.unwrap().weight, 0.0);
}

/// A model that is replaced by another while it is asked what it is worth.
#[derive(Debug)]
pub(crate) struct Replaced {
    old: Numbers,
    new: Numbers,
    store: Embedded,
    folder: Folder,
    was: std::sync::atomic::AtomicBool,
}

impl Replaced {
    pub(crate) fn by(new: Numbers, desk: &Desk) -> Self {
        let (store, folder) = (desk.store.clone(), desk.folder());
        Self { old: Numbers::new(), new, store, folder, was: false.into() }
    }
}

impl Embedder for Replaced {
    fn identify(&self) -> Answer<'_, Identity> {
        self.old.identify()
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
        purpose: Purpose,
    ) -> Answer<'a, Vec<Result<Vec<f32>, String>>> {
        Box::pin(async move {
            if purpose == Purpose::Query && !self.was.swap(true, std::sync::atomic::Ordering::SeqCst) {
                let anew = Options { reembed: true, ..Options::default() };
                ingest::run_with(&self.folder, &self.store, Some(&self.new), anew, &|_| {}).await.unwrap();
            }
            self.old.embed(texts, purpose).await
        })
    }

    fn batch(&self) -> usize {
        self.old.batch()
    }
}

#[tokio::test]
async fn vectors_that_somebody_else_made_meanwhile_stay() {
    let desk = synonyms(60);
    let model = Replaced::by(Numbers::called("newer", 512), &desk);
    let error = desk.run_with(Some(&model), Options::default()).await.unwrap_err();
    assert!(matches!(&error, StoreError::Mismatch(why) if why.contains("newer")), "{error:?}");
    let summary = desk.store.summary().await.unwrap();
    assert_eq!(summary.embedding.unwrap().model, "newer");
    assert_eq!(summary.vectors, summary.chunks);
}

#[tokio::test]
async fn a_few_headings_prove_nothing() {
    let (desk, model) = (synonyms(20), Numbers::new());
    let weight = desk.embed(&model).await.summary.embedding.unwrap().weight;
    assert!(weight > 0.0 && weight < 0.2, "{weight}");
}

#[tokio::test]
async fn the_same_corpus_and_model_give_the_same_weight() {
    let model = Numbers::new();
    let mut weights = Vec::new();
    for _ in 0..2 {
        weights.push(synonyms(60).embed(&model).await.summary.embedding);
    }
    assert_eq!(weights[0], weights[1]);
}

#[tokio::test]
async fn a_second_run_asks_the_model_for_nothing() {
    let (desk, model) = (synonyms(60), Numbers::new());
    let first = desk.embed(&model).await.summary;
    let seen = model.seen();
    assert_eq!(desk.embed(&model).await.summary, first);
    assert_eq!(model.seen(), seen);
}

#[tokio::test]
async fn a_changed_file_costs_the_model_its_own_chunks_alone() {
    let (desk, model) = (synonyms(60), Numbers::new());
    desk.embed(&model).await;
    let seen = model.seen();
    desk.write("page7.md", "# Page of leaf7\n\nAll of it is new.\n");
    let summary = desk.embed(&model).await.summary;
    assert_eq!(model.seen(), seen + 1);
    assert_eq!(summary.vectors, summary.chunks);
    std::fs::rename(desk.notes().join("page7.md"), desk.notes().join("page007.md")).unwrap();
    let summary = desk.embed(&model).await.summary;
    assert_eq!(model.seen(), seen + 1, "a renamed file says what it said");
    assert_eq!(summary.vectors, summary.chunks);
}

#[tokio::test]
async fn a_corpus_that_grew_by_more_than_a_fifth_is_weighed_again() {
    let (desk, model) = (synonyms(60), Numbers::new());
    let first = desk.embed(&model).await.summary;
    for n in 0..70 {
        desk.write(&format!("more{n}.md"), &format!("# More {n}\n"));
    }
    let summary = desk.embed(&model).await.summary;
    assert_eq!(summary.embedding.as_ref().unwrap().calibrated_on, summary.chunks);
    assert!(summary.chunks > first.chunks);
}

#[tokio::test]
async fn another_model_is_refused_before_anything_is_written() {
    let (desk, model) = (synonyms(5), Numbers::new());
    let before = desk.embed(&model).await.summary;
    desk.write("new.md", "# New\n");
    let mut same_name = Numbers::new();
    same_name.identity.digest = "other".to_owned();
    for (other, said) in [
        (Numbers::called("letters", 384), ["numbers", "letters", "512", "384"]),
        (Numbers::called("letters", DIMENSION), ["numbers", "letters", "--reembed", "mixed"]),
        (same_name, ["numbers", "other", "--reembed", "mixed"]),
    ] {
        let refused = desk.run_with(Some(&other), Options::default()).await.unwrap_err();
        let StoreError::Mismatch(told) = &refused else { panic!("{refused}") };
        assert!(said.iter().all(|word| told.contains(word)), "{told}");
        assert_eq!(desk.store.summary().await.unwrap(), before);
    }
}

#[tokio::test]
async fn another_model_that_is_wanted_makes_every_vector_anew() {
    let (desk, model) = (synonyms(50), Numbers::new());
    desk.embed(&model).await;
    let other = Numbers::called("letters", 300);
    let options = Options { reembed: true, ..Options::default() };
    let summary = desk.run_with(Some(&other), options).await.unwrap().summary;
    assert_eq!(summary.vectors, summary.chunks);
    let embedding = summary.embedding.unwrap();
    assert_eq!((embedding.model.as_str(), embedding.dimension), ("letters", 300));
    assert_eq!(embedding.calibrated_on, summary.chunks);
    assert!(other.seen() >= usize::try_from(summary.chunks).unwrap());
}

#[tokio::test]
async fn without_a_model_vectors_stay() {
    let (desk, model) = (synonyms(40), Numbers::new());
    let before = desk.embed(&model).await.summary;
    desk.write("new.md", "# New\n\nWords.\n");
    let after = desk.run().await.summary;
    assert_eq!((after.vectors, &after.embedding), (before.vectors, &before.embedding));
    assert_eq!(after.chunks, before.chunks + 1);
}

#[tokio::test]
async fn vectors_of_another_dimension_in_the_middle_are_not_written() {
    let (desk, model) = (synonyms(150), Numbers::in_mood(Mood::GrowsAfter(150)));
    let report = desk.embed(&model).await;
    let told = report.warnings.join("\n");
    assert!(told.contains("512") && told.contains("513"), "{told}");
    assert_eq!(report.summary.vectors, 0);
    assert_eq!(report.summary.embedding, None);
    assert_eq!(desk.sources("introduction leaf3").await[0], "page3.md");
    model.feel(Mood::Fine);
    let summary = desk.embed(&model).await.summary;
    assert_eq!(summary.vectors, summary.chunks);
}

#[tokio::test]
async fn a_model_that_is_down_costs_a_warning_and_vectors_come_later() {
    let (desk, model) = (synonyms(40), Numbers::in_mood(Mood::Down));
    let report = desk.embed(&model).await;
    assert_eq!(report.added, 40);
    assert_eq!(report.warnings.len(), 1);
    assert!(report.warnings[0].contains("nobody is there"), "{:?}", report.warnings);
    assert_eq!(desk.sources("introduction leaf3").await[0], "page3.md");
    model.feel(Mood::Fine);
    let summary = desk.embed(&model).await.summary;
    assert_eq!(summary.vectors, summary.chunks);
}

#[tokio::test]
async fn what_a_model_gave_before_it_died_is_kept() {
    let (desk, model) = (synonyms(150), Numbers::in_mood(Mood::DiesAfter(200)));
    let report = desk.embed(&model).await;
    assert!(report.warnings[0].contains("it went away"), "{:?}", report.warnings);
    assert_eq!(report.summary.vectors, 200);
    assert_eq!(report.summary.embedding.unwrap().calibrated_on, 0);
    let model = Numbers::new();
    let summary = desk.embed(&model).await.summary;
    assert_eq!(summary.vectors, summary.chunks);
    assert!(summary.embedding.unwrap().calibrated_on > 0);
}

#[tokio::test]
async fn a_text_that_the_model_will_not_have_is_found_by_words() {
    let (desk, model) = (synonyms(40), Numbers::in_mood(Mood::Refuses("ship17 ")));
    let report = desk.embed(&model).await;
    assert_eq!(report.summary.vectors, report.summary.chunks - 1);
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    assert!(report.warnings[0].contains("page17.md#chunk"), "{:?}", report.warnings);
    assert_eq!(desk.sources("ship17").await, ["page17.md"]);
    let again = desk.embed(&model).await;
    assert_eq!(again.summary, report.summary, "no news, no generation");
}

#[tokio::test]
async fn a_model_that_refuses_everything_is_not_asked_for_ever() {
    let (desk, model) = (synonyms(40), Numbers::in_mood(Mood::Refuses("leaf")));
    let report = desk.embed(&model).await;
    assert_eq!(report.summary.vectors, 0);
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    assert_eq!(model.seen(), usize::try_from(report.summary.chunks).unwrap());
}
