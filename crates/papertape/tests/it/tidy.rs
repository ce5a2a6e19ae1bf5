//! What ARCHITECTURE.md says is absent is absent.

use std::fs;
use std::path::Path;

/// Every source file of the library, as its path below `src` and its text without tests and comments.
fn sources() -> Vec<(String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![src.clone()];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap().lines();
            let code: Vec<&str> = code.filter(|line| !line.trim_start().starts_with("//")).collect();
            sources.push((path.strip_prefix(&src).unwrap().display().to_string(), code.join("\n")));
        }
    }
    assert!(sources.len() > 20);
    sources
}

/// Fails if one of the words stands in a file outside the allowed ones.
fn only_in(words: &[&str], allowed: impl Fn(&str) -> bool) {
    for (path, code) in sources().iter().filter(|(path, _)| !allowed(path)) {
        for word in words {
            assert!(
                !code.contains(word),
                "src/{path} must not contain `{word}`: see the invariants in ARCHITECTURE.md"
            );
        }
    }
}

#[test]
fn wire_and_protocol_have_no_async_no_io_and_no_clock() {
    let words = ["async ", ".await", "tokio::", "std::io", "std::fs", "std::net", "Instant", "SystemTime"];
    only_in(&words, |path| !path.starts_with("wire/") && !path.starts_with("protocol/"));
}

#[test]
fn revisions_are_named_in_one_place() {
    only_in(&["Revision::V"], |path| ["protocol/revision.rs", "protocol/project.rs"].contains(&path));
}

#[test]
fn only_stdio_touches_stdout() {
    only_in(&["io::stdout", "stdio::stdout", "_stdout(", "println!", "print!("], |path| {
        path == "transport/stdio.rs"
    });
}

#[test]
fn nothing_is_decoded_by_trial() {
    only_in(&["untagged", "serde(flatten"], |_| false);
}
