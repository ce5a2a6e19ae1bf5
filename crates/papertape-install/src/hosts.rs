//! Where hosts keep their servers, and how they write them: read from `hosts.toml`, which says how each fact is known.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::Deserialize;

use crate::entry::Entry;
use crate::plan::ConfigFile;

const FILE: &str = include_str!("../hosts.toml");

static HOSTS: LazyLock<Table> = LazyLock::new(|| {
    // A test shows that the file is valid.
    toml::from_str(FILE).unwrap_or_default()
});

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    hosts: Vec<Host>,
}

/// An application that uses MCP servers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    name: String,
    title: String,
    format: Format,
    #[serde(default)]
    accepts: Vec<Beyond>,
    container: String,
    #[serde(default)]
    gui: bool,
    project: Option<String>,
    directory: Option<String>,
    reload: String,
    logs: String,
    #[serde(default)]
    notes: String,
    evidence: String,
    user: UserFiles,
    #[serde(default)]
    entry: EntryShape,
}

/// What a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// JSON; see [`Host::accepts`].
    Json,
    /// TOML.
    Toml,
}

/// What some hosts read beside plain JSON, and others do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Beyond {
    /// `// ..` and `/* .. */`.
    Comments,
    /// A comma after the last member or item.
    TrailingCommas,
    /// U+FEFF at the beginning.
    ByteOrderMark,
}

/// The systems that hosts run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Os {
    /// macOS.
    MacOs,
    /// Linux, and other Unix.
    Linux,
    /// Windows.
    Windows,
}

/// The file of the user, by system: the first one whose variables are set.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UserFiles {
    macos: Vec<String>,
    linux: Vec<String>,
    windows: Vec<String>,
}

/// What entries have beside `command`, `args` and `env`, and how servers at a URL are written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EntryShape {
    /// `type` of a server that is started.
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
    /// Zed's.
    pub(crate) source: Option<String>,
    /// Copilot CLI's list of the tools that are offered.
    pub(crate) tools: Option<Vec<String>>,
    /// The member with the URL; `None` if the file has no servers at one.
    pub(crate) url: Option<String>,
    /// `type` of a server at a URL.
    pub(crate) url_type: Option<String>,
    /// The member with the HTTP headers, if it is not `headers`.
    pub(crate) headers: Option<String>,
}

impl Beyond {
    /// Everything that a host may accept.
    pub const ALL: [Self; 3] = [Self::Comments, Self::TrailingCommas, Self::ByteOrderMark];

    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Comments => "comments",
            Self::TrailingCommas => "commas after the last one",
            Self::ByteOrderMark => "a byte order mark",
        }
    }
}

impl Os {
    /// The system of this program.
    #[must_use]
    pub fn current() -> Self {
        if cfg!(windows) {
            Os::Windows
        } else if cfg!(target_os = "macos") {
            Os::MacOs
        } else {
            Os::Linux
        }
    }
}

impl Host {
    /// All hosts of the table.
    #[must_use]
    pub fn all() -> &'static [Host] {
        &HOSTS.hosts
    }

    /// The host of this name, as `papertape install` takes it.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Host> {
        Self::all().iter().find(|host| host.name == name)
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name for people.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// What its file is written in.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether it reads this in its file.
    #[must_use]
    pub fn accepts(&self, beyond: Beyond) -> bool {
        self.accepts.contains(&beyond)
    }

    /// The member of the file that has the servers.
    #[must_use]
    pub fn container(&self) -> &str {
        &self.container
    }

    /// Whether it is started from a menu, without the `PATH` of a shell.
    #[must_use]
    pub fn is_gui(&self) -> bool {
        self.gui
    }

    /// How it gets to know a changed file.
    #[must_use]
    pub fn reload(&self) -> &str {
        &self.reload
    }

    /// A file of it with one server; empty if it has no such servers.
    #[must_use]
    pub fn example(&'static self, name: &str, entry: &Entry) -> String {
        ConfigFile::example(self, name, entry)
    }

    /// Where it writes what servers write to stderr.
    #[must_use]
    pub fn logs(&self) -> &str {
        &self.logs
    }

    /// What else there is to know; may be empty.
    #[must_use]
    pub fn notes(&self) -> &str {
        &self.notes
    }

    /// How this is known.
    #[must_use]
    pub fn evidence(&self) -> &str {
        &self.evidence
    }

    /// Whether its file can have servers at a URL.
    #[must_use]
    pub fn takes_urls(&self) -> bool {
        self.entry.url.is_some()
    }

    pub(crate) fn shape(&self) -> &EntryShape {
        &self.entry
    }

    /// The file of the user, as it is written in documentation.
    #[must_use]
    pub fn user_file_template(&self, os: Os) -> &str {
        self.user.of(os).last().map_or("", String::as_str)
    }

    /// The file of the user. `None` if a variable that it needs is not set, such as `HOME`.
    pub fn user_file(&self, os: Os, variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
        self.user.of(os).iter().find_map(|template| expand(template, os, &variable))
    }

    /// The file of a project, relative to its directory.
    #[must_use]
    pub fn project_file(&self) -> Option<&Path> {
        self.project.as_deref().map(Path::new)
    }

    /// A directory that is there if the host has been used on this machine.
    pub fn directory(&self, os: Os, variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
        match &self.directory {
            Some(template) => expand(template, os, &variable),
            None => self.user_file(os, variable)?.parent().map(Path::to_owned),
        }
    }
}

impl UserFiles {
    fn of(&self, os: Os) -> &[String] {
        match os {
            Os::MacOs => &self.macos,
            Os::Linux => &self.linux,
            Os::Windows => &self.windows,
        }
    }
}

/// `~/..`, `$NAME/..` or `%NAME%\..` with the value of the variable, if it is set.
fn expand(template: &str, os: Os, variable: &impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let value = |name: &str| variable(name).filter(|value| !value.is_empty());
    let home = if os == Os::Windows { "USERPROFILE" } else { "HOME" };
    let (base, rest) = if let Some(rest) = template.strip_prefix("~/") {
        (value(home)?, rest)
    } else if let Some(rest) = template.strip_prefix('$') {
        let (name, rest) = rest.split_once('/')?;
        (value(name)?, rest)
    } else {
        let (name, rest) = template.strip_prefix('%')?.split_once("%\\")?;
        (value(name)?, rest)
    };
    Some(if os == Os::Windows { format!("{base}\\{rest}").into() } else { Path::new(&base).join(rest) })
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{FILE, Host, Os, Table};

    #[test]
    fn the_table_is_valid() {
        let table: Table = toml::from_str(FILE).unwrap();
        let names: Vec<&str> = table.hosts.iter().map(|host| host.name.as_str()).collect();
        let all = [
            "claude-desktop",
            "claude-code",
            "cursor",
            "vscode",
            "zed",
            "codex",
            "gemini",
            "windsurf",
            "copilot",
        ];
        assert_eq!(names, all);
        for host in &table.hosts {
            for os in [Os::MacOs, Os::Linux, Os::Windows] {
                let none = |_: &str| None;
                let home = |name: &str| {
                    ["HOME", "USERPROFILE", "APPDATA"].contains(&name).then(|| format!("/of/{name}"))
                };
                assert_eq!(host.user_file(os, none), None, "{} {os:?}", host.name);
                assert!(host.user_file(os, home).is_some(), "{} {os:?}", host.name);
                assert!(host.directory(os, home).is_some(), "{} {os:?}", host.name);
            }
            assert!(host.evidence.contains("2026"), "{}", host.name);
        }
    }

    #[test]
    fn the_file_follows_the_system_and_its_variables() {
        let file = |name: &str, os, set: &[(&str, &str)]| {
            let variable = |name: &str| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            Host::find(name).unwrap().user_file(os, variable)
        };
        let home = ("HOME", "/home/me");
        for (name, os, set, right) in [
            ("codex", Os::Linux, vec![home], "/home/me/.codex/config.toml"),
            ("codex", Os::Linux, vec![home, ("CODEX_HOME", "/c")], "/c/config.toml"),
            ("codex", Os::MacOs, vec![home, ("CODEX_HOME", "")], "/home/me/.codex/config.toml"),
            ("zed", Os::Linux, vec![home, ("XDG_CONFIG_HOME", "/x")], "/x/zed/settings.json"),
            ("zed", Os::MacOs, vec![home, ("XDG_CONFIG_HOME", "/x")], "/home/me/.config/zed/settings.json"),
            ("claude-code", Os::Linux, vec![home], "/home/me/.claude.json"),
            (
                "claude-desktop",
                Os::MacOs,
                vec![home],
                "/home/me/Library/Application Support/Claude/claude_desktop_config.json",
            ),
            ("vscode", Os::Windows, vec![("APPDATA", "C:\\A")], "C:\\A\\Code\\User\\mcp.json"),
        ] {
            assert_eq!(file(name, os, &set), Some(PathBuf::from(right)), "{name} {os:?} {set:?}");
        }
    }

    /// What the page for people says is what the table says.
    #[test]
    fn the_page_on_hosts_names_the_same_files() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hosts.md");
        let page = std::fs::read_to_string(page).unwrap();
        for host in Host::all() {
            let title = host.title();
            let row = page.lines().find(|line| line.starts_with(&format!("| {title} |"))).unwrap();
            let file = host.user_file_template(Os::Linux);
            let (folder, name) = file.rsplit_once('/').unwrap();
            assert!(row.contains(folder) && row.contains(name), "{title}: {file} is not in\n{row}");
            let project = host.project.as_deref().unwrap_or_default();
            assert!(row.contains(project), "{title}: {project} is not in\n{row}");
            assert!(page.contains(host.container()), "{title}");
        }
    }
}
