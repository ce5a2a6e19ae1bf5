use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};

use super::{Driver, HostOptions, Output, Stop};
use crate::host::{Report, Verdict, update};
use crate::script::Script;
use crate::server::{Faults, Pace, Player, serve};

const TAPE: &str = r#"papertape 1
# A session.
1 > 0.000000 line {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}
2 < 0.100000 line {"jsonrpc":"2.0","id":0,"result":{"serverInfo":{"name":"s"},"at":"2026-01-01T00:00:00Z"}}
3 > 0.200000 line {"jsonrpc":"2.0","method":"notifications/initialized"}
4 < 0.300000 line {"jsonrpc":"2.0","id":"r","method":"roots/list"}
5 > 0.400000 line {"jsonrpc":"2.0","id":"r","result":{"roots":[{"uri":"file:///a"}]}}

# Two at once.
6 > 0.500000 line {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":1}}}
7 > 0.500001 line {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b"}}
8 < 0.600000 line {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"b"}]}}
9 < 0.600001 line {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a"}]}}
10 > 0.700000 line {"jsonrpc":"2.0","id":3,"method":"tools/list","params":{}}
11 < 0.800000 line {"jsonrpc":"2.0","id":3,"result":{"tools":[],"nextCursor":"old"}}
12 > 0.900000 line {"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":"old"}}
13 < 1.000000 raw {"jsonrpc":"2.0","id":4,
14 < 1.000001 line "result":{"tools":[{"name":"z"}]}}
15 * 1.100000 end {}
"#;

fn script(tape: &str) -> Script {
    Script::read(tape.as_bytes()).unwrap()
}

/// Replays a tape with a server on the other end of a stream.
async fn driven<F: Future<Output = ()>>(
    tape: &str,
    options: &HostOptions,
    server: impl FnOnce(DuplexStream) -> F,
) -> Report {
    let script = script(tape);
    let (here, there) = duplex(64);
    let (output, input) = split(here);
    let mut output = Output::new(output);
    let mut ignore = |_: &super::Step<'_>| {};
    let mut driver = Driver::new(&script, options, input, &mut ignore);
    let stopped = tokio::select! {
        biased;
        stopped = driver.run(&mut output) => stopped,
        never = async { server(there).await; std::future::pending().await } => never,
    };
    match stopped {
        Ok(()) => {}
        Err(Stop::Closed) => driver.fail("closed".to_owned()),
        Err(Stop::Failed(cause)) => driver.fail(cause),
    }
    driver.finish()
}

/// The same with the server of a tape.
async fn against(tape: &str, server: &str) -> Report {
    let player = Player::new(script(server), Pace::default());
    driven(tape, &HostOptions::default(), |stream| async {
        let (input, output) = split(stream);
        serve(player, input, output, Faults::default(), |note| panic!("{note}")).await.unwrap();
    })
    .await
}

fn verdicts(report: &Report) -> Vec<&'static str> {
    report.requests.iter().map(|request| request.verdict.name()).collect()
}

/// A server that responds to each line with what a function makes of it.
async fn responding(stream: DuplexStream, respond: impl Fn(&Value) -> String) {
    let (input, mut output) = split(stream);
    let mut lines = BufReader::new(input).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        let response = respond(&serde_json::from_str(&line).unwrap());
        output.write_all(response.as_bytes()).await.unwrap();
    }
}

/// What the server of [`TAPE`] responds to a request, without requests of its own.
fn recorded(request: &Value) -> Value {
    let id = request["id"].clone();
    let line =
        TAPE.lines().find(|line| line.contains(&format!("\"id\":{id},\"result\"")) && line.contains('<'));
    let line = line.unwrap_or(r#"14 < - line {"jsonrpc":"2.0","result":{"tools":[{"name":"z"}]}}"#);
    let mut response: Value = serde_json::from_str(line.splitn(5, ' ').last().unwrap()).unwrap();
    response["id"] = id;
    response
}

#[tokio::test]
async fn the_server_of_a_tape_is_the_same() {
    let report = against(TAPE, TAPE).await;
    assert!(report.is_same(), "{report:?}");
    assert_eq!(verdicts(&report), ["same"; 5]);
    assert_eq!(report.summary(), "5 requests: 5 the same");
    let numbers: Vec<u64> = report.requests.iter().map(|request| request.number).collect();
    assert_eq!(numbers, [1, 6, 7, 10, 12]);
}

#[tokio::test]
async fn what_is_volatile_may_differ_and_a_changed_response_is_shown() {
    let changed = TAPE.replace("2026-01-01T00", "2027-02-02T11").replace(r#""text":"a""#, r#""text":"A""#);
    let report = against(TAPE, &changed).await;
    assert_eq!(verdicts(&report), ["same", "different", "same", "same", "same"]);
    assert!(!report.is_same() && !report.is_broken());
    let Verdict::Different(differences) = &report.requests[1].verdict else { panic!("{report:?}") };
    assert_eq!(differences[0].to_string(), r#"/result/content/0/text: "a" -> "A""#);
    let document = report.json();
    assert_eq!(document["requests"][1]["differences"][0]["recorded"], "a");
    assert_eq!(document["requests"][1]["name"], "a");
    assert!(
        report.junit("x").contains("<failure message=\"the response differs at /result/content/0/text\"")
    );
}

#[tokio::test]
async fn an_updated_tape_is_the_same_but_for_what_differs() {
    let changed = TAPE
        .replace(r#""text":"a""#, r#""text":"A""#)
        .replace(r#""result":{"tools":[{"name":"z"}]}"#, r#""result":{"tools":[{"name":"y"}]}"#);
    let report = against(TAPE, &changed).await;
    assert_eq!(verdicts(&report), ["same", "different", "same", "same", "different"]);
    let mut updated = Vec::new();
    let done = update(&script(TAPE), &report, TAPE.as_bytes(), &mut updated).unwrap();
    assert_eq!((done.responses, &done.left[..]), (2, &[][..]));
    let updated = String::from_utf8(updated).unwrap();
    let wanted = TAPE
        .replace(r#""text":"a""#, r#""text":"A""#)
        .replace(
            r#"1.000000 raw {"jsonrpc":"2.0","id":4,"#,
            r#"1.000000 line {"jsonrpc":"2.0","id":4,"result":{"tools":[{"name":"y"}]}}"#,
        )
        .replace(r#"1.000001 line "result":{"tools":[{"name":"z"}]}}"#, "1.000001 raw");
    assert_eq!(updated, wanted);
    assert!(against(&updated, &changed).await.is_same());
}

#[tokio::test]
async fn a_cursor_that_the_server_makes_anew_is_sent_back() {
    let fresh = TAPE
        .replace(r#""nextCursor":"old""#, r#""nextCursor":"new""#)
        .replace(r#""cursor":"old""#, r#""cursor":"new""#);
    let report = against(TAPE, &fresh).await;
    assert!(report.is_same(), "{report:?}");
}

#[tokio::test]
async fn requests_in_flight_together_are_sent_together() {
    let report = driven(TAPE, &HostOptions::default(), |stream| async {
        let (input, mut output) = split(stream);
        let mut lines = BufReader::new(input).lines();
        let mut held = None;
        while let Some(line) = lines.next_line().await.unwrap() {
            let request: Value = serde_json::from_str(&line).unwrap();
            let mut responses = Vec::new();
            match (request["method"].as_str(), request["id"].as_u64()) {
                // The response to the first one is held back until the second has come.
                (Some(_), Some(1)) => held = Some(recorded(&request)),
                (Some("notifications/initialized"), _) => {
                    responses.push(json!({"jsonrpc": "2.0", "id": 9, "method": "roots/list"}));
                }
                (Some(_), _) => {
                    responses.extend([Some(recorded(&request)), held.take()].into_iter().flatten())
                }
                (None, _) => assert_eq!(request["result"]["roots"][0]["uri"], "file:///a"),
            }
            for response in responses {
                output.write_all(format!("{response}\n").as_bytes()).await.unwrap();
            }
        }
    })
    .await;
    assert!(report.is_same(), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_request_of_the_server_that_does_not_come_is_a_difference() {
    let report = driven(TAPE, &HostOptions::default(), |stream| {
        responding(stream, |request| {
            if request["id"].is_null() { String::new() } else { format!("{}\n", recorded(request)) }
        })
    })
    .await;
    assert_eq!(verdicts(&report), ["same"; 5]);
    assert_eq!(report.others, ["the server did not send roots/list (request 4 on the tape)"]);
    assert!(!report.is_same() && !report.is_broken());
}

#[tokio::test]
async fn a_request_that_the_client_left_without_a_response_is_left_so_again() {
    let asks = |method: &'static str| {
        move |request: &Value| {
            let ask = json!({"jsonrpc": "2.0", "id": "x", "method": method});
            if request["method"].is_null() {
                String::new()
            } else {
                format!("{ask}\n{}\n", recorded(request))
            }
        }
    };
    let tape = "papertape 1\n1 > - line {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n\
        2 < - line {\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"roots/list\"}\n\
        3 < - line {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"b\"}]}}\n";
    let options = HostOptions::default();
    let report = driven(tape, &options, |stream| responding(stream, asks("roots/list"))).await;
    assert!(report.is_same(), "{report:?}");
    let report = driven(tape, &options, |stream| responding(stream, asks("elicitation/create"))).await;
    assert_eq!(report.others, ["the server sends elicitation/create, to which the tape has no response"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_ends_it() {
    let options = HostOptions { timeout: Duration::from_secs(7), ..HostOptions::default() };
    let report = driven(TAPE, &options, |stream| {
        responding(stream, |request| {
            if request["method"] == "initialize" { format!("{}\n", recorded(request)) } else { String::new() }
        })
    })
    .await;
    let failure = report.failure.clone().unwrap();
    assert_eq!(failure.cause, "no response to tools/call b (request 7) within 7 s (--timeout)");
    assert!(!failure.at_start && report.is_broken());
    assert_eq!(verdicts(&report), ["same", "no-response", "no-response", "not-sent", "not-sent"]);
    assert_eq!(report.summary(), "5 requests: 1 the same, 2 without a response, 2 not sent");
}

#[tokio::test]
async fn garbage_and_responses_to_nothing_are_violations() {
    let extra = "listening on \u{1b}[1mstdio\n{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n";
    let report = driven(TAPE, &HostOptions::default(), |stream| {
        responding(stream, move |request| match request["method"].as_str() {
            Some("initialize") => format!("{extra}{0}\n{0}\n", recorded(request)),
            Some("notifications/initialized") => {
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n".to_owned()
            }
            Some(_) => format!("{}\n", recorded(request)),
            None => String::new(),
        })
    })
    .await;
    assert_eq!(verdicts(&report), ["same"; 5]);
    assert!(report.is_broken() && !report.is_same());
    let [garbage, unknown, second] = &report.violations[..] else { panic!("{report:?}") };
    assert!(
        garbage.starts_with("the frame is not JSON") && garbage.ends_with("listening on ⟦1b⟧[1mstdio"),
        "{garbage}"
    );
    assert!(unknown.starts_with("a response to no request: "), "{unknown}");
    assert!(second.starts_with("a second response to one request: "), "{second}");
}

#[tokio::test]
async fn a_server_that_ends_before_its_first_response_failed_at_the_start() {
    let report = driven(TAPE, &HostOptions::default(), |stream| async { drop(stream) }).await;
    assert!(report.failure.as_ref().is_some_and(|failure| failure.at_start), "{report:?}");
    let report = driven(TAPE, &HostOptions::default(), |stream| async {
        let (mut input, mut output) = split(stream);
        let mut beginning = [0; 16];
        input.read_exact(&mut beginning).await.unwrap();
        let response = recorded(&json!({"id": 0, "method": "initialize"}));
        output.write_all(format!("{response}\n").as_bytes()).await.unwrap();
    })
    .await;
    assert!(report.failure.as_ref().is_some_and(|failure| !failure.at_start), "{report:?}");
}

#[tokio::test]
async fn a_flood_of_requests_that_are_not_read_ends_it() {
    let report = driven(TAPE, &HostOptions::default(), |stream| async {
        let (_input, mut output) = split(stream);
        loop {
            let request = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}\n".repeat(1000);
            if output.write_all(request.as_bytes()).await.is_err() {
                return;
            }
        }
    })
    .await;
    assert_eq!(
        report.failure.unwrap().cause,
        "it sends requests without end, and does not read the responses"
    );
}
