//! How many connections the open file limit allows.

use std::io;

use super::limits::ConnectionLimits;

/// Connections over the limit, while those that are evicted for them close.
const OVERLAP: usize = 256;
/// Connections that get a 503 at the same time; others are closed without a response.
const REFUSALS: usize = 64;
/// Descriptors reserved for everything else, such as files and connections of handlers.
const RESERVE: (usize, usize) = (4, 128);

/// How many connections there may be at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Capacity {
    pub(super) connections: usize,
    pub(super) overlap: usize,
    pub(super) refusals: usize,
}

impl Capacity {
    pub(super) fn new(limits: &ConnectionLimits) -> Self {
        Self::within(limits.connections, free())
    }

    /// The configured number of connections, or as many as the free descriptors allow.
    fn within(connections: usize, free: Option<usize>) -> Self {
        let Some(free) = free else { return Self { connections, overlap: OVERLAP, refusals: REFUSALS } };
        let room = free.saturating_sub((free / 8).clamp(RESERVE.0, RESERVE.1));
        let (overlap, refusals) = (OVERLAP.min(room / 16), REFUSALS.min(room / 16).max(1));
        let most = room.saturating_sub(overlap + refusals).max(1);
        Self { connections: connections.min(most), overlap, refusals }
    }
}

/// The number of connections that a server with these limits accepts: the configured one, or what the open file limit allows.
#[must_use]
pub fn max_connections(limits: &ConnectionLimits) -> usize {
    Capacity::new(limits).connections
}

/// Descriptors that this process may still open; `None` without a limit.
#[cfg(unix)]
fn free() -> Option<usize> {
    use rustix::process::{Resource, getrlimit};
    /// The number of open descriptors if they cannot be counted.
    const USUAL: usize = 32;
    let most = usize::try_from(getrlimit(Resource::Nofile).current?).ok()?;
    let open = std::fs::read_dir("/dev/fd").map_or(USUAL, Iterator::count);
    Some(most.saturating_sub(open))
}

#[cfg(not(unix))]
fn free() -> Option<usize> {
    None
}

/// Raises the soft limit on open files of this process, often 1,024, to the hard limit.
///
/// Each connection needs a descriptor, and [`serve`](crate::serve) accepts no more connections than there are descriptors. The
/// limit belongs to the process, so it is the program that has to raise it, before it serves.
///
/// # Errors
/// If the operating system does not allow it; the limit stays the same.
pub fn raise_open_file_limit() -> io::Result<()> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current != maximum {
            setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Capacity;

    #[test]
    fn connections_leave_descriptors_for_the_rest() {
        for free in [0, 1, 10, 28, 116, 1_000, 10_000, 1_000_000] {
            let Capacity { connections, overlap, refusals } = Capacity::within(10_000, Some(free));
            assert!((1..=10_000).contains(&connections), "{free}");
            let taken = connections + overlap + refusals;
            assert!(taken <= free.saturating_sub(4).max(2), "{free}: {taken}");
            assert!(
                free < 100 || taken * 4 >= free * 3 || connections == 10_000,
                "{free}: {taken} is little"
            );
        }
        let plenty = Capacity { connections: 10_000, overlap: 256, refusals: 64 };
        assert_eq!(Capacity::within(10_000, None), plenty);
        assert_eq!(Capacity::within(10_000, Some(20_000)), plenty);
        assert_eq!(Capacity::within(5, Some(1_000)).connections, 5);
    }
}
