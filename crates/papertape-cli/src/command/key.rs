//! `papertape key NAME`: a new API key to stdout, and its hash to a key file.

use papertape::http::{AuthSetupError, NewKey};

use crate::args;
use crate::exit::Failure;
use crate::print;

const ONCE: &str = "the key is shown only now";

pub(crate) fn run(args: &args::Key) -> Result<(), Failure> {
    let key = NewKey::generate(&args.name, args.scopes.iter().cloned(), args.expires).map_err(failure)?;
    let Some(file) = &args.file else {
        print::out(format!("{}\n", key.secret()))?;
        // Comments, so that all of it can be appended to a file.
        print::err(&format!("# For your key file; {ONCE}.\n{}", key.entry()));
        return Ok(());
    };
    key.add_to(file).map_err(failure)?;
    // Printed last: a key that is not in the file is useless.
    print::out(format!("{}\n", key.secret()))?;
    print::err(&format!("papertape: added {} to {}; {ONCE}\n", args.name, file.display()));
    Ok(())
}

fn failure(error: AuthSetupError) -> Failure {
    match error {
        AuthSetupError::NoRandomness => Failure::NotStarted(error.into()),
        AuthSetupError::NotWritten { .. } => Failure::Output(error.to_string()),
        error => Failure::usage(error.to_string()),
    }
}
