//! TCP keepalives, by which both ends of a connection detect that the other one is gone.
//!
//! A machine that lost its power and a firewall that dropped a connection send nothing. Without keepalive probes a client
//! would wait for ever for a long response, and the lock of a writer would outlive it.

use std::io;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio_postgres::Config;

/// The default idle time before the first probe, and the interval between later ones.
const IDLE: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_secs(10);

/// How many probes may stay unanswered.
const RETRIES: u32 = 3;

/// The largest values that kernels accept.
const LONGEST: Duration = Duration::from_secs(32_767);
const MOST: u32 = 127;

/// The keepalive settings of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Keepalive {
    /// Whether the client sends probes.
    enabled: bool,
    idle: Duration,
    interval: Duration,
    retries: u32,
    /// How long sent data may stay unacknowledged (`TCP_USER_TIMEOUT`).
    unanswered: Duration,
}

impl Keepalive {
    /// The settings of a URL with these options, named as in libpq: `keepalives` and so on.
    pub(super) fn new(config: &Config, options: &[String]) -> Self {
        let bounded = |time: Duration| time.clamp(Duration::from_secs(1), LONGEST);
        // The driver has a default of its own, two hours.
        let says_idle = options.iter().any(|option| option.starts_with("keepalives_idle="));
        let idle = bounded(if says_idle { config.get_keepalives_idle() } else { IDLE });
        let interval = bounded(config.get_keepalives_interval().unwrap_or(INTERVAL));
        let retries = config.get_keepalives_retries().unwrap_or(RETRIES).clamp(1, MOST);
        // The driver takes it as seconds, libpq as milliseconds.
        let unanswered = config.get_tcp_user_timeout().map(|it| Duration::from_millis(it.as_secs()));
        let unanswered = bounded(unanswered.unwrap_or(idle + interval * retries));
        Self { enabled: config.get_keepalives(), idle, interval, retries, unanswered }
    }

    /// Enables keepalives on the client's socket.
    pub(super) fn watch(&self, stream: &TcpStream) -> io::Result<()> {
        let socket = SockRef::from(stream);
        if self.enabled {
            let often = TcpKeepalive::new().with_time(self.idle).with_interval(self.interval);
            socket.set_tcp_keepalive(&often.with_retries(self.retries))?;
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        socket.set_tcp_user_timeout(Some(self.unanswered))?;
        Ok(())
    }

    /// The statement that enables keepalives on the server's socket until the transaction ends.
    pub(super) fn sql(&self) -> String {
        let Self { idle, interval, retries, unanswered, .. } = self;
        format!(
            "SET LOCAL tcp_keepalives_idle = {}; SET LOCAL tcp_keepalives_interval = {}; \
             SET LOCAL tcp_keepalives_count = {retries}; SET LOCAL tcp_user_timeout = '{}s'",
            idle.as_secs(),
            interval.as_secs(),
            unanswered.as_secs()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Keepalive;

    #[test]
    fn a_url_sets_the_keepalive_times() {
        let of = |options: &str| {
            let config = format!("postgres://me@host/db?{options}").parse().unwrap();
            Keepalive::new(&config, &options.split('&').map(str::to_owned).collect::<Vec<_>>())
        };
        let settings = |keepalive: Keepalive| {
            let Keepalive { enabled, idle, interval, retries, unanswered } = keepalive;
            (enabled, idle.as_secs(), interval.as_secs(), retries, unanswered.as_secs())
        };
        assert_eq!(settings(of("sslmode=disable")), (true, 30, 10, 3, 60));
        assert_eq!(
            settings(of("keepalives_idle=2&keepalives_interval=1&keepalives_retries=2")),
            (true, 2, 1, 2, 4)
        );
        assert_eq!(settings(of("keepalives=0&tcp_user_timeout=5000")), (false, 30, 10, 3, 5));
        assert_eq!(
            settings(of("keepalives_idle=99999999&keepalives_retries=99999999")),
            (true, 32_767, 10, 127, 32_767)
        );
    }
}
