//! What a store says is wrong, to words for a client: no path of this machine is in them.

use std::io::ErrorKind;

use papertape::ToolError;

use crate::blog::store::{SHARE, StoreError};

/// A failure that a model can read, and tell the user what to do.
pub(super) fn failed(error: &StoreError) -> ToolError {
    ToolError::failed(in_words(error))
}

/// The same as text. The operator finds the whole of it in the log.
pub(super) fn in_words(error: &StoreError) -> String {
    match error {
        StoreError::Missing { .. } => {
            "there is no index yet: run `papertape index DIR`, or serve with --content DIR".to_owned()
        }
        StoreError::Corrupt { what, .. } => {
            format!("the index is damaged ({what}): rebuild it with `papertape index DIR --rebuild`")
        }
        StoreError::Foreign { what, .. } => format!("the index cannot be read: {what}"),
        StoreError::Unsealed { why, .. } => format!("the index is not used: {why}. {SHARE}"),
        StoreError::Locked { by, .. } => format!("the index is being written by {by}: wait until it is done"),
        StoreError::Io { source, .. } => {
            tracing::warn!("{error}");
            let way_out = match source.kind() {
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                    "; serve with --index PATH to keep it where it can be written"
                }
                ErrorKind::NotADirectory => "; --content and --index want folders",
                ErrorKind::StorageFull => "; make room on its disk",
                _ => "",
            };
            format!("the index cannot be read or written: {source}{way_out}")
        }
        other => other.to_string(),
    }
}

/// The caller's words in a message: on one line, and never longer than a message should be.
pub(super) fn quoted(text: &str) -> String {
    const LONGEST: usize = 200;
    let line: String = text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.len() < text.len() { format!("{line}…") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_place_is_told_to_clients() {
        let place = || "/srv/secret".to_owned();
        let what = || "a checksum is wrong".to_owned();
        let source = || std::io::Error::from(std::io::ErrorKind::StorageFull);
        for (error, words) in [
            (StoreError::Missing { place: place() }, "run `papertape index DIR`"),
            (StoreError::Corrupt { place: place(), what: what() }, "(a checksum is wrong): rebuild it"),
            (StoreError::Foreign { place: place(), what: what() }, "a checksum is wrong"),
            (
                StoreError::Unsealed { place: place(), why: what(), by_another: true },
                "is not used: a checksum",
            ),
            (StoreError::Locked { place: place(), by: "process 7".into() }, "process 7"),
            (StoreError::Io { doing: format!("writing {}", place()), source: source() }, "no storage space"),
        ] {
            let said = in_words(&error);
            assert!(said.contains(words) && !said.contains("secret"), "{said}");
        }
    }

    #[test]
    fn what_is_quoted_is_short_and_on_one_line() {
        assert_eq!(quoted("a\nb\u{1b}"), "a b ");
        assert_eq!(quoted(&"ñ".repeat(1_000)), format!("{}…", "ñ".repeat(200)));
    }
}
