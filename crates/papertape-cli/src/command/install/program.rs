//! The program of a command, as a host that is started from a menu can find it.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use papertape_install::Host;

use crate::exit::Failure;
use crate::host_file::absolute;

/// How much of a script is read for its first line.
const FIRST_LINE: u64 = 256;

/// The program as it is written into the file: its absolute path, if the host does not have the `PATH` of this shell.
pub(super) fn resolved(program: &str, host: &Host, notes: &mut Vec<String>) -> Result<String, Failure> {
    let found = if program.contains('/') {
        let path = absolute(Path::new(program));
        is_program(&path).then_some(path)
    } else {
        in_path(program)
    };
    let Some(path) = found else {
        let problem = if program.contains('/') {
            format!("{program} is not a program that can be started")
        } else {
            format!("{program} is not in the PATH")
        };
        return Err(Failure::usage(format!("{problem}: give the path of the program")));
    };
    if !host.is_gui() && !program.contains('/') {
        return Ok(program.to_owned());
    }
    let absolute = path.to_string_lossy().into_owned();
    if absolute != program {
        notes.push(format!("{program} is written as {absolute}"));
    }
    if let Some(interpreter) = interpreter(&path).filter(|_| host.is_gui())
        && let Some(folder) = in_path(&interpreter).as_deref().and_then(Path::parent)
        && !["/usr/bin", "/bin", "/usr/sbin", "/sbin"].map(Path::new).contains(&folder)
    {
        let path = format!("{}:/usr/bin:/bin", folder.display());
        notes.push(format!(
            "{program} is a script for {interpreter}, which {} may not find: add --env PATH={path}",
            host.title()
        ));
    }
    Ok(absolute)
}

/// Says which arguments are files of this directory: the host starts the program in another one.
pub(super) fn note_relative(arguments: &[String], notes: &mut Vec<String>) {
    for argument in arguments {
        let path = Path::new(argument);
        if path.is_relative() && !argument.is_empty() && !argument.starts_with('-') && path.exists() {
            notes.push(format!(
                "{argument} is relative to this directory, and a host starts the program in another one: write {}",
                absolute(path).display()
            ));
        }
    }
}

fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| absolute(&folder).join(program)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// The program that `#!/usr/bin/env NAME` in the first line of a script starts.
fn interpreter(path: &Path) -> Option<String> {
    let mut head = Vec::new();
    std::fs::File::open(path).ok()?.take(FIRST_LINE).read_to_end(&mut head).ok()?;
    let line = head.split(|byte| *byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.strip_prefix("#!")?.split_whitespace();
    let env = words.next()?.ends_with("/env");
    words.find(|word| !word.starts_with('-')).filter(|_| env).map(str::to_owned)
}
