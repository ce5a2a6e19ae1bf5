//! `papertape tape grep`.

use crate::tape_tools::{HTTP, STDIO, assert_code, tool_of};
use crate::text;

#[test]
fn matches_are_printed_with_what_is_around_them() {
    let end = tool_of(&["grep", r"a.*\bnumber"], STDIO);
    end.is_clean();
    assert_eq!(
        text(&end),
        "←  10  0.800s  …,\"result\":{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"a is not a number\"}]}}\n"
    );
}

#[test]
fn a_match_over_two_parts_is_found() {
    let end = tool_of(&["grep", "-F", r#""result":{"content"#, "--whole"], STDIO);
    end.is_clean();
    assert_eq!(
        text(&end),
        "←   7  0.600s  {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"3\"}]}}\n"
    );
}

#[test]
fn everything_is_searched_and_counted() {
    for (words, tape, count) in [
        (&["grep", "-c", "add"][..], STDIO, "3\n"),
        (&["grep", "-c", "-i", "HOST: 127"], HTTP, "2\n"),
        (&["grep", "-c", "listening"], STDIO, "1\n"),
        (&["grep", "-c", "4242"], STDIO, "1\n"),
        (&["grep", "-c", "add", "--direction", "to-client"], STDIO, "1\n"),
        (&["grep", "-c", "-F", "a.d"], STDIO, "0\n"),
    ] {
        let end = tool_of(words, tape);
        assert_eq!(text(&end), count, "{words:?}");
        assert_code(&end, i32::from(count == "0\n"));
    }
}

#[test]
fn no_match_is_1_and_no_pattern_is_2() {
    let end = tool_of(&["grep", "nothing"], STDIO);
    assert_code(&end, 1);
    assert!(end.output.is_empty() && end.log.is_empty());
    let end = tool_of(&["grep", "("], STDIO);
    assert_code(&end, 2);
    assert!(end.log.contains("is not a regular expression"), "{}", end.log);
}
