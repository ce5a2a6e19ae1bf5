//! Rows O-01 to O-07: services that are dead, slow, failing or malformed.

use std::sync::Arc;
use std::time::Duration;

use papertape_search::embed::{Choice, EmbedError, Embedder, Identity, Options, Purpose};
use papertape_search::store::Embedding;
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use super::stub::{Reply, Request, Stub, good, tags, vectors};

const SHORT: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(60);

fn open(typed: &str, url: &str, timeout: Duration) -> Arc<dyn Embedder> {
    let options = Options { url: Some(url.to_owned()), timeout, ..Options::default() };
    Choice::parse(typed).unwrap().open(&options).unwrap()
}

fn ollama(stub: &Stub) -> Arc<dyn Embedder> {
    open("ollama:m", &stub.url, LONG)
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

async fn embed(
    embedder: &Arc<dyn Embedder>,
    these: &[&str],
) -> Result<Vec<Result<Vec<f32>, String>>, EmbedError> {
    embedder.embed(&texts(these), Purpose::Document).await
}

/// A stub that responds to the requests after the probe with `reply`.
async fn after_the_probe(reply: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> Stub {
    Stub::start(move |before, request| if before < 2 { good(request) } else { reply(before - 2, request) })
        .await
}

#[tokio::test]
async fn a_good_ollama_gives_vectors_of_length_one_in_order() {
    let stub = Stub::start(|_, request| good(request)).await;
    let embedder = ollama(&stub);
    let vectors = embed(&embedder, &["a", " ", "four"]).await.unwrap();
    assert_eq!(vectors[1], Err("it is empty".to_owned()));
    let (one, two) = (vectors[0].as_ref().unwrap(), vectors[2].as_ref().unwrap());
    assert!((one.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-6);
    assert!((one[0] / one[1] - 1.0).abs() < 1e-6 && (two[0] / two[1] - 4.0).abs() < 1e-6, "{one:?} {two:?}");
    let identity = embedder.identify().await.unwrap();
    assert_eq!((identity.model.as_str(), identity.dimension), ("m", 4));
    assert_eq!(
        stub.seen().last().unwrap().body,
        json!({"model": "m", "input": ["a", "four"], "truncate": true})
    );
}

#[tokio::test]
async fn texts_get_the_prefix_of_their_purpose() {
    let stub = Stub::start(|_, request| match request.path.as_str() {
        "/api/tags" => {
            Reply::Json(200, json!({"models": [{"name": "nomic-embed-text:latest", "digest": "x"}]}))
        }
        _ => good(request),
    })
    .await;
    let embedder = open("ollama", &stub.url, LONG);
    embedder.embed(&texts(&["x"]), Purpose::Document).await.unwrap();
    embedder.embed(&texts(&["x"]), Purpose::Query).await.unwrap();
    let asked: Vec<String> = stub.seen().iter().flat_map(Request::texts).skip(1).collect();
    assert_eq!(asked, ["search_document: x", "search_query: x"]);
}

/// O-01.
#[tokio::test]
async fn an_unreachable_service_is_reported_at_once() {
    let silent = TcpSocket::new_v4().unwrap(); // bound, never listening
    silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    for address in [silent.local_addr().unwrap().to_string(), "no-such-host.invalid:1".to_owned()] {
        let error = embed(&open("ollama:m", &address, LONG), &["x"]).await.unwrap_err();
        let EmbedError::Unavailable(said) = error else { panic!("{error:?}") };
        assert!(said.starts_with(&format!("Ollama at {address} cannot be reached: ")), "{said}");
    }
    let ssh = Stub::start(|_, _| Reply::Bytes("SSH-2.0-OpenSSH_9.2p1\r\n".to_owned())).await;
    let error = embed(&ollama(&ssh), &["x"]).await.unwrap_err();
    assert!(matches!(error, EmbedError::Unavailable(_)), "{error:?}");
}

/// O-02.
#[tokio::test]
async fn a_service_that_never_ends_its_response_times_out_and_is_not_called_again() {
    for drips in [false, true] {
        let stub = Stub::start(move |_, _| if drips { Reply::Drip } else { Reply::Hang }).await;
        let embedder = open("ollama:m", &stub.url, SHORT);
        for _ in 0..6 {
            let error = embed(&embedder, &["x"]).await.unwrap_err();
            let EmbedError::Unavailable(said) = error else { panic!("{error:?}") };
            assert!(said.contains("did not respond within 1 s"), "{said}");
        }
        // On a busy machine the service may read what it was asked after its caller has gone.
        let read = async {
            while stub.seen().len() < 3 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LONG, read).await.expect("the service was asked three times");
        assert_eq!(stub.seen().len(), 3, "the circuit is open after three failures");
    }
}

/// Long enough for a stub on a busy machine, and short enough to be waited for.
const A_MOMENT: Duration = Duration::from_secs(5);

/// How many of the requests after the probe had more texts than that.
fn larger_than(stub: &Stub, texts: usize) -> usize {
    stub.seen().iter().filter(|request| request.texts().len() > texts).count()
}

/// O-02: a model that needs its time for each text.
#[tokio::test]
async fn more_texts_than_a_service_does_in_time_are_given_to_it_a_few_at_a_time() {
    let slow = |request: &Request| if request.texts().len() > 4 { Reply::Hang } else { good(request) };
    let stub = after_the_probe(move |_, request| slow(request)).await;
    let embedder = open("ollama:m", &stub.url, A_MOMENT);
    let lengths: Vec<usize> = (1..=40).collect();
    let many: Vec<String> = lengths.iter().map(|length| "x".repeat(*length)).collect();
    for _ in 0..2 {
        let vectors = embedder.embed(&many, Purpose::Document).await.unwrap();
        let came: Vec<usize> = vectors.iter().map(|vector| length(vector.as_ref().unwrap())).collect();
        assert_eq!(came, lengths);
    }
    assert_eq!(larger_than(&stub, 4), 1, "what was too much once is not asked for again");
    assert!(embedder.batch() <= 4, "{}", embedder.batch());
}

/// What the stub says a text's length is.
fn length(vector: &[f32]) -> usize {
    let length = (vector[0] / vector[1]).round();
    (1..100_u8).find(|n| f32::from(*n) == length).unwrap().into()
}

/// O-02: a timeout of a single text is final.
#[tokio::test]
async fn a_service_that_stops_responding_is_retried_with_one_text_and_then_given_up() {
    let stub = after_the_probe(|_, _| Reply::Hang).await;
    let embedder = open("ollama:m", &stub.url, A_MOMENT);
    let many: Vec<String> = (0..40).map(|n| format!("text {n}")).collect();
    let error = embedder.embed(&many, Purpose::Document).await.unwrap_err();
    let EmbedError::Unavailable(said) = error else { panic!("{error:?}") };
    assert!(said.contains("did not respond within 5 s (--embed-timeout gives it more)"), "{said}");
    let sizes: Vec<usize> = stub.seen().iter().skip(2).map(|request| request.texts().len()).collect();
    assert_eq!(sizes, [8, 1]);
}

/// O-03.
#[tokio::test]
async fn failures_are_retried_three_times_and_no_more() {
    for status in [500, 503, 429] {
        let recovering = after_the_probe(move |before, request| {
            if before < 3 { Reply::Json(status, json!({"error": "busy"})) } else { good(request) }
        })
        .await;
        embed(&ollama(&recovering), &["x"]).await.unwrap()[0].as_ref().unwrap();
        assert_eq!(recovering.embeds(), 1 + 4);
        let broken = after_the_probe(move |_, _| Reply::Json(status, json!({"error": "broken"}))).await;
        let error = embed(&ollama(&broken), &["x", "y"]).await.unwrap_err();
        assert!(matches!(&error, EmbedError::Unavailable(said) if said.contains("broken")), "{error:?}");
        assert_eq!(broken.embeds(), 1 + 4);
    }
}

/// O-03.
#[tokio::test]
async fn a_refusal_is_not_retried_and_says_what_to_do() {
    let missing = Stub::start(|_, _| Reply::Json(200, json!({"models": []}))).await;
    let error = embed(&ollama(&missing), &["x"]).await.unwrap_err();
    assert!(matches!(&error, EmbedError::Rejected(said) if said.contains("`ollama pull m`")), "{error:?}");
    let cases: [(u16, Value, &str); 5] = [
        (404, json!({"error": "model \"m\" not found"}), "not found"),
        (401, json!({"error": {"message": "no key", "type": "x"}}), "no key"),
        (403, json!({"detail": "not you"}), "not you"),
        (200, json!({"error": "out of memory"}), "out of memory"),
        (200, json!({"error": {"message": "quota"}, "embeddings": [[1, 2, 3, 4]]}), "quota"),
    ];
    for (status, body, expected) in cases {
        let stub = after_the_probe(move |_, _| Reply::Json(status, body.clone())).await;
        let error = embed(&ollama(&stub), &["x", "y"]).await.unwrap_err();
        assert!(
            matches!(&error, EmbedError::Rejected(said) if said.contains(expected)),
            "{status}: {error:?}"
        );
        assert_eq!(stub.embeds(), 2, "{status}");
    }
}

fn too_long(request: &Request, longest: usize) -> Reply {
    if request.texts().iter().any(|text| text.chars().count() > longest) {
        return Reply::Json(400, json!({"error": "the input length exceeds the context length"}));
    }
    good(request)
}

/// O-03.
#[tokio::test]
async fn a_text_that_is_too_long_is_shortened_and_costs_no_other() {
    let stub = after_the_probe(|_, request| too_long(request, 30)).await;
    let (long, endless) = ("é".repeat(200), "x".repeat(10_000));
    let vectors = embed(&ollama(&stub), &["a", &long, "b", &endless, "c"]).await.unwrap();
    for (vector, length) in [(0, 1.0), (1, 50.0), (2, 1.0), (4, 1.0)] {
        let vector = vectors[vector].as_ref().unwrap();
        assert!((vector[0] / vector[1] - length).abs() < 1e-4, "{vector:?}");
    }
    let refused = vectors[3].as_ref().unwrap_err();
    assert!(refused.contains("exceeds the context length"), "{refused}");
    assert!(stub.embeds() <= 20, "{}", stub.embeds());
}

/// O-03: a redirect loop elsewhere.
#[tokio::test]
async fn a_service_that_rejects_every_text_is_called_a_bounded_number_of_times() {
    let stub = after_the_probe(|_, request| too_long(request, 0)).await;
    let many: Vec<String> = (0..32).map(|i| format!("text {i} {}", "and so on, ".repeat(i))).collect();
    let vectors = ollama(&stub).embed(&many, Purpose::Document).await.unwrap();
    assert!(vectors.iter().all(Result::is_err));
    assert!(stub.embeds() <= 1 + 32 * 5, "{}", stub.embeds());
}

/// O-04.
#[tokio::test]
async fn a_wrong_number_of_vectors_or_numbers_rejects_all() {
    let cases: [(Value, [&str; 2]); 6] = [
        (json!([[1, 2, 3, 4]]), ["1 vectors", "2 texts"]),
        (json!([[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4]]), ["3 vectors", "2 texts"]),
        (json!([]), ["0 vectors", "2 texts"]),
        (json!([[1, 2, 3], [1, 2, 3]]), ["3 numbers", "4 were expected"]),
        (json!([[1, 2, 3, 4], [1, 2, 3, 4, 5]]), ["5 numbers", "4 were expected"]),
        (json!([[1, 2, 3, 4], []]), ["0 numbers", "4 were expected"]),
    ];
    for (sent, numbers) in cases {
        let stub = after_the_probe(move |_, _| Reply::Json(200, json!({ "embeddings": sent }))).await;
        let error = embed(&ollama(&stub), &["x", "y"]).await.unwrap_err();
        let EmbedError::InvalidResponse(said) = error else { panic!("{error:?}") };
        assert!(numbers.iter().all(|number| said.contains(number)), "{said}");
    }
    let empty =
        Stub::start(
            |before, request| {
                if before == 0 { good(request) } else { Reply::Json(200, json!({"embeddings": [[]]})) }
            },
        )
        .await;
    let error = ollama(&empty).identify().await.unwrap_err();
    assert!(matches!(&error, EmbedError::InvalidResponse(said) if said.contains("0 numbers")), "{error:?}");
}

/// O-05.
#[tokio::test]
async fn a_number_that_is_none_costs_its_own_text_only() {
    for bad in [
        "[NaN, 1, 2, 3]",
        "[1, Infinity, 2, 3]",
        "[1, 2, -Infinity, 3]",
        "[1, 2, 3, null]",
        "null",
        "[0, 0, 0, 0]",
        "[1e39, 0, 0, 0]",
        "[1e999, 0, 0, 0]",
        "[\"1\", 2, 3, 4]",
    ] {
        let body = format!("{{\"embeddings\": [[1, 2, 3, 4], {bad}, [4, 3, 2, 1]]}}");
        let stub = after_the_probe(move |_, _| Reply::Body(body.clone())).await;
        let vectors = embed(&ollama(&stub), &["a", "b", "c"]).await.unwrap();
        let good: Vec<bool> = vectors.iter().map(Result::is_ok).collect();
        assert_eq!(good, [true, false, true], "{bad}: {vectors:?}");
        assert_eq!(stub.embeds(), 2, "{bad}");
    }
    // What Ollama itself says when its model makes NaN of a text.
    let stub = after_the_probe(|_, request| {
        if request.texts().iter().any(|text| text == "b") {
            return Reply::Json(
                500,
                json!({"error": "failed to encode response: json: unsupported value: NaN"}),
            );
        }
        good(request)
    })
    .await;
    let vectors = embed(&ollama(&stub), &["a", "b", "c"]).await.unwrap();
    assert_eq!(vectors.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
}

/// O-06.
#[tokio::test]
async fn a_malformed_response_is_an_error_within_bounds() {
    let bodies =
        ["<html><body>Welcome to nginx</body></html>", "{\"embeddings\": [[1, 2", "", "[]", "\"ok\"", "42"];
    for body in bodies {
        let stub = after_the_probe(move |_, _| Reply::Body(body.to_owned())).await;
        let error = embed(&ollama(&stub), &["x"]).await.unwrap_err();
        assert!(matches!(error, EmbedError::InvalidResponse(_)), "{body}: {error:?}");
    }
    let cut = "HTTP/1.1 200 X\r\ncontent-length: 1000\r\n\r\n{\"embeddings\": [[1, 2";
    let stub = after_the_probe(move |_, _| Reply::Bytes(cut.to_owned())).await;
    let error = embed(&ollama(&stub), &["x"]).await.unwrap_err();
    assert!(
        matches!(&error, EmbedError::Unavailable(said) if said.contains("closed the connection within its response")),
        "{error:?}"
    );
    let huge = "HTTP/1.1 200 X\r\ncontent-length: 1073741824\r\n\r\n{";
    for (reply, name) in [(None, "a flood"), (Some(huge), "a length")] {
        let stub =
            after_the_probe(move |_, _| reply.map_or(Reply::Flood, |it| Reply::Bytes(it.to_owned()))).await;
        let error = embed(&ollama(&stub), &["x"]).await.unwrap_err();
        assert!(
            matches!(&error, EmbedError::InvalidResponse(said) if said.contains("more than 67108864 bytes")),
            "{name}: {error:?}"
        );
    }
}

#[tokio::test]
async fn a_long_retry_after_is_not_waited_for() {
    for wait in ["18446744073709551615", "9223372036854775807", "86400"] {
        let reply = format!("HTTP/1.1 429 X\r\nretry-after: {wait}\r\ncontent-length: 0\r\n\r\n");
        let stub = after_the_probe(move |_, _| Reply::Bytes(reply.clone())).await;
        let error = embed(&ollama(&stub), &["x"]).await.unwrap_err();
        assert!(matches!(&error, EmbedError::Unavailable(_)), "{error:?}");
        assert_eq!(stub.embeds(), 2, "{wait}");
    }
}

#[tokio::test]
async fn a_token_rate_limit_is_not_an_error_of_the_text() {
    let busy = after_the_probe(|before, request| match before {
        0 => Reply::Json(429, json!({"error": "Request too large: too many tokens per minute"})),
        _ => good(request),
    });
    let busy = busy.await;
    embed(&ollama(&busy), &["x y z"]).await.unwrap()[0].as_ref().unwrap();
    assert_eq!(busy.embeds(), 3);
}

/// O-06.
#[tokio::test]
async fn a_redirect_is_never_followed() {
    let elsewhere = Stub::start(|_, request| good(request)).await;
    for status in [301, 302, 307, 308] {
        let reply = format!(
            "HTTP/1.1 {status} X\r\nlocation: {}/api/embed\r\ncontent-length: 0\r\n\r\n",
            elsewhere.url
        );
        let stub = after_the_probe(move |_, _| Reply::Bytes(reply.clone())).await;
        let error = embed(&ollama(&stub), &["x"]).await.unwrap_err();
        assert!(
            matches!(&error, EmbedError::InvalidResponse(said) if said.contains("elsewhere")),
            "{error:?}"
        );
    }
    assert!(elsewhere.seen().is_empty());
}

fn stored(identity: &Identity) -> Embedding {
    let Identity { model, dimension, digest } = identity.clone();
    Embedding { model, dimension, digest, knows_language: true, judged_on: 1 }
}

/// O-07.
#[tokio::test]
async fn a_model_replaced_under_its_name_is_noticed_while_we_run() {
    let stub = Stub::start(|before, request| match request.path.as_str() {
        "/api/tags" => tags(if before < 2 { "abc" } else { "def" }),
        _ => good(request),
    })
    .await;
    let embedder = ollama(&stub);
    let before = embedder.identify().await.unwrap();
    assert!(before.is_of(&stored(&before)));
    assert_eq!(embedder.identify().await.unwrap(), before);
    assert_eq!(stub.seen().len(), 2, "asked again only after a while");
    tokio::time::pause();
    tokio::time::advance(LONG).await;
    tokio::time::resume();
    let after = embedder.identify().await.unwrap();
    assert!(!after.is_of(&stored(&before)));
}

/// O-04, O-07: the dimension is another one, and the next call reports it.
#[tokio::test]
async fn after_an_invalid_response_the_model_is_identified_again() {
    let stub = Stub::start(|before, request| match request.path.as_str() {
        "/api/tags" => tags(if before < 2 { "abc" } else { "def" }),
        _ if before < 2 => good(request),
        _ => Reply::Json(200, json!({"embeddings": [[1, 2, 3]]})),
    })
    .await;
    let embedder = ollama(&stub);
    assert_eq!(embedder.identify().await.unwrap().dimension, 4);
    embed(&embedder, &["x"]).await.unwrap_err();
    assert_eq!(embedder.identify().await.unwrap().dimension, 3);
    embed(&embedder, &["x"]).await.unwrap()[0].as_ref().unwrap();
}

fn openai(stub: &Stub) -> Arc<dyn Embedder> {
    open("openai:m", &format!("{}/v1/", stub.url), LONG)
}

fn data(vectors: &[(usize, Value)]) -> Reply {
    let data = vectors
        .iter()
        .map(|(index, vector)| json!({"object": "embedding", "index": index, "embedding": vector}));
    Reply::Json(200, json!({"object": "list", "data": data.collect::<Vec<_>>(), "model": "m"}))
}

fn in_order(request: &Request) -> Reply {
    data(&vectors(request).into_iter().enumerate().collect::<Vec<_>>())
}

#[tokio::test]
async fn vectors_of_openai_are_ordered_by_index() {
    let stub = Stub::start(|before, request| {
        assert_eq!(request.path, "/v1/embeddings");
        let mut all: Vec<(usize, Value)> = vectors(request).into_iter().enumerate().collect();
        all.rotate_left(before);
        data(&all)
    })
    .await;
    let vectors = embed(&openai(&stub), &["1", "22", "333"]).await.unwrap();
    for (vector, length) in vectors.iter().zip([1.0, 2.0, 3.0]) {
        let vector = vector.as_ref().unwrap();
        assert!((vector[0] / vector[1] - length).abs() < 1e-6, "{vector:?}");
    }
}

/// O-04 with the OpenAI API.
#[tokio::test]
async fn an_index_that_is_wrong_refuses_all() {
    let four = || json!([1, 2, 3, 4]);
    for sent in [vec![(0, four()), (0, four())], vec![(0, four()), (7, four())], vec![(1, four())]] {
        let stub =
            Stub::start(move |before, request| if before == 0 { in_order(request) } else { data(&sent) })
                .await;
        let error = embed(&openai(&stub), &["x", "y"]).await.unwrap_err();
        assert!(matches!(&error, EmbedError::InvalidResponse(said) if said.contains("2 texts")), "{error:?}");
    }
}

/// O-07 with the OpenAI API, which has no digests.
#[tokio::test]
async fn another_model_at_a_service_without_digests_is_detected_by_the_vector_of_a_sentence() {
    let made = |seed: f32, noise: f32| {
        let vector: Vec<f32> =
            (0..96_u8).map(|i| (f32::from(i) * seed).sin() + noise * f32::from(i % 3)).collect();
        move |_: usize, _: &Request| data(&[(0, json!(vector))])
    };
    let (first, same, other) = (
        Stub::start(made(1.0, 0.0)).await,
        Stub::start(made(1.0, 1e-3)).await,
        Stub::start(made(1.1, 0.0)).await,
    );
    let known = stored(&openai(&first).identify().await.unwrap());
    assert!(openai(&same).identify().await.unwrap().is_of(&known));
    assert!(!openai(&other).identify().await.unwrap().is_of(&known));
}
