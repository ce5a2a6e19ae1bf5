//! The binary as a user without privileges, also if the tests are run by root.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::install;

/// An unused uid, where that is possible, and a directory with the binary in it, where every user can run it.
pub(crate) struct UnprivilegedUser {
    folder: PathBuf,
    id: u32,
}

impl UnprivilegedUser {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // Tests run at the same time, in this process and beside it.
        let (process, number) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(format!("papertape-anyone-{process}-{number}"));
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        install(&folder.join("papertape"), fs::read(env!("CARGO_BIN_EXE_papertape")).unwrap());
        Self { folder, id: 1_000_000 + 16 * process + number }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The binary, started by this user in the directory, with nothing in its environment.
    pub(crate) fn papertape(&self, arguments: &[&str]) -> Command {
        self.command(Command::new(self.folder.join("papertape")), arguments)
    }

    /// The same for a user who has so many processes and threads, and no more.
    pub(crate) fn limited(&self, most: u32, arguments: &[&str]) -> Command {
        let mut command = Command::new("prlimit");
        command.arg(format!("--nproc={most}")).arg(self.folder.join("papertape"));
        self.command(command, arguments)
    }

    fn command(&self, mut command: Command, arguments: &[&str]) -> Command {
        command.args(arguments).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.current_dir(&self.folder);
        if rustix::process::geteuid().is_root() {
            command.uid(self.id).gid(self.id);
        }
        command
    }
}

impl Drop for UnprivilegedUser {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}
