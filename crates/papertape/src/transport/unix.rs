//! Unix domain sockets: one server for several clients of the same machine and user, without HTTP.
//!
//! Messages are framed as on stdio. Each connection is a session of its own.

use std::fs;
use std::future::Future;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::net::{UnixListener, UnixSocket, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;

use super::signals::watch_signals;
use super::streams::{client, server};
use crate::client::{Client, ClientError, ClientOptions, ErrorKind, Evidence};
use crate::server::{IntoService, Service};
use crate::telemetry::Network;

/// Connections that are served at once, unless [`Listener::max_connections`] says otherwise.
const CONNECTIONS: usize = 64;

/// Connections that the kernel holds until they are accepted.
const BACKLOG: u32 = 128;

/// The pause after a connection could not be accepted, for example because there are no more file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// A Unix domain socket that accepts connections. Its file is removed when it is dropped.
///
/// ```no_run
/// use papertape::unix;
///
/// async fn serve(server: papertape::Server) -> std::io::Result<()> {
///     let listener = unix::Listener::bind("/tmp/notes.sock")?.max_connections(8);
///     unix::serve(listener, server).await
/// }
/// ```
#[derive(Debug)]
pub struct Listener {
    socket: UnixListener,
    file: SocketFile,
    connections: usize,
}

impl Listener {
    /// Creates a socket that only this user can connect to (mode 0600). A socket that was left behind by a server that is gone
    /// is replaced.
    ///
    /// # Errors
    /// If another server listens there, something else than a socket is in the way, or the path is too long for a socket
    /// (about 100 bytes). It must be called within a tokio runtime.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        Self::bind_exactly(path)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    }

    fn bind_exactly(path: &Path) -> io::Result<Self> {
        // The path may be relative, and the process may change its directory.
        let path = std::path::absolute(path)?;
        SocketAddr::from_pathname(&path)?;
        let socket = UnixSocket::new_stream()?;
        // It has another name until it listens: a server that starts at the same time would take it for a stale one.
        let unready = sibling(&path)?;
        socket.bind(&unready)?;
        let unready = SocketFile::new(unready)?;
        // Nothing can connect before `listen`, so that no other user gets in between.
        fs::set_permissions(&unready.path, fs::Permissions::from_mode(0o600))?;
        let socket = socket.listen(BACKLOG)?;
        while let Err(error) = fs::hard_link(&unready.path, &path) {
            if error.kind() != io::ErrorKind::AlreadyExists {
                return Err(error);
            }
            remove_stale(&path)?;
        }
        Ok(Self { socket, file: SocketFile { path, identity: unready.identity }, connections: CONNECTIONS })
    }

    /// How many connections are served at once: 64 by default. Others wait until one of them has ended.
    #[must_use]
    pub fn max_connections(mut self, most: usize) -> Self {
        self.connections = most.max(1);
        self
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.file.path
    }
}

/// The file of a socket, removed when this is dropped, unless another has taken its place.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl SocketFile {
    fn new(path: PathBuf) -> io::Result<Self> {
        Ok(Self { identity: identity(&path)?, path })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|now| now == self.identity)
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(%error, path = %self.path.display(), "the socket was not removed");
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|file| (file.dev(), file.ino()))
}

/// An unused name in the directory of a path.
fn sibling(path: &Path) -> io::Result<PathBuf> {
    let mut name = [0; 5];
    getrandom::fill(&mut name).map_err(io::Error::other)?;
    Ok(path.with_file_name(format!(".{}", data_encoding::HEXLOWER.encode(&name))))
}

/// Removes a socket that no process listens on.
fn remove_stale(path: &Path) -> io::Result<()> {
    let gone = |error: io::Error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) };
    let file = match fs::symlink_metadata(path) {
        Ok(file) => file,
        Err(error) => return gone(error),
    };
    if !file.file_type().is_socket() {
        let message = "there is something else than a socket: choose another path, or remove it";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
    }
    if is_listening(path)? {
        return Err(in_use());
    }
    // In the meantime another server may have replaced it: then that gets its name back.
    let aside = sibling(path)?;
    if let Err(error) = fs::rename(path, &aside) {
        return gone(error);
    }
    let replaced = is_listening(&aside)?;
    let restored = if replaced { fs::hard_link(&aside, path) } else { Ok(()) };
    fs::remove_file(&aside)?;
    restored.and_then(|()| if replaced { Err(in_use()) } else { Ok(()) })
}

/// Whether a process listens on a socket.
fn is_listening(path: &Path) -> io::Result<bool> {
    // Polled once, because that tells: a server that accepts nothing at the moment would be waited for.
    let connecting = pin!(UnixSocket::new_stream()?.connect(path));
    match connecting.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Err(error)) => match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Ok(false),
            // There is no room for more connections.
            io::ErrorKind::WouldBlock => Ok(true),
            _ => Err(error),
        },
        Poll::Ready(Ok(_)) | Poll::Pending => Ok(true),
    }
}

fn in_use() -> io::Error {
    let message = "another server is listening here: stop it, or choose another path";
    io::Error::new(io::ErrorKind::AddrInUse, message)
}

/// Serves on a Unix domain socket until SIGTERM or SIGINT arrives: then nothing more is accepted, what runs may finish within the
/// grace period of the server's limits, and the socket is removed. A second signal ends the process at once.
///
/// # Errors
/// If a tool has an invalid schema.
pub async fn serve(listener: Listener, server: impl IntoService) -> io::Result<()> {
    let (stop, mut stopped) = mpsc::channel(1);
    watch_signals(stop)?;
    serve_until(listener, server, async move { stopped.recv().await.unwrap_or_default() }).await
}

/// [`serve`] until `stop` is ready.
///
/// # Errors
/// If a tool has an invalid schema.
pub async fn serve_until(
    listener: Listener,
    server: impl IntoService,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let service = server.into_service()?;
    let _serving = service.core().background.serve();
    let places = Arc::new(Semaphore::new(listener.connections));
    let (stopping, stopped) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            (stream, place) = accept(&listener.socket, &places) => {
                connections.spawn(serve_connection(service.clone(), stream, stopped.clone(), place));
            }
            // Connections that have ended are not kept.
            Some(_) = connections.join_next() => {}
        }
    }
    // From here on connecting fails, so that clients know.
    drop(listener);
    stopping.send_replace(true);
    while connections.join_next().await.is_some() {}
    Ok(())
}

/// The next connection, as soon as there is a place for it.
async fn accept(
    socket: &UnixListener,
    places: &Arc<Semaphore>,
) -> (UnixStream, Option<OwnedSemaphorePermit>) {
    // It is never closed.
    let place = Arc::clone(places).acquire_owned().await.ok();
    loop {
        match socket.accept().await {
            Ok((stream, _)) => return (stream, place),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn serve_connection(
    service: Service,
    stream: UnixStream,
    mut stopped: watch::Receiver<bool>,
    _place: Option<OwnedSemaphorePermit>,
) {
    let (reader, writer) = stream.into_split();
    let stop = async move {
        // An error means that the sender is gone, which ends this task too.
        drop(stopped.wait_for(|stopped| *stopped).await);
    };
    if let Some(error) = server::run(service, reader, writer, Network::Unix, stop).await.lost {
        tracing::warn!(%error, "a connection has ended");
    }
}

/// Opens a session with the server that listens on a Unix domain socket.
///
/// ```no_run
/// #[tokio::main]
/// async fn main() -> Result<(), papertape::client::ClientError> {
///     let client = papertape::unix::connect("/tmp/notes.sock").await?;
///     Ok(())
/// }
/// ```
///
/// # Errors
/// If nothing listens there, or the session does not open.
pub async fn connect(path: impl AsRef<Path>) -> Result<Client, ClientError> {
    connect_with(path, ClientOptions::new()).await
}

/// [`connect`] with options.
///
/// # Errors
/// If nothing listens there, the session does not open, or the tape cannot be written.
pub async fn connect_with(path: impl AsRef<Path>, options: ClientOptions) -> Result<Client, ClientError> {
    let path = path.as_ref();
    let stream = UnixStream::connect(path).await.map_err(|error| {
        let error = io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        ClientError::new("connecting", ErrorKind::NotStarted(error), "not started", Evidence::default())
    })?;
    let (reader, writer) = stream.into_split();
    client::connect_over(Network::Unix, reader, writer, options).await
}
