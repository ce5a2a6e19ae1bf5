//! The same with a service on a real socket, and the client that speaks to Ollama.

use std::sync::Arc;
use std::time::Duration;

use papertape_search::embed::{self, Choice, Embedder, Purpose};
use papertape_search::index::Options;
use papertape_search::query::{Mode, Searcher};
use papertape_search::store::{Filter, Store, StoreError};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::models::{Mood, Numbers};
use super::support::Fixture;
use super::vectors::synonyms;

/// A model at an Ollama of our own.
async fn start(model: &Arc<Numbers>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let model = Arc::clone(model);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let model = Arc::clone(&model);
            tokio::spawn(async move { serve(socket, &model).await });
        }
    });
    url
}

async fn serve(mut socket: TcpStream, model: &Numbers) {
    let (path, body) = request(&mut socket).await;
    let response = if path == "/api/tags" {
        let name = format!("{}:latest", model.identity.model);
        model.identify().await.map(|identity| json!({"models": [{"name": name, "digest": identity.digest}]}))
    } else {
        let texts: Vec<String> = serde_json::from_value(body["input"].clone()).unwrap_or_default();
        model.embed(&texts, Purpose::Document).await.map(|vectors| {
            json!({"embeddings": vectors.into_iter().map(|vector| json!(vector.ok())).collect::<Vec<_>>()})
        })
    };
    let (status, body) = match response {
        Ok(body) => (200, body),
        Err(why) => (500, json!({"error": why.to_string()})),
    };
    let body = body.to_string();
    let head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    // The client may have disconnected.
    socket.write_all((head + &body).as_bytes()).await.ok();
}

async fn request(socket: &mut TcpStream) -> (String, Value) {
    let mut bytes = Vec::new();
    loop {
        let mut more = [0; 4096];
        let length = socket.read(&mut more).await.unwrap_or_default();
        bytes.extend_from_slice(&more[..length]);
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        let expected = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        if length == 0 || (!head.is_empty() && body.len() >= expected.unwrap_or(0)) {
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            return (path, serde_json::from_str(body).unwrap_or_default());
        }
    }
}

fn client(url: &str) -> Arc<dyn Embedder> {
    client_with(url, Duration::from_secs(60))
}

fn client_with(url: &str, timeout: Duration) -> Arc<dyn Embedder> {
    let options = embed::Options { url: Some(url.to_owned()), timeout, ..embed::Options::default() };
    Choice::parse("ollama:numbers").unwrap().open(&options).unwrap()
}

async fn mode(fixture: &Fixture, embedder: &Arc<dyn Embedder>, query: &str) -> (Mode, String) {
    ask(&fixture.patient(Arc::clone(embedder)), query).await
}

async fn ask(searcher: &Searcher, query: &str) -> (Mode, String) {
    let result = searcher.search(query, 5, &Filter::default()).await.unwrap();
    assert!(!result.hits.is_empty(), "{query}");
    (result.mode, result.note.unwrap_or_default())
}

#[tokio::test]
async fn vectors_of_a_service_are_kept_and_searched() {
    let (fixture, model) = (synonyms(60), Arc::new(Numbers::new()));
    let embedder = client(&start(&model).await);
    let report = fixture.embed(embedder.as_ref()).await;
    assert_eq!((report.warnings.len(), report.summary.vectors), (0, report.summary.chunks));
    assert_eq!(mode(&fixture, &embedder, "the harbour9 vessel9").await, (Mode::Hybrid, String::new()));
    assert_eq!(mode(&fixture, &embedder, "vessel9").await.0, Mode::Semantic);
}

#[tokio::test]
async fn an_unreachable_service_costs_vectors_only() {
    let (fixture, model) = (synonyms(60), Arc::new(Numbers::new()));
    let silent = TcpSocket::new_v4().unwrap(); // bound, never listening
    silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let dead = client(&format!("http://{}", silent.local_addr().unwrap()));
    let report = fixture.embed(dead.as_ref()).await;
    assert_eq!((report.added, report.summary.vectors, report.warnings.len()), (60, 0, 1));
    fixture.embed(client(&start(&model).await).as_ref()).await;
    let (mode, note) = mode(&fixture, &dead, "ship9").await;
    assert_eq!(mode, Mode::Lexical);
    assert!(note.starts_with("semantic search is off: "), "{note}");
}

#[tokio::test]
async fn a_service_that_accepts_and_says_nothing_costs_its_time_limit() {
    let (fixture, model) = (synonyms(60), Arc::new(Numbers::new()));
    let embedder = client(&start(&model).await);
    fixture.embed(embedder.as_ref()).await;
    model.feel(Mood::Silent);
    fixture.write("new.md", "# New\n\nSome words.\n");
    let impatient = client_with(&start(&model).await, Duration::from_secs(1));
    let report = fixture.embed(impatient.as_ref()).await;
    assert_eq!((report.added, report.warnings.len()), (1, 1), "{:?}", report.warnings);
    let (mode, note) = ask(&fixture.impatient(embedder), "ship9 at sea").await;
    assert_eq!(mode, Mode::Lexical);
    assert!(note.contains("900 ms"), "{note}");
}

/// O-02: for ever none, before.
#[tokio::test]
async fn a_service_that_is_slow_gets_few_texts_at_once_and_makes_all_vectors() {
    let (fixture, model) = (synonyms(60), Arc::new(Numbers::in_mood(Mood::SilentAbove(4))));
    let embedder = client_with(&start(&model).await, Duration::from_secs(5));
    let report = fixture.embed(embedder.as_ref()).await;
    assert_eq!((report.warnings, report.summary.vectors), (Vec::new(), report.summary.chunks));
    assert!(report.summary.embedding.unwrap().judged_on > 0);
}

#[tokio::test]
async fn what_a_service_gave_before_it_failed_is_kept() {
    let (fixture, model) = (synonyms(60), Arc::new(Numbers::in_mood(Mood::DiesAfter(20))));
    let report = fixture.embed(client(&start(&model).await).as_ref()).await;
    assert!(report.warnings[0].contains("it went away"), "{:?}", report.warnings);
    assert!((1..=20).contains(&report.summary.vectors), "{}", report.summary.vectors);
}

#[tokio::test]
async fn a_service_whose_vectors_change_their_size_is_refused_with_both_numbers() {
    let (fixture, model) = (synonyms(60), Arc::new(Numbers::new()));
    let embedder = client(&start(&model).await);
    model.feel(Mood::GrowsAfter(20));
    let report = fixture.embed(embedder.as_ref()).await;
    let reported = report.warnings.join("\n");
    assert!(reported.contains("512") && reported.contains("513"), "{reported}");
    assert_eq!((report.added, report.summary.vectors), (60, 0));
}

#[tokio::test]
async fn a_model_that_was_replaced_under_its_name_is_refused() {
    let (fixture, model) = (synonyms(60), Arc::new(Numbers::new()));
    fixture.embed(client(&start(&model).await).as_ref()).await;
    let before = fixture.store.summary().await.unwrap();
    let mut other = Numbers::new();
    other.identity.digest = "of another model".to_owned();
    let embedder = client(&start(&Arc::new(other)).await);
    let refused = fixture.run_with(Some(embedder.as_ref()), Options::default()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Mismatch(_)), "{refused}");
    assert_eq!(fixture.store.summary().await.unwrap(), before);
    let (mode, note) = mode(&fixture, &embedder, "ship9").await;
    assert_eq!(mode, Mode::Lexical);
    assert!(note.contains("another numbers"), "{note}");
}
