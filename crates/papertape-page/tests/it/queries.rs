//! What the page is told about a tape.

use serde_json::json;

use crate::client::{Served, TAPE};

#[tokio::test]
async fn a_tape_as_the_page_reads_it() {
    let page = Served::tape(TAPE).await;
    let summary = page.get("/api/recording").await.json();
    assert_eq!(summary["title"], "./server --flag");
    assert_eq!(summary["state"], "complete");
    assert_eq!(
        (&summary["frames"], &summary["rows"], &summary["started"]),
        (&json!(4), &json!(7), &json!(1_790_000_000))
    );
    assert_eq!(summary["methods"], json!([["ping", 1], ["tools/call", 1]]));

    let rows = page.get("/api/frames").await.json();
    let rows = rows["rows"].as_array().unwrap();
    let kinds: Vec<_> =
        rows.iter().map(|row| (row["n"].as_u64().unwrap(), row["k"].as_str().unwrap())).collect();
    let expected = [
        (1, "event"),
        (2, "request"),
        (3, "stderr"),
        (4, "response"),
        (5, "invalid"),
        (6, "request"),
        (8, "event"),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(
        rows[1],
        json!({"n": 2, "t": 0.001, "d": ">", "k": "request", "m": "tools/call", "w": "echo", "i": "1", "o": "tool-error", "s": 102, "l": 0.0025, "p": 4})
    );
    assert_eq!((&rows[4]["w"], &rows[4]["f"]), (&json!("a banner"), &json!(1)));
    assert_eq!(rows[5]["o"], "none");

    let frame = page.get("/api/frame?number=5").await.json();
    assert_eq!(frame["findings"][0]["code"], "PT0101");
    assert!(frame["findings"][0]["remedy"].as_str().unwrap().contains("stderr"));
    assert_eq!(page.get("/api/frame?number=99").await.status, 404);
    page.stop().await;
}

#[tokio::test]
async fn bytes_are_exact_also_of_parts() {
    let page = Served::tape(TAPE).await;
    let body = page.get("/api/body?number=6").await;
    assert_eq!(body.body, b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n");
    assert_eq!(body.header("papertape-size"), Some("41"));
    let part = page.get("/api/body?number=6&from=36&length=3").await;
    assert_eq!(part.body, b"ng\"");
    assert_eq!(page.get("/api/body?number=6&from=999").await.body, b"");
    assert_eq!(page.get("/api/body?number=3").await.body, b"one client\n");
    page.stop().await;
}

#[tokio::test]
async fn filters_find_names_and_bodies() {
    let page = Served::tape(TAPE).await;
    for (filter, numbers) in [
        ("q=needle", vec![2]),
        ("q=NEEDLE", vec![2]),
        ("q=echo", vec![2, 4]),
        ("q=nothing", vec![]),
        ("only=!", vec![3]),
        ("only=%3C", vec![4, 5]),
        ("only=r", vec![2, 6]),
        ("only=e", vec![2, 4, 5, 6]),
        ("only=f", vec![5, 6]),
        ("only=%3Ee", vec![2, 6]),
        ("method=ping", vec![6]),
        ("t0=0.0021&t1=0.0041", vec![4, 5]),
    ] {
        let answer = page.get(&format!("/api/frames?{filter}")).await.json();
        let found: Vec<_> =
            answer["rows"].as_array().unwrap().iter().map(|row| row["n"].as_u64().unwrap()).collect();
        assert_eq!(found, numbers, "{filter}");
        assert_eq!(answer["total"], numbers.len(), "{filter}");
    }
    let find = page.get("/api/find?only=e&number=5").await.json();
    assert_eq!(find, json!({"position": 2, "total": 4}));
    assert_eq!(page.get("/api/find?only=!&number=5").await.json()["position"], json!(null));
    assert_eq!(page.get("/api/next?from=3&of=errors").await.json()["position"], 4);
    assert_eq!(page.get("/api/next?from=3&step=-1&of=errors").await.json()["position"], 1);
    page.stop().await;
}

#[tokio::test]
async fn a_tape_that_is_dropped_is_another_tape() {
    let page = Served::tape(TAPE).await;
    let headers = [("papertape-token", page.token.as_str())];
    let add = page
        .send("POST", "/api/tapes?name=%3Cb%3E.tape", &headers, b"papertape 1\n1 > - line {}\n2 > - li")
        .await;
    assert_eq!(add.json(), json!({"tape": 1}));
    let mut summary = page.get("/api/recording?tape=1").await.json();
    while summary["state"] == "reading" {
        summary = page.get(&format!("/api/recording?tape=1&seen={}", summary["generation"])).await.json();
    }
    assert_eq!(
        (&summary["state"], &summary["title"], &summary["rows"]),
        (&json!("cut"), &json!("<b>.tape"), &json!(1))
    );
    // The oldest are forgotten, that of the command line never.
    for _ in 0..4 {
        page.send("POST", "/api/tapes", &headers, b"").await;
    }
    assert_eq!(page.get("/api/recording?tape=1").await.status, 404);
    assert_eq!(page.get("/api/recording?tape=0").await.json()["rows"], 7);
    page.stop().await;
}

/// A recording that was cut, or goes on, may have lost responses; a file that is not a tape is not a complete one.
#[tokio::test]
async fn only_a_complete_tape_proves_that_a_request_was_not_answered() {
    let [cut, open] =
        [TAPE.strip_suffix(" end {}\n").unwrap(), TAPE.strip_suffix("8 * 0.007000 end {}\n").unwrap()];
    for (text, state, outcome, errors, findings) in
        [(TAPE, "complete", "none", 3, 2), (cut, "cut", "pending", 2, 1), (open, "open", "pending", 2, 1)]
    {
        let page = Served::tape(text).await;
        let summary = page.get("/api/recording").await.json();
        assert_eq!(
            (&summary["state"], &summary["errors"], &summary["findings"]),
            (&json!(state), &json!(errors), &json!(findings))
        );
        assert_eq!(page.get("/api/frames").await.json()["rows"][5]["o"], outcome, "{state}");
        page.stop().await;
    }
    let page = Served::tape("GIF89a\n").await;
    let summary = page.get("/api/recording").await.json();
    assert_eq!(summary["state"], "failed");
    assert!(summary["problem"].as_str().unwrap().contains("not a tape"));
    page.stop().await;
}
