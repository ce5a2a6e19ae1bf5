//! The servers of an `mcpServers` file.

use std::fs;
use std::path::PathBuf;
use std::process;

use papertape::client::config::ServersFile;
use papertape::client::{ClientOptions, Clients, ErrorKind};
use serde_json::{Value, json};

use super::{names, refused};
use crate::client::{in_time, patient};

/// A file of servers, removed at the end.
struct File(PathBuf);

impl File {
    fn new(test: &str, content: &str) -> Self {
        let path = std::env::temp_dir().join(format!("papertape-{test}-{}.json", process::id()));
        fs::write(&path, content).unwrap();
        Self(path)
    }

    fn of(test: &str, servers: &Value) -> Self {
        Self::new(test, &json!({"mcpServers": servers}).to_string())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

/// An example program of this crate.
fn program(name: &str, arguments: &[&str]) -> Value {
    let test = std::env::current_exe().unwrap();
    let path = test.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(path.exists(), "{} is not built: plain `cargo test` builds the examples", path.display());
    json!({"command": path, "args": arguments})
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(in_time(test));
}

async fn connected(file: &File) -> Clients {
    Clients::from_config_with(&file.0, |_| patient()).await.unwrap()
}

#[test]
fn a_broken_server_does_not_stop_the_others() {
    run(async {
        let mut disabled = program("words", &[]);
        disabled["disabled"] = true.into();
        let file = File::of(
            "isolated",
            &json!({
                "words": program("words", &[]),
                "missing": {"command": "/no/such/server"},
                "dead": program("faulty", &["exits", "3", "no key: set KEY"]),
                "variable": {"command": "x", "env": {"KEY": "${PAPERTAPE_TEST_UNSET}"}},
                "odd": {"cmd": "words"},
                "off": disabled,
                "other": program("faulty", &["well-behaved"]),
            }),
        );
        let clients = connected(&file).await;
        assert_eq!(names(clients.failures()), ["missing", "dead", "variable", "odd"]);
        let error = |name: &str| {
            let failure = clients.failures().iter().find(|failure| failure.server == name).unwrap();
            (failure.error.to_string(), matches!(failure.error.kind(), ErrorKind::Config(_)))
        };
        for (name, says, is_config) in [
            ("missing", "is it installed", false),
            ("dead", "no key: set KEY", false),
            ("variable", "PAPERTAPE_TEST_UNSET, which is not set", true),
            (
                "odd",
                ".json: it has neither \"command\" nor \"url\": did you mean \"command\" by \"cmd\"?",
                true,
            ),
        ] {
            let (text, config) = error(name);
            assert!(text.contains(says) && config == is_config, "{text}");
            assert!(text.matches(&format!("\"{name}\"")).count() <= 1, "{text}");
        }
        assert_eq!(clients.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["words", "other"]);
        let counted = clients.call("words_count", json!({"text": "one two"})).await.unwrap();
        assert_eq!(super::text(&counted), "2");
        let why = refused(&clients, "dead_tool").await;
        assert!(why.contains("\"dead\"") && why.contains("no key: set KEY"), "{why}");
        assert!(refused(&clients, "off_count").await.contains("must begin with the name of its server"));
        clients.close().await;
    });
}

#[test]
fn one_server_dies_while_the_others_serve() {
    run(async {
        let file = File::of(
            "dies",
            &json!({"words": program("words", &[]), "dying": program("faulty", &["exits-in-call"])}),
        );
        let clients = connected(&file).await;
        let before = clients.tools().await;
        assert!(before.failures.is_empty() && before.entries.iter().any(|tool| tool.server == "dying"));
        let error = clients.call("dying_fault", json!({})).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Closed), "{error}");
        assert!(error.to_string().contains("of the server \"dying\""), "{error}");
        let after = clients.tools().await;
        assert_eq!(names(&after.failures), ["dying"]);
        assert!(!after.entries.is_empty() && after.entries.iter().all(|tool| tool.server == "words"));
        assert_eq!(super::text(&clients.call("words_count", json!({"text": "a"})).await.unwrap()), "1");
        clients.close().await;
    });
}

#[test]
fn a_server_at_a_url_needs_the_feature() {
    run(async {
        let headers = json!({"Authorization": "Bearer secret-1"});
        // Nothing listens on port 1.
        let file = File::of(
            "url",
            &json!({"remote": {"type": "http", "url": "http://127.0.0.1:1/mcp", "headers": headers}}),
        );
        let clients = connected(&file).await;
        let error = clients.failures()[0].error.to_string();
        let says =
            if cfg!(feature = "http-client") { "cannot be reached" } else { "the feature `http-client`" };
        assert!(error.contains(says) && !error.contains("secret-1"), "{error}");
    });
}

#[test]
fn a_file_that_cannot_be_used_is_an_error() {
    run(async {
        for (content, says) in [
            ("{", "not JSON"),
            ("{}", "there is no member \"mcpServers\""),
            ("[]", "no member"),
            (r#"{"context_servers": []}"#, "\"context_servers\" must be an object"),
        ] {
            let file = File::new("invalid", content);
            let error = Clients::from_config(&file.0).await.unwrap_err().to_string();
            assert!(error.contains("papertape-invalid") && error.contains(says), "{error}");
        }
        let error = Clients::from_config("/no/such/mcp.json").await.unwrap_err();
        assert!(error.to_string().contains("cannot read the file"), "{error}");
    });
}

/// What the hosts of docs/hosts.md write in JSON.
#[test]
fn the_files_of_other_hosts_are_read() {
    let process = |entry: Value| (entry, "program", ["a", "b"]);
    let url = |entry: Value| (entry, "https://x.invalid/mcp");
    let read = |text: &str| {
        let file = ServersFile::parse(text, "f.json").unwrap();
        assert_eq!(file.names().collect::<Vec<_>>(), ["s"], "{text}");
        let server = file.server("s").unwrap().unwrap_or_else(|error| panic!("{text}: {error}"));
        (server, file.is_disabled("s"))
    };
    let gemini =
        json!({"mcpServers": {"s": {"httpUrl": "https://x.invalid/mcp", "url": "https://x.invalid/sse"}}});
    for (file, right) in [
        url(gemini),
        url(json!({"mcpServers": {"s": {"serverUrl": "https://x.invalid/mcp"}}})),
        url(json!({"mcp": {"s": {"type": "remote", "url": "https://x.invalid/mcp", "enabled": true}}})),
        url(
            json!({"mcp": {"inputs": [], "servers": {"s": {"type": "http", "url": "https://x.invalid/mcp"}}}}),
        ),
    ] {
        let (server, is_disabled) = read(&file.to_string());
        assert_eq!((server.url(), is_disabled), (Some(right), false));
    }
    for (file, program, arguments) in [
        process(
            json!({"context_servers": {"s": {"source": "custom", "command": "program", "args": ["a", "b"]}}}),
        ),
        process(
            json!({"mcp": {"s": {"type": "local", "command": ["program", "a", "b"], "environment": {"K": "v"}}}}),
        ),
        process(json!({"mcpServers": {"s": {"type": "local", "command": "program", "args": ["a", "b"]}}})),
    ] {
        let command = format!("{:?}", read(&file.to_string()).0.command().unwrap());
        assert!(command.contains(&format!("{program:?}, arguments: {arguments:?}")), "{command}");
        assert_eq!(command.contains("environment: [\"K\"]"), file.to_string().contains("environment"));
    }
    let with_comments =
        "// mine\n{\"servers\": {\"s\": {\"url\": \"https://x\", /* off */ \"enabled\": false,},},}";
    assert!(read(with_comments).1);
    // A server may be named `servers`.
    let named = json!({"mcp": {"servers": {"type": "local", "command": ["program"]}}});
    let file = ServersFile::parse(&named.to_string(), "f.json").unwrap();
    assert_eq!(file.names().collect::<Vec<_>>(), ["servers"]);
    let wrong = json!({"mcp": {"s": {"type": "local", "command": []}}});
    let error = ServersFile::parse(&wrong.to_string(), "f.json").unwrap().server("s").unwrap().unwrap_err();
    assert!(error.to_string().contains("\"command\" must be a string, or a list"), "{error}");
}

#[test]
fn secrets_are_in_no_debug_and_no_error() {
    let text = json!({"servers": {
        "a": {"command": "x", "env": {"KEY": "secret-1"}, "args": ["--key", "secret-1"]},
        "b": {"url": "https://x.invalid", "headers": {"Authorization": "secret-1"}},
        "c": {"command": "x", "env": "secret-1"},
        "d": {"command": ["secret-1"]},
    }});
    let file = ServersFile::parse(&format!("\u{feff}{text}"), "f.json").unwrap();
    assert_eq!(file.names().collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    let servers: Vec<_> = file.names().map(|name| file.server(name).unwrap()).collect();
    let file = file.input("id", "secret-2");
    let shown = format!("{file:?} {servers:?} {:?}", servers[0].as_ref().unwrap().command());
    assert!(!shown.contains("secret-2"), "{shown}");
    assert!(!shown.contains("secret-1\"}") && shown.contains("f.json: the server \\\"c\\\""), "{shown}");
    assert_eq!(shown.matches("secret-1").count(), 1, "only the argument of the command: {shown}");
    assert_eq!(servers[1].as_ref().unwrap().headers()[0].1, "secret-1");
}

#[test]
fn one_server_of_a_file_can_be_connected() {
    run(async {
        let file = File::of("one", &json!({"words": program("words", &[])}));
        let file = ServersFile::read(&file.0).unwrap();
        assert!(file.server("none").is_none());
        let server = file.server("words").unwrap().unwrap();
        let client = server.connect(ClientOptions::new()).await.unwrap();
        let mut clients = Clients::new();
        clients.add(server.name(), client);
        assert_eq!(super::text(&clients.call("words_count", json!({"text": "one"})).await.unwrap()), "1");
        clients.close().await;
    });
}
