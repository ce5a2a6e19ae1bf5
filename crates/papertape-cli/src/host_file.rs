//! The file of a host that `install`, `uninstall` and `hosts` are about, and what they report.

use std::path::{Path, PathBuf};

use papertape::guess;
use papertape_install::{Applied, ConfigFile, Host, InstallError, MOST_BACKUPS, Os, Outcome, Plan};
use serde_json::json;

use crate::args::{HostFile, Output};
use crate::directories;
use crate::exit::{self, Failure};
use crate::print::text::safe;
use crate::print::{self, Look};

/// What a change is about.
pub(crate) struct Change<'a> {
    pub(crate) host: &'static Host,
    pub(crate) name: &'a str,
    pub(crate) options: &'a HostFile,
    /// What the user should know besides.
    pub(crate) notes: Vec<String>,
}

/// The host of this name, which has been parsed.
pub(crate) fn host(name: &str) -> Result<&'static Host, Failure> {
    Host::find(name).ok_or_else(|| Failure::usage(format!("there is no host \"{name}\"")))
}

/// A variable of the environment, for the paths of hosts.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The file that the options name: that of the user without any.
pub(crate) fn read(host: &'static Host, options: &HostFile) -> Result<ConfigFile, Failure> {
    let path = match (&options.file, options.project) {
        (Some(file), _) => file.clone(),
        (None, true) => {
            let file = host.project_file().ok_or_else(|| {
                Failure::usage(format!("{} has no file of a project: leave out --project", host.title()))
            })?;
            std::env::current_dir().unwrap_or_default().join(file)
        }
        (None, false) => user_file(host)?,
    };
    let file = ConfigFile::read(host, &path)?;
    Ok(match directories::data() {
        Some(folder) => file.with_records(&folder),
        None => file,
    })
}

/// The file of the user.
pub(crate) fn user_file(host: &Host) -> Result<PathBuf, Failure> {
    host.user_file(Os::current(), variable)
        .ok_or_else(|| Failure::usage("there is no home directory: set HOME, or name the file with --file"))
}

impl Change<'_> {
    /// Writes a plan and reports it, or prints its diff.
    pub(crate) fn carry_out(mut self, file: &ConfigFile, plan: &Plan<'_>) -> Result<(), Failure> {
        let written = if self.options.dry_run { None } else { Some(plan.apply()?) };
        self.notes.extend(file.rejected().map(ToString::to_string));
        if let Some(error) = written.as_ref().and_then(|written| written.unrecorded.as_ref()) {
            self.notes.push(format!(
                "what was there before is not recorded ({error}): `papertape uninstall` will remove the entry, but perhaps not \
                 restore every byte"
            ));
        }
        match self.options.output {
            Output::Json => print::document(&self.document(file, plan, written.as_ref()))?,
            Output::Text => {
                match &written {
                    Some(written) => print::out(self.sentence(file, plan, written))?,
                    None => print::out(diff(plan))?,
                }
                for note in &self.notes {
                    exit::note(note);
                }
            }
        }
        Ok(())
    }

    fn document(&self, file: &ConfigFile, plan: &Plan<'_>, written: Option<&Applied>) -> serde_json::Value {
        json!({
            "host": self.host.name(),
            "name": self.name,
            "file": file.path().to_string_lossy(),
            "outcome": outcome(plan.outcome()),
            "dry_run": written.is_none(),
            "backup": written.and_then(|written| written.backup.as_ref()).map(|path| path.to_string_lossy()),
            "diff": plan.diff(),
            "notes": self.notes,
        })
    }

    /// What was done, the backup, and what is to be done now.
    fn sentence(&self, file: &ConfigFile, plan: &Plan<'_>, written: &Applied) -> String {
        let (name, title, path) = (self.name, self.host.title(), file.path().display());
        let done = match plan.outcome() {
            Outcome::Added => format!("{title} has the server {name} now: {path}"),
            Outcome::Replaced => format!("{title} has another server {name} now: {path}"),
            Outcome::Unchanged => {
                return safe(&format!("{title} has this already, nothing was written: {path}\n"));
            }
            Outcome::Removed => format!("{title} does not have the server {name} any more: {path}"),
            Outcome::FileRemoved => {
                format!(
                    "{title} does not have the server {name} any more, and the file, which was made for it, is gone: {path}"
                )
            }
            Outcome::Wrapped => format!("{title} records the server {name} now: {path}"),
            Outcome::Unwrapped => format!("{title} does not record the server {name} any more: {path}"),
        };
        let mut text = format!("{done}\n");
        if let Some(backup) = &written.backup {
            text += &format!("  backup: {} (the newest {MOST_BACKUPS} are kept)\n", backup.display());
        }
        text += &format!("  {}\n", print::plain(self.host.reload()));
        safe(&text)
    }
}

/// The word for programs.
fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Added => "added",
        Outcome::Replaced => "replaced",
        Outcome::Unchanged => "unchanged",
        Outcome::Removed => "removed",
        Outcome::FileRemoved => "file_removed",
        Outcome::Wrapped => "wrapped",
        Outcome::Unwrapped => "unwrapped",
    }
}

/// The diff as it is, for `patch`; on a terminal without control characters.
fn diff(plan: &Plan<'_>) -> String {
    if Look::of_stdout().terminal { safe(&plan.diff()) } else { plan.diff() }
}

/// With what the file has in place of an unknown name.
impl From<InstallError> for Failure {
    fn from(error: InstallError) -> Self {
        match &error {
            InstallError::Changed(_) | InstallError::Unwritable { .. } => Failure::Output(error.to_string()),
            InstallError::Invalid { .. } => {
                Failure::usage(format!("{error}\n  correct the file first: it was not written"))
            }
            InstallError::NoServer { name, known, .. } => {
                let hint = guess::hint(name, known.iter().map(String::as_str));
                let names = if known.is_empty() { "it has none".to_owned() } else { known.join(", ") };
                Failure::usage(format!("{error}{hint}\n  its servers: {names}"))
            }
            _ => Failure::usage(error.to_string()),
        }
    }
}

/// The path of this program.
pub(crate) fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::usage(format!("cannot find the path of this program: {error}")))
}

/// The path from the root on.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
