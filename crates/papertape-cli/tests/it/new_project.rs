//! `papertape new`: the project compiles and passes its tests, and its server is one.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::process::run;
use crate::{contains, document, papertape, scratch, text};

fn repository() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// What cargo keeps of other builds is used again: the versions of dependencies, and what was compiled.
fn cargo(project: &Path, arguments: &[&str]) -> Command {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(arguments).current_dir(project).env("CARGO_TARGET_DIR", target);
    cargo
}

#[test]
fn a_project_compiles_and_passes_its_tests() {
    let folder = scratch("new_project");
    let repository = repository();
    let mut new = papertape(["new", "made-by-new", "--papertape", repository.to_str().unwrap()]);
    let end = run(new.current_dir(&folder), "");
    contains(
        text(end.is_clean()),
        &["The server made-by-new is in made-by-new:", "cd made-by-new\n  cargo test\n"],
    );
    let project = folder.join("made-by-new");
    fs::copy(repository.join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
    // Without the time limit of `run`: the first time, it compiles the library.
    let end = cargo(&project, &["test", "--quiet", "--offline"]).output().unwrap();
    let (output, log) = (String::from_utf8_lossy(&end.stdout), String::from_utf8_lossy(&end.stderr));
    assert!(end.status.success(), "{output}{log}");
    assert_eq!(output.matches("test result: ok").count(), 2, "{output}{log}");
    assert!(!log.contains("warning"), "{log}");
    if std::env::var_os("UPDATE").is_some() {
        rewrite_templates(&project);
    }
    // Its manifest and its source are formatted.
    run(&mut cargo(&project, &["fmt", "--check"]), "").is_clean();

    // By its name, once it is where `.mcp.json` says.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    fs::create_dir_all(project.join("target/release")).unwrap();
    fs::copy(target.join("debug/made-by-new"), project.join("target/release/made-by-new")).unwrap();
    let mut call = papertape(["call", "made-by-new", "to_celsius", "fahrenheit=212"]);
    let end = run(call.current_dir(&project), "");
    assert_eq!(text(end.is_clean()), "100.0 °C\n");
}

/// The tapes of the project have been rewritten by its own test: those of the templates become the same.
fn rewrite_templates(project: &Path) {
    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/server/tests/tapes");
    for tape in fs::read_dir(project.join("tests/tapes")).unwrap() {
        let tape = tape.unwrap();
        let written = fs::read_to_string(tape.path()).unwrap();
        fs::write(templates.join(tape.file_name()), written.replace("made-by-new", "{{name}}")).unwrap();
    }
}

#[test]
fn only_an_empty_directory_is_written_to() {
    let folder = scratch("new_refused");
    let refused = |arguments: &[&str], words: &[&str]| {
        let end = run(papertape(arguments.iter().copied()).current_dir(&folder), "");
        assert_eq!((end.status.code(), text(&end)), (Some(2), ""), "{end:?}");
        contains(&end.log, words);
    };
    let repository = repository();
    let clone = repository.to_str().unwrap();
    fs::create_dir_all(folder.join("full/of")).unwrap();
    refused(&["new", "full", "--papertape", clone], &["full: it is not empty"]);
    refused(&["new", "1a", "--papertape", clone], &["\"1a\" cannot be the name of the package"]);
    refused(
        &["new", "a", "--name", "tokio", "--papertape", clone],
        &["a crate that it depends on has this name"],
    );
    refused(&["new", "build", "--papertape", clone], &["cargo has a folder of this name"]);
    refused(&["new", "a", "--papertape", "full"], &["there is no crates/papertape/Cargo.toml in it"]);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);

    fs::create_dir(folder.join("empty")).unwrap();
    let url = "https://git.example/papertape.git";
    let arguments = ["new", "empty", "--name", "x-y", "--papertape", url, "--output", "json"];
    let report = document(run(papertape(arguments).current_dir(&folder), "").is_clean());
    assert_eq!((&report["name"], &report["files"][0]), (&json!("x-y"), &json!("Cargo.toml")));
    for file in report["files"].as_array().unwrap() {
        let content = fs::read_to_string(folder.join("empty").join(file.as_str().unwrap())).unwrap();
        assert!(!content.contains("{{"), "{file}: {content}");
    }
    let manifest = fs::read_to_string(folder.join("empty/Cargo.toml")).unwrap();
    contains(&manifest, &["name = \"x-y\"\n", &format!("papertape = {{ git = \"{url}\" }}\n")]);
}
