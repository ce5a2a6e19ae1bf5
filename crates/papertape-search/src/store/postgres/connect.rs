//! Opens connections, and the pool of them.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use deadpool::managed;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::tls::NoTlsStream;
use tokio_postgres::{Client, Connection, NoTls};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::StoreError;
use super::address::{Address, name};
use super::fault::Fault;
use super::guard::Guard;

/// How long opening may take once the server has accepted: TLS, password, settings.
pub(super) const OPENING: Duration = Duration::from_secs(2);

/// PostgreSQL's `SSLRequest` message: a length of 8 and its code.
const TLS_PLEASE: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// A TCP, TLS or Unix stream.
pub(super) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// What the driver reads from.
pub(super) type Stream = Guard<Box<dyn ByteStream>>;

/// The driver, which must be polled for a client to get responses.
pub(super) type Driver = Connection<Stream, NoTlsStream>;

/// Makes connections.
pub(super) struct Connector {
    pub(super) address: Address,
    tls: OnceLock<TlsConnector>,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Connector").field(&self.address.place()).finish()
    }
}

/// A connection and the task that drives it, which ends with it.
#[derive(Debug)]
pub(super) struct OpenConnection {
    pub(super) client: Client,
    /// Which of the hosts it is.
    pub(super) host: usize,
    /// Why it ended.
    pub(super) end: EndReason,
    task: AbortHandle,
}

/// Why a connection ended, once it has: pending requests only learn from the driver that it did.
#[derive(Debug, Clone, Default)]
pub(super) struct EndReason(Arc<OnceLock<String>>);

impl EndReason {
    /// The fault, with the reason if it is that the connection is gone.
    pub(super) fn explain(&self, fault: Fault) -> Fault {
        match (fault, self.0.get()) {
            (Fault::Lost(_), Some(why)) => Fault::Lost(why.clone()),
            (fault, _) => fault,
        }
    }

    fn note(&self, error: tokio_postgres::Error) {
        tracing::debug!(%error, "a connection to the database ended");
        if let Fault::Lost(why) = Fault::from(error) {
            self.0.get_or_init(|| why);
        }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Connector {
    pub(super) fn new(address: Address) -> Self {
        Self { address, tls: OnceLock::new() }
    }

    /// A connection to the first host that gives one, with what drives it.
    pub(super) async fn open(self: &Arc<Self>) -> Result<(Client, Driver, usize), Fault> {
        // A task of its own: should the driver panic over what a server says, then only that task ends.
        let mine = Arc::clone(self);
        let task = tokio::spawn(async move { mine.open_any().await });
        task.await.unwrap_or_else(|_| {
            Err(Fault::Lost("the driver panicked over a message of the server".to_owned()))
        })
    }

    /// The same, driven by a task.
    pub(super) async fn connect(self: &Arc<Self>) -> Result<OpenConnection, Fault> {
        let (client, mut driver, host) = self.open().await?;
        let end = EndReason::default();
        let noted = end.clone();
        let task = tokio::spawn(async move {
            // The driver is dropped after that, and only then do pending requests fail.
            if let Err(error) = (&mut driver).await {
                noted.note(error);
            }
        });
        Ok(OpenConnection { client, host, end, task: task.abort_handle() })
    }

    async fn open_any(&self) -> Result<(Client, Driver, usize), Fault> {
        let mut fault = Fault::Lost("the address names no host".to_owned());
        for (place, (host, port)) in self.address.hosts.iter().enumerate() {
            match self.open_one(host, *port).await {
                Ok((client, driver)) => return Ok((client, driver, place)),
                Err(Fault::Lost(why)) => fault = Fault::Lost(format!("{}: {why}", name(host, *port))),
                Err(other) => fault = other,
            }
        }
        Err(fault)
    }

    async fn open_one(&self, host: &Host, port: u16) -> Result<(Client, Driver), Fault> {
        let stream = self.dial(host, port).await?;
        let opened = self.address.config.connect_raw(Guard::new(stream), NoTls);
        Ok(timeout(OPENING, opened).await.map_err(|_| Fault::late("opening a connection", OPENING))??)
    }

    /// A stream to a host, encrypted if required.
    async fn dial(&self, host: &Host, port: u16) -> Result<Box<dyn ByteStream>, Fault> {
        let limit = self.address.connect_timeout;
        let late = |_| Fault::late("connecting", limit);
        let broken = |error: std::io::Error| Fault::Lost(error.to_string());
        let mut stream: Box<dyn ByteStream> = match host {
            Host::Tcp(name) => {
                let connected = TcpStream::connect((name.as_str(), port));
                let stream = timeout(limit, connected).await.map_err(late)?.map_err(broken)?;
                stream.set_nodelay(true).map_err(broken)?;
                self.address.keepalive.watch(&stream).map_err(broken)?;
                Box::new(stream)
            }
            #[cfg(unix)]
            Host::Unix(folder) => {
                let connected = tokio::net::UnixStream::connect(folder.join(format!(".s.PGSQL.{port}")));
                Box::new(timeout(limit, connected).await.map_err(late)?.map_err(broken)?)
            }
        };
        let (wants_tls, may_do_without) = self.address.tls.to(host);
        if !wants_tls {
            return Ok(stream);
        }
        let Host::Tcp(server) = host else {
            return Err(Fault::other(
                "there is no TLS on local sockets: take sslmode out of the store's address",
            ));
        };
        let mut response = [0];
        let requested = async {
            stream.write_all(&TLS_PLEASE).await?;
            stream.read_exact(&mut response).await
        };
        timeout(OPENING, requested)
            .await
            .map_err(|_| Fault::late("requesting TLS", OPENING))?
            .map_err(broken)?;
        match response {
            [b'S'] => timeout(OPENING, self.encrypt(server, stream))
                .await
                .map_err(|_| Fault::late("opening TLS", OPENING))?,
            _ if may_do_without => Ok(stream),
            _ => Err(Fault::other(
                "the database's server has no TLS: switch it on there, or write sslmode=disable into the store's \
                 address if the network to it is trusted",
            )),
        }
    }

    async fn encrypt(&self, server: &str, stream: Box<dyn ByteStream>) -> Result<Box<dyn ByteStream>, Fault> {
        let host = ServerName::try_from(server.to_owned())
            .map_err(|_| Fault::other("the host in the store's address is not a valid TLS server name"))?;
        let connector = self.tls()?;
        match connector.connect(host, stream).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) if error.get_ref().is_some() => Err(Fault::Final(StoreError::Unreachable(format!(
                "TLS with its server failed ({error}): name the certificate to trust with sslrootcert=FILE in the \
                 store's address"
            )))),
            Err(error) => Err(Fault::Lost(error.to_string())),
        }
    }

    fn tls(&self) -> Result<&TlsConnector, Fault> {
        if let Some(made) = self.tls.get() {
            return Ok(made);
        }
        let mut roots = RootCertStore::empty();
        match &self.address.roots {
            Some(file) => {
                let unreadable = "the file that sslrootcert names has no certificate that can be read";
                let found = CertificateDer::pem_file_iter(file).map_err(|_| Fault::other(unreadable))?;
                roots.add_parsable_certificates(found.flatten());
                if roots.is_empty() {
                    return Err(Fault::other(unreadable));
                }
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Fault::other(format!("TLS cannot be used: {error}")))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(self.tls.get_or_init(|| TlsConnector::from(Arc::new(config))))
    }

    /// Sends a cancel request for the current query of a connection, without waiting for the outcome.
    pub(super) fn cancel(self: &Arc<Self>, connection: &OpenConnection) {
        let (token, host) = (connection.client.cancel_token(), connection.host);
        let mine = Arc::clone(self);
        tokio::spawn(async move {
            let Some((host, port)) = mine.address.hosts.get(host) else { return };
            let cancelled = async {
                let stream = mine.dial(host, *port).await?;
                Ok::<_, Fault>(token.cancel_query_raw(stream, NoTls).await?)
            };
            if !matches!(timeout(OPENING, cancelled).await, Ok(Ok(()))) {
                tracing::debug!("failed to cancel a query");
            }
        });
    }
}

/// What the pool makes connections with.
#[derive(Debug)]
pub(super) struct Maker(pub(super) Arc<Connector>);

impl managed::Manager for Maker {
    type Type = OpenConnection;
    type Error = Fault;

    fn create(&self) -> impl Future<Output = Result<OpenConnection, Fault>> + Send {
        self.0.connect()
    }

    /// Not checked here: the first query on it has a short timeout.
    async fn recycle(
        &self,
        connection: &mut OpenConnection,
        _: &managed::Metrics,
    ) -> managed::RecycleResult<Fault> {
        if connection.client.is_closed() {
            return Err(managed::RecycleError::message("closed"));
        }
        Ok(())
    }
}
