//! `papertape install HOST NAME`: a server into the file of a host, or the recorder around one.

mod program;

use std::path::{Path, PathBuf};

use papertape_install::{ConfigFile, Entry, Host, Recorder};

use crate::args::{BundledServer, FromFile, Install};
use crate::directories;
use crate::exit::Failure;
use crate::host_file::{self, Change, absolute, this_program};
use crate::target::Target;

pub(crate) fn run(args: &Install) -> Result<(), Failure> {
    let host = host_file::host(&args.host)?;
    let file = host_file::read(host, &args.file)?;
    let mut notes = Vec::new();
    if args.tap {
        let tape = tape(args)?;
        notes.push(format!("the tape will be {}", tape.display()));
        if let Some(folder) = tape.parent().filter(|_| !args.file.dry_run) {
            std::fs::create_dir_all(folder)
                .map_err(|error| Failure::Output(format!("{}: {error}", folder.display())))?;
        }
        let plan = file.wrap(&args.name, &Recorder { program: this_program()?, tape })?;
        return Change { host, name: &args.name, options: &args.file, notes }.carry_out(&file, &plan);
    }
    check_name(&args.name)?;
    let entry = entry(args, host, &mut notes)?;
    if entry.has_secrets() && is_readable_by_others(&file) {
        notes.push(format!(
            "{} can be read by other users of this machine, and has the values of variables or headers now: chmod 600",
            file.path().display()
        ));
    }
    let plan = file.install(&args.name, &entry, args.force)?;
    Change { host, name: &args.name, options: &args.file, notes }.carry_out(&file, &plan)
}

/// The tape of the option, or that of the server in the data directory.
fn tape(args: &Install) -> Result<PathBuf, Failure> {
    if let Some(tape) = &args.tape {
        return Ok(absolute(tape));
    }
    let folder = directories::data()
        .ok_or_else(|| Failure::usage("there is no home directory for the tape: give --tape FILE"))?;
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    let name: String = args.name.chars().map(plain).collect();
    Ok(folder.join("tapes").join(format!("{}.tape", name.trim_start_matches('.'))))
}

/// Hosts build the names of tools from it, and some accept nothing else.
fn check_name(name: &str) -> Result<(), Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.is_empty() && name.chars().all(plain) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "\"{name}\" cannot be the name of a server: use letters, digits, - and _, because hosts build the names of tools from it"
    )))
}

fn entry(args: &Install, host: &Host, notes: &mut Vec<String>) -> Result<Entry, Failure> {
    let entry = match target(args)? {
        Target::Bundled { name, options } => bundled(&name, options)?,
        Target::Command { program, arguments } => {
            let text = |word: &std::ffi::OsStr| {
                word.to_str().map(str::to_owned).ok_or_else(|| Failure::usage("the command is not UTF-8"))
            };
            let arguments = arguments.iter().map(|word| text(word)).collect::<Result<Vec<_>, _>>()?;
            let program = program::resolved(&text(&program)?, host, notes)?;
            program::note_relative(&arguments, notes);
            Entry::process(program, arguments)
        }
        Target::Url(url) => {
            if !args.env.is_empty() {
                return Err(Failure::usage(
                    "--env is for servers that are started, and this one is at a URL",
                ));
            }
            return Ok(Entry::http(url).with_headers(args.header.clone()));
        }
        other => {
            return Err(Failure::usage(format!(
                "{other} is not a command that a host can start: give its command after --, or its URL"
            )));
        }
    };
    if !args.header.is_empty() {
        return Err(Failure::usage("--header is for servers at a URL, and this one is started"));
    }
    Ok(entry.with_env(args.env.clone()))
}

/// The server: a bundled one of this name without any other.
fn target(args: &Install) -> Result<Target, Failure> {
    if let Some(command) = Target::of_words(args.command.clone()) {
        return match &args.target {
            Some(target) => Err(Failure::usage(format!("give either {target} or the command after --"))),
            None => Ok(command),
        };
    }
    if let Some(target) = &args.target {
        return Target::parse(target, &FromFile::default());
    }
    let bundled = BundledServer::names();
    if bundled.contains(&args.name) {
        return Ok(Target::Bundled { name: args.name.clone(), options: Vec::new() });
    }
    Err(Failure::usage(format!(
        "which server is \"{}\"? The bundled ones are {}; for another one, give its URL, its quoted command line, or its command \
         after --",
        args.name,
        bundled.join(", ")
    )))
}

/// A bundled server, run by this program. Its paths are absolute: a host starts it in another directory.
fn bundled(name: &str, mut options: Vec<String>) -> Result<Entry, Failure> {
    let program = this_program()?;
    let path = |text: &str| absolute(Path::new(text)).to_string_lossy().into_owned();
    let mut is_path = false;
    for word in &mut options {
        let option = word.split_once('=').map(|(option, value)| (option.to_owned(), value.to_owned()));
        match option {
            Some((option, value)) if BundledServer::takes_path(name, &option) => {
                *word = format!("{option}={}", path(&value));
                is_path = false;
            }
            _ if is_path => {
                *word = path(word);
                is_path = false;
            }
            _ => is_path = BundledServer::takes_path(name, word),
        }
    }
    let given = |option: &str| options.iter().any(|word| word.split('=').next() == Some(option));
    if name == "blog" && !["--content", "--index", "--store"].into_iter().any(given) {
        return Err(Failure::usage(
            "a host does not start the server blog in this directory: write 'blog --content DIR'",
        ));
    }
    let words = ["serve".to_owned(), name.to_owned()].into_iter().chain(options);
    Ok(Entry::process(program.to_string_lossy(), words))
}

fn is_readable_by_others(file: &ConfigFile) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(file.path()).is_ok_and(|metadata| metadata.permissions().mode() & 0o044 != 0)
}
