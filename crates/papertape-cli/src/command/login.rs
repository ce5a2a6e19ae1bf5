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
    let kept = Arc::new(Mutex::new(None));
    let store = Anew { file: sign_in::store()?, kept: kept.clone() };
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
    let kept = kept.lock().unwrap_or_else(PoisonError::into_inner).take();
    match kept {
        Some(Err(error)) => Err(Failure::Output(format!("signed in, but cannot keep the tokens: {error}"))),
        Some(Ok(())) => Ok(print::out(format!("Signed in to {}.\n", one_line(&args.url)))?),
        None => {
            visit?;
            Ok(print::out(format!("{} does not want to know who asks.\n", one_line(&args.url)))?)
        }
    }
}

/// Goes as far as it takes for the server to ask: some let everybody in and ask at the first list.
async fn visit(endpoint: Endpoint) -> Result<(), Failure> {
    let options = ClientOptions::new().identity("papertape", env!("CARGO_PKG_VERSION"));
    let client =
        connect_with(endpoint, options).await.map_err(|error| Failure::opening(error, String::new()))?;
    let listed = client.tools().await;
    client.close().await;
    match listed {
        Err(error) if matches!(error.kind(), ErrorKind::Unauthorized(_)) => {
            Err(Failure::opening(error, String::new()))
        }
        _ => Ok(()),
    }
}

/// A file whose old tokens are not looked at, but stay until there are new ones.
struct Anew {
    file: FileTokens,
    /// What became of the new ones.
    kept: Arc<Mutex<Option<io::Result<()>>>>,
}

impl TokenStore for Anew {
    fn load(&self, _: &TokenKey) -> io::Result<Option<SavedTokens>> {
        // A file that cannot be read cannot be written either: better to know before somebody signs in.
        self.file.keys().map(|_| None)
    }

    fn save(&self, key: &TokenKey, tokens: &SavedTokens) -> io::Result<()> {
        let saved = self.file.save(key, tokens);
        let told = match &saved {
            Ok(()) => Ok(()),
            Err(e) => Err(io::Error::new(e.kind(), e.to_string())),
        };
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
        saved
    }

    fn delete(&self, key: &TokenKey) -> io::Result<()> {
        self.file.delete(key)
    }
}
