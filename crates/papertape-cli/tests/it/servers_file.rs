//! Servers by their name in an `mcpServers` file: `--config`, and `.mcp.json` in the current directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::process::{End, run};
use crate::{contains, document, papertape, scratch, text, urls};

/// A directory with a file of servers.
fn folder(test: &str, file: &str, content: &Value) -> PathBuf {
    let folder = scratch(test);
    std::fs::write(folder.join(file), content.to_string()).unwrap();
    folder
}

fn within(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = papertape(arguments.iter().copied());
    command.current_dir(folder);
    command
}

/// Code 2 and words on stderr.
#[track_caller]
fn wrong(mut command: Command, words: &[&str]) -> End {
    let end = run(&mut command, "");
    assert_eq!((end.status.code(), text(&end)), (Some(2), ""), "{end:?}");
    contains(&end.log, words);
    end
}

/// The bundled text server under another name.
fn text_server() -> Value {
    json!({"command": env!("CARGO_BIN_EXE_papertape"), "args": ["serve", "text"]})
}

#[test]
fn a_server_is_found_by_its_name() {
    let servers = json!({"words": text_server()});
    for key in ["mcpServers", "servers"] {
        let folder = folder("config_default", ".mcp.json", &json!({ key: servers }));
        let end = run(&mut within(&folder, &["call", "words", "word_count", "text=one two"]), "");
        assert_eq!((text(end.is_clean()), end.log.as_str()), ("2\n", ""));
    }
    let folder = folder("config_option", "servers.json", &json!({"mcpServers": servers}));
    let arguments = ["list", "words", "--config", "servers.json", "--output", "json"];
    let end = run(&mut within(&folder, &arguments), "");
    assert_eq!(document(end.is_clean())["server"]["name"], "papertape-text");
    // A bundled name is still one.
    let end = run(&mut within(&folder, &["call", "--config", "servers.json", "text", "echo", "text=a"]), "");
    assert_eq!(text(end.is_clean()), "a\n");
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let folder = folder("config_bom", ".mcp.json", &json!({"mcpServers": {"words": text_server()}}));
    let file = folder.join(".mcp.json");
    let marked = format!("\u{feff}{}", std::fs::read_to_string(&file).unwrap());
    std::fs::write(&file, marked).unwrap();
    let end = run(&mut within(&folder, &["call", "words", "word_count", "text=one two"]), "");
    assert_eq!((text(end.is_clean()), end.log.as_str()), ("2\n", ""));
}

#[test]
fn a_directory_cannot_replace_a_bundled_server() {
    let folder = folder("config_shadow", ".mcp.json", &json!({"mcpServers": {"grammar": text_server()}}));
    let end = run(&mut within(&folder, &["list", "grammar", "--output", "json"]), "");
    assert_eq!(document(end.is_clean())["server"]["name"], "papertape-grammar");
    assert_eq!(end.log, "");
}

#[test]
fn a_name_of_the_file_of_config_goes_before_a_bundled_one() {
    let folder = folder("config_both", ".mcp.json", &json!({"mcpServers": {"grammar": text_server()}}));
    let arguments = ["call", "--config", ".mcp.json", "grammar", "echo", "text=a"];
    let end = run(&mut within(&folder, &arguments), "");
    assert_eq!(text(end.is_clean()), "a\n");
    let note =
        "papertape: using the server \"grammar\" of .mcp.json; the bundled one: -- papertape serve grammar\n";
    assert_eq!(end.log, note);
}

#[test]
fn a_process_gets_its_environment_and_directory() {
    let script = "printf '%s %s %s in %s' \"$A\" \"$B\" \"$C\" \"${PWD##*/}\" >&2; printf ' [%s]\\n' \"$@\" >&2; exit 7";
    let server = json!({
        "command": "sh",
        "args": ["-c", script, "sh", "${PT_SET}", "${PT_UNSET:-a b}"],
        "env": {"A": "x${PT_SET}", "B": 5, "C": "file"},
        "cwd": "sub",
    });
    let folder = folder("config_process", "x.json", &json!({"mcpServers": {"s": server}}));
    std::fs::create_dir(folder.join("sub")).unwrap();
    let path = folder.join("x.json");
    let mut command = papertape(["list", "s", "--env", "C=option", "--config"]);
    // The script has `${PWD##*/}` of its own, which is not a variable of the file.
    let plain = std::fs::read_to_string(&path).unwrap().replace("${PWD##*/}", "$(basename $PWD)");
    std::fs::write(&path, plain).unwrap();
    let end = run(command.arg(&path).env("PT_SET", "1").env_remove("PT_UNSET"), "");
    assert_eq!(end.status.code(), Some(3), "{end:?}");
    contains(&end.log, &["x1 5 option in sub [1]", "[a b]"]);
}

#[test]
fn headers_reach_the_server() {
    let (url, heads) = urls::canned(vec![urls::discovered(), urls::tools()]);
    let headers = json!({"Authorization": "Bearer ${PT_TOKEN}", "X-Team": "blue", "X-Other": "file"});
    let servers = json!({"mcpServers": {"remote": {"type": "http", "url": url, "headers": headers}}});
    let folder = folder("config_headers", ".mcp.json", &servers);
    let mut command = within(&folder, &["list", "remote", "--header", "x-other: option", "--trace"]);
    let end = run(command.env("PT_TOKEN", "secret"), "");
    contains(text(&end), &["Tools (1)"]);
    assert!(!end.log.contains("secret"), "{end:?}");
    for _ in 0..2 {
        let head = heads.recv().unwrap();
        contains(&head, &["authorization: Bearer secret\r\n", "x-team: blue\r\n", "x-other: option\r\n"]);
        assert!(!head.contains("x-other: file"), "{head}");
    }
    // An option that does not apply to the server is refused as with a URL.
    wrong(within(&folder, &["list", "remote", "--env", "A=b"]), &["PT_TOKEN"]);
    let mut command = within(&folder, &["list", "remote", "--env", "A=b"]);
    command.env("PT_TOKEN", "secret");
    wrong(command, &["--env is for servers that are started as a process, and remote is at a URL"]);
}

#[test]
fn a_variable_that_is_missing_is_named() {
    let servers =
        json!({"mcpServers": {"s": {"url": "https://x.invalid", "headers": {"X-Key": "${PT_MISSING}"}}}});
    let folder = folder("config_variable", ".mcp.json", &servers);
    let words = "papertape: .mcp.json: the server \"s\": \"headers.X-Key\" needs the environment variable PT_MISSING, which is \
                 not set: set it, or write ${PT_MISSING:-default}\n";
    wrong(within(&folder, &["list", "s"]), &[words]);
}

#[test]
fn an_unknown_name_gets_the_known_ones() {
    let servers = json!({"mcpServers": {"words": text_server(), "github": text_server()}});
    let folder = folder("config_unknown", ".mcp.json", &servers);
    wrong(
        within(&folder, &["list", "githbu", "--config", ".mcp.json"]),
        &[
            "there is no server \"githbu\" in .mcp.json: did you mean \"github\"?\n  its servers: words, github\n",
            "  the bundled servers: blog, grammar, text, all\n",
        ],
    );
    // Without --config it may be a program.
    let end = run(&mut within(&folder, &["list", "githbu"]), "");
    assert_eq!(end.status.code(), Some(3), "{end:?}");
    contains(&end.log, &["did you mean the server \"github\" of .mcp.json?"]);
    let end = run(&mut within(&folder, &["list", "no-such-thing"]), "");
    contains(&end.log, &["the servers of .mcp.json: words, github"]);
}

#[test]
fn the_file_itself_is_not_a_target() {
    let servers = json!({"mcpServers": {"words": text_server()}});
    let folder = folder("config_target", "my mcp.json", &servers);
    wrong(
        within(&folder, &["list", "'my mcp.json'"]),
        &["is a file of servers, not a server", "--config 'my mcp.json' NAME\n  its servers: words\n"],
    );
}

#[test]
fn an_invalid_file_is_explained() {
    let folder = scratch("config_invalid");
    for (content, words) in [
        ("{", "--config f.json: not JSON: EOF"),
        ("{}", "there is no member \"mcpServers\""),
        (r#"{"mcpServers": []}"#, "\"mcpServers\" must be an object"),
        (r#"{"mcpServers": {"s": 1}}"#, "the server \"s\": it must be an object"),
        (r#"{"mcpServers": {"s": {}}}"#, "it has neither \"command\" nor \"url\""),
        (r#"{"mcpServers": {"s": {"command": "a", "url": "b"}}}"#, "both \"command\" and \"url\""),
        (r#"{"mcpServers": {"s": {"command": "a", "args": "b"}}}"#, "\"args\" must be a list of strings"),
        (r#"{"mcpServers": {"s": {"command": "a", "env": {"A": []}}}}"#, "\"env.A\" must be a string"),
        (r#"{"mcpServers": {"s": {"type": "http", "command": "a"}}}"#, "there is no \"url\""),
        (
            r#"{"mcpServers": {"s": {"type": "ws", "url": "a"}}}"#,
            "papertape knows \"stdio\", \"http\" and \"sse\"",
        ),
        (
            r#"{"servers": {"s": {"command": "${command:key}"}}}"#,
            "${command:key}, which papertape does not support",
        ),
    ] {
        std::fs::write(folder.join("f.json"), content).unwrap();
        wrong(within(&folder, &["list", "s", "--config", "f.json"]), &[words]);
    }
    std::fs::write(folder.join("f.json"), r#"{"mcpServers": {"s": {"command": "${VAR_THAT_IS_EMPTY:-}"}}}"#)
        .unwrap();
    let end = run(&mut within(&folder, &["list", "s", "--config", "f.json"]), "");
    assert_eq!(end.log, "papertape: starting the server failed: the command is empty\n");
    wrong(within(&folder, &["list", "s", "--config", "none.json"]), &["none.json: cannot read the file"]);
    let config = ["list", "http://localhost:1", "--config", "f.json"];
    wrong(within(&folder, &config), &["--config f.json is for servers that are given by name"]);
    wrong(within(&folder, &["list", "--config", "f.json", "--", "sh"]), &["there is a command after --"]);

    // The one of the current directory is not in the way of other targets.
    std::fs::write(folder.join(".mcp.json"), "{").unwrap();
    let end = run(&mut within(&folder, &["call", "text", "echo", "text=a"]), "");
    assert_eq!((text(end.is_clean()), end.log.as_str()), ("a\n", ""));
    let end = run(&mut within(&folder, &["list", "no-such-server"]), "");
    assert_eq!(end.status.code(), Some(3), "{end:?}");
    contains(&end.log, &["warning: .mcp.json is not used: not JSON"]);
}

#[test]
fn login_and_logout_take_a_name() {
    let servers = json!({"mcpServers": {"remote": {"url": "https://x.invalid/mcp"}, "words": text_server()}});
    let folder = folder("config_logout", ".mcp.json", &servers);
    let end = run(&mut within(&folder, &["logout", "remote"]), "");
    assert_eq!(text(end.is_clean()), "There are no saved tokens for https://x.invalid/mcp.\n");
    for command in ["login", "logout"] {
        wrong(within(&folder, &[command, "words"]), &["words is started as a process", "give a URL"]);
        let near = ["remtoe is not a URL", ".mcp.json has no server \"remtoe\": did you mean \"remote\"?"];
        wrong(within(&folder, &[command, "remtoe"]), &near);
        wrong(within(&folder, &[command, "nope"]), &["its servers: remote, words\n", "or --config FILE"]);
        let elsewhere = crate::scratch("login_without_a_file");
        let words = ["nope is not a URL, and there is no .mcp.json", "give the URL of the server"];
        wrong(within(&elsewhere, &[command, "nope"]), &words);
    }
}

#[test]
fn a_file_without_a_name_is_listed() {
    let content =
        json!({"mcpServers": {"notes": {"command": "x"}, "web": {"url": "http://localhost:1/mcp"}}});
    let folder = folder("servers_of_a_file", "s.json", &content);
    let end = run(&mut within(&folder, &["list", "--config", "s.json"]), "");
    contains(text(end.is_clean()), &["notes, web\n", "the bundled servers: blog, grammar, text, all\n"]);
    let end = run(&mut within(&folder, &["list", "--config", "s.json", "--output", "json"]), "");
    assert_eq!(document(end.is_clean())["servers"], json!(["notes", "web"]));
}
