//! The target of a client command: a bundled server, a server of an `mcpServers` file, a command or a URL.

mod mistake;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use papertape::client::config::{ConfiguredServer, ServersFile};
use papertape::guess;
use papertape::stdio::ServerCommand;

use crate::args::{BundledServer, FromFile};
use crate::exit::{self, Failure};
use crate::servers_file::{self, DEFAULT};

/// A server to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// A bundled server, run by this same binary, with its own options.
    Bundled { name: String, options: Vec<String> },
    /// A server of an `mcpServers` file.
    Configured(ConfiguredServer),
    /// Any program.
    Command { program: OsString, arguments: Vec<OsString> },
    /// A server over HTTP.
    Url(String),
    /// A server on a Unix domain socket: `unix:PATH`.
    Unix(PathBuf),
}

/// How to connect to a target.
pub(crate) enum Connector {
    Process(ServerCommand),
    Http { url: String, headers: Vec<(String, String)> },
    Unix(PathBuf),
}

impl Target {
    /// A URL, `unix:PATH`, a name of an `mcpServers` file (`config`, or `.mcp.json` in the current directory), a bundled name and its options,
    /// or a command line, which is split like a shell does and run without one.
    ///
    /// A bundled name means another server only with `--config`: a directory must not decide which program `grammar` starts.
    pub(crate) fn parse(text: &str, options: &FromFile) -> Result<Self, Failure> {
        let target = Self::find(text, options)?;
        // A bundled name may be given with --config, which then has no server of that name.
        if let Some(option) = options.values_given().filter(|_| !matches!(target, Target::Configured(_))) {
            return Err(Failure::usage(format!(
                "{option} is for servers of a file, and {target} is not one"
            )));
        }
        Ok(target)
    }

    fn find(text: &str, options: &FromFile) -> Result<Self, Failure> {
        let config = options.config.as_deref();
        let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        if matches!(scheme.as_deref(), Some("http" | "https")) {
            refuse(options, &format!("{text} is a URL"))?;
            return Ok(Target::Url(text.to_owned()));
        }
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            refuse(options, &format!("{text} is a socket"))?;
            return Ok(Target::Unix(path.into()));
        }
        let words = shell_words::split(text)
            .map_err(|error| Failure::usage(format!("{text}: not a command line: {error}")))?;
        let bundled = bundled_target(&words);
        if config.is_none()
            && let Some(bundled) = bundled
        {
            return Ok(bundled);
        }
        let mut file = file_of_servers(text, config)?;
        let name = text.trim();
        if let Some(file) = file.take_if(|file| file.names().any(|listed| listed == name)) {
            if bundled.is_some() {
                exit::note(&format!(
                    "using the server \"{text}\" of {}; the bundled one: -- papertape serve {text}",
                    file.path().display()
                ));
            }
            return servers_file::find(file, name, options).map(Target::Configured);
        }
        if let Some(bundled) = bundled {
            return Ok(bundled);
        }
        if let Some(file) = file.filter(|_| config.is_some() && !text.trim().is_empty()) {
            return Err(servers_file::unknown(&file, text.trim(), &BundledServer::names()));
        }
        if let Some(problem) = mistake::explain(&words) {
            return Err(Failure::usage(problem));
        }
        Self::of_words(words.into_iter().map(OsString::from).collect())
            .ok_or_else(|| Failure::usage(format!("which server? {KINDS}")))
    }

    /// The URL of a server over HTTP, which may be given by its name in an `mcpServers` file.
    pub(crate) fn url(text: &str, options: &FromFile) -> Result<String, Failure> {
        let target = Self::parse(text, options)?;
        target.http_url().map(str::to_owned).ok_or_else(|| {
            if let Target::Command { .. } = target {
                return Failure::usage(no_url(text));
            }
            let kind =
                if matches!(target, Target::Unix(_)) { "is a socket" } else { "is started as a process" };
            Failure::usage(format!(
                "{target} {kind}, and authorization is for servers at a URL: give a URL, or the name of a \
                 server at one"
            ))
        })
    }

    /// The URL of a server over HTTP.
    pub(crate) fn http_url(&self) -> Option<&str> {
        match self {
            Target::Url(url) => Some(url),
            Target::Configured(server) => server.url(),
            Target::Bundled { .. } | Target::Command { .. } | Target::Unix(_) => None,
        }
    }

    /// A command after `--`; `None` if it is empty.
    pub(crate) fn of_words(words: Vec<OsString>) -> Option<Self> {
        let mut words = words.into_iter();
        let program = words.next().filter(|program| !program.is_empty())?;
        Some(Target::Command { program, arguments: words.collect() })
    }

    /// How to connect to it.
    pub(crate) fn connector(&self) -> anyhow::Result<Connector> {
        Ok(match self {
            Target::Bundled { name, options } => Connector::Process(bundled(name)?.args(options)),
            Target::Command { program, arguments } => {
                Connector::Process(ServerCommand::new(program).args(arguments))
            }
            Target::Configured(server) => servers_file::connector(server),
            Target::Unix(path) => Connector::Unix(path.clone()),
            Target::Url(url) => Connector::Http { url: url.clone(), headers: Vec::new() },
        })
    }

    /// For a program that does not exist: what may have been meant.
    pub(crate) fn hint(&self) -> String {
        let Target::Command { program, arguments } = self else { return String::new() };
        if program.to_string_lossy().contains("://") {
            return "; the URL of a server begins with http:// or https://".to_owned();
        }
        let package = program.to_str().and_then(mistake::package).map(|hint| format!("; {hint}"));
        let package = package.unwrap_or_default();
        let Some(typed) = program.to_str().filter(|_| arguments.is_empty()) else { return package };
        let bundled = BundledServer::names();
        let file = servers_file::in_current_directory().and_then(Result::ok);
        let names = file.iter().flat_map(ServersFile::names);
        match guess::nearest(typed, names.clone().chain(bundled.iter().map(String::as_str))) {
            Some(name) if names.clone().any(|listed| listed == name) => {
                format!("; did you mean the server \"{name}\" of {DEFAULT}?")
            }
            Some(name) => format!("; did you mean the bundled server \"{name}\"?"),
            None if names.clone().next().is_some() => {
                format!("; the servers of {DEFAULT}: {}{package}", names.collect::<Vec<_>>().join(", "))
            }
            None => package,
        }
    }
}

/// The error for a word that is neither a URL nor a name of the file in the current directory.
fn no_url(text: &str) -> String {
    let file = servers_file::in_current_directory().and_then(Result::ok);
    let problem = match &file {
        Some(file) => format!("{DEFAULT} has no server \"{text}\"{}", guess::hint(text, file.names())),
        None => format!("there is no {DEFAULT} in the current directory"),
    };
    let names = file.iter().flat_map(ServersFile::names).collect::<Vec<_>>().join(", ");
    let names = if names.is_empty() { names } else { format!("\n  its servers: {names}") };
    format!(
        "{text} is not a URL, and {problem}{names}\n  give the URL of the server, such as https://tools.example/mcp, or the name \
         of one at a URL in {DEFAULT} or --config FILE"
    )
}

/// A bundled name and its options.
fn bundled_target(words: &[String]) -> Option<Target> {
    let [first, options @ ..] = words else { return None };
    let is_bundled = BundledServer::names().contains(first)
        && options.first().is_none_or(|option| option.starts_with('-'));
    is_bundled.then(|| Target::Bundled { name: first.clone(), options: options.to_vec() })
}

/// The file of `--config`, or that of the current directory. Without `--config`, an invalid one is only a warning.
fn file_of_servers(text: &str, config: Option<&Path>) -> Result<Option<ServersFile>, Failure> {
    match config {
        Some(path) => servers_file::open(path).map(Some),
        None => Ok(servers_file::in_current_directory().and_then(|file| {
            file.inspect_err(|problem| {
                // A path or a command line is not a name.
                if !text.contains(['/', ' ']) {
                    exit::note(&format!("warning: {DEFAULT} is not used: {problem}"));
                }
            })
            .ok()
        })),
    }
}

/// Options for servers of a file do not apply to others.
fn refuse(options: &FromFile, because: &str) -> Result<(), Failure> {
    match options.given() {
        Some(option) => {
            Err(Failure::usage(format!("{option} is for servers that are given by name, and {because}")))
        }
        None => Ok(()),
    }
}

/// The command for a bundled server: this same program.
pub(crate) fn bundled(name: &str) -> anyhow::Result<ServerCommand> {
    let this = std::env::current_exe().context("cannot find the path of this program")?;
    Ok(ServerCommand::new(this).args(["serve", name]))
}

/// The target and the arguments after it: the first argument is the target, unless there is a command after `--`.
pub(crate) fn split(
    mut words: Vec<String>,
    command: Vec<OsString>,
    options: &FromFile,
) -> Result<(Target, Vec<String>), Failure> {
    if let Some(target) = Target::of_words(command) {
        refuse(options, "there is a command after --")?;
        return Ok((target, words));
    }
    if words.is_empty() {
        return Err(Failure::usage(format!("which server? {KINDS}")));
    }
    let target = Target::parse(&words.remove(0), options)?;
    Ok((target, words))
}

/// What a target can be, for errors.
pub(crate) const KINDS: &str = "give a bundled name (blog, grammar, text, all), a URL, unix:SOCKET, a quoted command line such as \
    'python3 server.py', a name of .mcp.json or --config FILE, or a command after --";

/// As it can be typed, with all arguments: a program name such as `python3` does not identify a server.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Bundled { name, options } => {
                let words = std::iter::once(name.as_str()).chain(options.iter().map(String::as_str));
                f.write_str(&shell_words::join(words))
            }
            Target::Command { program, arguments } => {
                let words = std::iter::once(program).chain(arguments).map(|word| word.to_string_lossy());
                f.write_str(&shell_words::join(words))
            }
            Target::Configured(server) => f.write_str(server.name()),
            Target::Url(url) => f.write_str(url),
            Target::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Target;
    use crate::args::FromFile;

    fn command(words: &[&str]) -> Target {
        Target::of_words(words.iter().map(Into::into).collect()).unwrap()
    }

    #[test]
    fn a_target_is_a_name_a_url_or_a_command_line() {
        let parse = |text| Target::parse(text, &FromFile::default()).unwrap();
        for url in ["http://localhost:1/mcp", "HTTPS://example.com"] {
            assert_eq!(parse(url), Target::Url(url.to_owned()));
        }
        let bundled = |name: &str, options: &[&str]| Target::Bundled {
            name: name.to_owned(),
            options: options.iter().map(|&option| option.to_owned()).collect(),
        };
        assert_eq!(parse("grammar"), bundled("grammar", &[]));
        assert_eq!(parse(" blog --content 'my notes'"), bundled("blog", &["--content", "my notes"]));
        assert_eq!(parse("text file.txt --x"), command(&["text", "file.txt", "--x"]));
        assert_eq!(parse("./blog --x"), command(&["./blog", "--x"]));
        assert_eq!(parse("python3 'my server.py' --flag"), command(&["python3", "my server.py", "--flag"]));
        assert_eq!(parse(r#"a "$HOME" \* ~"#), command(&["a", "$HOME", "*", "~"]));
    }

    #[test]
    fn a_target_is_displayed_as_it_can_be_typed() {
        for text in [
            "blog --content 'my notes'",
            "python3 'my server.py' --flag",
            "grammar",
            "https://example.com/mcp",
        ] {
            assert_eq!(Target::parse(text, &FromFile::default()).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_url_of_another_scheme_is_an_error() {
        let error = Target::parse("ws://x", &FromFile::default()).unwrap_err().to_string();
        assert!(error.contains("ws") && error.contains("https://"), "{error}");
    }

    #[test]
    fn an_invalid_target_is_an_error() {
        let refuse = |text| Target::parse(text, &FromFile::default()).unwrap_err().to_string();
        assert!(refuse("a 'b").contains("not a command line"));
        for empty in ["", "  ", "''"] {
            assert!(refuse(empty).contains("which server?"), "{empty:?}");
        }
    }
}
