//! Completion in shells: what the scripts of `papertape completions` get, and that a shell inserts it.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::process::{End, run};
use crate::{contains, faulty, papertape, scratch, text};

/// What is offered, in a directory with a file of servers.
fn offered(test: &str, arguments: &[&str]) -> End {
    let folder = scratch(test);
    let servers =
        json!({"mcpServers": {"words": {"command": "x"}, "web": {"url": "http://127.0.0.1:1/mcp"}}});
    std::fs::write(folder.join(".mcp.json"), servers.to_string()).unwrap();
    let mut command = papertape(arguments.iter().copied());
    let end = run(command.current_dir(&folder).env("XDG_CACHE_HOME", &folder), "");
    end.is_clean();
    end
}

/// For bash, the line up to the cursor; the last part of the word is what bash replaces.
fn bash(test: &str, line: &str, replaced: &str) -> Vec<String> {
    let end = offered(test, &["complete", "bash", "--", line, "", replaced]);
    text(&end).lines().map(str::to_owned).collect()
}

/// The same with a server. Each attempt is limited to two seconds, which a busy machine may need for itself.
fn bash_with_server(test: &str, line: &str, replaced: &str) -> Vec<String> {
    let attempts = (0..50).map(|_| bash(test, line, replaced));
    let answered = |offered: &Vec<String>| !offered.is_empty() && !offered[0].starts_with('-');
    attempts.into_iter().find(answered).unwrap_or_default()
}

#[test]
fn commands_options_and_servers() {
    let test = "complete_servers";
    assert_eq!(bash(test, "papertape ca", "ca"), ["call "]);
    assert_eq!(bash(test, "papertape call --outp", "--outp"), ["--output "]);
    assert_eq!(bash(test, "papertape call --output j", "j"), ["json "]);
    assert_eq!(bash(test, "papertape call --output=j", "j"), ["json "]);
    assert_eq!(bash(test, "papertape call w", "w"), ["words ", "web "]);
    assert_eq!(bash(test, "papertape list gr", "gr"), ["grammar "]);
    assert_eq!(bash(test, "papertape shell --config .mcp.json wo", "wo"), ["words "]);
    assert_eq!(bash(test, "papertape login we", "we"), ["web "]);
    assert_eq!(bash(test, "papertape task wa", "wa"), ["wait "]);
    assert_eq!(bash(test, "papertape task get w", "w"), ["words ", "web "]);
    assert_eq!(bash(test, "papertape task cancel --config .mcp.json wo", "wo"), ["words "]);
    assert_eq!(bash(test, "papertape list '", ""), ["words", "web", "blog", "grammar", "text", "all"]);
    assert!(bash(test, "papertape nothing x", "x").is_empty());
    // The command that the scripts call is not offered.
    assert_eq!(bash(test, "papertape compl", "compl"), ["completions "]);
}

#[test]
fn tools_arguments_and_values() {
    let test = "complete_tools";
    let offered = |line, replaced| bash_with_server(test, line, replaced);
    assert_eq!(offered("papertape call grammar conj", "conj"), ["conjugate "]);
    assert_eq!(offered("papertape call grammar conjugate ver", "ver"), ["verb="]);
    assert_eq!(offered("papertape call grammar conjugate verb=eat t", "t"), ["tense="]);
    let quoted = ["past\\ simple ", "past\\ participle "];
    let found = offered("papertape call grammar conjugate tense=past\\ ", "past\\ ");
    assert_eq!(found, quoted);
    let found = offered("papertape call grammar conjugate tense='past ", "past ");
    assert_eq!(found, ["past simple", "past participle"]);
    assert_eq!(offered("papertape call 'grammar' conjugate person=3r", "3r"), ["3rd\\ singular "]);
    assert_eq!(offered("papertape read grammar grammar://t", "//t"), ["//table "]);
    assert_eq!(offered("papertape read grammar grammar://verb/ea", "//verb/ea"), ["//verb/eat "]);
    assert_eq!(offered("papertape prompt grammar ex", "ex"), ["explain_tense "]);
    assert_eq!(offered("papertape prompt grammar explain_tense tense=pre", "pre"), ["present\\ simple "]);
}

#[test]
fn a_server_after_the_cursor() {
    let rest = format!(" -- '{}' well-behaved", faulty());
    let attempt = || {
        let end = offered("complete_after", &["complete", "bash", "--", "papertape call ec", &rest, "ec"]);
        text(&end).to_owned()
    };
    let found = (0..50).map(|_| attempt()).find(|found| !found.is_empty());
    assert_eq!(found.as_deref(), Some("echo \n"));
}

#[test]
fn a_file_of_servers_that_is_a_pipe_is_not_read() {
    let folder = scratch("complete_pipe");
    for file in [".mcp.json", "pipe.json"] {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.join(file), mode).unwrap();
    }
    for (line, offered) in [("papertape list gr", "grammar \n"), ("papertape list --config pipe.json gr", "")]
    {
        let mut command = papertape(["complete", "bash", "--", line, "", "gr"]);
        let end = run(command.current_dir(&folder).env("XDG_CACHE_HOME", &folder), "");
        assert_eq!(text(end.is_clean()), offered, "{line}");
    }
}

#[test]
fn a_server_that_fails_offers_nothing() {
    for mode in ["never-opens", "list-silent", "exits"] {
        let line = format!("papertape call '{} {mode}' ec", faulty());
        assert!(bash("complete_failing", &line, "ec").is_empty(), "{mode}");
    }
}

#[test]
fn other_shells_get_descriptions() {
    let end = offered("complete_zsh", &["complete", "zsh", "--", "2", "papertape", "call", "g"]);
    assert_eq!(text(&end), "-grammar\tbundled server\n");
    let end = offered("complete_fish", &["complete", "fish", "--", "2", "papertape", "call", "'g"]);
    assert_eq!(text(&end), "grammar\tbundled server\n");
    let end = offered("complete_fish", &["complete", "fish", "--", "1", "papertape"]);
    contains(text(&end), &["call\tCall a tool\n"]);
    for wrong in
        [&["complete", "fish"][..], &["complete", "zsh", "--", "x"], &["complete", "bash", "--", "a"]]
    {
        assert_eq!(text(&offered("complete_wrong", wrong)), "");
    }
}

#[test]
fn a_description_is_escaped_once() {
    let folder = scratch("complete_escaped");
    let file = folder.join("a\u{1b}b.json");
    std::fs::write(&file, json!({"mcpServers": {"words": {"command": "x"}}}).to_string()).unwrap();
    let mut command =
        papertape(["complete", "zsh", "--", "4", "papertape", "list", "--config", "a\u{1b}b.json", "w"]);
    let end = run(command.current_dir(&folder).env("XDG_CACHE_HOME", &folder), "");
    assert_eq!(text(end.is_clean()), "-words\tserver of a⟦1b⟧b.json\n");
}

#[test]
fn a_real_bash_completes() {
    if Command::new("bash").arg("--version").stdout(Stdio::null()).status().is_err() {
        return;
    }
    let folder = scratch("complete_bash");
    // Sets what bash sets while a line is completed, and prints what the function replies.
    let script = r#"source <(papertape completions bash)
        complete -p papertape
        try() { COMP_LINE=$1 COMP_POINT=${#1}; _papertape papertape "$2" x; printf '<%s>' "${COMPREPLY[@]}"; echo; }
        try "papertape call gr" gr
        try "papertape li" li
        try "papertape call x y='z" z"#;
    let mut command = Command::new("bash");
    let directory = Path::new(env!("CARGO_BIN_EXE_papertape")).parent().unwrap();
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
    command.args(["--norc", "-c", script]).env("PATH", path).env("XDG_CACHE_HOME", &folder);
    let end = run(&mut command, "");
    let lines: Vec<&str> = text(end.is_clean()).lines().collect();
    assert!(lines[0].contains("-F _papertape papertape"), "{end:?}");
    assert_eq!(lines[1..], ["<grammar >", "<list >", "<>"]);
}

#[test]
fn every_shell_has_a_script() {
    for (shell, words) in [
        ("bash", "complete -o nospace"),
        ("zsh", "#compdef papertape"),
        ("fish", "complete --command papertape"),
        ("elvish", "edit:completion"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let end = run(&mut papertape(["completions", shell]), "");
        contains(text(end.is_clean()), &[words]);
    }
}
