//! `papertape read` and `papertape prompt`: resources and prompts from the shell.

use serde_json::{Value, json};

use crate::process::{End, run};
use crate::{canned, contains, document, opening, papertape, scratch, text};

fn read(words: &[&str], contents: &Value) -> End {
    let server = canned(&[opening(&json!({"resources": {}})), json!({"contents": contents})]);
    let mut command = papertape(["read", "x:y", "--revision", "2025-11-25"]);
    run(command.args(words).arg("--").args(server), "")
}

#[test]
fn text_and_bytes_go_to_a_pipe_as_they_are() {
    let end = read(&[], &json!([{"uri": "x:y", "text": "a\u{1b}[31m\r\n"}]));
    assert_eq!(text(end.is_clean()), "a\u{1b}[31m\r\n");
    let end = read(&[], &json!([{"uri": "x:y", "blob": "AP8K"}]));
    assert_eq!((&end.is_clean().output[..], end.log.as_str()), (&b"\x00\xff\n"[..], ""));
}

#[test]
fn bytes_can_be_kept_in_a_folder() {
    let folder = scratch("read_out");
    let words = ["--out", folder.to_str().unwrap()];
    let end = read(&words, &json!([{"uri": "x:/a/photo.png?x", "mimeType": "image/png", "blob": "AP8K"}]));
    assert_eq!(end.is_clean().output, b"");
    assert_eq!(std::fs::read(folder.join("photo.png")).unwrap(), b"\x00\xff\n");
    contains(&end.log, &["[image/png, 3 bytes: ", "photo.png]"]);
}

#[test]
fn a_resource_can_be_a_document() {
    let end = read(&["--output", "json"], &json!([{"uri": "x:y", "mimeType": "text/plain", "text": "a"}]));
    let contents = json!([{"uri": "x:y", "mimeType": "text/plain", "text": "a"}]);
    assert_eq!(document(end.is_clean()), json!({"revision": "2025-11-25", "contents": contents}));
}

#[test]
fn a_server_without_resources_is_an_error() {
    let end = run(&mut papertape(["read", "text", "x:y"]), "");
    assert_eq!(end.status.code(), Some(1), "{end:?}");
    contains(&end.log, &["reading the resource \"x:y\"", "-32601"]);
}

#[test]
fn a_mistyped_uri_gets_the_known_ones() {
    // The second response is an error.
    let resources = json!({"resources": [{"uri": "file:///notes/today.md", "name": "today"}]});
    let templates = json!({"resourceTemplates": [{"uriTemplate": "file:///{name}", "name": "any"}]});
    for (code, uri, hinted) in [
        (-32002, "file:///notes/tody.md", ": did you mean \"file:///notes/today.md\"?\n"),
        (
            -32602,
            "x:y",
            "\n  its resources: file:///notes/today.md\n  its resource templates: file:///{name}\n",
        ),
    ] {
        let offer = opening(&json!({"resources": {}}));
        let mut server = canned(&[offer, json!({}), resources.clone(), templates.clone()]);
        let error = json!({"code": code, "message": "unknown resource"});
        // After the shell and its script.
        server[5] = json!({"jsonrpc": "2.0", "id": 2, "error": error}).to_string();
        let end = run(papertape(["read", uri, "--revision", "2025-11-25", "--"]).args(server), "");
        assert_eq!((end.status.code(), text(&end)), (Some(1), ""), "{end:?}");
        contains(&end.log, &["unknown resource", hinted]);
    }
}

fn prompt(words: &[&str], results: &[Value]) -> End {
    let prompts = json!({"prompts": [{
        "name": "review",
        "arguments": [
            {"name": "language", "description": "Which one.", "required": true},
            {"name": "tone"},
        ],
    }]});
    let mut answers = vec![opening(&json!({"prompts": {}})), prompts];
    answers.extend_from_slice(results);
    let mut command = papertape(["prompt", "--revision", "2025-11-25"]);
    run(command.args(words).arg("--").args(canned(&answers)), "")
}

#[test]
fn a_prompt_is_filled_in_and_printed() {
    let messages = json!([
        {"role": "user", "content": {"type": "text", "text": "Review this."}},
        {"role": "assistant", "content": {"type": "text", "text": "Gladly.\n"}},
    ]);
    let result = [json!({"description": "A review.", "messages": messages})];
    let end = prompt(&["review", "language=5", "--trace"], &result);
    assert_eq!(text(end.is_clean()), "user:\nReview this.\n\nassistant:\nGladly.\n");
    contains(
        &end.log,
        &[r#""method":"prompts/get","params":{"name":"review","arguments":{"language":"5"}}"#],
    );
    let end = prompt(&["review", "language=5", "--output", "json"], &result);
    assert_eq!(document(end.is_clean()), json!({"revision": "2025-11-25", "result": result[0]}));
}

#[test]
fn a_mistyped_prompt_is_a_usage_error() {
    for (words, right) in [
        (
            ["reveiw", "language=x"],
            "there is no prompt \"reveiw\": did you mean \"review\"?\n  its prompts: review\n",
        ),
        (["review", "tone=x"], "review: an argument is missing:\n  language: text\n    Which one.\n"),
        (["review", "langauge=x"], "review: there is no argument \"langauge\": did you mean \"language\"?\n"),
        (
            ["review", "language:=5"],
            "review: language:=5 is not a string, and the arguments of a prompt are strings\n",
        ),
    ] {
        let end = prompt(&words, &[]);
        assert_eq!((end.status.code(), text(&end)), (Some(2), ""), "{words:?}: {end:?}");
        contains(&end.log, &[right]);
    }
}
