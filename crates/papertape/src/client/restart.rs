//! How often a server process that has exited is started again.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::ClientError;
use crate::callback::unless_it_panics;

/// How often a server process that has exited by itself is started again, for
/// [`ClientOptions::restart`](crate::client::ClientOptions::restart).
///
/// ```
/// use std::time::Duration;
/// use papertape::client::{ClientOptions, Restart};
///
/// let options = ClientOptions::new().restart(Restart::at_most(3).within(Duration::from_secs(60)));
/// ```
#[derive(Clone)]
#[must_use]
pub struct Restart {
    most: usize,
    within: Duration,
    first_delay: Duration,
    longest_delay: Duration,
    longest_wait: Duration,
    on_restart: Option<Arc<OnRestart>>,
    on_exit: Option<Arc<OnExit>>,
}

/// Called with the number of a restart.
type OnRestart = dyn Fn(u64) + Send + Sync;

/// Called with why the server is started again, and the delay before that.
type OnExit = dyn Fn(ClientError, Duration) + Send + Sync;

impl Restart {
    /// At most this many times within 10 minutes, the first time after 200 ms, then after twice the time each, up to 10 s.
    pub fn at_most(times: u16) -> Self {
        Self {
            most: times.into(),
            within: Duration::from_secs(10 * 60),
            first_delay: Duration::from_millis(200),
            longest_delay: Duration::from_secs(10),
            longest_wait: Duration::from_secs(2),
            on_restart: None,
            on_exit: None,
        }
    }

    /// The time within which restarts are counted.
    pub fn within(mut self, time: Duration) -> Self {
        self.within = time;
        self
    }

    /// The delay before the first restart, and the longest one: it doubles with each restart that counts.
    pub fn delays(mut self, first: Duration, longest: Duration) -> Self {
        (self.first_delay, self.longest_delay) = (first, longest.max(first));
        self
    }

    /// How long requests wait for the next restart: if it is due later, they fail at once, with
    /// [`ErrorKind::Restarting`](crate::client::ErrorKind::Restarting). By default 2 s.
    pub fn longest_wait(mut self, time: Duration) -> Self {
        self.longest_wait = time;
        self
    }

    /// Calls this when the server process has exited, or could not be started again, with the reason and the delay before the
    /// next attempt; not when there is none. It must not block.
    ///
    /// ```
    /// use papertape::client::Restart;
    ///
    /// let restart = Restart::at_most(3).on_exit(|why, delay| eprintln!("{why}; next attempt in {delay:?}"));
    /// ```
    pub fn on_exit(mut self, callback: impl Fn(ClientError, Duration) + Send + Sync + 'static) -> Self {
        self.on_exit = Some(Arc::new(callback));
        self
    }

    /// Calls this when the server was started again and the session continues: with 1 the first time, then 2, and so on. It
    /// must not block.
    ///
    /// ```
    /// use papertape::client::Restart;
    ///
    /// let restart = Restart::at_most(3).on_restart(|number| eprintln!("restart {number} of the server"));
    /// ```
    pub fn on_restart(mut self, callback: impl Fn(u64) + Send + Sync + 'static) -> Self {
        self.on_restart = Some(Arc::new(callback));
        self
    }
}

/// Without the callbacks.
impl fmt::Debug for Restart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Restart");
        debug.field("most", &self.most).field("within", &self.within);
        debug.field("first_delay", &self.first_delay).field("longest_delay", &self.longest_delay);
        debug.field("longest_wait", &self.longest_wait);
        debug.finish_non_exhaustive()
    }
}

/// The restarts so far.
#[derive(Debug)]
pub(crate) struct RestartBudget {
    policy: Restart,
    /// Those that count, the oldest first.
    recent: VecDeque<Instant>,
    /// How many were successful.
    number: u64,
}

impl RestartBudget {
    pub(crate) fn new(policy: Restart) -> Self {
        Self { policy, recent: VecDeque::new(), number: 0 }
    }

    /// The server was started again.
    pub(crate) fn succeeded(&mut self) {
        self.number += 1;
        if let Some(callback) = &self.policy.on_restart {
            unless_it_panics("on_restart", || callback(self.number));
        }
    }

    /// The server has exited, or could not be started again, and is started after this delay.
    pub(crate) fn failed(&self, why: ClientError, delay: Duration) {
        if let Some(callback) = &self.policy.on_exit {
            unless_it_panics("on_exit", || callback(why, delay));
        }
    }

    /// Whether the program is told why the server is started again.
    pub(crate) fn reports(&self) -> bool {
        self.policy.on_exit.is_some()
    }

    pub(crate) fn longest_wait(&self) -> Duration {
        self.policy.longest_wait
    }

    /// Why there is no other restart, for errors.
    pub(crate) fn spent(&self) -> String {
        let Restart { most, within, .. } = &self.policy;
        let (times, within) =
            (if *most == 1 { "once".to_owned() } else { format!("{most} times") }, within.as_secs_f64());
        format!("it was started again {times} within {within} s, which is the limit")
    }

    /// Counts a restart, and returns the delay before it; `None` if it would be one too many.
    pub(crate) fn next_delay(&mut self) -> Option<Duration> {
        let now = Instant::now();
        while self.recent.front().is_some_and(|at| now.duration_since(*at) >= self.policy.within) {
            self.recent.pop_front();
        }
        if self.recent.len() >= self.policy.most {
            return None;
        }
        let doubled = u32::try_from(self.recent.len()).ok().and_then(|count| 2u32.checked_pow(count));
        let delay = doubled.and_then(|factor| self.policy.first_delay.checked_mul(factor));
        self.recent.push_back(now);
        Some(delay.unwrap_or(self.policy.longest_delay).min(self.policy.longest_delay))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Restart, RestartBudget};

    #[tokio::test(start_paused = true)]
    async fn restarts_are_counted_within_their_time_and_delays_double() {
        let seconds = Duration::from_secs;
        let policy = Restart::at_most(3).within(seconds(60)).delays(seconds(2), seconds(5));
        let mut budget = RestartBudget::new(policy);
        assert_eq!(budget.next_delay(), Some(seconds(2)));
        assert_eq!(budget.next_delay(), Some(seconds(4)));
        assert_eq!(budget.next_delay(), Some(seconds(5)));
        assert_eq!(budget.next_delay(), None);
        tokio::time::advance(seconds(60)).await;
        assert_eq!(budget.next_delay(), Some(seconds(2)));
        assert_eq!(RestartBudget::new(Restart::at_most(0)).next_delay(), None);
    }
}
