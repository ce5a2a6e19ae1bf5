//! What is wrong with an index, to what whoever typed the command can act on.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::anyhow;
use papertape_servers::blog::store::{StoreError, embedded};

use crate::exit::Failure;

/// The database that cannot be reached, or has no time, is a server that cannot be reached; everything else is an index that cannot be written.
///
/// `index` is the folder of the index as it was typed, if it is in one.
pub(super) fn failed(error: StoreError, index: Option<&Path>) -> Failure {
    let error = match index {
        Some(index) => in_full(error, index),
        None => error,
    };
    match error {
        StoreError::Unreachable(_) | StoreError::Crossed(_) => Failure::NotStarted(anyhow!(error)),
        error => Failure::Output(format!("{error}{}", way_out(&error))),
    }
}

/// The store tells only the end of a path, since clients of a server may read it; whoever typed the path gets all of it.
fn in_full(error: StoreError, index: &Path) -> StoreError {
    let place = index.display().to_string();
    match error {
        StoreError::Missing { .. } => StoreError::Missing { place },
        StoreError::Corrupt { what, .. } => StoreError::Corrupt { place, what },
        StoreError::Foreign { what, .. } => StoreError::Foreign { place, what },
        StoreError::Unsealed { why, by_another, .. } => StoreError::Unsealed { place, why, by_another },
        StoreError::Locked { by, .. } => StoreError::Locked { place, by },
        // A folder of texts that cannot be read is told in full already.
        StoreError::Io { doing, source } if !doing.contains(&place) => {
            StoreError::Io { doing: doing.replacen(&embedded::place(index), &place, 1), source }
        }
        error => error,
    }
}

fn way_out(error: &StoreError) -> &'static str {
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

    fn told(doing: &str, kind: ErrorKind, index: &str) -> String {
        let error = StoreError::Io { doing: doing.to_owned(), source: io::Error::from(kind) };
        failed(error, Some(Path::new(index))).to_string()
    }

    #[test]
    fn where_nobody_may_write_another_place_is_the_way_out() {
        for kind in [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem] {
            assert_eq!(
                told("cannot write to ro/.papertape", kind, "ro/.papertape"),
                format!("cannot write to ro/.papertape: {kind}; keep the index elsewhere with --out PATH")
            );
        }
        // Another place for the index is of no use to a folder of texts that cannot be read.
        assert_eq!(
            told("cannot list /notes", ErrorKind::PermissionDenied, "/notes/.papertape"),
            "cannot list /notes: permission denied"
        );
    }

    #[test]
    fn a_path_is_told_as_it_was_typed() {
        for (short, typed) in [
            ("b/c", "/a/b/c"),
            ("b/c", "a/b/c"),
            ("proc/x", "/proc/x"),
            ("/x", "/x"),
            ("x", "x"),
            ("./x", "./x"),
            ("docs/.papertape", "docs/.papertape"),
        ] {
            let said = told(&format!("cannot read {short}"), ErrorKind::NotADirectory, typed);
            assert_eq!(said, format!("cannot read {typed}: not a directory"));
            let error = StoreError::Missing { place: short.to_owned() };
            let said = failed(error, Some(Path::new(typed))).to_string();
            assert!(said.contains(&format!("no index yet at {typed}: ")), "{said}");
        }
    }
}
