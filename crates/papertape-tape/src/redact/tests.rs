use papertape::wire::tape::{Content, Entry, read};
use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::Redactor;
use crate::Reader;

/// The lines of a tape without its first line, redacted.
fn redacted_by(mut redactor: Redactor, lines: &str) -> String {
    let tape = format!("papertape 1\n{lines}");
    let mut out = String::new();
    for line in Reader::new(tape.as_bytes()) {
        redactor.push(line.unwrap(), &mut out);
    }
    redactor.finish(&mut out);
    out
}

fn redacted(lines: &str) -> String {
    redacted_by(Redactor::new(), lines)
}

/// What becomes of the text of one frame.
fn frame(text: &str) -> String {
    let line = redacted(&format!("1 < - line {text}\n"));
    line.strip_prefix("1 < - line ").unwrap().trim_end_matches('\n').to_owned()
}

#[test]
fn headers_lose_their_values() {
    let lines = redacted(
        "1 >1 - head POST /mcp?api_key=abc&x=1 HTTP/1.1⟦0d 0a⟧Authorization: Bearer abc⟦0d 0a⟧Cookie: a=\"b\"; c=d⟦0d 0a⟧\
         x-api-key: k⟦0d 0a⟧Mcp-Session-Id: 1868a90c⟦0d 0a⟧Accept: text/event-stream⟦0d 0a⟧X-My-Token: a8f5f167f44f4964e6c998dee827110c\n\
         2 <1 - head HTTP/1.1 200 OK⟦0d 0a⟧set-cookie: s=1; HttpOnly⟦0d 0a⟧Proxy-Authorization: abc\n",
    );
    assert_eq!(
        lines,
        "1 >1 - head POST /mcp?api_key=[redacted secret]&x=1 HTTP/1.1⟦0d 0a⟧Authorization: Bearer [redacted authorization]\
         ⟦0d 0a⟧Cookie: [redacted cookie]⟦0d 0a⟧x-api-key: [redacted API key]⟦0d 0a⟧Mcp-Session-Id: [redacted session id]\
         ⟦0d 0a⟧Accept: text/event-stream⟦0d 0a⟧X-My-Token: [redacted API key]\n\
         2 <1 - head HTTP/1.1 200 OK⟦0d 0a⟧set-cookie: [redacted cookie]⟦0d 0a⟧Proxy-Authorization: [redacted authorization]\n"
    );
}

#[test]
fn members_with_secret_names_lose_their_values() {
    for (text, right) in [
        (
            r#"{"access_token":"abc","expires_in":3600}"#,
            r#"{"access_token":"[redacted secret]","expires_in":3600}"#,
        ),
        (r#"{"clientSecret" : "a\"b" , "x":1}"#, r#"{"clientSecret" : "[redacted secret]" , "x":1}"#),
        (r#"{"password":1234,"a":"b"}"#, r#"{"password":"[redacted secret]","a":"b"}"#),
        (r#"{"a":{"password":1234}}"#, r#"{"a":{"password":"[redacted secret]"}}"#),
        (
            r#"{"apiKey":["a","b"],"c":"d"}"#,
            r#"{"apiKey":["[redacted secret]","[redacted secret]"],"c":"d"}"#,
        ),
        (
            r#"{"env":{"GITHUB_TOKEN":"x","HOME":"/root"}}"#,
            r#"{"env":{"GITHUB_TOKEN":"[redacted secret]","HOME":"/root"}}"#,
        ),
        (
            r#"{"headers":{"Authorization":"Bearer x"}}"#,
            r#"{"headers":{"Authorization":"Bearer [redacted authorization]"}}"#,
        ),
        (r#"{"password":"\ud800"}"#, r#"{"password":"[redacted secret]"}"#),
        (
            r#"{"text":"{\"refresh_token\":\"abc\",\"n\":1}"}"#,
            r#"{"text":"{\"refresh_token\":\"[redacted secret]\",\"n\":1}"}"#,
        ),
        (r#"{"password":"abc"#, r#"{"password":"abc"#),
    ] {
        assert_eq!(frame(text), right);
    }
}

#[test]
fn short_values_of_obvious_names_are_secrets() {
    for name in ["token", "secret", "pwd", "passwd", "bearer", "otp"] {
        assert_eq!(
            frame(&format!(r#"{{"{name}":"abc","x":"y"}}"#)),
            format!(r#"{{"{name}":"[redacted secret]","x":"y"}}"#)
        );
    }
    for (text, right) in [
        (r#"{"otp":493021}"#, r#"{"otp":"[redacted secret]"}"#),
        (
            r#"{"secrets":{"db":"a","n":12},"x":{"db":"a"}}"#,
            r#"{"secrets":{"db":"[redacted secret]","n":"[redacted secret]"},"x":{"db":"a"}}"#,
        ),
        (
            r#"{"url":"http://h/mcp?token=abc&access_token=d&x=1"}"#,
            r#"{"url":"http://h/mcp?token=[redacted secret]&access_token=[redacted secret]&x=1"}"#,
        ),
        (
            r#"{"url":"http://h/back?code=abc"}"#,
            r#"{"url":"http://h/back?code=[redacted authorization code]"}"#,
        ),
        (
            r#"{"text":"password: hunter2, token=abc."}"#,
            r#"{"text":"password: [redacted secret], token=[redacted secret]"}"#,
        ),
        ("{'password': 'hunter2', 'x': 'y'}", "{'password': '[redacted secret]', 'x': 'y'}"),
        ("{'Authorization': 'Bearer abc'}", "{'Authorization': 'Bearer [redacted authorization]'}"),
        (
            r#"{"secrets":{"a":"b{c","d":"e"}}"#,
            r#"{"secrets":{"a":"[redacted secret]","d":"[redacted secret]"}}"#,
        ),
        (r#"password: "hunter2""#, r#"password: "[redacted secret]""#),
        (
            "grant_type=jwt-bearer&assertion=PHNhbWw&x=y",
            "grant_type=jwt-bearer&assertion=[redacted secret]&x=y",
        ),
    ] {
        assert_eq!(frame(text), right);
    }
    assert_eq!(
        redacted(
            "1 ! - line login with password: hunter2 failed⟦0d⟧\n2 * 0.000000 failed {\"error\":\"cannot connect (http://h/mcp?token=abc)\"}\n\
             3 >1 - head GET /sse?token=abc HTTP/1.1⟦0d 0a⟧authorization : abc⟦0d 0a⟧X-Auth-Key: k⟦0d 0a⟧Accept: */*\n"
        ),
        "1 ! - line login with password: [redacted secret] failed⟦0d⟧\n\
         2 * 0.000000 failed {\"error\":\"cannot connect (http://h/mcp?token=[redacted secret])\"}\n\
         3 >1 - head GET /sse?token=[redacted secret] HTTP/1.1⟦0d 0a⟧authorization : [redacted authorization]\
         ⟦0d 0a⟧X-Auth-Key: [redacted API key]⟦0d 0a⟧Accept: */*\n"
    );
}

#[test]
fn texts_of_nothing_but_names_are_read_once() {
    for name in ["a:", "a=", "pwd=", "pwd:", "cookie=", "cookie:", "cookie:'", "assertion=", "{\"secrets\":"]
    {
        // Reading the rest of the text at each name would take minutes.
        let text = name.repeat(1_000_000 / name.len());
        let line = redacted(&format!("1 ! - line {text}\n"));
        assert!(line.starts_with("1 ! - line ") && line.ends_with('\n'), "{name}");
    }
}

#[test]
fn well_known_shapes_are_found_anywhere() {
    let digits = "0123456789abcdefghijABCDEFGHIJ0123456789";
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl";
    for (secret, kind) in [
        (format!("sk-{digits}"), "API key"),
        (format!("sk-ant-api03-{digits}"), "API key"),
        (format!("ghp_{digits}"), "GitHub token"),
        (format!("github_pat_{digits}"), "GitHub token"),
        (format!("glpat-{digits}"), "GitLab token"),
        (format!("xoxb-{digits}"), "Slack token"),
        ("AKIAIOSFODNN7EXAMPLE".to_owned(), "AWS key"),
        (format!("AIza{digits}"), "API key"),
        (format!("pt_{digits}abcde"), "API key"),
        (jwt.to_owned(), "JSON Web Token"),
    ] {
        let text = format!(r#"{{"a":["see {secret}, {secret}."]}}"#);
        assert_eq!(frame(&text), format!(r#"{{"a":["see [redacted {kind}], [redacted {kind}]."]}}"#));
        assert_eq!(frame(&format!("log: {secret}")), format!("log: [redacted {kind}]"));
    }
    assert_eq!(frame(&format!(r#"{{"a":"Bearer {digits}"}}"#)), r#"{"a":"Bearer [redacted bearer token]"}"#);
    assert_eq!(
        frame(r#"{"a":"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\n"}"#),
        r#"{"a":"[redacted private key]\n"}"#
    );
    assert_eq!(
        frame(r#"{"a":"postgres://me:pass@db/x?sslmode=no"}"#),
        r#"{"a":"postgres://me:[redacted password]@db/x?sslmode=no"}"#
    );
}

#[test]
fn forms_queries_and_logs_lose_their_secrets() {
    assert_eq!(
        redacted("1 >1 - raw grant_type=authorization_code&code=abc&client_id=me&code_verifier=xyz\n"),
        "1 >1 - raw grant_type=authorization_code&code=[redacted authorization code]&client_id=me&\
         code_verifier=[redacted secret]\n"
    );
    assert_eq!(
        redacted("1 ! - line DEBUG POST Authorization: Bearer abc def\n2 ! - line API_KEY=abc started\n"),
        "1 ! - line DEBUG POST Authorization: Bearer [redacted authorization]\n2 ! - line API_KEY=[redacted secret] started\n"
    );
    assert_eq!(
        redacted("1 <1 - raw event: endpoint⟦0a⟧data: /messages?sessionId=abc⟦0a 0a⟧\n"),
        "1 <1 - line event: endpoint⟦0a⟧data: /messages?sessionId=[redacted session id]⟦0a⟧\n"
    );
    assert_eq!(frame(r#"password="abc" x"#), r#"password="[redacted secret]" x"#);
}

#[test]
fn commands_lose_their_secrets() {
    let lines = redacted(
        r#"1 * 0.000000 start {"command":["srv","--token","abc","--api-key=def","GH_TOKEN=x","--header","X-API-Key: k","--tokens","5"],"cwd":"/"}
"#,
    );
    assert_eq!(
        lines,
        r#"1 * 0.000000 start {"command":["srv","--token","[redacted secret]","--api-key=[redacted secret]","GH_TOKEN=[redacted secret]","--header","X-API-Key: [redacted API key]","--tokens","5"],"cwd":"/"}
"#
    );
}

#[test]
fn lengths_are_those_of_the_copy() {
    assert_eq!(
        redacted("1 > - length {\"password\":\"abc\"}\n"),
        "1 > - length {\"password\":\"[redacted secret]\"}\n"
    );
    assert_eq!(
        redacted("1 > - raw content-length: 18⟦0d 0a⟧X: y⟦0d 0a 0d 0a⟧{\"password\":\"abc\"}\n"),
        "1 > - raw content-length: 32⟦0d 0a⟧X: y⟦0d 0a 0d 0a⟧{\"password\":\"[redacted secret]\"}\n"
    );
    assert_eq!(
        redacted("1 <1 - event {\"password\":1}\n"),
        "1 <1 - event {\"password\":\"[redacted secret]\"}\n"
    );
}

#[test]
fn a_secret_in_two_parts_is_found() {
    assert_eq!(
        redacted("1 < - raw {\"password\":\"ab\n2 > - line {}\n3 < - raw c\"}⟦0a⟧{}\n4 < - line\n"),
        "1 < - raw\n2 > - line {}\n3 < - raw {\"password\":\"[redacted secret]\"}⟦0a⟧{}\n4 < - line\n"
    );
    // Without secrets, the parts stay as they are.
    let lines = "1 < - raw {\"a\":\"ab\n2 > - line {}\n3 < - raw c\"}⟦0a⟧{}\n4 < - raw x\n";
    assert_eq!(redacted(lines), lines);
}

#[test]
fn what_the_user_names_is_redacted_and_frames_stay_json() {
    let redactor = || Redactor::new().also(r"\d{3}|a.c|tools|:").unwrap();
    let lines = redacted_by(
        redactor(),
        "1 > - line {\"id\":1,\"tools\":[1234,\"a\\\"c\",true],\"b\":\"x: abc\"}\n# abc\n",
    );
    assert_eq!(
        lines,
        "1 > - line {\"id\":1,\"tools\":[\"[redacted text]\",\"[redacted text]\",true],\
         \"b\":\"x[redacted text] [redacted text]\"}\n# [redacted text]\n"
    );
    assert!(Redactor::new().also("(").is_err());
}

#[test]
fn ordinary_text_stays() {
    for text in [
        r#"{"error":{"code":-32601,"message":"Bearer authentication is required: see https://example.com/a:b@c"}}"#,
        r#"{"properties":{"password":{"type":"string","description":"The password."}},"required":["password"]}"#,
        r#"{"progressToken":"abcdefghijklmnop1","nextCursor":"eyJvZmZzZXQiOjEwMH0"}"#,
        r#"{"text":"task-sk-1 AKIA ghp_ token=5 password: none secret"}"#,
        r#"{"token":5,"secret":"no","usage":{"max_tokens":100}}"#,
        r#"{"text":"Unexpected token: x, if token == y","progress_token":"abc","page":"?code=404"}"#,
        r#"Unexpected token: "x", {"a":"b"}"#,
        r#"{"text":"cat /etc/passwd: Permission denied. Password: must not be empty. PWD=/root"}"#,
        r#"{"properties":{"secrets":{"type":"object","description":"x"},"token":{"type":"string"}}}"#,
        r#"{"arguments":{"text":"hello","code":"DE","tokens":"a b","assertion":"x"}}"#,
        r#"{"password":"","access_token":null}"#,
    ] {
        assert_eq!(frame(text), text);
    }
}

#[test]
fn recorded_sessions_without_secrets_stay() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../papertape/tests/tapes");
    let mut folders = vec![folder];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let tape = std::fs::read_to_string(&path).unwrap();
            let lines = tape.strip_prefix("papertape 1\n").unwrap();
            assert_eq!(redacted(lines), lines, "{}", path.display());
            count += 1;
        }
    }
    assert!(count > 50);
}

#[test]
fn a_redacted_tape_stays_as_it_is() {
    let lines = "1 >1 - head GET /?api_key=a HTTP/1.1⟦0d 0a⟧Authorization: Bearer abc\n2 > - line {\"password\":\"x\"}\n";
    let once = redacted(lines);
    assert_eq!(redacted(&once), once);
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[\"\\\\{}\\[\\]:,= a1\n]{0,20}",
        "(\\{\"(password|a)\":)?(\"[ab\\\\]{0,3}\"|[0-9]{1,3}|\\[)?[},\\]]{0,2}",
        "(authorization|password|token|code)[:=] ?[a-z0-9=;]{0,20}",
        "(sk-|ghp_|eyJ|Bearer |://)[a-z0-9.:@]{0,50}",
    ]
}

proptest! {
    #[test]
    fn frames_keep_their_shape(parts in prop::collection::vec((0usize..3, texts()), 1..6)) {
        let lines: String = (1..).zip(&parts).map(|(number, (source, text))| {
            let source = ["<", ">1", "!"][*source];
            format!("{number} {source} - raw {}\n", papertape::wire::tape::escaped(text.as_bytes()))
        }).collect();
        let copy = redacted(&lines);
        let entries = read(&format!("papertape 1\n{copy}")).unwrap();
        prop_assert_eq!(entries.len(), parts.len());
        let numbers: Vec<u64> = entries.iter().map(|entry| match entry {
            Entry::Record(record) => record.number,
            Entry::Comment(_) => 0,
        }).collect();
        prop_assert!(numbers.iter().copied().eq(1..=parts.len() as u64));
    }

    #[test]
    fn json_stays_json(text in texts(), more in texts(), number in any::<i32>(), also in any::<bool>()) {
        let json = serde_json::json!({"a": text, "password": more, "b": [number, {"token": text}]}).to_string();
        let mut redactor = Redactor::new();
        if also {
            redactor = redactor.also(r"[0-9]+|\W").unwrap();
        }
        let line = format!("1 > - line {}\n", papertape::wire::tape::escaped(json.as_bytes()));
        let copy = redacted_by(redactor, &line);
        let entries = read(&format!("papertape 1\n{copy}")).unwrap();
        let [Entry::Record(record)] = &entries[..] else { panic!() };
        let Content::Frame(_, bytes) = &record.content else { panic!() };
        prop_assert!(serde_json::from_slice::<serde_json::Value>(bytes).is_ok(), "{copy}");
    }
}
