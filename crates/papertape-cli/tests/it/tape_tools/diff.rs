//! `papertape tape diff`.

use std::path::Path;

use papertape_testing::process::{End, run};
use serde_json::json;

use crate::tape_tools::{STDIO, assert_code, tape, tool_of};
use crate::{document, papertape, text};

fn diff(words: &[&str], old: &Path, new: &Path) -> End {
    let mut command = papertape(["tape", "diff"]);
    command.args(words).arg(old).arg(new);
    run(&mut command, "")
}

#[test]
fn the_same_session_recorded_again_does_not_differ() {
    let old = tape("tape_diff_same_old", STDIO);
    let new =
        STDIO.replace("\"id\":2,", "\"id\":\"two\",").replace("0.800000", "0.900000").replace("4242", "1");
    let new = tape("tape_diff_same_new", &new);
    let end = diff(&[], &old, &new);
    end.is_clean();
    assert_eq!(text(&end), "no difference in 4 requests\n");
    assert_eq!(document(diff(&["--output", "json"], &old, &new).is_clean()), json!({"differences": []}));
    assert_code(&diff(&["--strict"], &old, &new), 0);
}

#[test]
fn differences_are_readable() {
    let old = tape("tape_diff_old", STDIO);
    let new = STDIO
        .replace("\"text\":\"3\"", "\"text\":\"4\"")
        .replace("\"isError\":true,", "")
        .replace("11 > 0.900000 line {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}\n", "");
    let new = tape("tape_diff_new", &new);
    let end = diff(&[], &old, &new);
    assert_code(&end, 1);
    assert_eq!(
        text(&end),
        "tools/call add (→ 6 | → 6)
  /result/content/0/text: \"3\" -> \"4\"
tools/call add (→ 9 | → 9)
  outcome: a result with isError -> a result
  /result/isError: true is missing
ping (→ 11): only in the old tape
"
    );
    assert!(end.log.is_empty());
    let end = diff(&["--output", "json", "--ignore", "isError"], &old, &new);
    assert_code(&end, 1);
    assert_eq!(
        document(&end)["differences"][0],
        json!({
            "direction": "to-server", "method": "tools/call", "name": "add", "old": 6, "new": 6, "outcomes": null,
            "changes": [{"pointer": "/result/content/0/text", "old": "3", "new": "4"}],
        })
    );
}

#[test]
fn what_is_ignored_does_not_differ() {
    let old = tape("tape_diff_ignored_old", STDIO);
    let new = tape("tape_diff_ignored_new", &STDIO.replace("\"text\":\"3\"", "\"text\":\"4\""));
    assert_code(&diff(&[], &old, &new), 1);
    diff(&["--ignore", "/result/content/*/text"], &old, &new).is_clean();
    diff(&["--ignore", "text"], &old, &new).is_clean();
    let end = diff(&["--ignore", "result/content"], &old, &new);
    assert_code(&end, 2);
    assert!(end.log.contains("is not a JSON pointer"), "{}", end.log);
}

#[test]
fn a_tape_on_stdin_is_compared() {
    let old = tape("tape_diff_stdin", STDIO);
    tool_of(&["diff", old.to_str().unwrap()], STDIO).is_clean();
    assert_code(&tool_of(&["diff", "-"], STDIO), 2);
}
