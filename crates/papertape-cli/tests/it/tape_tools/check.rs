//! `papertape tape check`.

use crate::tape_tools::{HTTP, STDIO, assert_code, tool_of};
use crate::{document, text};

/// The session of `STDIO` with a response to its last request.
fn answered() -> String {
    let response = r#"12 < 0.950000 line {"jsonrpc":"2.0","id":3,"result":{}}"#;
    STDIO
        .replace("12 * 1.000000 exit", &format!("{response}\n13 * 1.000000 exit"))
        .replace("13 * 1.000100", "14 * 1.000100")
}

#[test]
fn a_healthy_server_is_healthy() {
    let end = tool_of(&["check"], &answered());
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
fn a_request_is_never_answered_if_the_tape_is_complete() {
    let end = tool_of(&["check"], STDIO);
    assert_code(&end, 4);
    assert!(text(&end).contains("PT0209") && text(&end).contains("`ping` with the id `3`"), "{}", text(&end));
    let broken = STDIO.replace("12 * 1.000000 exit", "x\n12 * 1.000000 exit");
    assert!(!text(&tool_of(&["check"], &broken)).contains("PT0209"));
    let left =
        STDIO.replace("12 * 1.000000 exit", "12 * 0.950000 eof {\"of\":\"client\"}\n12 * 1.000000 exit");
    assert!(!text(tool_of(&["check"], &left).is_clean()).contains("PT0209"), "the client did not wait");
    // The process may go on, the recorder was killed, or frames were lost.
    let lost = r#"12 * 0.950000 lost {"frames":1,"bytes":9}"#;
    for tape in [
        STDIO.replace("12 * 1.000000 exit {\"status\":0}\n13 *", "12 *"),
        STDIO.replace("13 * 1.000100 end {}\n", ""),
        STDIO
            .replace("12 * 1.000000 exit", &format!("{lost}\n13 * 1.000000 exit"))
            .replace("13 * 1.000100", "14 * 1.000100"),
    ] {
        let end = tool_of(&["check"], &tape);
        assert!(end.status.code() == Some(0) && !text(&end).contains("PT0209"), "{}", text(&end));
    }
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
