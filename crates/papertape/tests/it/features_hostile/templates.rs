//! Templates, words and prompts: text to typed values.

use std::collections::BTreeMap;

use papertape::{Cx, Server, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Name, modern, named, one};
use crate::peer::{Peer, run};

async fn read(server: Server, uri: &str) -> Option<String> {
    let mut peer = Peer::connect(server);
    let reply = one(&mut peer, modern("{}", 1, "resources/read", json!({"uri": uri}))).await;
    reply["result"]["contents"][0]["text"].as_str().map(str::to_owned)
}

fn showing(template: &str) -> Server {
    named("s").resource_template(template, |values: BTreeMap<String, String>, _| async move {
        let values: Vec<String> = values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Ok(values.join(" "))
    })
}

#[test]
fn templates_match_what_they_expand_to() {
    run(async {
        for (template, uri, expected) in [
            // Reserved characters are escaped in `{x}`, and only there.
            ("a:{x}", "a:b%2Fc", Some("x=b/c")),
            ("a:{x}", "a:b%3Fc%23d%2C", Some("x=b?c#d,")),
            ("a:{x}", "a:b/c", None),
            ("a:{x}", "a:b?c", None),
            ("a:{x}/", "a:b/", Some("x=b")),
            ("a:{x}", "a:%", Some("x=%")),
            ("a:{x}", "a:%zz", Some("x=%zz")),
            ("a:{x}", "a:%ff", None),
            ("a:{x}", "a:%00", Some("x=\0")),
            ("a:{x}", "a:é", Some("x=é")),
            ("a:{+x}", "a:b/c?d#e", Some("x=b/c?d#e")),
            ("a:{+x}", "a:../..", Some("x=../..")),
            ("a:{+x}/end", "a:b/end/end", Some("x=b/end")),
            ("a:{x}-{y}", "a:1-2-3", Some("x=1-2 y=3")),
            ("a:b{/x,y}", "a:b/1/2", Some("x=1 y=2")),
            ("a:b{/x}", "a:b/1/2", None),
            ("a:b{.x,y}", "a:b.1.2", Some("x=1 y=2")),
            ("a:b{#x,y}", "a:b#1,2", Some("x=1 y=2")),
            ("a:b{?x}", "a:b?x=1&x=2", Some("x=2")),
            ("a:b{?x,y}", "a:b?y=1", Some("y=1")),
            ("a:b{?x}", "a:b?x", Some("x=")),
            ("a:b{?x}", "a:b?%78=1", Some("x=1")),
            ("a:b{?x}", "a:b?x=1+1", Some("x=1+1")),
            ("a:b{?x}", "a:b?", Some("")),
            ("a:b{?x}", "a:b#x=1", None),
            ("a(b)[c].:{x}", "a(b)[c].:1", Some("x=1")),
            ("a(b)[c].:{x}", "abc:1", None),
            // A dot is where the extension begins.
            ("a:{x}{.ext}", "a:b.md", Some("ext=md x=b")),
            ("a:{x}{.ext}", "a:b", Some("x=b")),
            ("a:{+x}{.ext}", "a:b/c.tar.gz", Some("ext=gz x=b/c.tar")),
            ("a:{+x}{#part}", "a:b/c#d", Some("part=d x=b/c")),
            ("a:{+x}{?q}", "a:b/c?q=d", Some("q=d x=b/c")),
            ("a:b{/x,y}", "a:b/1", Some("x=1")),
            // What is not given expands to nothing.
            ("a:b{/x}", "a:b", Some("")),
            ("a:b{#x}", "a:b", Some("")),
            ("a:b{.x}", "a:b", Some("")),
        ] {
            assert_eq!(read(showing(template), uri).await.as_deref(), expected, "{template} {uri:?}");
        }
    });
}

#[test]
fn an_invalid_template_is_rejected() {
    for template in [
        "a:{++x}",
        "a:{??x}",
        "a:{x",
        "a:x}",
        "a:{{x}}",
        "a:{x}{x}",
        "a:{x,x}",
        "a:{?x}{y}{?x}",
        "a:{}",
        "a:{+}",
        "a:{ x}",
        "a:{x:3}",
        "a:{x*}",
        "a:{;x}",
        "a:{&x}",
        "a:{=x}",
        "a:{!x}",
        "a:{,x}",
        "a:{x,}",
        "a:{x}{?y}{?z}",
    ] {
        assert!(showing(template).check().is_err(), "{template}");
    }
}

#[test]
fn words_are_read_strictly() {
    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Colour {
        Red,
    }
    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Words {
        whole: Option<i32>,
        small: Option<u8>,
        big: Option<u128>,
        real: Option<f64>,
        yes: Option<bool>,
        letter: Option<char>,
        text: Option<String>,
        colour: Option<Colour>,
    }
    run(async {
        let server = || {
            named("s").resource_template(
                "a:{?whole,small,big,real,yes,letter,text,colour}",
                |words: Words, _| async move {
                    let Words { whole, small, big, real, yes, letter, text, colour } = words;
                    let shown = format!(
                        "{whole:?} {small:?} {big:?} {real:?} {yes:?} {letter:?} {text:?} {colour:?}"
                    );
                    Ok(shown.split(' ').find(|word| *word != "None").unwrap_or("None").to_owned())
                },
            )
        };
        for (query, expected) in [
            ("whole=1", Some("Some(1)")),
            ("whole=-1", Some("Some(-1)")),
            ("whole=+1", None),
            ("whole=%2B1", None),
            ("whole=%201", None),
            ("whole=1e3", None),
            ("whole=1.0", None),
            ("whole=2147483648", None),
            ("small=256", None),
            ("small=-1", None),
            ("small=0x10", None),
            ("small=", None),
            (
                "big=340282366920938463463374607431768211455",
                Some("Some(340282366920938463463374607431768211455)"),
            ),
            ("real=1e3", Some("Some(1000.0)")),
            ("real=NaN", None),
            ("real=inf", None),
            ("real=1e999", None),
            ("yes=true", Some("Some(true)")),
            ("yes=TRUE", None),
            ("yes=1", None),
            ("yes=", None),
            ("letter=x", Some("Some('x')")),
            ("letter=xy", None),
            ("text=", Some("Some(\"\")")),
            ("text=1", Some("Some(\"1\")")),
            ("colour=red", Some("Some(Red)")),
            ("colour=Red", None),
            ("colour=", None),
            ("other=1", None),
            ("", Some("None")),
        ] {
            assert_eq!(read(server(), &format!("a:?{query}")).await.as_deref(), expected, "{query}");
        }
    });
}

/// A template whose handler can never be called is rejected when it is registered, or says why.
#[test]
fn prompts_whose_arguments_cannot_be_filled_in_are_found() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema counts")]
    struct Inner {
        a: String,
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema counts")]
    struct Nested {
        inner: Inner,
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema counts")]
    struct Maybe {
        inner: Option<Inner>,
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema counts")]
    struct List {
        list: Vec<String>,
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema counts")]
    enum Either {
        One { a: String },
        Two { b: String },
    }
    async fn fill<A>(_: A, _: Cx) -> Result<String, ToolError> {
        Ok(String::new())
    }
    let checks = [
        ("nested", named("s").prompt("p", fill::<Nested>).check()),
        ("maybe", named("s").prompt("p", fill::<Maybe>).check()),
        ("list", named("s").prompt("p", fill::<List>).check()),
        ("either", named("s").prompt("p", fill::<Either>).check()),
        ("text", named("s").prompt("p", fill::<String>).check()),
        ("number", named("s").prompt("p", fill::<u8>).check()),
    ];
    for (name, check) in checks {
        assert!(check.is_err(), "{name}");
    }
    assert!(named("s").prompt("p", fill::<()>).prompt("q", fill::<Name>).check().is_ok());
}

#[test]
fn a_later_template_is_tried_when_an_earlier_one_fails() {
    #[derive(Deserialize)]
    struct Number {
        n: u8,
    }
    run(async {
        let server = named("s")
            .resource_template("a:{n}", |number: Number, _| async move { Ok(format!("number {}", number.n)) })
            .resource_template("a:{name}", |name: Name, _| async move { Ok(format!("name {}", name.name)) });
        assert_eq!(read(server, "a:x").await.as_deref(), Some("name x"));
    });
}
