//! What the kernel says about a server's processes. Where there is no `/proc`, it says nothing.

use std::collections::HashSet;
use std::fs;
use std::time::Duration;

/// Clock ticks of a second in `/proc/PID/stat`: 100 on every architecture that Linux runs on today.
const TICKS: u64 = 100;

/// The variable that marks the processes of a check, so that those in groups of their own are found, too.
pub(crate) const MARK: &str = "PAPERTAPE_CHECK_RUN";

/// A process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    /// Its id.
    pub(crate) id: i32,
    parent: i32,
    /// Its process group.
    pub(crate) group: i32,
    /// `R` running, `S` sleeping, `D` in the kernel, `T` stopped.
    pub(crate) state: char,
    /// The CPU time it has used.
    pub(crate) cpu: Duration,
    /// Its command line, shortened.
    pub(crate) command: String,
}

/// The processes of a group, their descendants, and those that carry a mark; not those that have exited.
pub(crate) fn of(group: i32, mark: &str) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let all: Vec<Process> = entries
        .flatten()
        .filter_map(|entry| read(entry.file_name().to_str()?.parse().ok()?))
        .filter(|process| !matches!(process.state, 'Z' | 'X'))
        .collect();
    let marked = format!("{MARK}={mark}");
    let belongs = |process: &Process| {
        process.group == group || process.id == group || environment_has(process.id, marked.as_bytes())
    };
    let mut found: HashSet<i32> =
        all.iter().filter(|process| belongs(process)).map(|process| process.id).collect();
    loop {
        let before = found.len();
        found.extend(
            all.iter()
                .filter(|process| found.contains(&process.parent))
                .map(|process| process.id)
                .collect::<Vec<_>>(),
        );
        if found.len() == before {
            break;
        }
    }
    let own = i32::try_from(std::process::id()).ok();
    all.into_iter().filter(|process| found.contains(&process.id) && Some(process.id) != own).collect()
}

/// The TCP ports that processes listen on.
pub(crate) fn ports(processes: &[Process]) -> Vec<u16> {
    let mut sockets = HashSet::new();
    for process in processes {
        let Ok(descriptors) = fs::read_dir(format!("/proc/{}/fd", process.id)) else { continue };
        sockets.extend(descriptors.flatten().filter_map(|descriptor| {
            let target = fs::read_link(descriptor.path()).ok()?;
            target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse::<u64>().ok()
        }));
    }
    let Some(process) = processes.first() else { return Vec::new() };
    let mut ports: Vec<u16> = ["tcp", "tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(format!("/proc/{}/net/{table}", process.id)).ok())
        .flat_map(|table| table.lines().filter_map(|line| listening(line, &sockets)).collect::<Vec<_>>())
        .collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// The port of a line of `/proc/net/tcp`, if it listens and is one of these sockets.
fn listening(line: &str, sockets: &HashSet<u64>) -> Option<u16> {
    let mut fields = line.split_ascii_whitespace();
    let (local, state) = (fields.nth(1)?, fields.nth(1)?);
    let socket = fields.nth(5)?.parse().ok()?;
    let (_, port) = local.rsplit_once(':')?;
    (state == "0A" && sockets.contains(&socket)).then(|| u16::from_str_radix(port, 16).ok())?
}

fn environment_has(id: i32, marked: &[u8]) -> bool {
    fs::read(format!("/proc/{id}/environ"))
        .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|variable| variable == marked))
}

fn read(id: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let command = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let words = String::from_utf8_lossy(&command).trim_end_matches('\0').replace('\0', " ");
    parse(id, &stat, words.chars().take(200).collect())
}

fn parse(id: i32, stat: &str, command: String) -> Option<Process> {
    // The name, which may contain anything, ends with the last bracket; then state, parent and group follow.
    let (name, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let (user, system): (u64, u64) = (fields.nth(8)?.parse().ok()?, fields.next()?.parse().ok()?);
    let ticks = user.saturating_add(system);
    let command = if command.is_empty() { name.split_once('(')?.1.to_owned() } else { command };
    Some(Process {
        id,
        parent,
        group,
        state,
        cpu: Duration::from_millis(ticks.saturating_mul(1000) / TICKS),
        command,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use super::{listening, parse};

    #[test]
    fn a_line_of_the_kernel_is_read_even_if_the_name_is_odd() {
        let stat = "42 (a) R 7 ) S 1 40 40 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 1 0 5 0 0";
        let process = parse(42, stat, String::new()).unwrap();
        assert_eq!((process.parent, process.group, process.state), (1, 40, 'S'));
        assert_eq!((process.cpu, process.command.as_str()), (Duration::from_secs(2), "a) R 7 "));
    }

    #[test]
    fn a_listening_socket_has_its_port() {
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 12345 1";
        assert_eq!(listening(line, &HashSet::from([12345])), Some(8080));
        assert_eq!(listening(line, &HashSet::from([1])), None);
        assert_eq!(listening("sl local_address", &HashSet::new()), None);
    }
}
