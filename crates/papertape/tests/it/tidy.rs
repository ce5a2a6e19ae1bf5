//! What ARCHITECTURE.md says is absent is absent.

use std::fs;
use std::path::{Path, PathBuf};

/// Every file below a directory, without what builds and installers have put there.
fn files_below(folder: PathBuf) -> Vec<PathBuf> {
    let mut folders = vec![folder];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !path.is_dir() {
                files.push(path);
            } else if !name.starts_with('.') && name != "target" && name != "node_modules" {
                folders.push(path);
            }
        }
    }
    files
}

/// Every source file of the library, as its path below `src` and its text without tests and comments.
fn sources() -> Vec<(String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    for path in files_below(src.clone()) {
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap().lines();
        let code: Vec<&str> = code.filter(|line| !line.trim_start().starts_with("//")).collect();
        sources.push((path.strip_prefix(&src).unwrap().display().to_string(), code.join("\n")));
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
    only_in(&["Revision::V"], |path| ["protocol/revision.rs", "protocol/project/tests.rs"].contains(&path));
}

#[test]
fn only_stdio_touches_stdout() {
    only_in(&["io::stdout", "stdio::stdout", "_stdout(", "println!", "print!("], |path| {
        path == "transport/stdio/standard_streams.rs"
    });
}

#[test]
fn nothing_is_decoded_by_trial() {
    only_in(&["untagged", "serde(flatten"], |_| false);
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Examples compile as readers see and copy them.
#[test]
fn examples_in_rustdoc_have_no_hidden_lines() {
    let mut examples = 0;
    for path in
        files_below(repository().join("crates")).iter().filter(|path| path.extension() == Some("rs".as_ref()))
    {
        // The language of the block that a line is in; none is Rust.
        let mut block = None;
        for line in fs::read_to_string(path).unwrap().lines().map(str::trim_start) {
            let Some(line) = line.strip_prefix("///").or(line.strip_prefix("//!")).map(str::trim) else {
                block = None;
                continue;
            };
            if let Some(language) = line.strip_prefix("```") {
                block = if block.is_none() { Some(language.to_owned()) } else { None };
                examples += usize::from(block.is_some());
            }
            let in_example =
                block.as_deref().is_some_and(|language| language.is_empty() || language == "no_run");
            let hidden = in_example && (line == "#" || line.starts_with("# "));
            assert!(!hidden, "{}: `{line}` is hidden from readers", path.display());
        }
    }
    assert!(examples >= 100, "only {examples} examples were found");
}

/// What a published crate depends on has a reason in ARCHITECTURE.md.
#[test]
fn dependencies_have_a_reason() {
    let page = fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    let reasons = page.split("\n## ").find(|section| section.starts_with("Dependencies")).unwrap();
    let named: Vec<&str> = reasons.split(|c: char| !c.is_alphanumeric() && !"-_".contains(c)).collect();
    let mut dependencies = 0;
    for entry in fs::read_dir(repository().join("crates")).unwrap() {
        let manifest = fs::read_to_string(entry.unwrap().path().join("Cargo.toml")).unwrap();
        let sections = manifest.split("\n[").filter(|_| !manifest.contains("publish = false"));
        for section in sections.filter(|section| section.split(']').next().unwrap().ends_with("dependencies"))
        {
            if section.starts_with("dev-") || section.starts_with("build-") {
                continue;
            }
            for line in section.lines().skip(1).filter(|line| line.starts_with(char::is_alphabetic)) {
                let name = line.split([' ', '.']).next().unwrap();
                assert!(named.contains(&name), "the dependency {name} has no reason in ARCHITECTURE.md");
                dependencies += 1;
            }
        }
    }
    assert!(dependencies >= 50, "only {dependencies} dependencies were found");
}

/// The families of row ids in docs/behaviour.md: a letter, a hyphen and two digits; `G` has a number alone.
const FAMILIES: &str = "SLMHRCPODI";

/// The row ids in a text, such as `H-24` and `G9`: whole words only, so that `SHA-25` of `SHA-256`, `P-256` or `UTF-16` are
/// none.
fn row_ids(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && !"-_".contains(c)).filter(|word| {
        let mut letters = word.chars();
        let Some(family) = letters.next() else { return false };
        match (letters.as_str().strip_prefix('-'), family) {
            (Some(digits), _) if FAMILIES.contains(family) => digits.len() == 2 && is_number(digits),
            (None, 'G') => (1..=2).contains(&letters.as_str().len()) && is_number(letters.as_str()),
            _ => false,
        }
    })
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[test]
fn row_ids_differ_from_other_names() {
    let text =
        "// S-70 to S-75, C-23 (G9); G11: not P-256, SHA-25, UTF-16, x_S-01, ISO-8859, G, G123, S-1, A-01";
    assert_eq!(row_ids(text).collect::<Vec<_>>(), ["S-70", "S-75", "C-23", "G9", "G11"]);
}

/// The numbers of the decisions that a text cites, as in "decision 4".
fn cited_decisions(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let after = words.clone().skip(1);
    words
        .zip(after)
        .filter(|(word, next)| word.eq_ignore_ascii_case("decision") && is_number(next))
        .map(|(_, number)| number)
}

#[test]
fn every_cited_row_and_decision_is_in_the_behaviour_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/behaviour.md")).unwrap();
    let rows: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" |").next())
        .filter(|cell| row_ids(cell).next() == Some(cell))
        .collect();
    let mut unique = rows.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), rows.len(), "an id has two rows");

    let mut cited = 0;
    for path in ["bench", "crates", "docs", "interop"].iter().flat_map(|name| files_below(root.join(name))) {
        let ours =
            path.extension().is_some_and(|end| ["rs", "py", "md", "mjs"].iter().any(|our| end == *our));
        if !ours || path.ends_with("docs/behaviour.md") || path.ends_with("tests/it/tidy.rs") {
            continue;
        }
        let (text, path) = (fs::read_to_string(&path).unwrap(), path.display());
        for id in row_ids(&text) {
            assert!(rows.contains(&id), "{path} cites {id}, which has no row in docs/behaviour.md");
            cited += 1;
        }
        for number in cited_decisions(&text) {
            let known = page.lines().any(|line| line.starts_with(&format!("{number}. **")));
            assert!(known, "{path} cites decision {number}, which docs/behaviour.md does not have");
        }
    }
    assert!(cited > 300, "only {cited} citations were found");
}
