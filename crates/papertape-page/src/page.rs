//! What is shown, and its server.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use papertape::Client;
use papertape::client::ClientOptions;
use papertape_http1::{ConnectionLimits, serve};
use serde_json::Value;
use tokio::net::TcpListener;

use crate::app_pages::AppPages;
use crate::follow::{self, Source};
use crate::recorder::Recorder;
use crate::site::Site;
use crate::tape::Tape;
use crate::token::{Token, random};
use crate::try_it::TryIt;

/// A browser opens a handful of connections; others must not take the descriptors.
const MOST_CONNECTIONS: usize = 64;
/// How long requests may take when the page ends. Those that wait for changes would take longer.
const GRACE: Duration = Duration::from_millis(300);

/// Connects to the server with these options; the error is a text for people.
pub type Connect =
    Box<dyn Fn(ClientOptions) -> Pin<Box<dyn Future<Output = Result<Client, String>> + Send>> + Send + Sync>;

/// The server whose tools the page calls. Which one it is comes from the command line, and nothing else.
pub struct Target {
    /// As it was typed.
    pub name: String,
    /// What the event `start` on the tape says: `command`, or `url`.
    pub start: Value,
    /// Connects to it.
    pub connect: Connect,
}

/// A tape or a server in a browser.
#[derive(Debug)]
pub struct Page {
    token: Arc<Token>,
    tape: Arc<Tape>,
    try_it: Option<Arc<TryIt>>,
}

impl Page {
    /// A tape; a `live` one is followed while it is written, and when its recorder begins another file in its place.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn of_tape(path: &Path, live: bool) -> io::Result<Self> {
        let file = follow::open(path)?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let tape = Tape::new(name.into_owned());
        follow::start(&tape, Source { file, path: live.then(|| path.to_owned()), live })?;
        Ok(Self { token: Arc::new(Token::new()?), tape, try_it: None })
    }

    /// A server, with every frame on a tape: in this file, else in one that is gone when the page ends.
    ///
    /// # Errors
    /// If the tape cannot be written.
    pub fn of_server(target: Target, recorded_to: Option<&Path>) -> io::Result<Self> {
        let tape = Tape::new(target.name.clone());
        let (written, file) = match recorded_to {
            Some(path) => (papertape::tape::create(path)?, File::open(path)?),
            None => {
                let file = unnamed_file()?;
                (file.try_clone()?, file)
            }
        };
        let recorder = Recorder::new(written, &tape)?;
        follow::start(&tape, Source { file, path: None, live: true })?;
        let try_it = TryIt::new(target, recorder, Arc::clone(&tape));
        Ok(Self { token: Arc::new(Token::new()?), tape, try_it: Some(try_it) })
    }

    /// The URL to open, with the token in its fragment, which no browser sends to a server.
    #[must_use]
    pub fn url(&self, address: SocketAddr) -> String {
        format!("http://{address}/#token={}", self.token.as_str())
    }

    /// Serves the page on a listener on loopback until `stop`; then the server that it has started is ended.
    ///
    /// # Errors
    /// If the listener is not on loopback.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()>) -> io::Result<()> {
        let address = listener.local_addr()?;
        if !address.ip().is_loopback() {
            let message = format!("{address} is not a loopback address, and the page starts programs");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        if let Some(try_it) = &self.try_it {
            try_it.connect();
        }
        let site = Arc::new(Site {
            port: address.port(),
            token: Arc::clone(&self.token),
            tape: Arc::clone(&self.tape),
            try_it: self.try_it.clone(),
            dropped: Default::default(),
            apps: AppPages::default(),
        });
        let handle = move |request, _peer| Arc::clone(&site).serve(request);
        let limits = ConnectionLimits::new().connections(MOST_CONNECTIONS);
        let served = serve(listener, handle, limits, GRACE, stop).await;
        if let Some(try_it) = &self.try_it {
            try_it.close().await;
        }
        served
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.tape.stop();
    }
}

/// A file that has no name any more, readable by its owner only.
pub(crate) fn unnamed_file() -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("papertape-page-{}", random::<16>()?));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("name", &self.name).finish_non_exhaustive()
    }
}
