//! `papertape tape check`.

use crate::tape_tools::{HTTP, STDIO, assert_code, tool_of};
use crate::{document, text};

#[test]
fn a_healthy_server_is_healthy() {
    let end = tool_of(&["check"], STDIO);
    end.is_clean();
    for words in
        ["healthy: ./server (1 note)", "server: adder 1; opens in 2025-06-18", "recording of 4 requests"]
    {
        assert!(text(&end).contains(words), "{words}:\n{}", text(&end));
    }
    tool_of(&["check"], HTTP).is_clean();
}

#[test]
fn text_on_stdout_breaks_hosts() {
    let tape = STDIO.replace("3 ! 0.150000 line listening⟦1b⟧[0m", "3 < 0.150000 line listening");
    let end = tool_of(&["check"], &tape);
    assert_code(&end, 4);
    assert!(text(&end).starts_with("unhealthy: ") && text(&end).contains("PT0101"), "{}", text(&end));
    assert!(end.log.is_empty());
}

#[test]
fn reports_are_those_of_check() {
    let tape = STDIO.replace("\"id\":2,\"result\"", "\"id\":\"2\",\"result\"");
    let end = tool_of(&["check", "--output", "json"], &tape);
    let codes: Vec<_> = document(&end)["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["code"].clone())
        .collect();
    assert!(codes.contains(&"PT0312".into()), "{codes:?}");
    let end = tool_of(&["check", "--output", "sarif"], &tape);
    assert_eq!(document(&end)["version"], "2.1.0");
    assert!(text(&tool_of(&["check", "--output", "junit"], &tape)).starts_with("<?xml"));
}
