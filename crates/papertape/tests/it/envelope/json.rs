//! What is JSON, how deep, and what is not.

use papertape::server::Limits;

use super::{SOME, call_with, check, check_in};
use crate::fixture;
use crate::peer::{MODERN, Peer, run, word, words};

#[test]
fn nesting_is_bounded() {
    let nested = |open: &str, close: &str, levels: usize| {
        let value = format!("{}0{}", open.repeat(levels), close.repeat(levels));
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{META"name":"count","arguments":{{"x":{value}}}}}}}"#
        )
    };
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        // S-50, and exactly the limit: the message, `params` and `arguments` are three levels themselves.
        for levels in [97, 100, 124] {
            check(&nested(open, close, levels), "R(7)");
        }
        // S-51
        for levels in [125, 128, 1_000, 100_000] {
            check(&nested(open, close, levels), "E(-32600,7)");
        }
    }
    // Elsewhere in the message, too.
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    check(
        &format!(r#"{{"jsonrpc":"2.0","x":{deep},"id":7,"method":"tools/list","params":{{META"x":0}}}}"#),
        "E(-32600,7)",
    );
    check(&deep, "E(-32600,–)");
    // Brackets in strings are not levels.
    let text = format!(r#""\\\"{}""#, "[{".repeat(1_000));
    check(
        &format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{META"name":"count","arguments":{{"text":{text}}}}}}}"#
        ),
        "R(7)",
    );
}

#[test]
fn deep_unclosed_nesting_is_not_json() {
    // S-52
    check(&"[".repeat(100_000), "E(-32700,–)");
    check(&"{\"a\":".repeat(1_000_000), "E(-32700,–)");
    check(
        &format!(r#"{{"jsonrpc":"2.0","id":7,"method":"x","params":{{"a":{}"#, "[".repeat(100_000)),
        "E(-32700,–)",
    );
}

#[test]
fn json_that_is_not_a_message_is_rejected() {
    // S-55
    for line in [
        "1",
        "null",
        "\"x\"",
        "{}",
        "true",
        "-0.5e-3",
        "\"\\ud83d\\ude00\"",
        r#"{"a":1}"#,
        r#"{"jsonrpc":"2.0"}"#,
    ] {
        check(line, "E(-32600,–)");
    }
    // S-56
    check("[]", "E(-32600,–)");
    check(" [ ] ", "E(-32600,–)");
}

#[test]
fn the_depth_limit_can_be_set() {
    run(async {
        let server = fixture::counting().0.limits(Limits { depth: 4, batch: 2, ..Limits::default() });
        let mut peer = Peer::open(server, "2025-03-26").await;
        let nested = |value: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"count","arguments":{{"x":{value}}}}}}}"#
            ) + "\n"
        };
        assert_eq!(words(&peer.send(nested("[]")).await), "R(7)");
        assert_eq!(words(&peer.send(nested("[[]]")).await), "E(-32600,7)");
        assert_eq!(words(&peer.send("[1,2]\n").await), "[E(-32600,null) E(-32600,null)]");
        assert_eq!(words(&peer.send("[1,2,3]\n").await), "E(-32600,null)");
    });
}

/// JSON, one text per line, but no message.
const JSON: &str = r#"
0
-0
0.0
0e0
1E5
1e+5
1.5e-7
-1
123456789012345678901234567890
""
"\"\\\/\b\f\n\r\t"
"\u0000"
"\uD834\uDD1E"
{"":0}
{"\u0000":0}
{"a":{"b":[]}}
{"a":1,"a":2}
{"params":{}}
{"jsonrpc":"2.0"}
"#;

/// What is not JSON, one text per line, though some parser somewhere takes it.
const NO_JSON: &str = r##"
00
01
-01
-
+1
1.
.5
1e
1e+
0x1
1_000
NaN
-Infinity
1 2
1,
[1.]
[-]
"
"\"
"\x"
"\u12"
"\u{41}"
"\U0041"
"\ "
"a
["\"]
'a'
`a`
[
]
{
}
[}
{]
[1
[1,]
[,1]
[,]
[1,,2]
[1 2]
[]]
[] x
{"a"}
{"a":}
{"a":1,}
{"a":1]
{"a":[}
{"a" 1}
{"a":1 "b":2}
{,"a":1}
{a:1}
{1:1}
{null:1}
{}{}
{}}
{"jsonrpc":"2.0","id":7,"method":"ping"
{"jsonrpc":"2.0","id":7,"method":"ping"}}
nul
tru
True
NULL
nan
undefined
trueish
null,
[tru]
true false
/* */ {}
{} // x
[1] /* x */
# x
---
a=1
<a/>
"##;

#[test]
fn syntax_comes_before_shape() {
    // Decision 6
    let texts = JSON.trim().lines().chain(["\"\u{7f}\"", "\"\u{10FFFF}\"", "\"\u{FEFF}\"", "\t{\t}\t"]);
    for text in texts {
        check_in(&SOME, text, "E(-32600,–)");
    }
    // In a batch each member would be refused.
    for text in ["[[]]", "[null]", "[{},{}]", "[1e5]", "[[[[[[[[]]]]]]]]", "[\"[\"]"] {
        check_in(&["2024-11-05", "2025-11-25", MODERN], text, "E(-32600,–)");
    }
    // Control characters, white space of other languages, and marks where none belong.
    let texts = NO_JSON.trim().lines().chain([
        "[\"a\u{1}\"]",
        "{}\u{FEFF}",
        "\u{a0}{}",
        "\u{2028}[]",
        "\u{c}[]",
        "\u{b}1",
        "{}\u{0}",
        "\u{0}",
    ]);
    for text in texts {
        check_in(&SOME, text, "E(-32700,–)");
    }
}

#[test]
fn a_response_is_one_compact_line() {
    run(async {
        let mut peer = Peer::open(fixture::counting().0, "2025-11-25").await;
        let answer = peer.send(call_with("7").replace("META", "") + "\n").await;
        assert_eq!(answer, b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\"}],\"isError\":false}}\n");
        assert_eq!(word(answer.strip_suffix(b"\n").unwrap()), "R(7)");
    });
}
