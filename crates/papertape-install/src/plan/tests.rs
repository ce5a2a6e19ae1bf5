use std::path::{Path, PathBuf};

use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};

use super::{ConfigFile, Outcome, Plan};
use crate::json;
use crate::recorder::Recorder;
use crate::records::Records;
use crate::{Entry, Host};

fn file(host: &str, text: Option<&str>) -> ConfigFile {
    let path = Path::new("/f");
    let host = Host::find(host).unwrap();
    ConfigFile::of_text(host, path, path.to_owned(), text.map(str::to_owned))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The file after a plan, with its records.
fn after(host: &str, plan: &Plan<'_>) -> ConfigFile {
    let mut next = file(host, plan.text.as_deref());
    next.records = Some((PathBuf::new(), Records::of(&plan.changes)));
    next
}

fn entry() -> Entry {
    Entry::process("/bin/papertape", ["serve", "grammar"]).with_env(vec![("A".to_owned(), "1".to_owned())])
}

/// What installing makes of a text, after checking that uninstalling takes it back.
#[track_caller]
fn installed(host: &str, text: Option<&str>) -> String {
    let before = file(host, text);
    let plan = before.install("new", &entry(), false).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    let between = after(host, &plan);
    let back = between.uninstall("new").unwrap_or_else(|error| panic!("{text:?}: {error}"));
    assert_eq!(back.text.as_deref(), text, "{:?}", between.text);
    between.text.unwrap()
}

const LONG: &str = "{\n  \"command\": \"/bin/papertape\",";

#[test]
fn an_entry_is_written_in_the_style_of_the_file() {
    let short = r#""new": {"command": "/bin/papertape", "args": ["serve", "grammar"], "env": {"A": "1"}}"#;
    let tight = short.replace(": ", ":").replace(", ", ",");
    for (text, right) in [
        (r#"{"mcpServers": {"a": {}}}"#, format!("{{\"mcpServers\": {{\"a\": {{}}, {short}}}}}")),
        (r#"{"mcpServers":{"a":{}}}"#, format!("{{\"mcpServers\":{{\"a\":{{}},{tight}}}}}")),
        (r#"{"mcpServers":{}}"#, format!("{{\"mcpServers\":{{{tight}}}}}")),
        (r#"{"x":1}"#, format!("{{\"x\":1,\"mcpServers\":{{{tight}}}}}")),
        (r#"{ "mcpServers": { "a": {} } }"#, format!("{{ \"mcpServers\": {{ \"a\": {{}}, {short} }} }}")),
    ] {
        assert_eq!(installed("cursor", Some(text)), right);
    }
    let members = |indentation: &str, newline: &str| {
        let lines = [
            r#""new": {"#,
            r#"  "command": "/bin/papertape","#,
            r#"  "args": ["serve", "grammar"],"#,
            r#"  "env": {"A": "1"}"#,
            "}",
        ];
        let unit = indentation.get(..indentation.len() / 2).unwrap();
        let lines = lines.map(|line| format!("{indentation}{}", line.replacen("  ", unit, 1)));
        lines.join(newline)
    };
    let new = format!("{{\n  \"mcpServers\": {{\n{}\n  }}\n}}\n", members("    ", "\n"));
    assert_eq!(installed("cursor", None), new);
    assert_eq!(installed("cursor", Some("")), new);
    assert_eq!(installed("cursor", Some("{}")), new.trim_end());
    let tabs = format!("{{\r\n\t\"mcpServers\": {{\r\n{}\r\n\t}}\r\n}}\r\n", members("\t\t", "\r\n"));
    assert_eq!(installed("cursor", Some("{\r\n\t\"mcpServers\": {\r\n\t}\r\n}\r\n")), tabs);
    let four = "{\n    \"mcpServers\": {\n        \"a\": 1, // of a\n        // at the end\n    }\n}";
    let wide = members("        ", "\n");
    let right = four.replace("// of a\n", &format!("// of a\n{wide},\n"));
    assert_eq!(installed("cursor", Some(four)), right);
    assert!(installed("cursor", Some("{}")).contains(&LONG.replace("\n  ", "\n      ")));
}

/// Files that are edited by hand, by programs, and on other systems.
const ODD: [&str; 40] = [
    "",
    "\n",
    "  \r\n\r\n",
    "\u{feff}",
    "\u{feff}{}",
    "\u{feff}{\r\n}\r\n",
    "// nothing yet",
    "// nothing yet\n",
    "/* a */ {} // b",
    "{}",
    "{ }",
    "{\n}",
    "{\n\n\n}\n\n",
    "{ // empty\n}",
    "{ /* empty */ }",
    "{\"mcpServers\":{}}",
    "{\"mcpServers\": { }}",
    "{\"mcpServers\": {/* none */}}",
    "{\"mcpServers\": {// none\n}}",
    "{\n  \"mcpServers\": {\n    // none yet\n  }\n}",
    "{\n\t\"mcpServers\": {}\n}",
    "{\"a\":1,\"mcpServers\":{\"b\":{}},\"c\":2}",
    "{\"mcpServers\":{\"b\":{},},}",
    "{\"mcpServers\": {\"b\": {}, }, }",
    "{\"mcpServers\": {\"b\": {} /* b */ , /* c */ }}",
    "{\"mcpServers\": {\"b\": {} // b\n}}",
    "{\"mcpServers\": {\"b\": {} // b\n, }}",
    "{\n  \"mcpServers\": {\n    \"b\": {}, // b\n  }, // s\n}",
    "{\n  \"mcpServers\": {\n    \"b\": {} // b\n    // c\n  }\n  , \"d\": 1\n}",
    "{\n  \"mcpServers\": {\n    \"b\": {}\n\n\n  }\n}",
    "{\n  \"mcpServers\":\n  {\n    \"b\":\n    {\n    }\n  }\n}",
    "{\r\n    \"mcpServers\": {\r\n        \"b\": {}\r\n    }\r\n}",
    "{\n  \"mcpServers\": {\n    \"b\": {} }\n}",
    "{\n  \"mcpServers\": { \"b\": {},\n    \"c\": {} }}",
    "{\n\"mcpServers\": {\n\"b\": {}\n}\n}",
    "{\"mcpServers\": {\"b\": {}}, // {\n}",
    "{\"\\u006dcpServers\": {\"n\\u0065w2\": {}}}",
    "{\"mcpServers\": {\"b\": \"}, {\", \"c\": \"// \\\" /*\"}}",
    "{\"key\": 1\n,\"mcpServers\": {\"b\": 1\n,\"c\": 2\n}\n}",
    "   {\n     \"mcpServers\": {\n       \"b\": {}   \n     }   \n   }   \n",
];

#[test]
fn uninstalling_restores_odd_files() {
    for host in ["cursor", "vscode", "zed", "copilot"] {
        let container = Host::find(host).unwrap().container();
        assert!(installed(host, None).contains(container));
        for text in ODD {
            installed(host, Some(&text.replace("mcpServers", container)));
        }
    }
}

/// Records are lost, or belong to another file.
#[test]
fn without_records_other_servers_and_comments_stay() {
    for text in ODD {
        let before = file("zed", Some(&text.replace("mcpServers", "context_servers")));
        let plan = before.install("new", &entry(), false).unwrap();
        let between = file("zed", plan.text.as_deref());
        let back = between.uninstall("new").unwrap();
        let names =
            |file: &ConfigFile| file.servers().iter().map(|server| server.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&after("zed", &back)), names(&before), "{text}");
        let comments = |text: &str| text.matches("//").count() + text.matches("/*").count();
        assert_eq!(comments(back.text.as_deref().unwrap()), comments(text), "{text}");
        // A space before a comma after the last one is the only thing that is not restored.
        let restored = !before.servers().is_empty() && !text.contains(", }") && !text.contains(", /*");
        if restored {
            assert_eq!(back.text, before.text);
        }
    }
}

#[test]
fn several_servers_are_removed_in_any_order() {
    for order in [["a", "b", "c"], ["c", "b", "a"], ["b", "a", "c"], ["a", "c", "b"]] {
        for text in [None, Some("{}"), Some("{\"x\": 1}"), Some("{\n  \"x\": 1\n}\n")] {
            let mut now = file("cursor", text);
            let mut records = Records::default();
            for name in ["a", "b", "c"] {
                let plan = now.install(name, &entry(), false).unwrap();
                records.extend(&plan.changes);
                let mut next = file("cursor", plan.text.as_deref());
                next.records = Some((PathBuf::new(), records.clone()));
                now = next;
            }
            for name in order {
                let plan = now.uninstall(name).unwrap();
                let mut next = file("cursor", plan.text.as_deref());
                next.records = Some((PathBuf::new(), records.clone()));
                now = next;
            }
            assert_eq!(now.text.as_deref(), text, "{order:?}");
        }
    }
}

#[test]
fn what_was_added_in_the_meantime_stays() {
    let plan_of = file("cursor", None);
    let plan = plan_of.install("new", &entry(), false).unwrap();
    let mut edited = after("cursor", &plan);
    let text = edited.text.take().unwrap().replace("\"new\": {", "\"mine\": {}, // mine\n    \"new\": {");
    edited.text = Some(text);
    let back = edited.uninstall("new").unwrap();
    assert_eq!(back.outcome(), Outcome::Removed);
    assert_eq!(back.text.as_deref(), Some("{\n  \"mcpServers\": {\n    \"mine\": {} // mine\n  }\n}\n"));
}

#[test]
fn toml_files_are_restored() {
    let block = "[mcp_servers.new]\ncommand = \"/bin/papertape\"\nargs = [\"serve\", \"grammar\"]\nenv = { A = \"1\" }";
    for (text, right) in [
        (None, format!("{block}\n")),
        (Some(""), format!("{block}\n")),
        (Some("a = 1\n"), format!("a = 1\n\n{block}\n")),
        (Some("a = 1\n\n"), format!("a = 1\n\n{block}\n")),
        (Some("a = 1 # no end"), format!("a = 1 # no end\n\n{block}")),
        (Some("\u{feff}a = 1\r\n"), format!("\u{feff}a = 1\r\n\r\n{}\r\n", block.replace('\n', "\r\n"))),
        (
            Some("[mcp_servers.b]\nurl = 'x'\n# end\n"),
            format!("[mcp_servers.b]\nurl = 'x'\n# end\n\n{block}\n"),
        ),
        (Some("mcp_servers.b.url = 'x'\n"), format!("mcp_servers.b.url = 'x'\n\n{block}\n")),
        (Some("[[x]]\n\n[x.y]\n"), format!("[[x]]\n\n[x.y]\n\n{block}\n")),
        (Some("a = '''\n[mcp_servers.new]\n'''\n"), format!("a = '''\n[mcp_servers.new]\n'''\n\n{block}\n")),
    ] {
        assert_eq!(installed("codex", text), right);
    }
    let refused = file("codex", Some("mcp_servers = { b = { url = 'x' } }\n"));
    let refused = refused.install("new", &entry(), false).unwrap_err().to_string();
    assert!(refused.contains("cannot be edited by a program"), "{refused}");
}

#[test]
fn tables_that_others_have_written_are_removed() {
    for (text, right) in [
        (
            "a = 1\n\n[mcp_servers.new]\nurl = 'x' # n\n\n[mcp_servers.new.env]\nA = '1'\n\n[b]\n",
            "a = 1\n\n[b]\n",
        ),
        ("[mcp_servers.new]\nurl = 'x'", ""),
        ("[mcp_servers]\nnew = { url = 'x' }\nb = { url = 'y' }\n", "[mcp_servers]\nb = { url = 'y' }\n"),
        ("[mcp_servers]\nnew.url = 'x'\nb.url = 'y'\nnew.enabled = true\n", "[mcp_servers]\nb.url = 'y'\n"),
        ("[mcp_servers.\"new\"]\nurl = 'x'\r\n\r\n[b]\r\n", "\r\n[b]\r\n"),
    ] {
        let before = file("codex", Some(text));
        assert_eq!(before.uninstall("new").unwrap().text.as_deref(), Some(right), "{text}");
    }
    let inline = file("codex", Some("mcp_servers = { new = { url = 'x' } }\n"));
    assert!(inline.uninstall("new").unwrap_err().to_string().contains("inline table"));
}

#[test]
fn another_server_of_the_name_is_kept_without_force() {
    for (host, text) in [
        ("cursor", "{\n  \"mcpServers\": {\n    \"new\": {\"url\": \"x\"}, // n\n    \"b\": {}\n  }\n}"),
        ("codex", "[mcp_servers.new]\nurl = 'x'\n\n[b]\n"),
    ] {
        let before = file(host, Some(text));
        assert!(before.install("new", &entry(), false).unwrap_err().to_string().contains("--force"));
        let plan = before.install("new", &entry(), true).unwrap();
        assert_eq!(plan.outcome(), Outcome::Replaced);
        let again = after(host, &plan);
        assert_eq!(again.install("new", &entry(), false).unwrap().outcome(), Outcome::Unchanged);
        if host == "cursor" {
            assert!(plan.text.as_deref().unwrap().ends_with("\n    }, // n\n    \"b\": {}\n  }\n}"));
        }
    }
}

#[test]
fn servers_at_a_url_have_the_names_of_the_host() {
    let entry = Entry::http("https://x/mcp").with_headers(vec![("A".to_owned(), "b".to_owned())]);
    for (host, right) in [
        ("claude-code", json!({"type": "http", "url": "https://x/mcp", "headers": {"A": "b"}})),
        ("gemini", json!({"httpUrl": "https://x/mcp", "headers": {"A": "b"}})),
        ("windsurf", json!({"serverUrl": "https://x/mcp", "headers": {"A": "b"}})),
        ("codex", json!({"url": "https://x/mcp", "http_headers": {"A": "b"}})),
        ("copilot", json!({"type": "http", "url": "https://x/mcp", "headers": {"A": "b"}, "tools": ["*"]})),
    ] {
        let before = file(host, None);
        let plan = before.install("new", &entry, false).unwrap();
        assert_eq!(after(host, &plan).servers()[0].entry, right, "{host}");
    }
    let refused = file("claude-desktop", None);
    assert!(refused.install("new", &entry, false).unwrap_err().to_string().contains("papertape bridge"));
}

#[test]
fn invalid_files_are_reported_with_their_place() {
    for (host, text, right) in [
        (
            "cursor",
            "{\n  \"mcpServers\": {\n  \"a\": 1 \"b\"",
            "/f:3:10: there is '\"' in place of ',' or '}'",
        ),
        ("cursor", "[]", "/f:1:1: the file is not an object"),
        ("cursor", "{\"mcpServers\": []}", "/f:1:16: \"mcpServers\" is not an object"),
        ("cursor", "{\"mcpServers\": {\"é\": 1, \"é\": 2}}", "/f:1:25: \"é\" is there twice"),
        ("cursor", "{\"mcpServers\": {}, \"mcpServers\": {}}", "/f:1:20: \"mcpServers\" is there twice"),
        ("codex", "a = 1\nb =\n", "/f:2:4: "),
        ("codex", "mcp_servers = 1\n", "/f:1:1: \"mcp_servers\" is not a table"),
    ] {
        let path = Path::new("/f");
        let host = Host::find(host).unwrap();
        let refused = ConfigFile::of_text(host, path, path.to_owned(), Some(text.to_owned())).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.starts_with(right), "{refused}");
    }
    let rejected = |host, text| file(host, Some(text)).rejected().map(ToString::to_string);
    assert!(rejected("cursor", "{\n// c\n}").unwrap().starts_with("/f:2:1: Cursor may not accept comments"));
    assert!(rejected("cursor", "\u{feff}{}").unwrap().contains("a byte order mark"));
    assert_eq!(rejected("zed", "{\n// c\n}"), None);
    assert_eq!(rejected("copilot", "\u{feff}{\n// c\n}"), None);
    assert_eq!(rejected("gemini", "{ // c\n}"), None);
    assert!(
        rejected("gemini", "{\"a\": 1, // c\n}")
            .unwrap()
            .contains("/f:1:8: Gemini CLI may not accept commas")
    );
    assert_eq!(rejected("cursor", "{}"), None);
}

/// The entries of a recorder, and what they are afterwards.
#[test]
fn the_recorder_is_put_around_and_taken_off() {
    let recorder = Recorder { program: "/bin/papertape".into(), tape: "/t/new.tape".into() };
    for (host, entry, right) in [
        (
            "cursor",
            r#"{"command": "n\u0070x", "args": ["-y", "x"], "env": {}}"#,
            r#"{"command": "/bin/papertape", "args": ["tap", "--tape", "/t/new.tape", "--", "n\u0070x","-y", "x"], "env": {}}"#,
        ),
        (
            "cursor",
            r#"{"args":[],"command":"x"}"#,
            r#"{"args":["tap", "--tape", "/t/new.tape", "--", "x"],"command":"/bin/papertape"}"#,
        ),
        (
            "cursor",
            r#"{"command": "x"}"#,
            r#"{"command": "/bin/papertape", "args": ["tap", "--tape=/t/new.tape", "--", "x"]}"#,
        ),
        (
            "cursor",
            "{\n  \"command\": \"x\", // c\n  \"cwd\": \"/\"\n}",
            "{\n  \"command\": \"/bin/papertape\",\n  \"args\": [\"tap\", \"--tape=/t/new.tape\", \"--\", \"x\"], // c\n  \"cwd\": \"/\"\n}",
        ),
        (
            "zed",
            "{\"command\": \"x\", \"args\": [\n  \"a\", // a\n  \"b\",\n],}",
            "{\"command\": \"/bin/papertape\", \"args\": [\"tap\", \"--tape\", \"/t/new.tape\", \"--\", \"x\",\n  \"a\", // a\n  \"b\",\n],}",
        ),
        (
            "zed",
            "{\"command\": \"x\", \"args\": [ // none\n]}",
            "{\"command\": \"/bin/papertape\", \"args\": [\"tap\", \"--tape\", \"/t/new.tape\", \"--\", \"x\" // none\n]}",
        ),
    ] {
        let container = Host::find(host).unwrap().container();
        let text = |entry: &str| format!("{{\"{container}\": {{\"a\": {{}}, \"new\": {entry}}}}}");
        let before = file(host, Some(&text(entry)));
        let plan = before.wrap("new", &recorder).unwrap();
        assert_eq!(plan.text.as_deref(), Some(text(right).as_str()));
        let wrapped = after(host, &plan);
        assert_eq!(wrapped.servers()[1].tape.as_deref(), Some(Path::new("/t/new.tape")));
        assert_eq!(wrapped.wrap("new", &recorder).unwrap().outcome(), Outcome::Unchanged);
        assert_eq!(wrapped.unwrap("new").unwrap().text, before.text);
    }
    for text in [
        "[mcp_servers.new]\ncommand = 'x' # c\nargs = [ \"a\", # a\n'b' ]\n",
        "[mcp_servers.new]\n  command = \"x\" # c\n  startup_timeout_sec = 1\n",
        "[mcp_servers]\nnew = { command = 'x', args = [] }\n",
        "[mcp_servers]\nnew = {command = 'x'}\n",
        "[mcp_servers]\r\nnew.command = '''x'''\r\nnew.enabled = true\r\n",
    ] {
        let before = file("codex", Some(text));
        let plan = before.wrap("new", &recorder).unwrap();
        let wrapped = after("codex", &plan);
        assert_eq!(wrapped.servers()[0].tape.as_deref(), Some(Path::new("/t/new.tape")), "{plan:?}");
        assert_eq!(wrapped.unwrap("new").unwrap().text, before.text);
    }
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    let recorder = Recorder { program: "/bin/papertape".into(), tape: "/t".into() };
    for (entry, right) in [
        (json!({"url": "x"}), "the server \"new\" is at a URL"),
        (json!({"serverUrl": "x"}), "the server \"new\" is at a URL"),
        (json!({}), "the server \"new\" has no \"command\""),
        (json!({"command": {"path": "x"}}), "has a \"command\" that is not a string"),
        (json!({"command": "x", "args": "y"}), "has \"args\" that are not a list"),
        (
            json!({"command": "p", "args": ["tap", "--tape", "/other", "--", "x"]}),
            "is recorded already, to /other",
        ),
    ] {
        let before = file("cursor", Some(&json!({"mcpServers": {"new": entry}}).to_string()));
        let refused = before.wrap("new", &recorder).unwrap_err().to_string();
        assert!(refused.contains(right), "{refused}");
    }
    let plain = file("cursor", Some(r#"{"mcpServers": {"new": {"command": "x", "args": ["tap"]}}}"#));
    assert!(plain.unwrap("new").unwrap_err().to_string().contains("is not recorded"));
    assert!(plain.unwrap("old").unwrap_err().to_string().contains("has no server \"old\""));
}

/// White space and comments between two tokens.
fn trivia() -> impl Strategy<Value = String> {
    let one = prop_oneof![
        4 => Just(String::new()),
        4 => Just(" ".to_owned()),
        3 => Just("\n".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        2 => Just("\n    ".to_owned()),
        1 => "[a-z,{}\\[\\]\":]{0,6}".prop_map(|text| format!("// {text}\n")),
        1 => "[a-z,{}\\[\\]\":\n]{0,6}".prop_map(|text| format!("/* {text} */")),
    ];
    prop::collection::vec(one, 0..3).prop_map(|parts| parts.concat())
}

/// A list or an object of these texts, perhaps with a comma after the last one.
fn sequence(
    brackets: [&'static str; 2],
    item: impl Strategy<Value = String>,
) -> impl Strategy<Value = String> {
    let items = prop::collection::vec((trivia(), item, trivia()), 0..4);
    (items, any::<bool>(), trivia()).prop_map(move |(items, trailing, end)| {
        let [open, close] = brackets;
        let comma = if trailing && !items.is_empty() { "," } else { "" };
        let items: Vec<String> = items.iter().map(|(a, item, b)| format!("{a}{item}{b}")).collect();
        format!("{open}{}{comma}{end}{close}", items.join(","))
    })
}

fn value() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("1".to_owned()),
        Just("-2.50e+7".to_owned()),
        Just("true".to_owned()),
        Just("null".to_owned()),
        any::<String>().prop_map(|text| Value::from(text).to_string()),
    ];
    scalar.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![sequence(["[", "]"], inner.clone()), object("[a-f]{1,3}", inner)]
    })
}

/// An object whose names are different.
fn object(names: &'static str, value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let member = (names, trivia(), trivia(), value);
    let members = prop::collection::vec(member, 0..4);
    (members, prop::collection::vec((trivia(), trivia()), 4), any::<bool>(), trivia()).prop_map(
        |(members, around, trailing, end)| {
            let comma = if trailing && !members.is_empty() { "," } else { "" };
            let members: Vec<String> = members
                .iter()
                .zip(&around)
                .enumerate()
                .map(|(index, ((name, a, b, value), (c, d)))| {
                    format!("{c}\"{name}{index}\"{a}:{b}{value}{d}")
                })
                .collect();
            format!("{{{}{comma}{end}}}", members.join(","))
        },
    )
}

/// A document with or without servers.
fn document() -> impl Strategy<Value = String> {
    let root = (object("[a-f]{1,3}", value()), trivia(), object("[g-k]{1,3}", value()), 0..3).prop_map(
        |(root, space, servers, how)| match how {
            // At the beginning, where it may be the only member, and not at all.
            0 => {
                let rest = root.trim_start_matches('{');
                let comma = if rest.contains(':') { "," } else { "" };
                let rest = if comma.is_empty() { "}" } else { rest };
                format!("{{{space}\"mcpServers\":{servers}{comma}{rest}")
            }
            1 => format!("{{\"mcpServers\"{space}:{servers}{space}}}"),
            _ => root,
        },
    );
    (prop_oneof![Just(""), Just("\u{feff}")], trivia(), root, trivia())
        .prop_map(|(mark, before, root, after)| format!("{mark}{before}{root}{after}"))
}

/// Lines of TOML, of which some are tables of servers.
fn toml_document() -> impl Strategy<Value = String> {
    let line = prop::sample::select(
        &[
            "",
            "# [mcp_servers.new]",
            "a = 1 # a",
            "b = \"\"\"\n[mcp_servers.new]\n\"\"\"",
            "  c = { d = [1, { e = 2 }] }",
            "[x]",
            "[[y]]",
            "[y.z]",
            "[mcp_servers]",
            "[mcp_servers.s] # s",
            "[ mcp_servers . 't u' ]",
            "[mcp_servers.s.env]",
            "command = 'x' # c",
            "command = \"\\u0078\"",
            "args = [ 'a', # a\n \"b\", ]",
            "args = []",
            "v = { command = 'x', args = ['a'] }",
            "w = {command = 'x'}",
            "q.command = 'x'",
        ][..],
    );
    let lines = prop::collection::vec(line, 0..8);
    let end = prop::sample::select(&["\n", "\r\n"][..]);
    (lines, end, any::<bool>(), any::<bool>()).prop_map(|(lines, end, mark, last)| {
        let text = lines.join("\n") + if last { "\n" } else { "" };
        format!("{}{}", if mark { "\u{feff}" } else { "" }, text.replace('\n', end))
    })
}

proptest! {
    #[test]
    fn uninstalling_takes_installing_back(text in document()) {
        let before = file("gemini", Some(&text));
        let plan = before.install("new", &entry(), false).unwrap();
        let value = |text: &str| json::parse(text).unwrap().root.unwrap().to_value(text);
        let (old, mut new) = (value(&text), value(plan.text.as_deref().unwrap()));
        // Everything else is as it was.
        let servers = new.get_mut("mcpServers").and_then(Value::as_object_mut).unwrap();
        prop_assert_eq!(servers.shift_remove("new").unwrap()["args"].clone(), json!(["serve", "grammar"]));
        if old.get("mcpServers").is_none() {
            prop_assert_eq!(new.as_object_mut().unwrap().shift_remove("mcpServers").unwrap(), json!({}));
        }
        prop_assert_eq!(&new, &old);
        let between = after("gemini", &plan);
        let back = between.uninstall("new").unwrap();
        prop_assert_eq!(back.text.as_deref(), Some(text.as_str()));
        // Without records, the servers are the same.
        let forgotten = file("gemini", plan.text.as_deref());
        let back = forgotten.uninstall("new").unwrap();
        let back = value(back.text.as_deref().unwrap());
        prop_assert_eq!(back.get("mcpServers").cloned().unwrap_or(json!({})), old.get("mcpServers").cloned().unwrap_or(json!({})));
    }

    #[test]
    fn taking_the_recorder_off_restores_the_entry(args in sequence(["[", "]"], any::<String>().prop_map(|text| Value::from(text).to_string())), space in trivia(), has_args in any::<bool>()) {
        let args = if has_args { format!(",{space}\"args\":{space}{args}") } else { String::new() };
        let text = format!("{{\"mcpServers\": {{\"new\": {{{space}\"command\":{space}\"x\"{args}{space}}}}}}}");
        let before = file("gemini", Some(&text));
        if before.servers()[0].tape.is_none() {
            let recorder = Recorder { program: "/p".into(), tape: "/t".into() };
            let plan = before.wrap("new", &recorder).unwrap();
            let wrapped = after("gemini", &plan);
            let back = wrapped.unwrap("new").unwrap();
            prop_assert_eq!(back.text.as_deref(), Some(text.as_str()));
        }
    }

    #[test]
    fn uninstalling_takes_installing_back_in_toml(text in toml_document()) {
        let path = Path::new("/f");
        let host = Host::find("codex").unwrap();
        let before = ConfigFile::of_text(host, path, path.to_owned(), Some(text.clone()));
        // Lines that are not TOML together, such as a table that is there twice.
        let Ok(before) = before else { return Ok(()) };
        let plan = before.install("new", &entry(), false).unwrap();
        let between = after("codex", &plan);
        prop_assert_eq!(between.servers().len(), before.servers().len() + 1);
        let back = between.uninstall("new").unwrap();
        prop_assert_eq!(back.text.as_deref(), Some(text.as_str()));
        let recorder = Recorder { program: "/p".into(), tape: "/t".into() };
        for server in before.servers() {
            if let Ok(wrapped) = before.wrap(&server.name, &recorder) {
                let wrapped = after("codex", &wrapped);
                let back = wrapped.unwrap(&server.name).unwrap();
                prop_assert_eq!(back.text.as_deref(), Some(text.as_str()));
            }
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        drop(json::parse(&text));
        drop(json::parse(&format!("{{\"a\": [{text}")));
        let _items = crate::toml_text::statements(&text);
    }
}
