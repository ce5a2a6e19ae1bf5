//! A command that cannot be started: where it is, and what is wrong with it.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use papertape::stdio::ServerCommand;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;
use tokio::time::timeout;

use crate::code::start::{PT0201, PT0202, PT0207};
use crate::evidence::Evidence;
use crate::finding::Finding;
use crate::hosts::affected;

/// The `PATH` of programs that a desktop starts, such as Claude Desktop on macOS.
pub(crate) const SHORT_PATH: &str = "/usr/bin:/bin:/usr/sbin:/sbin";

/// Where version managers and package managers install programs, in the home directory. `*` is a version.
const IN_HOME: [&str; 15] = [
    ".nvm/versions/node/*/bin",
    ".volta/bin",
    ".asdf/shims",
    ".local/share/mise/shims",
    ".fnm/node-versions/*/installation/bin",
    ".bun/bin",
    ".deno/bin",
    ".npm-global/bin",
    ".local/share/pnpm",
    ".local/bin",
    ".pyenv/shims",
    ".cargo/bin",
    "go/bin",
    ".rbenv/shims",
    "bin",
];

/// Where else.
const ELSEWHERE: [&str; 6] = [
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/snap/bin",
    "/opt/local/bin",
    "/usr/local/go/bin",
];

/// How long a login shell may take.
const SHELL_TIMEOUT: Duration = Duration::from_secs(3);

/// Why a command could not be started.
pub(crate) async fn not_started(command: &ServerCommand, error: &io::Error) -> Finding {
    let program = Path::new(command.program());
    if let Some(directory) = command.directory().filter(|directory| !directory.is_dir()) {
        return Finding::new(PT0201, format!("the working directory {} does not exist", directory.display()))
            .remedy("correct the working directory in the configuration")
            .affects(affected("PT0201"));
    }
    match find(program, command.directory()) {
        Some(file) => cannot_be_executed(&file, error),
        None => not_found(program).await.evidence(Evidence::fact(error.to_string())),
    }
}

async fn not_found(program: &Path) -> Finding {
    let name = program.display();
    let mut finding = Finding::new(PT0201, String::new()).affects(affected("PT0201"));
    if program.as_os_str().is_empty() {
        finding.message = "the command is empty".to_owned();
        return finding.remedy("name a program");
    }
    if has_directory(program) {
        finding.message = format!("there is no file {name}");
        return finding.remedy("correct the path; in the configuration of a host, make it absolute");
    }
    let path = env::var_os("PATH").unwrap_or_default();
    finding = finding.evidence(Evidence::fact(format!("PATH is {}", path.display())));
    let found = match from_login_shell(program.as_os_str()).await {
        Some(found) => Some((found, "a login shell")),
        None => usual_places(program).into_iter().next().map(|found| (found, "the usual places")),
    };
    match found {
        Some((file, by)) => {
            finding.message = format!("`{name}` is not on the PATH, but {by} has it: {}", file.display());
            finding.remedy(format!(
                "use the absolute path {} as the command, or add its directory to PATH in `env`",
                file.display()
            ))
        }
        None => {
            finding.message = format!("there is no program `{name}` on the PATH");
            finding.remedy(format!(
                "install `{name}`, or give the absolute path of it: hosts do not have the PATH of your shell"
            ))
        }
    }
}

/// A file that is there, but is not started.
fn cannot_be_executed(file: &Path, error: &io::Error) -> Finding {
    let name = file.display();
    let finding = Finding::new(PT0202, String::new())
        .affects(affected("PT0202"))
        .evidence(Evidence::fact(error.to_string()));
    let executable = fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0);
    let interpreter = interpreter(file);
    let (message, remedy) = match (&interpreter, executable) {
        _ if file.is_dir() => (format!("{name} is a directory"), "name a program in it".to_owned()),
        (_, false) => (format!("{name} is not executable"), format!("run `chmod +x {name}`, or start it with its interpreter")),
        (Some(interpreter), true) if interpreter.ends_with('\r') => (
            format!("the first line of {name} ends with CR LF, so that its interpreter is not found"),
            "save the script with line feeds alone".to_owned(),
        ),
        (Some(interpreter), true) if !Path::new(interpreter).exists() => (
            format!("the interpreter in the first line of {name} does not exist: {interpreter}"),
            "install it, correct the first line (`#!/usr/bin/env NAME`), or start the script with an interpreter; \
             a virtual environment that was moved has to be made again"
                .to_owned(),
        ),
        (Some(interpreter), true) => (
            format!("{name} cannot be executed by {interpreter}: {error}"),
            "run it in a shell to see why".to_owned(),
        ),
        (None, true) => (
            format!("{name} cannot be executed: {error}"),
            "check that it is built for this system and its processor, and that its dynamic linker is installed".to_owned(),
        ),
    };
    Finding { message, ..finding }.remedy(remedy)
}

/// The interpreter that the first line of a script names.
fn interpreter(file: &Path) -> Option<String> {
    let mut begin = vec![0; 256];
    let count = File::open(file).ok()?.read(&mut begin).ok()?;
    let line = begin.get(..count)?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line).into_owned();
    let command = line.strip_prefix("#!")?.trim_start_matches([' ', '\t']);
    command.split([' ', '\t']).next().map(str::to_owned).filter(|interpreter| !interpreter.is_empty())
}

/// A program that hosts with a short PATH do not find, though this process does.
pub(crate) fn short_path(command: &ServerCommand) -> Option<Finding> {
    let sets_path = command.environment().iter().any(|(name, _)| name == "PATH");
    let program = Path::new(command.program());
    if sets_path || has_directory(program) || on_path(program, OsStr::new(SHORT_PATH)).is_some() {
        return None;
    }
    let found = on_path(program, &env::var_os("PATH")?)?;
    let name = program.display();
    let message = format!(
        "`{name}` is found in {}, which is not on the PATH of programs started from a desktop",
        found.parent()?.display()
    );
    Some(
        Finding::new(PT0207, message)
            .evidence(Evidence::fact(format!("such a program has PATH={SHORT_PATH}")))
            .remedy(format!("in the configuration of such a host, use the absolute path {}", found.display()))
            .affects(affected("PT0207")),
    )
}

fn has_directory(program: &Path) -> bool {
    program.components().count() > 1 || program.is_absolute()
}

/// The file that a program is, executable or not.
fn find(program: &Path, directory: Option<&Path>) -> Option<PathBuf> {
    if has_directory(program) {
        let file = directory.map_or_else(|| program.to_owned(), |directory| directory.join(program));
        return if file.exists() { Some(file) } else { None };
    }
    on_path(program, &env::var_os("PATH")?)
}

fn on_path(program: &Path, path: &OsStr) -> Option<PathBuf> {
    if program.as_os_str().is_empty() {
        return None;
    }
    env::split_paths(path).map(|directory| directory.join(program)).find(|file| file.is_file())
}

fn usual_places(program: &Path) -> Vec<PathBuf> {
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let in_home = IN_HOME.iter().flat_map(|place| match place.split_once("/*/") {
        Some((before, after)) => fs::read_dir(home.join(before))
            .map(|versions| versions.flatten().map(|version| version.path().join(after)).collect())
            .unwrap_or_default(),
        None => vec![home.join(place)],
    });
    in_home
        .chain(ELSEWHERE.iter().map(PathBuf::from))
        .map(|place| place.join(program))
        .filter(|file| file.is_file())
        .collect()
}

/// What a login shell finds, which has the PATH that its user has set up.
async fn from_login_shell(name: &OsStr) -> Option<PathBuf> {
    let simple = |letter: char| letter.is_ascii_alphanumeric() || "._+-".contains(letter);
    if !name.to_str()?.chars().all(simple) {
        return None;
    }
    let mut shell = Command::new(env::var_os("SHELL")?);
    shell
        .args(["-l", "-c", "command -v \"$0\""])
        .arg(name)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true);
    let shell = shell.stdout(Stdio::piped()).spawn().ok()?;
    let group = shell.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let Ok(output) = timeout(SHELL_TIMEOUT, shell.wait_with_output()).await else {
        // What its profile has started must not be left, either.
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        return None;
    };
    let found = String::from_utf8(output.ok()?.stdout).ok()?;
    let file = PathBuf::from(found.lines().last()?.trim());
    if file.is_absolute() && file.is_file() { Some(file) } else { None }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::path::Path;

    use super::{has_directory, on_path};

    #[test]
    fn names_are_looked_up_and_paths_are_not() {
        assert!(!has_directory(Path::new("sh")));
        assert!(
            has_directory(Path::new("./sh"))
                && has_directory(Path::new("bin/sh"))
                && has_directory(Path::new("/sh"))
        );
        assert_eq!(
            on_path(Path::new("sh"), OsStr::new("/nowhere:/bin")).as_deref(),
            Some(Path::new("/bin/sh"))
        );
        assert_eq!(on_path(Path::new("no-such-program"), OsStr::new("/bin")), None);
    }
}
