//! What was typed as the server to the command that starts it, or the address where it is.

use std::ffi::OsString;
use std::fmt;

use anyhow::Context;
use papertape::http::Endpoint;
use papertape::stdio::ServerCommand;

use crate::exit::Failure;
use crate::guess;

/// A server that can be started or reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// One of ours, run by this same binary, with options of its own.
    Bundled { name: &'static str, options: Vec<String> },
    /// Any program.
    Command { program: OsString, arguments: Vec<OsString> },
    /// One that runs already.
    Url(String),
}

/// How a server is come by.
pub(crate) enum Way {
    Start(ServerCommand),
    Reach(Endpoint),
}

impl Target {
    /// A bundled name and its options, a URL, or a command line that is split as a shell would and run without one.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        if matches!(scheme.as_deref(), Some("http" | "https")) {
            return Ok(Target::Url(text.to_owned()));
        }
        let words = shell_words::split(text)
            .map_err(|error| Failure::usage(format!("{text}: no command line: {error}")))?;
        if let [first, options @ ..] = words.as_slice()
            && let Some(name) = bundled_name(first)
            && options.first().is_none_or(|option| option.starts_with('-'))
        {
            return Ok(Target::Bundled { name, options: options.to_vec() });
        }
        Self::of_words(words.into_iter().map(OsString::from).collect())
            .ok_or_else(|| Failure::usage(format!("which server? {KINDS}")))
    }

    /// A command after `--`; nothing if there is none.
    pub(crate) fn of_words(words: Vec<OsString>) -> Option<Self> {
        let mut words = words.into_iter();
        let program = words.next().filter(|program| !program.is_empty())?;
        Some(Target::Command { program, arguments: words.collect() })
    }

    /// How to come by it.
    pub(crate) fn way(&self) -> anyhow::Result<Way> {
        Ok(match self {
            Target::Bundled { name, options } => Way::Start(bundled(name)?.args(options)),
            Target::Command { program, arguments } => Way::Start(ServerCommand::new(program).args(arguments)),
            Target::Url(url) => Way::Reach(Endpoint::new(url)),
        })
    }

    /// For a program that is not there: what may have been meant.
    pub(crate) fn hint(&self) -> String {
        let Target::Command { program, arguments } = self else { return String::new() };
        if program.to_string_lossy().contains("://") {
            return "; a server at a URL is reached by http:// or https://".to_owned();
        }
        let known = papertape_servers::ALL.map(|server| server.name);
        match program.to_str().and_then(|typed| guess::nearest(typed, known)) {
            Some(name) if arguments.is_empty() => format!("; did you mean the bundled server \"{name}\"?"),
            _ => String::new(),
        }
    }
}

fn bundled_name(word: &str) -> Option<&'static str> {
    papertape_servers::ALL.into_iter().map(|server| server.name).find(|name| *name == word)
}

/// How to start one of our own servers: with this same program.
pub(crate) fn bundled(name: &str) -> anyhow::Result<ServerCommand> {
    let this = std::env::current_exe().context("cannot find this program's own file")?;
    Ok(ServerCommand::new(this).args(["serve", name]))
}

/// The server and the words after it: the first word is the target, unless a command after `--` stands in its place.
pub(crate) fn split(
    mut words: Vec<String>,
    command: Vec<OsString>,
) -> Result<(Target, Vec<String>), Failure> {
    if let Some(target) = Target::of_words(command) {
        return Ok((target, words));
    }
    if words.is_empty() {
        return Err(Failure::usage(format!("which server? {KINDS}")));
    }
    let target = Target::parse(&words.remove(0))?;
    Ok((target, words))
}

/// What a target can be, for those who gave none.
pub(crate) const KINDS: &str = "give a bundled name (blog, grammar, text), a URL, a quoted command line such as \
    'python3 server.py', or a command after --";

/// As it can be typed: a program alone, such as `python3`, does not tell one server from another.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Bundled { name, options } => {
                let words = std::iter::once(*name).chain(options.iter().map(String::as_str));
                f.write_str(&shell_words::join(words))
            }
            Target::Command { program, arguments } => {
                let words = std::iter::once(program).chain(arguments).map(|word| word.to_string_lossy());
                f.write_str(&shell_words::join(words))
            }
            Target::Url(url) => f.write_str(url),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    fn command(words: &[&str]) -> Target {
        Target::of_words(words.iter().map(Into::into).collect()).unwrap()
    }

    #[test]
    fn a_target_is_a_name_a_url_or_a_command_line() {
        let parse = |text| Target::parse(text).unwrap();
        for url in ["http://localhost:1/mcp", "HTTPS://example.com"] {
            assert_eq!(parse(url), Target::Url(url.to_owned()));
        }
        assert_eq!(parse("ws://x"), command(&["ws://x"]));
        let bundled = |name, options: &[&str]| Target::Bundled {
            name,
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
    fn a_target_is_shown_as_it_can_be_typed() {
        for text in [
            "blog --content 'my notes'",
            "python3 'my server.py' --flag",
            "grammar",
            "https://example.com/mcp",
        ] {
            assert_eq!(Target::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn an_address_that_no_server_can_have_is_not_taken_for_a_program_alone() {
        assert!(Target::parse("ws://x").unwrap().hint().contains("https://"));
    }

    #[test]
    fn what_is_no_target_is_said() {
        let refuse = |text| Target::parse(text).unwrap_err().to_string();
        assert!(refuse("a 'b").contains("no command line"));
        for empty in ["", "  ", "''"] {
            assert!(refuse(empty).contains("which server?"), "{empty:?}");
        }
    }
}
