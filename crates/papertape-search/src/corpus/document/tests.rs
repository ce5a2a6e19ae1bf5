//! Files to documents: well-formed and hostile ones.

mod hostile;
mod shape;

use super::cut::{MOST, cost};
use super::{Document, Lines, read};

/// What holds for every file.
#[track_caller]
fn check(path: &str, bytes: &[u8]) -> Document {
    let document = read(path, bytes);
    let (text, _) = super::decode::text(bytes);
    let text = text.unwrap_or_default();
    let super::Readable { format, body, .. } = super::readable(path, &text);
    let joined: String = document.chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    let mut line = 0;
    for chunk in &document.chunks {
        let Lines { start, end } = chunk.lines;
        if format.is_converted() {
            assert_eq!((start, end), (0, 0), "its lines are not those of the file");
            continue;
        }
        assert!(line <= start && start <= end, "{start} to {end} after {line}");
        let first = text.split('\n').nth(start as usize - 1).unwrap_or_default();
        let begins = chunk.text.trim_start().split('\n').next().unwrap_or_default();
        assert!(first.contains(begins.trim_end()), "line {start} is {first:?}, not {begins:?}");
        assert_eq!(chunk.text.trim().matches('\n').count(), (end - start) as usize);
        line = end;
    }
    assert!(joined == body || (body.trim().is_empty() && joined.is_empty()), "the chunks are not the text");
    for chunk in &document.chunks {
        assert!(!chunk.text.trim().is_empty(), "a chunk is empty");
        assert!(cost(&chunk.text) <= MOST, "a chunk has {}", cost(&chunk.text));
        assert!(chunk.headings.len() <= 6);
        assert!(
            chunk.plain.len() <= 3 * chunk.text.len() + 64,
            "{} of {}",
            chunk.plain.len(),
            chunk.text.len()
        );
    }
    assert_eq!(document, read(path, bytes), "the same file gives the same chunks");
    assert_eq!(document.warnings, super::warnings(path, bytes));
    document
}

fn plain(markdown: &str) -> String {
    let document = check("a.md", markdown.as_bytes());
    document.chunks.iter().map(|chunk| chunk.plain.as_str()).collect::<Vec<_>>().join("\n")
}

/// Headings and words of each chunk.
fn chunks(markdown: &str) -> Vec<(String, String)> {
    let document = check("a.md", markdown.as_bytes());
    document.chunks.into_iter().map(|chunk| (chunk.headings.join(" > "), chunk.plain)).collect()
}
