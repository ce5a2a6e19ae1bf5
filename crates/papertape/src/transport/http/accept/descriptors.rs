//! File descriptors to the number of connections that there is room for.

use std::io;

use super::limits::ConnectionLimits;

/// Connections over the limit while those that make room for them are still on their way out.
const OVERLAP: usize = 256;
/// Connections that are told at the same time that there is no room; more than that just close.
const REFUSALS: usize = 64;
/// Descriptors that are left to everything else: files that handlers open, connections of their own.
const RESERVE: (usize, usize) = (4, 128);

/// How many connections there may be at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) connections: usize,
    pub(super) overlap: usize,
    pub(super) refusals: usize,
}

impl Room {
    pub(super) fn new(limits: &ConnectionLimits) -> Self {
        Self::within(limits.connections, free())
    }

    /// So many connections, or as many as so many free descriptors allow.
    fn within(connections: usize, free: Option<usize>) -> Self {
        let Some(free) = free else { return Self { connections, overlap: OVERLAP, refusals: REFUSALS } };
        let room = free.saturating_sub((free / 8).clamp(RESERVE.0, RESERVE.1));
        let (overlap, refusals) = (OVERLAP.min(room / 16), REFUSALS.min(room / 16).max(1));
        let most = room.saturating_sub(overlap + refusals).max(1);
        Self { connections: connections.min(most), overlap, refusals }
    }
}

/// How many connections a server with these limits really has room for.
pub(crate) fn most_connections(limits: &ConnectionLimits) -> usize {
    Room::new(limits).connections
}

/// Descriptors that this process may still open; nothing if that has no limit, or is not known.
#[cfg(unix)]
fn free() -> Option<usize> {
    use rustix::process::{Resource, getrlimit};
    /// If they cannot be counted.
    const USUAL: usize = 32;
    let most = usize::try_from(getrlimit(Resource::Nofile).current?).ok()?;
    let open = std::fs::read_dir("/dev/fd").map_or(USUAL, Iterator::count);
    Some(most.saturating_sub(open))
}

#[cfg(not(unix))]
fn free() -> Option<usize> {
    None
}

/// Raises the limit on open files of this process as far as it is allowed to: the soft limit, often 1,024, to the hard one.
///
/// Each connection needs a descriptor, and a server never accepts more of them than it has descriptors for. `papertape serve
/// --http` calls this; a program of your own has to do so itself, before it serves, because limits are the whole process's.
///
/// # Errors
/// If the system does not allow it; the limit is then what it was.
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
    use super::Room;

    #[test]
    fn connections_never_take_all_descriptors() {
        for free in [0, 1, 10, 28, 116, 1_000, 10_000, 1_000_000] {
            let Room { connections, overlap, refusals } = Room::within(10_000, Some(free));
            assert!((1..=10_000).contains(&connections), "{free}");
            let taken = connections + overlap + refusals;
            assert!(taken <= free.saturating_sub(4).max(2), "{free}: {taken}");
            assert!(
                free < 100 || taken * 4 >= free * 3 || connections == 10_000,
                "{free}: {taken} is little"
            );
        }
        let plenty = Room { connections: 10_000, overlap: 256, refusals: 64 };
        assert_eq!(Room::within(10_000, None), plenty);
        assert_eq!(Room::within(10_000, Some(20_000)), plenty);
        assert_eq!(Room::within(5, Some(1_000)).connections, 5);
    }
}
