//! `papertape install`, `uninstall` and `hosts`: the files of hosts, in a home directory of the test.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::process::{End, run};
use crate::{contains, document, install, papertape, scratch, text};

/// A home directory, and what is run in it.
struct Home(PathBuf);

impl Home {
    fn new(test: &str) -> Self {
        Self(scratch(test))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = papertape(arguments.iter().copied());
        command.env("HOME", &self.0).env("XDG_DATA_HOME", self.0.join("data")).current_dir(&self.0);
        for name in ["XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME", "COPILOT_HOME"]
        {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, arguments: &[&str]) -> End {
        run(&mut self.command(arguments), "")
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--output", "json"]).collect();
        document(self.run(&arguments).is_clean())
    }

    /// Code 2 and words on stderr.
    #[track_caller]
    fn refused(&self, arguments: &[&str], words: &[&str]) {
        let end = self.run(arguments);
        assert_eq!((end.status.code(), text(&end)), (Some(2), ""), "{end:?}");
        contains(&end.log, words);
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap()
    }

    fn write(&self, file: &str, content: &str) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn mode(&self, file: &str) -> u32 {
        fs::metadata(self.0.join(file)).unwrap().permissions().mode() & 0o777
    }

    /// The files in a directory without backups.
    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| !name.contains("papertape-backup")).collect();
        names.sort();
        names
    }
}

fn this() -> String {
    fs::canonicalize(env!("CARGO_BIN_EXE_papertape")).unwrap().to_str().unwrap().to_owned()
}

/// Each host with the file of its user on this system, below the home directory.
fn hosts() -> [(&'static str, &'static str); 9] {
    let by_system = |macos, linux| if cfg!(target_os = "macos") { macos } else { linux };
    [
        (
            "claude-desktop",
            by_system(
                "Library/Application Support/Claude/claude_desktop_config.json",
                ".config/Claude/claude_desktop_config.json",
            ),
        ),
        ("claude-code", ".claude.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", by_system("Library/Application Support/Code/User/mcp.json", ".config/Code/User/mcp.json")),
        ("zed", ".config/zed/settings.json"),
        ("codex", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json"),
        ("windsurf", ".codeium/windsurf/mcp_config.json"),
        ("copilot", ".copilot/mcp-config.json"),
    ]
}

#[test]
fn every_host_gets_its_file_back_byte_for_byte() {
    let home = Home::new("install_all");
    for (host, file) in hosts() {
        let contents: &[Option<&str>] = if host == "codex" {
            &[
                None,
                Some(""),
                Some("\u{feff}model = \"x\" # m\r\n\r\n[mcp_servers.b]\r\ncommand = 'b'\r\n"),
                Some("# c\n[tools]\n\n\n  web_search = true # no end"),
            ]
        } else {
            &[
                None,
                Some(""),
                Some("{}"),
                Some(
                    "\u{feff}{\r\n\t// c\r\n\t\"a\": [1,2,],\r\n\t\"SERVERS\" : { \"b\":{ }, /* d */ },\r\n}",
                ),
                Some("{\"z\":1e400,\"SERVERS\":{\"b\":{}},\"a\":{}}\n\n"),
                Some("{\n    \"SERVERS\": {\n        // none\n    }\n} // end"),
            ]
        };
        let container = match host {
            "vscode" => "servers",
            "zed" => "context_servers",
            _ => "mcpServers",
        };
        for content in contents {
            drop(fs::remove_file(home.0.join(file)));
            let content = content.map(|content| content.replace("SERVERS", container));
            if let Some(content) = &content {
                home.write(file, content);
            }
            let end = home.run(&["install", host, "grammar"]);
            assert_eq!(end.status.code(), Some(0), "{host} {content:?} {end:?}");
            contains(text(&end), &["has the server grammar now", file]);
            contains(&home.read(file), &["grammar"]);
            let end = home.run(&["uninstall", host, "grammar"]);
            assert_eq!(end.status.code(), Some(0), "{host} {content:?} {end:?}");
            assert_eq!(fs::read_to_string(home.0.join(file)).ok(), content, "{host}");
        }
    }
    // No records are left of what is not installed any more.
    assert_eq!(home.read("data/papertape/installed.json"), "{\"records\":[]}");
}

#[test]
fn a_file_is_made_with_what_the_host_needs() {
    let home = Home::new("install_new");
    let end = home.run(&["install", "vscode", "words", "text", "--env", "KEY=secret"]);
    let file = hosts()[3].1;
    assert_eq!((end.status.code(), end.log.as_str()), (Some(0), ""), "{end:?}");
    contains(text(&end), &["VS Code has the server words now: ", "MCP: List Servers"]);
    let entry =
        json!({"type": "stdio", "command": this(), "args": ["serve", "text"], "env": {"KEY": "secret"}});
    let written: Value = serde_json::from_str(&home.read(file)).unwrap();
    assert_eq!(written, json!({"servers": {"words": entry}}));
    // It has a value that may be secret.
    assert_eq!(home.mode(file), 0o600);
    // Nothing is left beside it.
    assert_eq!(home.names(Path::new(file).parent().unwrap().to_str().unwrap()), ["mcp.json"]);
    home.run(&["install", "codex", "words", "text"]).is_clean();
    let toml = format!("[mcp_servers.words]\ncommand = \"{}\"\nargs = [\"serve\", \"text\"]\n", this());
    assert_eq!(home.read(".codex/config.toml"), toml);
    assert_ne!(home.mode(".codex/config.toml"), 0o600);
}

#[test]
fn any_command_and_any_url_can_be_installed() {
    let home = Home::new("install_targets");
    home.write("servers/server.py", "");
    fs::create_dir(home.0.join("bin")).unwrap();
    install(&home.0.join("bin/my-server"), "#!/bin/sh\n");
    let entry = |arguments: &[&str], container: &str| {
        let mut command = home.command(arguments);
        command.args(["--file", "f.json", "--force", "--output", "json"]);
        command.env("PATH", format!("{}:/usr/bin:/bin", home.0.join("bin").display()));
        let report = document(run(&mut command, "").is_clean());
        let written: Value = serde_json::from_str(&home.read("f.json")).unwrap();
        fs::remove_file(home.0.join("f.json")).unwrap();
        (written[container]["s"].clone(), report["notes"].clone())
    };
    let program = home.0.join("bin/my-server");
    let program = program.to_str().unwrap();
    // An application that is started from a menu has another PATH; a program of the terminal has this one.
    let (written, notes) = entry(&["install", "cursor", "s", "my-server --flag 'a b'"], "mcpServers");
    assert_eq!(written, json!({"command": program, "args": ["--flag", "a b"]}));
    assert_eq!(notes, json!([format!("my-server is written as {program}")]));
    let (written, notes) = entry(&["install", "gemini", "s", "my-server"], "mcpServers");
    assert_eq!((written, notes), (json!({"command": "my-server", "args": []}), json!([])));
    let (written, notes) =
        entry(&["install", "gemini", "s", "bin/my-server servers/server.py"], "mcpServers");
    assert_eq!(written, json!({"command": program, "args": ["servers/server.py"]}));
    contains(&notes.to_string(), &["servers/server.py is relative to this directory", "is written as"]);
    let blog = ["install", "zed", "s", "blog --content servers --index=i --watch"];
    let (written, notes) = entry(&blog, "context_servers");
    let (content, index) = (home.0.join("servers"), format!("--index={}", home.0.join("i").display()));
    assert_eq!(written["args"], json!(["serve", "blog", "--content", content, index, "--watch"]));
    assert_eq!((written["source"].clone(), notes), (json!("custom"), json!([])));
    let url = ["install", "windsurf", "s", "https://x.invalid/mcp", "--header", "A: b"];
    assert_eq!(
        entry(&url, "mcpServers").0,
        json!({"serverUrl": "https://x.invalid/mcp", "headers": {"A": "b"}})
    );
    // After --, options belong to the command.
    let mut command =
        home.command(&["install", "copilot", "s", "--file", "f.json", "--", "sh", "--force", "-c", "x y"]);
    run(&mut command, "").is_clean();
    let written: Value = serde_json::from_str(&home.read("f.json")).unwrap();
    let right = json!({"type": "stdio", "command": "sh", "args": ["--force", "-c", "x y"], "tools": ["*"]});
    assert_eq!(written["mcpServers"]["s"], right);
}

#[test]
fn a_script_for_an_interpreter_elsewhere_gets_a_hint() {
    let home = Home::new("install_script");
    fs::create_dir(home.0.join("nvm")).unwrap();
    install(&home.0.join("nvm/npx"), "#!/usr/bin/env node\n");
    install(&home.0.join("nvm/node"), "#!/bin/sh\n");
    let path = format!("{}:/usr/bin:/bin", home.0.join("nvm").display());
    let mut command = home.command(&["install", "claude-desktop", "files", "npx -y server-files"]);
    let end = run(command.env("PATH", &path), "");
    contains(
        &end.log,
        &["npx is a script for node, which Claude Desktop may not find", &format!("--env PATH={path}")],
    );
}

#[test]
fn a_dry_run_prints_a_diff_and_writes_nothing() {
    let home = Home::new("install_dry");
    let content = "{\n  \"mcpServers\": {\n    \"b\": {}\n  }\n}\n";
    home.write(".cursor/mcp.json", content);
    let end = home.run(&["install", "cursor", "grammar", "--dry-run"]);
    let file = home.0.join(".cursor/mcp.json");
    let diff = format!(
        "--- {0}\n+++ {0}\n@@ -1,5 +1,9 @@\n {{\n   \"mcpServers\": {{\n-    \"b\": {{}}\n+    \"b\": {{}},\n+    \"grammar\": {{\n\
         +      \"command\": \"{1}\",\n+      \"args\": [\"serve\", \"grammar\"]\n+    }}\n   }}\n }}\n",
        file.display(),
        this()
    );
    assert_eq!((text(end.is_clean()), end.log.as_str()), (diff.as_str(), ""));
    assert_eq!(home.read(".cursor/mcp.json"), content);
    assert!(!home.0.join("data").exists());
    assert_eq!(fs::read_dir(home.0.join(".cursor")).unwrap().count(), 1);
    // The diff is one that `patch` applies.
    if let Ok(mut patch) =
        Command::new("patch").arg("-p0").arg(&file).stdin(std::process::Stdio::piped()).spawn()
    {
        std::io::Write::write_all(&mut patch.stdin.take().unwrap(), diff.as_bytes()).unwrap();
        assert!(patch.wait().unwrap().success());
        assert_eq!(home.json(&["install", "cursor", "grammar"])["outcome"], "unchanged");
    }
    let report = home.json(&["install", "zed", "grammar", "--dry-run"]);
    assert_eq!(
        (&report["dry_run"], &report["outcome"], &report["backup"]),
        (&json!(true), &json!("added"), &Value::Null)
    );
    contains(report["diff"].as_str().unwrap(), &["--- /dev/null\n", "+  \"context_servers\": {\n"]);
}

#[test]
fn a_backup_is_written_each_time() {
    let home = Home::new("install_backup");
    let file = ".gemini/settings.json";
    home.write(file, "{}");
    fs::set_permissions(home.0.join(file), fs::Permissions::from_mode(0o640)).unwrap();
    let report = home.json(&["install", "gemini", "grammar", "--env", "A=b"]);
    let backup = report["backup"].as_str().unwrap();
    assert!(backup.ends_with("/.gemini/settings.json.papertape-backup-1"), "{backup}");
    assert_eq!(fs::read_to_string(backup).unwrap(), "{}");
    assert_eq!((home.mode(file), fs::metadata(backup).unwrap().permissions().mode() & 0o777), (0o640, 0o640));
    contains(&report["notes"].to_string(), &["can be read by other users", "chmod 600"]);
    assert!(home.json(&["install", "gemini", "grammar", "--env", "A=b"])["backup"].is_null());
    let report = home.json(&["uninstall", "gemini", "grammar"]);
    assert!(report["backup"].as_str().unwrap().ends_with("backup-2"));
    assert_eq!((report["outcome"].as_str(), home.read(file).as_str()), (Some("removed"), "{}"));
}

#[test]
fn a_file_behind_a_link_is_restored() {
    let home = Home::new("install_links");
    fs::create_dir(home.0.join("dotfiles")).unwrap();
    std::os::unix::fs::symlink("dotfiles", home.0.join(".cursor")).unwrap();
    home.run(&["install", "cursor", "grammar"]).is_clean();
    contains(&home.read("dotfiles/mcp.json"), &["grammar"]);
    assert_eq!(home.json(&["uninstall", "cursor", "grammar"])["outcome"], "file_removed");
    // The file itself may be one, too.
    home.write("dotfiles/zed.json", "{ }");
    home.write(".config/zed/x", "");
    std::os::unix::fs::symlink("../../dotfiles/zed.json", home.0.join(".config/zed/settings.json")).unwrap();
    home.run(&["install", "zed", "grammar"]).is_clean();
    contains(&home.read("dotfiles/zed.json"), &["grammar"]);
    home.run(&["uninstall", "zed", "grammar"]).is_clean();
    assert_eq!(home.read("dotfiles/zed.json"), "{ }");
    assert!(home.0.join(".config/zed/settings.json").is_symlink());
}

#[test]
fn what_cannot_be_done_is_refused_and_changes_nothing() {
    let home = Home::new("install_refused");
    let invalid = "{\n  \"mcpServers\": {\n    \"a\": {},,\n";
    home.write(".cursor/mcp.json", invalid);
    for command in [["install", "cursor", "grammar"], ["uninstall", "cursor", "a"]] {
        home.refused(&command, &["mcp.json:3:13: there is ',' in place of", "correct the file first"]);
    }
    home.refused(&["install", "cursor", "a", "--tap"], &["mcp.json:3:13"]);
    assert_eq!(home.read(".cursor/mcp.json"), invalid);
    home.write(".codex/config.toml", "a = \n");
    home.refused(&["install", "codex", "grammar"], &["config.toml:1:5"]);
    fs::write(home.0.join("utf16.json"), b"\xff\xfe{\0}\0").unwrap();
    home.refused(&["install", "cursor", "grammar", "--file", "utf16.json"], &["the file is UTF-16"]);
    home.refused(&["install", "cursor", "grammar", "--file", "."], &["not a regular file"]);

    let other = r#"{"mcpServers": {"grammar": {"command": "x"}}}"#;
    home.write(".gemini/settings.json", other);
    home.refused(&["install", "gemini", "grammar"], &["has another server \"grammar\"", "--force"]);
    home.refused(
        &["uninstall", "gemini", "gramar"],
        &["has no server \"gramar\": did you mean \"grammar\"?\n  its servers: grammar\n"],
    );
    home.refused(&["uninstall", "gemini", "grammar", "--tap"], &["the server \"grammar\" is not recorded"]);
    assert_eq!(home.read(".gemini/settings.json"), other);

    home.refused(
        &["install", "nope", "grammar"],
        &["claude-desktop, claude-code, cursor, vscode, zed, codex"],
    );
    home.refused(&["install", "windsurf", "grammar", "--project"], &["Windsurf has no file of a project"]);
    home.refused(
        &["install", "zed", "notes"],
        &["which server is \"notes\"? The bundled ones are blog, grammar"],
    );
    home.refused(&["install", "zed", "blog"], &["write 'blog --content DIR'"]);
    home.refused(&["install", "zed", "a b", "grammar"], &["\"a b\" cannot be the name of a server"]);
    home.refused(&["install", "zed", "s", "no-such-program"], &["no-such-program is not in the PATH"]);
    home.refused(&["install", "zed", "s", "./none"], &["./none is not a program"]);
    home.refused(&["install", "zed", "s", "grammar", "--", "sh"], &["give either grammar or the command"]);
    home.refused(
        &["install", "zed", "s", "https://x.invalid", "--env", "A=b"],
        &["--env is for servers that are started"],
    );
    home.refused(
        &["install", "zed", "s", "grammar", "--header", "A: b"],
        &["--header is for servers at a URL"],
    );
    home.refused(
        &["install", "claude-desktop", "s", "https://x.invalid"],
        &["no servers at a URL", "papertape bridge"],
    );
    let mut homeless = home.command(&["install", "cursor", "grammar"]);
    let end = run(homeless.env_remove("HOME"), "");
    contains(&end.log, &["there is no home directory: set HOME, or name the file with --file"]);
    assert_eq!(home.names("."), [".codex", ".cursor", ".gemini", "utf16.json"]);
}

#[test]
fn a_comment_in_plain_json_is_a_warning() {
    let home = Home::new("install_comment");
    home.write("f.json", "{\n  // c\n}\n");
    let end = home.run(&["install", "claude-code", "grammar", "--file", "f.json"]);
    assert_eq!(end.status.code(), Some(0));
    contains(&end.log, &["f.json:2:3: Claude Code may not accept comments"]);
    let end = home.run(&["install", "zed", "grammar", "--file", "f.json"]);
    assert_eq!((end.status.code(), end.log.as_str()), (Some(0), ""));
}

#[test]
fn without_a_data_directory_the_entry_is_written_all_the_same() {
    let home = Home::new("install_no_data");
    home.write("data", "a file");
    let end = home.run(&["install", "cursor", "grammar"]);
    assert_eq!(end.status.code(), Some(0), "{end:?}");
    contains(&end.log, &["what was there before is not recorded"]);
    home.run(&["uninstall", "cursor", "grammar"]).is_clean();
    assert_eq!(home.read(".cursor/mcp.json"), "{\n  \"mcpServers\": {}\n}\n");
}

#[test]
fn a_server_is_recorded_and_is_not_any_more() {
    let home = Home::new("install_tap");
    let content = "{\n  \"mcpServers\": {\n    // mine\n    \"files\": { \"command\": \"npx\", \"args\": [ \"-y\", \"s\" ], \"env\": {} },\n    \"plain\": {\"command\":\"x\"}\n  }\n}";
    home.write(".cursor/mcp.json", content);
    let report = home.json(&["install", "cursor", "files", "--tap"]);
    let tape = home.0.join("data/papertape/tapes/files.tape");
    assert_eq!((&report["outcome"], tape.parent().unwrap().is_dir()), (&json!("wrapped"), true));
    assert_eq!(report["notes"][0], format!("the tape will be {}", tape.display()));
    home.run(&["install", "cursor", "plain", "--tap", "--tape", "p.tape"]).is_clean();
    // Comments aside, which ServersFile of papertape reads too.
    let written: Value = serde_json::from_str(&home.read(".cursor/mcp.json").replace("// mine", "")).unwrap();
    let files =
        json!({"command": this(), "args": ["tap", "--tape", tape, "--", "npx", "-y", "s"], "env": {}});
    assert_eq!(written["mcpServers"]["files"], files);
    let plain = json!(["tap", format!("--tape={}", home.0.join("p.tape").display()), "--", "x"]);
    assert_eq!(written["mcpServers"]["plain"]["args"], plain);
    let rows = home.json(&["hosts", "cursor"]);
    let tapes: Vec<&Value> =
        rows["files"][0]["servers"].as_array().unwrap().iter().map(|it| &it["tape"]).collect();
    assert_eq!(tapes, [&json!(tape), &json!(home.0.join("p.tape"))]);
    assert_eq!(home.json(&["install", "cursor", "files", "--tap"])["outcome"], "unchanged");
    home.refused(&["install", "cursor", "files", "--tap", "--tape", "other"], &["is recorded already, to "]);
    home.refused(&["install", "cursor", "none", "--tap"], &["has no server \"none\""]);
    for name in ["files", "plain"] {
        assert_eq!(home.json(&["uninstall", "cursor", name, "--tap"])["outcome"], "unwrapped");
    }
    assert_eq!(home.read(".cursor/mcp.json"), content);
}

/// What the file says is what a host starts: the server, and the recorder before it.
#[test]
fn an_installed_server_works_and_is_recorded() {
    let home = Home::new("install_works");
    home.run(&["install", "claude-code", "words", "text", "--project"]).is_clean();
    let call = ["call", "words", "word_count", "text=one two"];
    assert_eq!(text(home.run(&call).is_clean()), "2\n");
    home.run(&["install", "claude-code", "words", "--project", "--tap"]).is_clean();
    assert_eq!(text(home.run(&call).is_clean()), "2\n");
    contains(&home.read("data/papertape/tapes/words.tape"), &["\"word_count\"", "one two"]);
    home.run(&["uninstall", "claude-code", "words", "--project", "--tap"]).is_clean();
    assert_eq!(text(home.run(&call).is_clean()), "2\n");
}

#[test]
fn a_project_has_a_file_of_its_own() {
    let home = Home::new("install_project");
    for (host, file) in [
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
        ("zed", ".zed/settings.json"),
        ("codex", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json"),
    ] {
        home.run(&["install", host, "grammar", "--project"]).is_clean();
        contains(&home.read(file), &["grammar"]);
    }
    // What the other commands read.
    let end = home.run(&["list", "--config", ".mcp.json"]);
    contains(text(end.is_clean()), &["grammar\n"]);
}

#[test]
fn hosts_are_listed_with_their_servers() {
    let home = Home::new("install_hosts");
    home.write(".cursor/mcp.json", "{\"mcpServers\": {\"b\": {}, \"a\\u001b[31m\": {}}}");
    home.write(".codex/config.toml", "x =");
    home.write(".mcp.json", "{\"mcpServers\": {}}");
    fs::create_dir(home.0.join(".claude")).unwrap();
    let end = home.run(&["hosts"]);
    let table = text(end.is_clean());
    let row = |start: &str| {
        let line =
            table.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}\n{table}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("HOST"), "HOST FOUND FILE SERVERS");
    assert_eq!(row("cursor"), "cursor yes ~/.cursor/mcp.json b, a⟦1b⟧[31m");
    assert_eq!(row("windsurf"), "windsurf no ~/.codeium/windsurf/mcp_config.json");
    assert_eq!(row("claude-code"), "claude-code yes ~/.claude.json");
    assert!(table.contains("claude-code     yes    .mcp.json"), "{table}");
    contains(&row("codex"), &["codex yes ~/.codex/config.toml", "not valid: 1:4: "]);

    let rows = home.json(&["hosts"])["hosts"].as_array().unwrap().clone();
    assert_eq!(rows.len(), hosts().len() + 2);
    let page = home.run(&["hosts", "codex"]);
    contains(
        text(page.is_clean()),
        &[
            "Codex  codex\n",
            ".codex/config.toml (--project)",
            "    [mcp_servers.grammar]\n",
            "Logs\n",
            "After a change\n",
        ],
    );
    for (host, _) in hosts() {
        let page = home.json(&["hosts", host]);
        contains(page["example"].as_str().unwrap(), &["grammar", &this()]);
        assert_eq!(page["host"], host);
    }
}
