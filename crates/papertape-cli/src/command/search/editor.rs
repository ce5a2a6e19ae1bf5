//! Opens a file at a line, in the user's editor.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use crate::exit::Failure;

/// Editors that take `+LINE FILE`.
const PLUS: [&str; 16] = [
    "vi",
    "vim",
    "nvim",
    "gvim",
    "mvim",
    "view",
    "nano",
    "pico",
    "emacs",
    "emacsclient",
    "kak",
    "micro",
    "joe",
    "mg",
    "ne",
    "gedit",
];

/// Editors that take `--goto FILE:LINE`.
const GOTO: [&str; 6] = ["code", "code-insiders", "codium", "vscodium", "cursor", "windsurf"];

/// Editors that take `FILE:LINE`.
const COLON: [&str; 6] = ["subl", "sublime_text", "zed", "zeditor", "hx", "helix"];

/// Opens a file and waits until the editor has ended.
pub(super) fn open(path: &Path, line: Option<u32>) -> Result<(), Failure> {
    let Some(editor) = ["VISUAL", "EDITOR"].into_iter().find_map(editor) else {
        let opened = open::that_detached(path);
        return opened.map_err(|error| {
            let path = path.display();
            Failure::Output(format!("cannot open {path}: {error}; set EDITOR to the editor of your choice"))
        });
    };
    let words = shell_words::split(&editor).map_err(|error| {
        Failure::usage(format!("the editor \"{editor}\" cannot be split into words: {error}"))
    })?;
    let Some((program, options)) = words.split_first() else { return Ok(()) };
    let failed = |why: String| Failure::Output(format!("the editor {program}: {why}"));
    let mut command = Command::new(program);
    let ended = command.args(options).args(arguments(program, path, line)).status();
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(status.to_string())),
        Err(error) => Err(failed(error.to_string())),
    }
}

fn editor(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|editor| !editor.trim().is_empty())
}

/// The file and the line as this editor takes them; a line that it may not understand is left out.
fn arguments(program: &str, path: &Path, line: Option<u32>) -> Vec<OsString> {
    // A path that begins with a hyphen is not an option.
    let path =
        if path.as_os_str().as_encoded_bytes().starts_with(b"-") { &Path::new(".").join(path) } else { path };
    let file = path.as_os_str().to_owned();
    let name = Path::new(program).file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let Some(line) = line else { return vec![file] };
    let with_line = || {
        let mut file = file.clone();
        file.push(format!(":{line}"));
        file
    };
    match name {
        _ if PLUS.contains(&name) => vec![format!("+{line}").into(), file],
        _ if GOTO.contains(&name) => vec!["--goto".into(), with_line()],
        _ if COLON.contains(&name) => vec![with_line()],
        _ => vec![file],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editors_get_the_line_as_they_take_it() {
        for (program, path, expected) in [
            ("vim", "a b.md", vec!["+7", "a b.md"]),
            ("/usr/bin/emacs", "a.md", vec!["+7", "a.md"]),
            ("code", "a.md", vec!["--goto", "a.md:7"]),
            ("hx", "a.md", vec!["a.md:7"]),
            ("ed", "a.md", vec!["a.md"]),
            ("vi", "-c.md", vec!["+7", "./-c.md"]),
        ] {
            assert_eq!(arguments(program, Path::new(path), Some(7)), expected, "{program}");
        }
        assert_eq!(arguments("vim", Path::new("a.md"), None), ["a.md"]);
    }
}
