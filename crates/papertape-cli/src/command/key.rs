//! `papertape key NAME`: a new key to stdout, and what a server keeps of it to a file.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use papertape::http::{AuthSetupError, Keys, NewKey};

use crate::args;
use crate::exit::Failure;
use crate::print;

/// What a new file begins with.
const HEAD: &str = "\
# The keys of a papertape server: `papertape key NAME --file THIS` adds one; take an entry out, and it opens no more.
# These are hashes, from which nobody can find out the keys.
";

const ONCE: &str = "the key is shown only now";

pub(crate) fn run(args: &args::Key) -> Result<(), Failure> {
    let key =
        NewKey::generate(&args.name, args.scopes.iter().cloned(), args.expires).map_err(
            |error| match error {
                AuthSetupError::NoRandomness => Failure::NotStarted(error.into()),
                error => Failure::usage(error.to_string()),
            },
        )?;
    let Some(file) = &args.file else {
        print::out(format!("{}\n", key.secret()))?;
        // Comments, so that all of it can be appended to a file.
        print::err(&format!("# For your file of keys; {ONCE}.\n{}", key.entry()));
        return Ok(());
    };
    add(file, &key)?;
    // Last of all: a key that opens nothing would only confuse.
    print::out(format!("{}\n", key.secret()))?;
    print::err(&format!("papertape: added {} to {}; {ONCE}\n", args.name, file.display()));
    Ok(())
}

/// Adds an entry to a file, if what comes of it can be used.
fn add(file: &Path, key: &NewKey) -> Result<(), Failure> {
    let unwritable = |error: io::Error| Failure::Output(format!("cannot write {}: {error}", file.display()));
    let unusable = |error: AuthSetupError| Failure::usage(error.to_string());
    if std::fs::symlink_metadata(file).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return create(file, &format!("{HEAD}\n{}", key.entry())).map_err(unwritable);
    }
    Keys::open(file).map_err(unusable)?;
    let old = std::fs::read_to_string(file).map_err(unwritable)?;
    let end = if old.is_empty() || old.ends_with('\n') { "\n" } else { "\n\n" };
    let added = format!("{end}{}", key.entry());
    Keys::parse(&format!("{old}{added}")).map_err(unusable)?;
    // In one piece: a server that reads meanwhile sees all of it, or nothing.
    let mut file = OpenOptions::new().append(true).open(file).map_err(unwritable)?;
    file.write_all(added.as_bytes()).map_err(unwritable)
}

#[cfg(unix)]
fn create(file: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    file.write_all(text.as_bytes())
}

#[cfg(not(unix))]
fn create(file: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(file)?.write_all(text.as_bytes())
}
