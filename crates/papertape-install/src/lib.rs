//! MCP servers in the configuration files of hosts: found, added, wrapped with the recorder, and removed again, with every
//! byte outside the edit as it was.
//!
//! [`Host`] says where a host keeps its servers and how it writes them (`hosts.toml`); [`ConfigFile`] is one such file as it was read;
//! [`Plan`] is what it would become, which is shown ([`Plan::diff`]) or written ([`Plan::apply`]).
//!
//! ```
//! use papertape_install::{ConfigFile, Entry, Host, InstallError};
//!
//! fn main() -> Result<(), InstallError> {
//!     let host = Host::find("cursor").expect("it is in the table");
//!     let file = ConfigFile::read(host, "no-such-file.json".as_ref())?;
//!     let entry = Entry::process("/usr/bin/papertape", ["serve", "grammar"]);
//!     let plan = file.install("grammar", &entry, false)?;
//!     assert!(plan.diff().contains("+    \"grammar\": {"));
//!     Ok(())
//! }
//! ```

mod diff;
mod edit;
mod entry;
mod error;
mod file;
mod hosts;
mod json;
mod plan;
mod recorder;
mod records;
mod toml_text;

pub use entry::Entry;
pub use error::InstallError;
pub use file::MOST_BACKUPS;
pub use hosts::{Beyond, Format, Host, Os};
pub use plan::{Applied, ConfigFile, Outcome, Plan, Server};
pub use recorder::Recorder;

/// A text as a string of TOML.
#[must_use]
pub fn toml_string(text: &str) -> String {
    toml_text::quoted(text)
}
