//! The user's directories, as the XDG base directory specification names them.

use std::path::PathBuf;

/// For what is to be kept: `papertape` in `$XDG_DATA_HOME` or `~/.local/share`. `None` without a home directory.
pub(crate) fn data() -> Option<PathBuf> {
    of("XDG_DATA_HOME", ".local/share")
}

/// For what can be made again: `papertape` in `$XDG_CACHE_HOME` or `~/.cache`. `None` without a home directory.
pub(crate) fn cache() -> Option<PathBuf> {
    of("XDG_CACHE_HOME", ".cache")
}

fn of(variable: &str, in_home: &str) -> Option<PathBuf> {
    let directory = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = directory(variable).or_else(|| directory("HOME").map(|home| home.join(in_home)));
    base.map(|base| base.join("papertape"))
}
