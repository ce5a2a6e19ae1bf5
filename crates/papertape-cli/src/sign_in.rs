//! A server's URL to credentials: tokens from earlier, or a person who signs in with a browser.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use papertape::http::{Browser, Credentials, FileTokens, OAuth};

use crate::exit::Failure;
use crate::print::text::one_line;
use crate::print::{self, Look, style};

/// What shows a server who asks, if it wants to know. Nothing is read and nobody is asked before it does.
pub(crate) fn credentials(url: &str, ca: Option<&Path>) -> Result<Credentials, Failure> {
    let somebody = io::stdin().is_terminal() && io::stderr().is_terminal();
    let browser = if somebody {
        browser(true)
    } else {
        Browser::nobody(format!(
            "run `papertape login {}`, or give a token with --bearer-file",
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

/// The servers of the flow may be vouched for by the same authority as the MCP server.
pub(crate) fn trusting(oauth: OAuth, ca: Option<&Path>) -> Result<OAuth, Failure> {
    let Some(path) = ca else { return Ok(oauth) };
    let pem = std::fs::read(path)
        .map_err(|error| Failure::usage(format!("--ca {}: cannot be read: {error}", path.display())))?;
    Ok(oauth.root_certificates(pem))
}

/// Where tokens are kept between two runs.
pub(crate) fn store() -> Result<FileTokens, Failure> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = folder("XDG_DATA_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/share")));
    match data {
        Some(data) => Ok(FileTokens::new(data.join("papertape/tokens.json"))),
        None => Err(Failure::usage("there is no folder to keep tokens in: set HOME or XDG_DATA_HOME")),
    }
}

/// Shows the address on stderr and, if wanted, opens it: the program for that is started without a shell.
pub(crate) fn browser(open: bool) -> Browser {
    Browser::loopback(move |url: &str| {
        let look = Look::of_stderr();
        let url = one_line(url);
        print::err(&format!(
            "{} Open this page to sign in:\n  {}\n",
            look.paint(style::HEADING, "The server wants to know who asks."),
            look.paint(style::NAME, &url)
        ));
        if open && let Err(error) = open::that_detached(&url) {
            tracing::debug!("no browser was opened: {error}");
        }
        print::err("Waiting until you are done there; Ctrl-C to give up.\n");
        Ok::<_, io::Error>(())
    })
}
