//! Credentials for a server at a URL: saved tokens, or an OAuth login in a browser.

use std::io::{self, IsTerminal};
use std::path::Path;

use papertape::http::{Browser, Credentials, FileTokens, OAuth};

use crate::directories;
use crate::exit::Failure;
use crate::print::text::one_line;
use crate::print::{self, Look, style};

/// Credentials that are only used once the server requires authorization: until then no file is read and no browser is opened.
pub(crate) fn credentials(url: &str, ca: Option<&Path>) -> Result<Credentials, Failure> {
    let interactive = io::stdin().is_terminal() && io::stderr().is_terminal();
    let browser = if interactive {
        browser(true)
    } else {
        Browser::unavailable(format!(
            "give a key or token with --bearer-file FILE, or run `papertape login {}` if the server has an OAuth login",
            one_line(url)
        ))
    };
    let oauth = trusting(OAuth::new().client_name("papertape").browser(browser), ca)?;
    Ok(match store() {
        Ok(store) => oauth.store(store).into(),
        Err(failure) => {
            tracing::debug!("{failure}");
            oauth.into()
        }
    })
}

/// Trusts the certificates in `ca` for the authorization server too.
pub(crate) fn trusting(oauth: OAuth, ca: Option<&Path>) -> Result<OAuth, Failure> {
    let Some(path) = ca else { return Ok(oauth) };
    let pem = std::fs::read(path)
        .map_err(|error| Failure::usage(format!("--ca {}: cannot be read: {error}", path.display())))?;
    Ok(oauth.root_certificates(pem))
}

/// The file where tokens are saved.
pub(crate) fn store() -> Result<FileTokens, Failure> {
    match directories::data() {
        Some(data) => Ok(FileTokens::new(data.join("tokens.json"))),
        None => Err(Failure::usage("there is no directory for tokens: set HOME or XDG_DATA_HOME")),
    }
}

/// Prints the authorization URL to stderr and, if `open`, opens it in a browser, which is started without a shell.
pub(crate) fn browser(open: bool) -> Browser {
    Browser::loopback(move |url: &str| {
        let look = Look::of_stderr();
        let url = one_line(url);
        print::err(&format!(
            "{} Open this URL to sign in:\n  {}\n",
            look.paint(style::HEADING, "The server requires authorization."),
            look.paint(style::NAME, &url)
        ));
        if open && let Err(error) = open::that_detached(&url) {
            tracing::debug!("no browser was opened: {error}");
        }
        print::err("Waiting for the login to complete; Ctrl-C to cancel.\n");
        Ok::<_, io::Error>(())
    })
}
