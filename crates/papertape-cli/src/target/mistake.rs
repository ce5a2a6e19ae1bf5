//! Targets that look like a server but cannot be started: what they are, and what to write instead.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use papertape::client::config::ServersFile;

/// What is wrong with the words of a target, and the remedy; `None` if it may be a program.
pub(super) fn explain(words: &[String]) -> Option<String> {
    let first = words.first()?;
    let path = Path::new(first);
    if path.is_dir() && !is_in_path(first) {
        return Some(format!(
            "{first} is a directory, not a program: name the program in it that is the server"
        ));
    }
    if path.exists() {
        return socket(first).or_else(|| servers_file(first)).or_else(|| script(first, words));
    }
    if let Some(scheme) = scheme(first) {
        return Some(format!(
            "{first} has the scheme {scheme}, which is not supported: a server at a URL begins with http:// or https://"
        ));
    }
    if is_npm_name(first) {
        let command = shell_words::join(words);
        return Some(format!(
            "{first} is the name of an npm package, not of a program; to run it: -- npx -y {command}"
        ));
    }
    match words {
        [only] => url_without_scheme(only).map(|url| {
            format!(
                "{only} has no scheme: a server at a URL begins with http:// or https://; did you mean {url}?"
            )
        }),
        _ => None,
    }
}

/// A socket on which a server may listen.
#[cfg(unix)]
fn socket(first: &str) -> Option<String> {
    use std::os::unix::fs::FileTypeExt;
    let is_socket = Path::new(first).metadata().is_ok_and(|file| file.file_type().is_socket());
    is_socket.then(|| format!("{first} is a Unix socket, not a program; to connect to it: unix:{first}"))
}

#[cfg(not(unix))]
fn socket(_: &str) -> Option<String> {
    None
}

/// A file of servers.
fn servers_file(first: &str) -> Option<String> {
    let path = Path::new(first);
    path.extension().filter(|extension| extension.eq_ignore_ascii_case("json"))?;
    let names = match ServersFile::read(path) {
        Ok(file) => file.names().collect::<Vec<_>>().join(", "),
        Err(problem) => {
            return Some(format!("{first} is not a program, and not a file of servers: {problem}"));
        }
    };
    let file = shell_words::quote(first);
    Some(format!(
        "{first} is a file of servers, not a server: name one of them with --config {file} NAME\n  its servers: {names}"
    ))
}

/// A script that needs its interpreter.
fn script(first: &str, words: &[String]) -> Option<String> {
    let path = Path::new(first);
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    let interpreter = match extension.as_str() {
        "py" => "python3",
        "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" => "node",
        _ => return None,
    };
    // A program is searched for in PATH, unless its name has a slash.
    let problem = if !first.contains('/') && is_in_path(first) {
        return None;
    } else if !is_executable(path) {
        "is not executable".to_owned()
    } else if !first.contains('/') {
        "is not searched for in the current directory".to_owned()
    } else {
        match named_interpreter(path)? {
            None => "does not name its interpreter in its first line (#!)".to_owned(),
            Some(named) if Path::new(&named).exists() => return None,
            Some(named) => format!("names the interpreter {named}, which does not exist"),
        }
    };
    let command = shell_words::join(words);
    Some(format!("{first} {problem}; to run it: '{interpreter} {command}' or -- {interpreter} {command}"))
}

/// The interpreter in the first line of a script (`#!`), if it has one; `None` if the file cannot be read.
fn named_interpreter(script: &Path) -> Option<Option<String>> {
    let mut head = Vec::new();
    File::open(script).ok()?.take(256).read_to_end(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head);
    // A carriage return is part of the name.
    let line = head.split('\n').next().and_then(|line| line.strip_prefix("#!"));
    Some(
        line.map(|line| {
            line.trim_matches([' ', '\t']).split([' ', '\t']).next().unwrap_or_default().to_owned()
        }),
    )
}

/// What may be meant by a name that is not a program: a package. Names of packages have a version, a dash, or `mcp` in them.
pub(super) fn package(name: &str) -> Option<String> {
    let (plain, version) = name.split_once('@').unwrap_or((name, ""));
    let is_name = plain.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.@~^".contains(c));
    let looks_so = !version.is_empty() || plain.contains('-') || plain.contains("mcp");
    (is_name && looks_so)
        .then(|| format!("if it is a package: -- npx -y {name} (npm), or -- uvx {name} (PyPI)"))
}

fn is_in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| is_executable(&directory.join(program)))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// `@scope/name`, with or without `@version`.
fn is_npm_name(word: &str) -> bool {
    let Some((scope, name)) = word.strip_prefix('@').and_then(|rest| rest.split_once('/')) else {
        return false;
    };
    let is_part = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.~^".contains(c))
    };
    is_part(scope) && name.splitn(2, '@').all(is_part)
}

/// The scheme of a URL.
fn scheme(word: &str) -> Option<&str> {
    let (scheme, rest) = word.split_once("://")?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    (is_scheme && !rest.is_empty()).then_some(scheme)
}

/// The URL that `host:port/path` or `host/path` means.
fn url_without_scheme(word: &str) -> Option<String> {
    let (authority, path) = word.split_at(word.find('/').unwrap_or(word.len()));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) => (host, Some(port.parse::<u16>().ok()?)),
        None => (authority, None),
    };
    let is_address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok();
    let is_name = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.');
    let has_domain = host.split('.').count() > 1 && host.split('.').all(|label| !label.is_empty());
    let host = match port {
        // `:8080/mcp`
        Some(_) if host.is_empty() => "localhost",
        Some(_) if is_name || is_address => host,
        None if !path.is_empty() && (has_domain && is_name || is_address || host == "localhost") => host,
        _ => return None,
    };
    let is_local = host == "localhost" || is_address;
    let scheme = if port == Some(443) || port.is_none() && !is_local { "https" } else { "http" };
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    let path = if path.is_empty() || path == "/" { "/mcp" } else { path };
    Some(format!("{scheme}://{host}{port}{path}"))
}

#[cfg(test)]
mod tests {
    use super::{is_npm_name, package, url_without_scheme};

    #[test]
    fn a_url_without_a_scheme_is_recognised() {
        for (word, url) in [
            ("localhost:8080/mcp", "http://localhost:8080/mcp"),
            ("localhost:8080", "http://localhost:8080/mcp"),
            (":8080/mcp", "http://localhost:8080/mcp"),
            ("127.0.0.1:8080/", "http://127.0.0.1:8080/mcp"),
            ("[::1]:8080/mcp", "http://[::1]:8080/mcp"),
            ("tools.example.com/mcp", "https://tools.example.com/mcp"),
            ("tools.example.com:443/v1/mcp", "https://tools.example.com:443/v1/mcp"),
            ("devbox:3000/mcp", "http://devbox:3000/mcp"),
        ] {
            assert_eq!(url_without_scheme(word).as_deref(), Some(url), "{word}");
        }
        for word in [
            "./server",
            "bin/server",
            "../x.y/z",
            "server.py",
            "grammar",
            "a:b",
            "ws://x",
            "/usr/bin/x",
            "~/x",
            ":",
        ] {
            assert_eq!(url_without_scheme(word), None, "{word}");
        }
    }

    #[test]
    fn a_package_has_a_dash_a_version_or_mcp_in_its_name() {
        for name in ["mcp-remote", "mcp-server-fetch@1.2", "thing@latest", "firecrawlmcp"] {
            assert!(package(name).is_some_and(|hint| hint.contains(&format!("-- npx -y {name} "))), "{name}");
        }
        for name in ["", "nope", "./a-b", "a-b/c", "-x", "a-b;c", "@a/b-c"] {
            assert_eq!(package(name), None, "{name}");
        }
    }

    #[test]
    fn an_npm_name_has_a_scope() {
        for name in ["@modelcontextprotocol/server-everything", "@a/b@1.2.3", "@a/b@latest"] {
            assert!(is_npm_name(name), "{name}");
        }
        for name in ["server-everything", "@a", "@a/", "@a/b/c", "@/b", "@a/b@"] {
            assert!(!is_npm_name(name), "{name}");
        }
    }
}
