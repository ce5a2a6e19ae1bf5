//! A database's URL to host, user and TLS settings.

use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::StoreError;
use super::keepalive::Keepalive;

const PORT: u16 = 5432;

/// How long one host may take to accept a connection, if the URL does not say.
const CONNECT: Duration = Duration::from_secs(2);

const FORM: &str = "the store's address must look like postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special \
                    characters in its parts written as %XX";

/// Where a database is.
#[derive(Debug, Clone)]
pub(super) struct Address {
    /// User, password, database; its `Debug` leaves the password out.
    pub(super) config: Config,
    /// Hosts in the order in which they are tried.
    pub(super) hosts: Vec<(Host, u16)>,
    pub(super) tls: Tls,
    /// The PEM file that `sslrootcert` names: trusted in place of the system's certificates.
    pub(super) roots: Option<PathBuf>,
    pub(super) connect_timeout: Duration,
    pub(super) keepalive: Keepalive,
}

/// Whether a connection is encrypted. Where there is TLS, the server's certificate and name are always checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tls {
    /// `sslmode=disable`.
    Never,
    /// `sslmode=prefer`: if the server can.
    Offered,
    /// `sslmode=require`, `verify-ca` or `verify-full`.
    Always,
    /// No `sslmode`: always, except to this machine.
    Away,
}

impl Address {
    /// Reads a URL. No error contains any of it.
    pub(super) fn parse(url: &str) -> Result<Self, StoreError> {
        let form = || StoreError::Other(FORM.to_owned());
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(form());
        }
        let (place, options) = url.split_once('?').unwrap_or((url, ""));
        let (mut tls, mut roots, mut kept) = (Tls::Away, None, Vec::new());
        for option in options.split('&').filter(|it| !it.is_empty()) {
            match option.split_once('=') {
                // libpq's name for what the driver calls retries.
                Some(("keepalives_count", count)) => kept.push(format!("keepalives_retries={count}")),
                Some(("sslmode", mode)) => tls = sslmode(mode)?,
                Some(("sslrootcert", file)) => {
                    let file =
                        percent_encoding::percent_decode_str(file).decode_utf8().map_err(|_| form())?;
                    roots = Some(PathBuf::from(file.as_ref()));
                }
                _ => kept.push(option.to_owned()),
            }
        }
        let mut config: Config = format!("{place}?{}", kept.join("&")).parse().map_err(|_| form())?;
        // TLS is made before the driver sees the stream, which is plain for it then.
        config.ssl_mode(SslMode::Disable);
        if config.get_application_name().is_none() {
            config.application_name(format!("papertape (process {})", std::process::id()));
        }
        let ports = config.get_ports().to_vec();
        let mut hosts = config.get_hosts().to_vec();
        if hosts.is_empty() {
            hosts.push(Host::Tcp("localhost".to_owned()));
        }
        let port = |place: usize| ports.get(place).or(ports.first()).copied().unwrap_or(PORT);
        let hosts = hosts.into_iter().enumerate().map(|(place, host)| (host, port(place))).collect();
        let connect_timeout = config.get_connect_timeout().copied().unwrap_or(CONNECT);
        let keepalive = Keepalive::new(&config, &kept);
        Ok(Self { config, hosts, tls, roots, connect_timeout, keepalive })
    }

    /// The URL for messages: without user and password.
    pub(super) fn place(&self) -> String {
        let hosts: Vec<String> = self.hosts.iter().map(|(host, port)| name(host, *port)).collect();
        let database = self.config.get_dbname().or(self.config.get_user()).unwrap_or_default();
        format!("postgres://{}/{database}", hosts.join(","))
    }
}

impl Tls {
    /// Whether a connection to this host must be, or may be, encrypted: (request TLS, go on without).
    pub(super) fn to(self, host: &Host) -> (bool, bool) {
        match self {
            Self::Never => (false, true),
            Self::Offered => (is_tcp(host), true),
            Self::Always => (true, false),
            Self::Away => (!is_here(host), is_here(host)),
        }
    }
}

/// A host, for messages.
pub(super) fn name(host: &Host, port: u16) -> String {
    match host {
        Host::Tcp(name) if name.contains(':') => format!("[{name}]:{port}"),
        Host::Tcp(name) => format!("{name}:{port}"),
        #[cfg(unix)]
        Host::Unix(_) => "a local socket".to_owned(),
    }
}

fn is_tcp(host: &Host) -> bool {
    matches!(host, Host::Tcp(_))
}

fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) if name == "localhost" => true,
        Host::Tcp(name) => name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

fn sslmode(mode: &str) -> Result<Tls, StoreError> {
    Ok(match mode {
        "disable" => Tls::Never,
        "prefer" => Tls::Offered,
        "require" | "verify-ca" | "verify-full" => Tls::Always,
        _ => {
            let what =
                "sslmode in the store's address must be disable, prefer, require, verify-ca or verify-full";
            return Err(StoreError::Other(what.to_owned()));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{Address, Tls};

    #[test]
    fn a_url_says_where_the_database_is_and_how_to_get_there() {
        let table = [
            ("postgres://me:pw@db.example/notes", "postgres://db.example:5432/notes", Tls::Away),
            ("postgresql://me@[::1]:99/notes?sslmode=disable", "postgres://[::1]:99/notes", Tls::Never),
            ("postgres://me@a:1,b:2/n?sslmode=require", "postgres://a:1,b:2/n", Tls::Always),
            ("postgres://me@a/n?sslmode=verify-full&connect_timeout=9", "postgres://a:5432/n", Tls::Always),
            ("postgres://me@%2Ftmp%2Fpg/n", "postgres://a local socket/n", Tls::Away),
        ];
        for (url, place, tls) in table {
            let address = Address::parse(url).unwrap();
            assert_eq!((address.place().as_str(), address.tls), (place, tls), "{url}");
        }
    }

    #[test]
    fn only_the_way_to_this_machine_is_open_by_default() {
        for (url, wants_tls) in [
            ("postgres://me@localhost/n", false),
            ("postgres://me@127.0.0.2/n", false),
            ("postgres://me@[::1]/n", false),
            ("postgres://me@%2Ftmp/n", false),
            ("postgres://me@10.0.0.1/n", true),
            ("postgres://me@localhost.example/n", true),
        ] {
            let address = Address::parse(url).unwrap();
            let (host, _) = address.hosts.first().unwrap();
            assert_eq!(address.tls.to(host), (wants_tls, !wants_tls), "{url}");
        }
    }

    #[test]
    fn no_error_and_no_debug_shows_a_password() {
        for url in [
            "postgres://me:secret?x@host/db",
            "postgres://me:secret@host:port/db",
            "mysql://me:secret@host/db",
            "postgres://me:secret@host/db?sslmode=secret",
            "postgres://me:secret@host/db?what=secret",
            "postgres://me:%zzsecret@host/db?connect_timeout=secret",
        ] {
            let shown = match Address::parse(url) {
                Ok(address) => format!("{address:?} {}", address.place()),
                Err(error) => format!("{error} {error:?}"),
            };
            assert!(!shown.contains("secret"), "{shown}");
        }
        let address = Address::parse("postgres://me:secret@host/db").unwrap();
        assert!(!format!("{address:?} {}", address.place()).contains("secret"));
    }
}
