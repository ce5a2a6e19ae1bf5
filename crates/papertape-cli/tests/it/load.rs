//! Many requests at once, byte by byte, and beyond the limits.

use std::collections::HashSet;
use std::io::{BufRead, Read};

use serde_json::{Value, json};

use crate::papertape;
use crate::process::{OPEN, Process, answer, call, ping, run};

const MIB: usize = 1024 * 1024;

/// The most memory a process ever had, in bytes.
fn peak(server: &Process) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid().as_raw_nonzero())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024
}

// S-22
#[test]
fn ten_thousand_requests_in_one_write_get_ten_thousand_responses() {
    let requests: String = (0..10_000).map(|id| ping(id).replace("ping", "tools/list")).collect();
    let end = run(&mut papertape(["serve", "text"]), OPEN.to_owned() + &requests);
    let answers = end.is_clean().messages();
    assert_eq!(answers.len(), 10_001);
    let ids: HashSet<u64> = answers[1..].iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    assert!(ids.len() == 10_000 && ids.iter().all(|&id| id < 10_000));
    assert!(answers[1..].iter().all(|answer| answer["result"] == answers[1]["result"]), "{:?}", answers[1]);
}

// S-21 and L-13
#[test]
fn requests_may_come_byte_by_byte() {
    let body = r#"{"jsonrpc":"2.0","id":"é","method":"ping"}"#;
    let result = r#"{"jsonrpc":"2.0","id":"é","result":{}}"#;
    let headed = |body: &str| format!("Content-Length: {}\r\n\r\n{body}", body.len());
    for (input, output) in [
        (format!("{body}\n{body}\r\n").repeat(10), format!("{result}\n").repeat(20)),
        (headed(body).repeat(20), headed(result).repeat(20)),
    ] {
        let mut server = Process::start(&mut papertape(["serve", "text"]));
        for byte in input.bytes() {
            server.send([byte]);
        }
        let end = server.finish();
        assert_eq!(String::from_utf8(end.is_clean().output.clone()).unwrap(), output);
    }
}

// R-02 and decision 9
#[test]
fn an_endless_line_gets_an_error_at_once_and_is_not_kept() {
    let mut server = Process::start(&mut papertape(["serve", "text"]));
    server.send(ping(1));
    assert_eq!(server.message()["id"], 1);
    let before = peak(&server);
    let piece = vec![b'x'; MIB];
    for _ in 0..17 {
        server.send(&piece);
    }
    let answer = server.message();
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &json!(null)), "{answer}");
    for _ in 17..100 {
        server.send(&piece);
    }
    server.send("\n".to_owned() + &ping(2));
    assert_eq!(server.message()["id"], 2);
    let grown = peak(&server) - before;
    assert!(grown <= (16 + 8) * MIB, "it had grown by {grown} bytes");
    assert!(server.finish().is_clean().output.is_empty());
}

#[test]
fn the_largest_line_is_served_and_one_byte_more_is_not() {
    let empty = call(1, "echo", &json!({"text": ""})).len();
    // The line end does not count.
    let text = "x".repeat(16 * MIB + 1 - empty);
    let input = OPEN.to_owned()
        + &call(1, "echo", &json!({"text": text}))
        + &call(2, "echo", &json!({"text": text + "x"}));
    let end = run(&mut papertape(["serve", "text"]), input + &ping(3));
    let answers = end.is_clean().messages();
    assert_eq!(answers.len(), 4);
    let text = &answer(&answers, 1)["result"]["content"][0]["text"];
    assert_eq!(text.as_str().unwrap().len(), 16 * MIB + 1 - empty);
    assert!(answers.iter().any(|answer| answer["error"]["code"] == -32600));
    assert_eq!(answer(&answers, 3)["result"], json!({}));
}

// L-09
#[test]
fn a_frame_with_a_too_large_length_is_rejected_at_once() {
    let mut server = Process::start(&mut papertape(["serve", "text"]));
    let headed = |body: &str| format!("Content-Length: {}\r\n\r\n{body}", body.len());
    let mut exchange = |bytes: &[u8]| {
        server.send(bytes);
        let output = server.output.as_mut().unwrap();
        let mut header = String::new();
        output.read_line(&mut header).unwrap();
        let length: usize = header.trim().strip_prefix("Content-Length: ").unwrap().parse().unwrap();
        let mut body = vec![0; 2 + length];
        output.read_exact(&mut body).unwrap();
        (serde_json::from_slice::<Value>(&body[2..]).unwrap(), peak(&server))
    };
    let (answer, before) = exchange(headed(&ping(1)).as_bytes());
    assert_eq!(answer["id"], 1);
    let (answer, _) = exchange(format!("Content-Length: {}\r\n\r\n", 17 * MIB).as_bytes());
    assert_eq!(answer["error"]["code"], -32600);
    let (answer, after) = exchange(&[vec![b'x'; 17 * MIB], headed(&ping(2)).into_bytes()].concat());
    assert_eq!(answer["id"], 2);
    assert!(after - before <= 4 * MIB, "it had grown by {} bytes", after - before);
    assert!(server.finish().is_clean().output.is_empty());
}
