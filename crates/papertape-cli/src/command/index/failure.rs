//! Errors of an index with full paths and a remedy.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::anyhow;
use papertape_search::store::{StoreError, embedded};

use crate::exit::Failure;

/// A database that cannot be reached or is busy counts as a server that cannot be reached; other errors are about the output.
///
/// `index` is the directory of the index as typed, unless it is in a database.
pub(in crate::command) fn failed(error: StoreError, index: Option<&Path>) -> Failure {
    let error = match index {
        Some(index) => in_full(error, index),
        None => error,
    };
    match error {
        StoreError::Unreachable(_) | StoreError::Crossed(_) => Failure::NotStarted(anyhow!(error)),
        error => Failure::Output(format!("{error}{}", remedy(&error))),
    }
}

/// The store shortens paths, since clients of a server may read its errors; the user who typed the path gets all of it.
fn in_full(error: StoreError, index: &Path) -> StoreError {
    let place = index.display().to_string();
    match error {
        StoreError::Missing { .. } => StoreError::Missing { place },
        StoreError::Corrupt { what, .. } => StoreError::Corrupt { place, what },
        StoreError::Foreign { what, .. } => StoreError::Foreign { place, what },
        StoreError::Unsealed { why, by_another, .. } => StoreError::Unsealed { place, why, by_another },
        StoreError::Locked { by, .. } => StoreError::Locked { place, by },
        // The path of the Markdown directory is complete already.
        StoreError::Io { doing, source } if !doing.contains(&place) => {
            StoreError::Io { doing: doing.replacen(&embedded::place(index), &place, 1), source }
        }
        error => error,
    }
}

fn remedy(error: &StoreError) -> &'static str {
    match error {
        StoreError::Io { doing, source }
            if doing.starts_with("cannot write")
                && matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) =>
        {
            "; keep the index elsewhere with --out PATH"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn message(doing: &str, kind: ErrorKind, index: &str) -> String {
        let error = StoreError::Io { doing: doing.to_owned(), source: io::Error::from(kind) };
        failed(error, Some(Path::new(index))).to_string()
    }

    #[test]
    fn a_read_only_place_gets_a_remedy() {
        for kind in [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem] {
            assert_eq!(
                message("cannot write to ro/.papertape", kind, "ro/.papertape"),
                format!("cannot write to ro/.papertape: {kind}; keep the index elsewhere with --out PATH")
            );
        }
        // Moving the index does not help when the Markdown cannot be read.
        assert_eq!(
            message("cannot list /notes", ErrorKind::PermissionDenied, "/notes/.papertape"),
            "cannot list /notes: permission denied"
        );
    }

    #[test]
    fn a_path_is_shown_as_typed() {
        for (short, typed) in [
            ("b/c", "/a/b/c"),
            ("b/c", "a/b/c"),
            ("proc/x", "/proc/x"),
            ("/x", "/x"),
            ("x", "x"),
            ("./x", "./x"),
            ("docs/.papertape", "docs/.papertape"),
        ] {
            let said = message(&format!("cannot read {short}"), ErrorKind::NotADirectory, typed);
            assert_eq!(said, format!("cannot read {typed}: not a directory"));
            let error = StoreError::Missing { place: short.to_owned() };
            let said = failed(error, Some(Path::new(typed))).to_string();
            assert!(said.contains(&format!("no index yet at {typed}: ")), "{said}");
        }
    }
}
