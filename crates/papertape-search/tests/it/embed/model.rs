//! The model in process, held against what sentence-transformers 6.2 with torch 2.15 makes of the same texts.
//!
//! Run by `interop/blog/run`, which gets the model: all-MiniLM-L6-v2, in the directory that PAPERTAPE_TEST_MODEL names.

#![expect(
    clippy::expect_used,
    reason = "in a test, a panic is a finding; clippy knows test functions, but not their helpers"
)]

use std::path::PathBuf;

use papertape_search::embed::{Embedder, Local, Purpose};

/// In English, in Spanish, in Chinese, and one that is longer than the model reads.
fn texts() -> Vec<String> {
    let long: Vec<String> = (0..60)
        .map(|i| format!("Sentence number {i} says that the tape is read from the left to the right."))
        .collect();
    vec![
        "How do I mount a volume in a container?".to_owned(),
        "¿Cómo monto un volumen en un contenedor?".to_owned(),
        "如何在容器中挂载卷？".to_owned(),
        long.join(" "),
    ]
}

/// The first numbers of their vectors.
const FIRST: [[f32; 8]; 4] = [
    [0.065258, 0.062901, -0.059397, -0.056461, -0.01443, -0.05053, -0.007581, 0.062266],
    [-0.004428, -0.017854, -0.055301, -0.004261, -0.02994, -0.029453, 0.03782, 0.077228],
    [0.014779, 0.127023, 0.034982, 0.039963, -0.038533, 0.072798, 0.089287, -0.004766],
    [-0.016685, -0.017932, 0.007659, -0.014538, -0.021232, 0.159395, 0.050955, 0.045819],
];

/// How close they are to each other.
const COSINES: [[f32; 4]; 4] = [
    [1.0, 0.2879, -0.0201, 0.0219],
    [0.2879, 1.0, 0.1197, 0.1159],
    [-0.0201, 0.1197, 1.0, 0.166],
    [0.0219, 0.1159, 0.166, 1.0],
];

fn model() -> Local {
    let folder = std::env::var_os("PAPERTAPE_TEST_MODEL");
    let folder = folder.expect("PAPERTAPE_TEST_MODEL names no directory: run interop/blog/run");
    Local::new(&PathBuf::from(folder))
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[tokio::test]
#[ignore = "needs a model; interop/blog/run has one"]
async fn vectors_are_those_of_sentence_transformers() {
    let model = model();
    let vectors = model.embed(&texts(), Purpose::Document).await.unwrap();
    let vectors: Vec<Vec<f32>> = vectors.into_iter().map(|vector| vector.unwrap()).collect();
    for (vector, first) in vectors.iter().zip(FIRST) {
        assert_eq!(vector.len(), 384);
        for (got, wanted) in vector.iter().zip(first) {
            assert!((got - wanted).abs() < 2e-6, "{got} is not {wanted}");
        }
    }
    for (a, row) in vectors.iter().zip(COSINES) {
        for (b, wanted) in vectors.iter().zip(row) {
            assert!((cosine(a, b) - wanted).abs() < 1e-4, "{} is not {wanted}", cosine(a, b));
        }
    }
}

#[tokio::test]
#[ignore = "needs a model; interop/blog/run has one"]
async fn a_text_has_the_same_vector_in_any_company() {
    let model = model();
    let (texts, mut alone) = (texts(), Vec::new());
    for text in &texts {
        alone.extend(model.embed(std::slice::from_ref(text), Purpose::Document).await.unwrap());
    }
    let mut crowd: Vec<String> = (0..30).map(|i| format!("{i} {}", "short ".repeat(i % 7))).collect();
    crowd.extend(texts.iter().cloned());
    let crowd = model.embed(&crowd, Purpose::Document).await.unwrap();
    for (alone, among) in alone.iter().zip(crowd.iter().skip(30)) {
        let (alone, among) = (alone.as_ref().unwrap(), among.as_ref().unwrap());
        assert!(cosine(alone, among) > 0.999_999, "{}", cosine(alone, among));
    }
}

#[tokio::test]
#[ignore = "needs a model; interop/blog/run has one"]
async fn unusual_texts_have_a_vector_or_a_reason() {
    let model = model();
    let texts: Vec<String> = [
        "",
        " \n",
        "\0",
        "🙂",
        "a\u{301}",
        &"x".repeat(10_000_000),
        &"字 ".repeat(1_000_000),
        "[CLS] [SEP] [PAD]",
    ]
    .map(str::to_owned)
    .into();
    let vectors = model.embed(&texts, Purpose::Query).await.unwrap();
    for (index, vector) in vectors.into_iter().enumerate() {
        match vector {
            Ok(vector) => assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-5 && index > 1),
            Err(why) => assert_eq!((index < 2, why.as_str()), (true, "it is empty")),
        }
    }
}

#[tokio::test]
#[ignore = "needs a model; interop/blog/run has one"]
async fn a_model_is_known_by_its_files() {
    let (once, again) = (model().identify().await.unwrap(), model().identify().await.unwrap());
    assert_eq!(once, again);
    assert_eq!((once.dimension, once.digest.len()), (384, 32));
}
