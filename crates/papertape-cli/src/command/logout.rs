//! `papertape logout URL`: forgets the tokens for a server.

use crate::args::Logout;
use crate::exit::Failure;
use crate::print::{self, text::one_line};
use crate::sign_in;

pub(crate) fn run(args: &Logout) -> Result<(), Failure> {
    let url = one_line(&args.url);
    let forgotten = sign_in::store()?
        .forget(&args.url)
        .map_err(|error| Failure::Output(format!("cannot forget the tokens: {error}")))?;
    let words = if forgotten == 0 {
        format!("There are no tokens for {url}.\n")
    } else {
        format!(
            "The tokens for {url} are forgotten here. Where they came from, they are good until they end.\n"
        )
    };
    Ok(print::out(words)?)
}
