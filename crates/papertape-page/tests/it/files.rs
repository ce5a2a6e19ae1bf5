//! The static files: small, without foreign addresses, and without a way from text to markup.

use std::fs;
use std::path::Path;

fn files() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .map(|path| {
            (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn no_text_becomes_markup_or_code() {
    let ways = [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "DOMParser",
        "parseFromString",
        "createContextualFragment",
        "setHTML",
        "srcdoc",
        "eval(",
        "new Function",
        "import(",
        "window.open",
        "javascript:",
    ];
    for (name, text) in files() {
        for way in ways {
            assert!(!text.contains(way), "{name} has {way}");
        }
        // Timers take functions, and elements no listeners as attributes.
        assert!(!text.contains("setTimeout(\"") && !text.contains("setInterval(\""), "{name}");
    }
}

#[test]
fn the_page_has_no_inline_script_and_no_foreign_address() {
    for (name, text) in files() {
        for address in
            text.match_indices("://").map(|(at, _)| &text[at.saturating_sub(5)..(at + 20).min(text.len())])
        {
            assert!(
                address.contains("http://www.w3.org") || address.contains("://www.w3.org/20"),
                "{name}: {address}"
            );
        }
    }
    let html = files().into_iter().find(|(name, _)| name == "index.html").unwrap().1;
    assert_eq!(html.matches("<script").count(), 1);
    assert!(html.contains(r#"<script type="module" src="main.js"></script>"#));
    assert!(!html.contains("<style") && !html.contains(" style="));
    // No `onclick=` or the like.
    let attribute = |at: usize| html[at..].trim_start_matches(|c: char| c == ' ' || c.is_ascii_lowercase());
    assert!(html.match_indices(" on").all(|(at, _)| !attribute(at).starts_with('=')));
}

#[test]
fn every_file_is_served_and_small() {
    let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/files.rs")).unwrap();
    let files = files();
    for (name, text) in &files {
        assert!(source.contains(&format!("\"{name}\"")), "{name} is not in files.rs");
        assert!(text.len() < 16 * 1024, "{name}");
    }
    let total: usize = files.iter().map(|(_, text)| text.len()).sum();
    assert!(total < 112 * 1024, "{total} bytes");
}
