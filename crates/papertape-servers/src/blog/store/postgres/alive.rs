//! How both ends of a connection find out that nobody is at the other one any more.
//!
//! A machine that lost its power and a firewall that forgot a connection say nothing. Without questions of the kernel's own
//! whoever waits for a long answer would wait for ever, and the lock of a writer would outlive it.

use std::io;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio_postgres::Config;

/// How long a connection may be silent before it is asked, and between later questions, if the URL does not say.
const IDLE: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_secs(10);

/// How many questions may stay without an answer.
const RETRIES: u32 = 3;

/// What kernels take at most.
const LONGEST: Duration = Duration::from_secs(32_767);
const MOST: u32 = 127;

/// How long silence is borne.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Alive {
    /// Whether our own end asks.
    asks: bool,
    idle: Duration,
    interval: Duration,
    retries: u32,
    /// How long what was sent may stay without a sign that it came, or that anybody reads it.
    unanswered: Duration,
}

impl Alive {
    /// What a URL says, of which these are the options, in libpq's words: `keepalives` and its kin.
    pub(super) fn new(config: &Config, options: &[String]) -> Self {
        let bounded = |time: Duration| time.clamp(Duration::from_secs(1), LONGEST);
        // The driver has a default of its own, two hours.
        let says_idle = options.iter().any(|option| option.starts_with("keepalives_idle="));
        let idle = bounded(if says_idle { config.get_keepalives_idle() } else { IDLE });
        let interval = bounded(config.get_keepalives_interval().unwrap_or(INTERVAL));
        let retries = config.get_keepalives_retries().unwrap_or(RETRIES).clamp(1, MOST);
        // The driver takes for seconds what are milliseconds to everybody else.
        let unanswered = config.get_tcp_user_timeout().map(|it| Duration::from_millis(it.as_secs()));
        let unanswered = bounded(unanswered.unwrap_or(idle + interval * retries));
        Self { asks: config.get_keepalives(), idle, interval, retries, unanswered }
    }

    /// Has our kernel ask.
    pub(super) fn watch(&self, stream: &TcpStream) -> io::Result<()> {
        let socket = SockRef::from(stream);
        if self.asks {
            let often = TcpKeepalive::new().with_time(self.idle).with_interval(self.interval);
            socket.set_tcp_keepalive(&often.with_retries(self.retries))?;
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        socket.set_tcp_user_timeout(Some(self.unanswered))?;
        Ok(())
    }

    /// Has the server's kernel ask, until the transaction ends.
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
    use super::Alive;

    #[test]
    fn a_url_may_say_how_long_silence_is_borne() {
        let of = |options: &str| {
            let config = format!("postgres://me@host/db?{options}").parse().unwrap();
            Alive::new(&config, &options.split('&').map(str::to_owned).collect::<Vec<_>>())
        };
        let told = |alive: Alive| {
            let Alive { asks, idle, interval, retries, unanswered } = alive;
            (asks, idle.as_secs(), interval.as_secs(), retries, unanswered.as_secs())
        };
        assert_eq!(told(of("sslmode=disable")), (true, 30, 10, 3, 60));
        assert_eq!(
            told(of("keepalives_idle=2&keepalives_interval=1&keepalives_retries=2")),
            (true, 2, 1, 2, 4)
        );
        assert_eq!(told(of("keepalives=0&tcp_user_timeout=5000")), (false, 30, 10, 3, 5));
        assert_eq!(
            told(of("keepalives_idle=99999999&keepalives_retries=99999999")),
            (true, 32_767, 10, 127, 32_767)
        );
    }
}
