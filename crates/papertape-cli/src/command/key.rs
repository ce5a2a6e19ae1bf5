//! `papertape key NAME`: a new key to stdout, and what a server keeps of it to a file.

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
        print::err(&format!("# For your file of keys; {ONCE}.\n{}", key.entry()));
        return Ok(());
    };
    key.add_to(file).map_err(failure)?;
    // Last of all: a key that opens nothing would only confuse.
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
