//! Credentials for a server at a URL: saved tokens, or an OAuth login in a browser.

use std::io::{self, IsTerminal};
use std::path::Path;

use papertape::http::{Browser, Credentials, FileTokens, OAuth};

use crate::directories;
use crate::exit::Failure;
use crate::print::text::one_line;
use crate::print::{self, Look, style};

/// Credentials that are only used once the server requires authorization: until then no file is read and no browser is opened.
pub(crate) fn credentials(url: &str, ca: Option<&[u8]>) -> Credentials {
    let interactive = io::stdin().is_terminal() && io::stderr().is_terminal();
    let browser = if interactive {
        browser(true)
    } else {
        Browser::unavailable(format!(
            "give a key or token with --bearer-file FILE, or run `papertape login {}` if the server has an OAuth login",
            one_line(url)
        ))
    };
    let oauth = trusting(OAuth::new().client_name("papertape").browser(browser), ca);
    match store() {
        Ok(store) => oauth.store(store).into(),
        Err(failure) => {
            tracing::debug!("{failure}");
            oauth.into()
        }
    }
}

/// Trusts the certificates of `--ca` for the authorization server too.
pub(crate) fn trusting(oauth: OAuth, ca: Option<&[u8]>) -> OAuth {
    match ca {
        Some(pem) => oauth.root_certificates(pem),
        None => oauth,
    }
}

/// The file of `--ca`. It is read once: it may be a pipe.
pub(crate) fn read_certificates(path: &Path) -> Result<Vec<u8>, Failure> {
    let wrong = |problem: String| Failure::usage(format!("--ca {}: {problem}", path.display()));
    let pem = std::fs::read(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    // The error of the library does not know the file.
    if String::from_utf8_lossy(&pem).contains("-----BEGIN ") {
        Ok(pem)
    } else {
        Err(wrong("there are no PEM certificates in it".to_owned()))
    }
}

/// The token in the file of `--bearer-file`.
pub(crate) fn read_token(path: &Path) -> Result<String, Failure> {
    let wrong = |problem: String| Failure::usage(format!("--bearer-file {}: {problem}", path.display()));
    let token =
        std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot read the file: {error}")))?;
    match token.trim() {
        "" => Err(wrong("the file is empty".to_owned())),
        token => Ok(token.to_owned()),
    }
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
