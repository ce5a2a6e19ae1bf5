//! `papertape login URL`: tokens for a server, to be kept for later.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use papertape::http::{
    Endpoint, FileTokens, OAuth, OAuthClient, SavedTokens, TokenKey, TokenStore, connect_with,
};
use papertape::{ClientOptions, ErrorKind};

use crate::args::Login;
use crate::exit::Failure;
use crate::print::{self, text::one_line};
use crate::sign_in;

pub(crate) fn run(args: Login) -> Result<(), Failure> {
    let file = sign_in::store()?;
    let given = Arc::new(Mutex::new(None));
    let store = OnTrial { file: file.clone(), given: given.clone() };
    let mut oauth =
        OAuth::new().client_name("papertape").browser(sign_in::browser(!args.no_open)).store(store);
    oauth = sign_in::trusting(oauth, args.ca.as_deref())?;
    if let Some(id) = args.client_id {
        oauth = oauth.client(OAuthClient::new(id));
    }
    if let Some(port) = args.port {
        oauth = oauth.redirect_uri(format!("http://127.0.0.1:{port}/callback"));
    }
    let mut endpoint = Endpoint::new(&args.url).credentials(oauth.scopes(args.scope).into());
    if let Some(path) = args.ca {
        endpoint = endpoint.ca(path);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let visit = runtime.block_on(visit(endpoint));
    runtime.shutdown_background();
    let url = one_line(&args.url);
    let Some((key, tokens)) = given.lock().unwrap_or_else(PoisonError::into_inner).take() else {
        visit?;
        return Ok(print::out(format!("{url} does not want to know who asks.\n"))?);
    };
    // A token that the server refuses is worth nothing, and the tokens from before may be worth something.
    if visit.as_ref().is_err_and(is_refusal) {
        print::err(&format!(
            "papertape: not signed in to {url}: it refuses the new token, which is not kept\n"
        ));
        return visit;
    }
    file.save(&key, &tokens)
        .map_err(|error| Failure::Output(format!("signed in, but cannot keep the tokens: {error}")))?;
    if visit.is_err() {
        print::err(&format!("papertape: the tokens for {url} are kept, but could not be tried\n"));
        return visit;
    }
    Ok(print::out(format!("Signed in to {url}.\n"))?)
}

/// Whether the server refused to authorize the request. Before there was a token it asked for one, so that 403 is about the
/// token.
fn is_refusal(failure: &Failure) -> bool {
    let Failure::Server { error, .. } = failure else { return false };
    matches!(error.kind(), ErrorKind::Unauthorized(_) | ErrorKind::Http { status: 403, .. })
}

/// Goes as far as it takes for the server to ask, and with the token as far: some let everybody in and ask at the first list.
async fn visit(endpoint: Endpoint) -> Result<(), Failure> {
    let options = ClientOptions::new().identity("papertape", env!("CARGO_PKG_VERSION"));
    let client =
        connect_with(endpoint, options).await.map_err(|error| Failure::opening(error, String::new()))?;
    let listed = client.tools().await;
    client.close().await;
    match listed {
        Ok(_) => Ok(()),
        Err(error) => match error.kind() {
            // It has let the token in, whatever it says then.
            ErrorKind::Rpc(_) | ErrorKind::Protocol(_) | ErrorKind::ResultType(_) => Ok(()),
            _ => Err(Failure::opening(error, String::new())),
        },
    }
}

/// Tokens that are new, and kept only once the server has accepted them. Older ones are not looked at, and stay until then.
struct OnTrial {
    file: FileTokens,
    given: Arc<Mutex<Option<(TokenKey, SavedTokens)>>>,
}

impl TokenStore for OnTrial {
    fn load(&self, _: &TokenKey) -> io::Result<Option<SavedTokens>> {
        // A file that cannot be read cannot be written either: better to know before somebody signs in.
        self.file.keys().map(|_| None)
    }

    fn save(&self, key: &TokenKey, tokens: &SavedTokens) -> io::Result<()> {
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = Some((key.clone(), tokens.clone()));
        Ok(())
    }

    fn delete(&self, _: &TokenKey) -> io::Result<()> {
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }
}
