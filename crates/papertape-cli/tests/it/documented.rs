//! The commands in the documentation that use a bundled server or an example run as they are printed there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use papertape_testing::process::run;

use crate::examples::example;
use crate::{install, papertape};

/// What the target of a command begins with, if the command can run here: without a network, a port or a terminal.
const TARGETS: [&str; 17] = [
    "grammar",
    "text",
    "all",
    "'blog --content notes'",
    "'blog --content apuntes'",
    "'blog --content notes --content posts'",
    "notes",
    "apuntes",
    "target/debug/examples/by_hand",
    "target/debug/examples/typed_tools",
    "target/debug/examples/middleware",
    "'papertape bridge ",
    "'papertape replay ",
    "session.tape grammar",
    "'target/debug/examples/proxy ",
    "'target/debug/examples/notes ",
    "'target/debug/examples/task ",
];

/// What a command needs that is not there: an embedding model, a database.
const ELSEWHERE: [&str; 2] = [" --embed ", " --store "];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The files with commands: pages, and programs that say how they are started.
fn files() -> Vec<PathBuf> {
    let root = repository();
    let mut files = vec![root.join("README.md"), root.join("crates/papertape-cli/README.md")];
    for folder in ["docs", "docs/es", "docs/zh", "examples", "examples/examples"] {
        let entries = fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        files.extend(entries.filter(|path| path.extension().is_some_and(|end| end == "md" || end == "rs")));
    }
    files.sort();
    files
}

/// The commands in the `sh` blocks of a file, in order; a backslash at the end of a line continues it.
fn commands(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut in_block = false;
    let mut begun = String::new();
    for line in text.lines() {
        let line = line.strip_prefix("//! ").unwrap_or(line);
        if line.starts_with("```") {
            in_block = line == "```sh";
        } else if let Some(part) = line.strip_suffix('\\').filter(|_| in_block) {
            begun.push_str(part);
        } else if in_block {
            commands.push(std::mem::take(&mut begun) + line);
        }
    }
    commands
}

/// Whether a command can run here.
fn can_run(command: &str) -> bool {
    if command.starts_with("printf ") && command.ends_with(" | papertape shell grammar") {
        return true;
    }
    let Some(rest) = command.strip_prefix("papertape ") else { return false };
    let Some((subcommand, rest)) = rest.split_once(' ') else { return false };
    let rest = rest.strip_prefix("--trace ").unwrap_or(rest);
    let rest = rest.strip_prefix("--tape session.tape ").unwrap_or(rest);
    ["list", "call", "read", "prompt", "request", "search", "index", "check", "replay"].contains(&subcommand)
        && TARGETS.iter().any(|target| rest.starts_with(target))
        && !ELSEWHERE.iter().any(|option| command.contains(option))
        && (cfg!(feature = "otel") || !command.contains(" --otlp "))
}

/// Builds the examples that a command starts.
fn build_examples(command: &str) {
    for rest in command.split("target/debug/examples/").skip(1) {
        example(rest.split([' ', '\'']).next().unwrap());
    }
}

/// A directory as the pages assume it: some notes, and the examples that were built.
fn prepare(folder: &Path) {
    let front_matter = "---\ndate: 2024-05-01\ntags: [animals]\n---\n";
    let sections: String = (1..=6)
        .map(|nth| format!("## Section {nth}\n\n{}\n\n", "Otters rotate backups. ".repeat(80)))
        .collect();
    for file in [
        "notes/backups.md",
        "notes/rivers/otters.md",
        "notes/servers.md",
        "apuntes/servidores.md",
        "posts/hello.md",
    ] {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{front_matter}# Notes\n\n{sections}")).unwrap();
    }
    let built = Path::new(env!("CARGO_BIN_EXE_papertape")).parent().unwrap();
    fs::create_dir(folder.join("target")).unwrap();
    std::os::unix::fs::symlink(built, folder.join("target/debug")).unwrap();
}

/// A shell in whose path the binary is, in the environment of the tests.
fn shell(command: &str) -> Command {
    let papertape = papertape([]);
    let folder = Path::new(papertape.get_program()).parent().unwrap();
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]);
    for (name, value) in papertape.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    // An editor that a command opens ends at once.
    shell.env("EDITOR", "true").env_remove("VISUAL");
    shell.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
    shell
}

#[test]
fn the_commands_of_the_pages_work() {
    let folder = crate::scratch("documented");
    prepare(&folder);
    let mut ran = 0;
    for file in files() {
        let commands = commands(&fs::read_to_string(&file).unwrap());
        for command in commands.into_iter().filter(|command| can_run(command)) {
            build_examples(&command);
            let end = run(shell(&command).current_dir(&folder), "");
            let output = String::from_utf8_lossy(&end.output);
            assert!(end.status.success(), "{}: {command}\n{output}{}", file.display(), end.log);
            ran += 1;
        }
    }
    assert!(ran >= 12, "only {ran} commands were found");
}

/// Those that `--help` shows, as far as they need no other program or file.
#[test]
fn the_examples_of_the_help_work() {
    let folder = crate::scratch("documented_help");
    let mut ran = 0;
    for command in ["list", "call", "read", "prompt", "request", "shell"] {
        let help = run(&mut papertape([command, "--help"]), "");
        let help = String::from_utf8(help.output).unwrap();
        let (_, examples) = help.split_once("Examples:\n").unwrap();
        for example in examples.lines().map(str::trim).filter(|line| can_run(line)) {
            if example.contains(" | jq ") || example.contains(" < ") {
                continue;
            }
            let end = run(shell(example).current_dir(&folder), "");
            assert!(end.status.success(), "{example}\n{}", end.log);
            ran += 1;
        }
    }
    assert!(ran >= 6, "only {ran} examples were found");
}

/// What the pages show of failing servers is what the binary prints.
#[test]
fn the_errors_of_the_pages_are_printed() {
    let folder = crate::scratch("documented_errors");
    for (server, script) in [
        ("my-server", "echo 'API_KEY not set' >&2; exit 3"),
        ("needs-a-key", "echo 'API_KEY not set' >&2; exit 3"),
        ("prints", "echo Starting server...; while read line; do :; done"),
        ("pretty", "read line; printf '{\\n\"jsonrpc\": \"2.0\"\\n}\\n'; while read line; do :; done"),
        ("silent", "while read line; do :; done"),
    ] {
        install(&folder.join(server), format!("#!/bin/sh\n{script}\n"));
    }
    fs::write(folder.join("server.py"), "").unwrap();
    let pages: Vec<String> = files().iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    let shown = pages.iter().flat_map(|page| page.split("```text\n$ ").skip(1));
    let shown = shown.filter(|shown| shown.starts_with("papertape "));
    // Their reports are on stdout: see checking.rs and replay/.
    let reports = ["papertape check ", "papertape replay "];
    let shown: Vec<&str> =
        shown.filter(|shown| !reports.iter().any(|report| shown.starts_with(report))).collect();
    // Some wait for their timeout.
    thread::scope(|scope| {
        for shown in &shown {
            let folder = &folder;
            scope.spawn(move || {
                let (command, rest) = shown.split_once('\n').unwrap();
                let (expected, _) = rest.split_once("```").unwrap();
                let end = run(shell(command).current_dir(folder), "");
                assert_eq!(end.log, expected, "{command}");
                assert!(end.output.is_empty() && !end.status.success(), "{command}");
            });
        }
    });
    let ran = shown.len();
    assert!(ran >= 8, "only {ran} errors were found");
}

/// What Rust blocks import is among the dependencies that docs/README.md lists, in the versions that they are compiled with.
#[test]
fn the_crates_of_the_pages_are_listed() {
    let read = |file: &str| fs::read_to_string(repository().join(file)).unwrap();
    let (index, workspace) = (read("docs/README.md"), read("Cargo.toml"));
    let (_, manifest) = index.split_once("[dependencies]\n").unwrap();
    let (manifest, _) = manifest.split_once("```").unwrap();
    let listed: Vec<_> = manifest.lines().filter_map(|line| line.split_once(" = ")).collect();
    for (name, requirement) in listed.iter().filter(|(name, _)| *name != "papertape") {
        let version = requirement.split('"').nth(1).unwrap();
        let entry = workspace.lines().find(|line| line.starts_with(&format!("{name} = "))).unwrap();
        assert!(entry.contains(&format!("\"{version}\"")), "{name}: {requirement} is not {entry}");
    }
    let mut imports = 0;
    for file in files().iter().filter(|file| file.extension().is_some_and(|end| end == "md")) {
        let text = fs::read_to_string(file).unwrap();
        let blocks = text.split("\n```rust").skip(1).filter(|block| !block.starts_with(",ignore"));
        for import in blocks.flat_map(|block| block.split("```").next().unwrap().lines()) {
            let Some(path) = import.strip_prefix("use ") else { continue };
            let root = path.split([':', ';']).next().unwrap();
            let known = root == "std" || listed.iter().any(|(name, _)| name.replace('-', "_") == root);
            assert!(known, "{}: docs/README.md does not list the crate of `{import}`", file.display());
            imports += 1;
        }
    }
    assert!(imports >= 100, "only {imports} imports were found");
}

/// The calls of `grammar` in Rust blocks: those are compiled elsewhere, but not run.
#[test]
fn the_calls_of_the_programs_work() {
    let mut ran = 0;
    for file in files() {
        let text = fs::read_to_string(&file).unwrap();
        for block in text.split("```").filter(|block| block.contains(r#".args(["serve", "grammar"])"#)) {
            let calls = block.split("client.call(\"").skip(1);
            for call in calls {
                let (tool, rest) = call.split_once("\", json!(").unwrap();
                let (arguments, _) = rest.split_once("))").unwrap();
                let end = run(&mut papertape(["call", "grammar", tool, "--json", arguments]), "");
                assert!(end.status.success(), "{}: {call}\n{}", file.display(), end.log);
                ran += 1;
            }
        }
    }
    assert!(ran >= 2, "only {ran} calls were found");
}
