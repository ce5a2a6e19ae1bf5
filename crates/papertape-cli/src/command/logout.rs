//! `papertape logout URL`: deletes the saved tokens for a server.

use crate::args::Logout;
use crate::credentials;
use crate::exit::Failure;
use crate::print::{self, text::one_line};
use crate::target::Target;

pub(crate) fn run(args: &Logout) -> Result<(), Failure> {
    let server = Target::url(&args.url, &args.from_file)?;
    let url = one_line(&server);
    let forgotten = credentials::store()?
        .forget(&server)
        .map_err(|error| Failure::Output(format!("cannot delete the tokens: {error}")))?;
    let text = if forgotten == 0 {
        format!("There are no saved tokens for {url}.\n")
    } else {
        format!(
            "Deleted the tokens for {url} from this machine. They are not revoked: the server accepts them until they expire.\n"
        )
    };
    Ok(print::out(text)?)
}
