//! `papertape new DIR`: a server project, from the files in `templates/server`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::args::{New, Output};
use crate::exit::Failure;
use crate::host_file::absolute;
use crate::print;
use crate::print::text::safe;

/// The files of a project, and what is in them.
const FILES: [(&str, &str); 10] = [
    ("Cargo.toml", include_str!("../../templates/server/Cargo.toml.template")),
    ("src/main.rs", include_str!("../../templates/server/src/main.rs")),
    ("tests/tapes.rs", include_str!("../../templates/server/tests/tapes.rs")),
    ("tests/tapes/2025-11-25.tape", include_str!("../../templates/server/tests/tapes/2025-11-25.tape")),
    ("tests/tapes/2026-07-28.tape", include_str!("../../templates/server/tests/tapes/2026-07-28.tape")),
    (".mcp.json", include_str!("../../templates/server/mcp.json")),
    ("Dockerfile", include_str!("../../templates/server/Dockerfile")),
    (".dockerignore", include_str!("../../templates/server/dockerignore")),
    (".gitignore", include_str!("../../templates/server/gitignore")),
    ("README.md", include_str!("../../templates/server/README.md")),
];

/// Names that a package cannot have here: those of its dependencies, and of crates that come with Rust.
const TAKEN: [&str; 11] = [
    "alloc",
    "core",
    "papertape",
    "proc-macro",
    "proc_macro",
    "schemars",
    "serde",
    "serde_json",
    "std",
    "test",
    "tokio",
];

/// Names that a program cannot have: cargo has folders of these names beside it.
const OF_CARGO: [&str; 4] = ["build", "deps", "examples", "incremental"];

/// Where the library is in a clone.
const IN_CLONE: &str = "crates/papertape";

pub(crate) fn run(args: &New) -> Result<(), Failure> {
    let directory = absolute(&args.directory);
    let name = name(args, &directory)?;
    let source = Source::new(args.papertape.as_deref(), &directory)?;
    refuse_content(&directory)?;
    for (file, template) in FILES {
        let path = directory.join(file);
        write(&path, &source.fill_in(template, &name))
            .map_err(|error| Failure::Output(format!("{}: {error}", path.display())))?;
    }
    let shown = args.directory.display();
    match args.output {
        Output::Json => print::document(&json!({
            "directory": directory.to_string_lossy(),
            "name": name,
            "files": FILES.map(|(file, _)| file),
        }))?,
        Output::Text => {
            let files = FILES.map(|(file, _)| format!("  {file}\n")).concat();
            let next = format!(
                "\nNext:\n  cd {}\n  cargo test\n  cargo build --release\n  papertape list {name}\n",
                shell_words::quote(&args.directory.to_string_lossy())
            );
            print::out(safe(&format!("The server {name} is in {shown}:\n{files}{next}")))?;
        }
    }
    Ok(())
}

/// The name of the option, or that of the directory.
fn name(args: &New, directory: &Path) -> Result<String, Failure> {
    let name = match &args.name {
        Some(name) => name.clone(),
        None => directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    };
    let mut letters = name.chars();
    let valid = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let problem = if !valid {
        "begin it with a letter, and use letters, digits, - and _"
    } else if TAKEN.contains(&name.as_str()) {
        "a crate that it depends on has this name"
    } else if OF_CARGO.contains(&name.as_str()) {
        "cargo has a folder of this name beside the program"
    } else {
        return Ok(name);
    };
    Err(Failure::usage(format!(
        "\"{name}\" cannot be the name of the package: {problem}; --name NAME gives another one"
    )))
}

/// Where the project gets papertape from.
enum Source {
    /// The directory of a clone.
    Clone(PathBuf),
    Git(String),
}

impl Source {
    fn new(given: Option<&str>, directory: &Path) -> Result<Self, Failure> {
        let Some(given) = given else {
            let here = std::env::current_dir().unwrap_or_default();
            let beside = directory.with_file_name("papertape");
            let found = here.ancestors().chain([beside.as_path()]).find_map(clone_at);
            return found.map(Source::Clone).ok_or_else(|| {
                Failure::usage(
                    "papertape is not published yet: give the path of a clone of it, or the URL of a git repository, with \
                     --papertape",
                )
            });
        };
        // A URL, or the short form of SSH.
        if given.contains("://") || (given.contains('@') && given.contains(':')) {
            return Ok(Source::Git(given.to_owned()));
        }
        let path = Path::new(given);
        // The library itself may be named, too.
        let clone = clone_at(path).or_else(|| clone_at(&path.join("../..")));
        clone.map(Source::Clone).ok_or_else(|| {
            Failure::usage(format!(
                "--papertape {given}: there is no {IN_CLONE}/Cargo.toml in it: give the path of a clone"
            ))
        })
    }

    /// A file of the project.
    fn fill_in(&self, template: &str, name: &str) -> String {
        let (dependency, build, copy) = match self {
            Source::Clone(clone) => {
                let clone = clone.to_string_lossy();
                let path = papertape_install::toml_string(&format!("{clone}/{IN_CLONE}"));
                let context = shell_words::quote(&clone).into_owned();
                (
                    format!("{{ path = {path} }}"),
                    format!("docker build --build-context papertape={context} -t {name} ."),
                    // The manifest names this path.
                    format!("COPY --from=papertape {}\n", json!([".", clone])),
                )
            }
            Source::Git(url) => (
                format!("{{ git = {} }}", papertape_install::toml_string(url)),
                format!("docker build -t {name} ."),
                String::new(),
            ),
        };
        template
            .replace("{{papertape}}", &dependency)
            .replace("{{docker_build}}", &build)
            .replace("{{docker_papertape}}", &copy)
            .replace("{{name}}", name)
    }
}

/// The directory as a clone of papertape, if it is one.
fn clone_at(path: &Path) -> Option<PathBuf> {
    path.join(IN_CLONE).join("Cargo.toml").is_file().then(|| path.canonicalize().ok())?
}

/// A directory with anything in it is not written to.
fn refuse_content(directory: &Path) -> Result<(), Failure> {
    let problem = match fs::read_dir(directory) {
        Ok(mut entries) => match entries.next() {
            None => return Ok(()),
            Some(_) => "it is not empty: give a new directory".to_owned(),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => error.to_string(),
    };
    Err(Failure::usage(format!("{}: {problem}", directory.display())))
}

fn write(path: &Path, content: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    io::Write::write_all(&mut file, content.as_bytes())
}
