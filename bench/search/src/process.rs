//! Memory and CPU time of this process, from the kernel.

use std::fs;

/// Memory, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Memory {
    /// Now, without what is only the kernel's copy of files.
    pub(crate) own: u64,
    /// Now, with the pages of mapped files.
    pub(crate) resident: u64,
    /// The most there ever was.
    pub(crate) peak: u64,
}

/// Of this process; zeros where there is no `/proc`.
pub(crate) fn memory() -> Memory {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kilobytes.unwrap_or_default() * 1024
    };
    Memory { own: field("RssAnon"), resident: field("VmRSS"), peak: field("VmHWM") }
}
