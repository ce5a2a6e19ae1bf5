//! `papertape request`: any request.

use crate::process::run;
use crate::{contains, document, papertape, text};

#[test]
fn a_request_of_any_method_has_its_raw_result() {
    let words =
        ["request", "text", "tools/call", "name=echo", "arguments={\"text\":\"a\"}", "--output", "json"];
    let end = run(&mut papertape(words), "");
    assert_eq!(document(end.is_clean())["result"]["content"][0]["text"], "a");
    let params = "{\"name\": \"echo\", \"arguments\": {\"text\": \"b\"}}";
    let end = run(&mut papertape(["request", "text", "tools/call", "--json", params]), "");
    assert_eq!(document(end.is_clean())["content"][0]["text"], "b");
}

#[test]
fn an_unknown_method_is_the_error_of_the_server() {
    let end = run(&mut papertape(["request", "text", "vendor/x", "a=1"]), "");
    assert_eq!(end.status.code(), Some(1), "{end:?}");
    contains(&end.log, &["vendor/x", "failed"]);
    let end = run(&mut papertape(["request", "text"]), "");
    assert_eq!(end.status.code(), Some(2), "{end:?}");
    contains(&end.log, &["which method?"]);
}

#[test]
fn the_shell_sends_requests() {
    let end = run(&mut papertape(["shell", "text"]), "request tools/list\n\nrequest\n");
    assert_eq!(end.status.code(), Some(2), "{end:?}");
    contains(text(&end), &["\"word_count\""]);
    contains(&end.log, &["papertape: line 3: request: which method?"]);
}
