//! `papertape login URL`: OAuth tokens for a server, saved for later.

use std::io;
use std::sync::{Arc, Mutex};

use anyhow::Context;
use papertape::client::{ClientOptions, ErrorKind};
use papertape::http::{
    Endpoint, FileTokens, OAuth, OAuthClient, SavedTokens, TokenKey, TokenStore, connect_with,
};

use crate::args::Login;
use crate::credentials;
use crate::exit::Failure;
use crate::print::{self, text::one_line};
use crate::sync::lock;
use crate::target::Target;

pub(crate) fn run(args: Login) -> Result<(), Failure> {
    let server = Target::url(&args.url, &args.from_file)?;
    let file = credentials::store()?;
    let given = Arc::new(Mutex::new(None));
    let store = UnverifiedTokens { file: file.clone(), given: given.clone() };
    let mut oauth =
        OAuth::new().client_name("papertape").browser(credentials::browser(!args.no_open)).store(store);
    let ca = args.ca.as_deref().map(credentials::read_certificates).transpose()?;
    oauth = credentials::trusting(oauth, ca.as_deref());
    if let Some(id) = args.client_id {
        oauth = oauth.client(OAuthClient::new(id));
    }
    if let Some(port) = args.port {
        oauth = oauth.redirect_uri(format!("http://127.0.0.1:{port}/callback"));
    }
    let mut endpoint = Endpoint::new(&server).credentials(oauth.scopes(args.scope).into());
    if let Some(pem) = ca {
        endpoint = endpoint.root_certificates(pem);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let attempt = runtime.block_on(list_tools(endpoint));
    runtime.shutdown_background();
    let url = one_line(&server);
    let Some((key, tokens)) = lock(&given).take() else {
        attempt?;
        return Ok(print::out(format!("{url} does not require authorization.\n"))?);
    };
    // A token that the server rejects is useless, and the tokens from before may still be valid.
    if attempt.as_ref().is_err_and(is_refusal) {
        print::err(&format!(
            "papertape: not signed in to {url}: the server rejects the new token, which is not saved\n"
        ));
        return attempt;
    }
    file.save(&key, &tokens)
        .map_err(|error| Failure::Output(format!("signed in, but cannot save the tokens: {error}")))?;
    if attempt.is_err() {
        print::err(&format!("papertape: the tokens for {url} are saved, but could not be verified\n"));
        return attempt;
    }
    Ok(print::out(format!("Signed in to {url}.\n"))?)
}

/// Whether the server rejected the token. It had required one before, so 403 is about the token.
fn is_refusal(failure: &Failure) -> bool {
    let Failure::Server { error, .. } = failure else { return false };
    matches!(error.kind(), ErrorKind::Unauthorized(_) | ErrorKind::Http { status: 403, .. })
}

/// Opens a session and lists the tools: some servers require authorization only at the first list.
async fn list_tools(endpoint: Endpoint) -> Result<(), Failure> {
    let options = ClientOptions::new().identity("papertape", env!("CARGO_PKG_VERSION"));
    let client =
        connect_with(endpoint, options).await.map_err(|error| Failure::opening(error, String::new()))?;
    let listed = client.tools().await;
    client.close().await;
    match listed {
        Ok(_) => Ok(()),
        Err(error) => match error.kind() {
            // The token was accepted; the error is about something else.
            ErrorKind::Rpc(_) | ErrorKind::Protocol(_) | ErrorKind::ResultType(_) => Ok(()),
            _ => Err(Failure::opening(error, String::new())),
        },
    }
}

/// New tokens, which are saved only once the server has accepted them. Until then older ones stay, and are not used.
struct UnverifiedTokens {
    file: FileTokens,
    given: Arc<Mutex<Option<(TokenKey, SavedTokens)>>>,
}

impl TokenStore for UnverifiedTokens {
    fn load(&self, _: &TokenKey) -> io::Result<Option<SavedTokens>> {
        // A file that cannot be read cannot be written either: fail before the user signs in.
        self.file.keys().map(|_| None)
    }

    fn save(&self, key: &TokenKey, tokens: &SavedTokens) -> io::Result<()> {
        *lock(&self.given) = Some((key.clone(), tokens.clone()));
        Ok(())
    }

    fn delete(&self, _: &TokenKey) -> io::Result<()> {
        *lock(&self.given) = None;
        Ok(())
    }
}
