//! Servers at a URL: every command takes one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::process::run;
use crate::{contains, document, papertape, scratch, text};

/// A server with these responses, one per connection, and the heads of the requests it received.
pub(crate) fn canned(results: Vec<(u16, Value)>) -> (String, Receiver<String>) {
    serve(results.into_iter().map(|(status, message)| (status, "", message)))
}

/// A server with the same error status for every request. A string is a body that is not JSON, and `null` is none.
fn refusing(status: u16, headers: &'static str, body: &Value) -> (String, Receiver<String>) {
    serve(std::iter::repeat((status, headers, body.clone())))
}

fn serve(
    results: impl Iterator<Item = (u16, &'static str, Value)> + Send + 'static,
) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for (status, headers, mut message) in results {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line == "\r\n" {
                    break;
                }
                head += &line;
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            // Metadata of OAuth is requested without a body.
            let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
            drop(sender.send(head));
            if message.get("result").is_some() {
                message["jsonrpc"] = "2.0".into();
                message["id"] = asked["id"].clone();
            }
            let body = match &message {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                json => json.to_string(),
            };
            let head =
                format!("HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-type: application/json\r\n");
            write!(stream, "{head}{headers}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
        }
    });
    (url, receiver)
}

pub(crate) fn discovered() -> (u16, Value) {
    (200, json!({"result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}}))
}

pub(crate) fn tools() -> (u16, Value) {
    let echo = json!({"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}});
    (200, json!({"result": {"tools": [echo]}}))
}

#[test]
fn a_tool_is_called_with_custom_headers() {
    let token = scratch("url_token").join("token");
    std::fs::write(&token, "secret\n").unwrap();
    let said = json!({"result": {"content": [{"type": "text", "text": "hello"}]}});
    let (url, heads) = canned(vec![discovered(), tools(), (200, said)]);
    let arguments =
        ["call", &url, "echo", "text=hello", "--trace", "--header", "X-Team: blue", "--bearer-file"];
    let end = run(papertape(arguments).arg(&token), "");
    end.status.code().filter(|code| *code == 0).unwrap_or_else(|| panic!("{end:?}"));
    assert_eq!(text(&end), "hello\n");
    contains(&end.log, &["→   1", "\"method\":\"server/discover\"", "←   2", "\"text\":\"hello\""]);
    assert!(!end.log.contains("no line end") && !end.log.contains("secret"), "{end:?}");
    for _ in 0..3 {
        let head = heads.recv().unwrap();
        contains(&head, &["POST /mcp", "x-team: blue\r\n", "authorization: Bearer secret\r\n"]);
    }
}

#[test]
fn files_of_options_may_be_pipes() {
    let ca = concat!(env!("CARGO_MANIFEST_DIR"), "/../papertape/tests/http_client/tls/ca.pem");
    let (url, heads) = canned(vec![discovered(), tools()]);
    let end = run(&mut papertape(["list", &url, "--ca", "/dev/stdin"]), std::fs::read(ca).unwrap());
    assert_eq!(end.status.code(), Some(0), "{end:?}");
    drop(heads);
    let (url, heads) = canned(vec![discovered(), tools()]);
    let end = run(&mut papertape(["list", &url, "--bearer-file", "/dev/stdin"]), "secret\n");
    assert_eq!(end.status.code(), Some(0), "{end:?}");
    contains(&heads.recv().unwrap(), &["authorization: Bearer secret\r\n"]);
    let end = run(&mut papertape(["list", &url, "--ca", "/dev/stdin"]), "x");
    contains(&end.log, &["--ca /dev/stdin: there are no PEM certificates in it"]);
}

#[test]
fn a_token_is_sent_to_other_machines_over_https_only() {
    let token = scratch("url_token_in_plain").join("token");
    std::fs::write(&token, "secret\n").unwrap();
    let url = "http://tools.invalid/mcp";
    for option in [["--bearer-file", token.to_str().unwrap()], ["--header", "Authorization: Bearer secret"]] {
        let end = run(papertape(["list", url]).args(option), "");
        assert_eq!((end.status.code(), text(&end)), (Some(3), ""), "{end:?}");
        contains(&end.log, &["http://tools.invalid/mcp over plain http", "use https", "--insecure-http"]);
        assert!(!end.log.contains("secret"), "{end:?}");
        let end = run(papertape(["list", url, "--insecure-http"]).args(option), "");
        contains(&end.log, &["the server cannot be reached"]);
    }
}

#[test]
fn unreachable_is_exit_code_3_and_a_broken_session_4() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let end = run(&mut papertape(["list", &url]), "");
    assert_eq!(end.status.code(), Some(3), "{end:?}");
    contains(&end.log, &["the server cannot be reached", &url, "refused"]);
    let end = run(&mut papertape(["list", "http://", "--output", "json"]), "");
    assert_eq!((end.status.code(), &document(&end)["error"]["kind"]), (Some(3), &json!("unreachable")));
    let (url, _heads) = canned(vec![(401, json!({"error": "who?"}))]);
    let end = run(&mut papertape(["list", &url, "--output", "json"]), "");
    assert_eq!((end.status.code(), &document(&end)["error"]["kind"]), (Some(3), &json!("unauthorized")));
    let (url, _heads) = canned(vec![discovered(), tools(), (500, Value::Null)]);
    let end = run(&mut papertape(["call", &url, "echo", "--output", "json"]), "");
    assert_eq!((end.status.code(), &document(&end)["error"]["kind"]), (Some(4), &json!("http")), "{end:?}");
}

#[test]
fn an_http_error_status_is_explained() {
    let page = Value::from("<html><title>Sign in</title></html>");
    for (status, body, words) in [
        (
            403,
            json!({"detail": "not for you"}),
            &["HTTP 403 Forbidden\n", "  its response: not for you\n", "papertape login http"][..],
        ),
        (
            404,
            Value::Null,
            &["HTTP 404 Not Found\n", "what to do: check the path of http", "many servers are at /mcp"],
        ),
        (
            405,
            page.clone(),
            &["HTTP 405 Method Not Allowed\n", "  its response: Sign in\n", "check the path of"],
        ),
        (
            500,
            json!("it broke\nbadly"),
            &["HTTP 500 Internal Server Error\n", "  its response: it broke\n", "the log of the server"],
        ),
        (500, json!("caf\u{e9} \u{1b}[31mred"), &["  its response: café ⟦1b⟧[31mred\n"]),
        (502, page, &["HTTP 502 Bad Gateway\n", "a proxy in front of the server cannot reach it"]),
        (503, Value::Null, &["HTTP 503 Service Unavailable\n", "try again later\n"]),
    ] {
        // A client that gets no response to its probe also sends `initialize`, and may try again.
        let (url, _heads) = refusing(status, "", &body);
        let end = run(&mut papertape(["list", &url, "--timeout", "30"]), "");
        assert_eq!((end.status.code(), text(&end)), (Some(3), ""), "{end:?}");
        contains(&end.log, words);
        assert!(!end.log.contains("the bytes:") && !end.log.contains("last step:"), "{end:?}");
        let (url, _heads) = refusing(status, "", &body);
        let end = run(&mut papertape(["list", &url, "--timeout", "30", "--output", "json"]), "");
        let error = document(&end)["error"].take();
        assert_eq!((&error["kind"], &error["status"]), (&json!("http"), &json!(status)), "{error}");
    }
}

#[test]
fn a_redirect_that_is_not_followed_says_where_to() {
    let location = "location: https://elsewhere.invalid/mcp\r\n";
    let (url, _heads) = refusing(301, location, &Value::Null);
    let end = run(&mut papertape(["list", &url]), "");
    assert_eq!((end.status.code(), text(&end)), (Some(3), ""), "{end:?}");
    contains(&end.log, &["HTTP 301: it redirects to https://elsewhere.invalid", "use this URL"]);
    assert!(!end.log.contains("what to do"), "{end:?}");
}

#[test]
fn a_rejected_token_is_explained() {
    let body = json!({"error": "invalid_token", "error_description": "The token has expired"});
    let (url, _heads) = refusing(401, "www-authenticate: Bearer error=\"invalid_token\"\r\n", &body);
    let end = run(&mut papertape(["list", &url, "--header", "Authorization: Bearer secret"]), "");
    assert_eq!((end.status.code(), text(&end)), (Some(3), ""), "{end:?}");
    let login =
        format!("sign in with `papertape login {url}`, or send a valid token with --bearer-file FILE");
    contains(&end.log, &["not authorized", "401", "  its response: The token has expired\n", &login]);
    assert!(!end.log.contains("secret"), "{end:?}");
    let body = json!({"detail": "the key isn't \"valid\" \u{1b}[31m"});
    let (url, _heads) = refusing(401, "", &body);
    let end = run(&mut papertape(["list", &url]), "");
    contains(&end.log, &["  its response: the key isn't \"valid\" ⟦1b⟧[31m\n"]);
}
