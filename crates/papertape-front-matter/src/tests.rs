//! What front matter is parsed to, and its bounds on untrusted input.

use proptest::prelude::{ProptestConfig, any, proptest};
use serde_json::{Value, json};

use super::{MOST_BYTES, read, split};

#[track_caller]
fn gives(yaml: &str, json: Value) {
    assert_eq!(read(&format!("---\n{yaml}\n---\nBody")).map(Value::Object), Ok(json), "{yaml}");
}

#[track_caller]
fn fails(markdown: &str, why: &str) {
    let shown: String = markdown.chars().take(200).collect();
    match read(markdown) {
        Ok(read) => panic!("{shown} was read as {read:?}"),
        Err(problem) => {
            assert!(problem.contains(why), "{why:?} is missing in: {problem}");
            assert!(problem.len() < 500, "{} bytes", problem.len());
        }
    }
}

#[test]
fn scalars_are_those_of_the_yaml_1_2_core_schema() {
    gives("a: text", json!({"a": "text"}));
    gives(
        "a: yes\nb: no\nc: on\nd: 2024-01-01",
        json!({"a": "yes", "b": "no", "c": "on", "d": "2024-01-01"}),
    );
    gives(
        "a: true\nb: FALSE\nc: ~\nd:\ne: Null",
        json!({"a": true, "b": false, "c": null, "d": null, "e": null}),
    );
    gives(
        "a: 7\nb: -7\nc: +7\nd: 007\ne: 0x1F\nf: 0o17",
        json!({"a": 7, "b": -7, "c": 7, "d": 7, "e": 31, "f": 15}),
    );
    gives(
        "a: 1.5\nb: 1e3\nc: .5\nd: 1.\ne: -1.5E-2",
        json!({"a": 1.5, "b": 1e3, "c": 0.5, "d": 1.0, "e": -0.015}),
    );
    gives("a: 18446744073709551615\nb: 1e999", json!({"a": u64::MAX, "b": "1e999"}));
    gives(
        "a: 1.2.3\nb: 1-2\nc: e5\nd: '.'\ne: 0x\nf: 0x+1\ng: 1_000\nh: infinity\ni: nan",
        json!({
            "a": "1.2.3", "b": "1-2", "c": "e5", "d": ".", "e": "0x", "f": "0x+1", "g": "1_000", "h": "infinity", "i": "nan"
        }),
    );
    gives("a: \"1\"\nb: '~'\nc: !!str 1\nd: !!int 1", json!({"a": "1", "b": "~", "c": "1", "d": 1}));
    gives("1: a\ntrue: b", json!({"1": "a", "true": "b"}));
}

#[test]
fn common_front_matter_is_parsed() {
    gives("# who\na: text # and why", json!({"a": "text"}));
    gives("a: >\n  one\n  two\nb: |\n  one\n  two", json!({"a": "one two\n", "b": "one\ntwo\n"}));
    gives(
        "a: {b: [1, two, {c: d}]}\ne:\n  - f\n  - g: h",
        json!({
            "a": {"b": [1, "two", {"c": "d"}]}, "e": ["f", {"g": "h"}]
        }),
    );
    gives("\"a\": {\"b\":1,\"c\":\"é\\n\"}", json!({"a": {"b": 1, "c": "é\n"}}));
    gives("a: --- is text\nb: c", json!({"a": "--- is text", "b": "c"}));
    gives("a: &x {b: c}\nd: *x\n<<: *x", json!({"a": {"b": "c"}, "d": {"b": "c"}, "<<": {"b": "c"}}));
}

#[test]
fn line_endings_and_a_byte_order_mark_are_ignored() {
    let wanted = json!({"a": "b", "c": "d"});
    for markdown in [
        "---\r\na: b\r\nc: d\r\n---\r\nBody",
        "\u{feff}---\na: b\nc: d\n---\n",
        "---\na: b\nc: d\n---",
        "---\na: b\nc: d\n--- \t\nBody\n---\n",
    ] {
        assert_eq!(read(markdown).map(Value::Object), Ok(wanted.clone()), "{markdown:?}");
    }
}

#[test]
fn the_body_begins_after_the_closing_line() {
    for (markdown, yaml, body) in [
        ("---\na: b\n---\nBody\n---\n", "a: b\n", "Body\n---\n"),
        ("\u{feff}---\r\na: b\r\n---\r\n\r\nBody", "a: b\r\n", "\r\nBody"),
        ("---\n---\n", "", ""),
        ("---\na: [\n---", "a: [\n", ""),
    ] {
        assert_eq!(split(markdown), Some((yaml, body)), "{markdown:?}");
    }
    for markdown in ["", "Body", "---", "---\na: b\n", " ---\n---\n"] {
        assert_eq!(split(markdown), None, "{markdown:?}");
    }
}

#[test]
fn invalid_front_matter_is_reported() {
    for markdown in ["", "Body", "--\na: b\n---\n", " ---\na: b\n---\n", "----\na: b\n---\n", "---"] {
        fails(markdown, "must begin with a line `---`");
    }
    for markdown in ["---\n", "---\na: b\n", "---\na: b\n ---\n", "---\na: b\n----\n"] {
        fails(markdown, "has no end");
    }
    fails("---\n---\n", "is empty");
    fails("---\n# nothing\n---\n", "is empty");
    fails("---\njust text\n---\n", "is not a mapping");
    fails("---\n- a\n- b\n---\n", "is not a mapping");
    fails("---\na: [\n---\n", "is not valid YAML");
    fails("---\na: b: c\n---\n", "is not valid YAML");
    fails("---\na: \"\0\"\n---\n", "is not valid YAML");
    fails("---\na: 1\n...\nb: 2\n---\n", "front matter");
    fails("---\na: *unknown\n---\n", "is not valid YAML");
    fails("---\na: .inf\n---\n", "JSON has no number");
    fails("---\na: !thing b\n---\n", "tags");
    fails("---\na: !thing {b: c}\n---\n", "tags");
    fails("---\n? [a]\n: b\n---\n", "a key must be a scalar");
}

#[test]
fn duplicate_keys_are_rejected() {
    fails("---\na: 1\nb: 2\na: 3\n---\n", "the key \"a\" occurs twice");
    fails("---\na: {b: 1, b: 2}\n---\n", "the key \"b\" occurs twice");
    fails("---\na: 1\n\"a\": 2\n---\n", "the key \"a\" occurs twice");
    fails("---\n&k a: 1\n*k : 2\n---\n", "the key \"a\" occurs twice");
}

#[test]
fn size_is_limited_with_aliases_expanded() {
    fails(&format!("---\na: {}\n---\n", "x".repeat(MOST_BYTES)), "more than");
    fails(&format!("---\n{}", "a\n".repeat(1 << 20)), "more than");
    let all = "x".repeat(MOST_BYTES - 4);
    gives(&format!("a: {all}"), json!({"a": all}));

    let mut laughs = "a0: &a0 [lol, lol, lol]\n".to_owned();
    for level in 1..20 {
        let below = format!("*a{}", level - 1);
        laughs.push_str(&format!("a{level}: &a{level} [{below}, {below}, {below}, {below}]\n"));
    }
    fails(&format!("---\n{laughs}---\n"), "aliases");
    // Much of one text, many times.
    let aliases = "- *a\n".repeat(5_000);
    fails(&format!("---\na: &a {}\nb:\n{aliases}---\n", "x".repeat(30_000)), "aliases");
    fails("---\na: &a [*a]\n---\n", "");
}

#[test]
fn depth_is_limited() {
    for deep in [
        format!("a: {}", "[".repeat(60_000)),
        format!("a: {}", "{a: ".repeat(15_000)),
        format!("a: {}1{}", "[".repeat(100), "]".repeat(100)),
        format!("a:\n  {}1", "- ".repeat(30_000)),
        "? ".repeat(30_000),
    ] {
        fails(&format!("---\n{deep}\n---\n"), "");
    }
    let depth = super::MOST_DEPTH - 1;
    let fits = format!("a: {}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(&format!("---\n{fits}\n---\n")).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(text in any::<String>(), yaml in "[-:?&*!|>'\"%@`{}\\[\\],#\\\\ \t\r\na~0x.eé]{0,60}") {
        drop(read(&text));
        drop(read(&format!("---\n{text}\n---\n")));
        drop(read(&format!("---\n{yaml}\n---\n")));
    }

    #[test]
    fn json_is_yaml(key in "[a-z]{1,9}", text in any::<String>(), number in any::<i64>(), float in -1e9..1e9) {
        let value = json!({ &key: {"text": text, "list": [number, float, null, true]} });
        // YAML has no place for NUL, not even in quotes.
        if let (Value::Object(members), false) = (&value, text.contains('\0')) {
            let (key, inner) = members.iter().next().unwrap();
            assert_eq!(read(&format!("---\n{key}: {inner}\n---\n")), Ok(members.clone()));
        }
    }
}
