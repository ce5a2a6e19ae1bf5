//! `papertape hosts`: where hosts keep their servers, and which they have.

use std::path::{Path, PathBuf};

use papertape_install::{Beyond, ConfigFile, Entry, Format, Host, Os};
use serde_json::{Value, json};

use crate::args::{Hosts, Output};
use crate::exit::Failure;
use crate::host_file::{self, this_program, variable};
use crate::print::text::{hanging, one_line, paragraphs, safe};
use crate::print::{self, Look, style};

/// A file of a host: that of the user, or that of the project in the current directory, if it is there.
struct Row {
    host: &'static Host,
    path: PathBuf,
    is_project: bool,
    /// The host has been used here, or the file is there.
    found: bool,
    read: Result<ConfigFile, String>,
}

pub(crate) fn run(args: &Hosts) -> Result<(), Failure> {
    let look = Look::of_stdout();
    match (&args.host, args.output) {
        (None, Output::Text) => print::out(table(&rows(Host::all())?, look))?,
        (None, Output::Json) => {
            let rows = rows(Host::all())?;
            print::document(&json!({"hosts": rows.iter().map(Row::document).collect::<Vec<_>>()}))?;
        }
        (Some(name), output) => {
            let host = host_file::host(name)?;
            let rows = rows([host])?;
            match output {
                Output::Text => print::out(page(host, &rows, look)?)?,
                Output::Json => print::document(&document(host, &rows)?)?,
            }
        }
    }
    Ok(())
}

fn rows(hosts: impl IntoIterator<Item = &'static Host>) -> Result<Vec<Row>, Failure> {
    let here = std::env::current_dir().unwrap_or_default();
    let mut rows = Vec::new();
    for host in hosts {
        let user = host_file::user_file(host)?;
        let project = host.project_file().map(|file| here.join(file));
        // In the home directory both may be the same.
        let project = project.filter(|file| file.exists() && *file != user);
        rows.push(Row::new(host, user, false));
        rows.extend(project.map(|file| Row::new(host, file, true)));
    }
    Ok(rows)
}

impl Row {
    fn new(host: &'static Host, path: PathBuf, is_project: bool) -> Self {
        let read = ConfigFile::read(host, &path).map_err(|error| error.to_string());
        let is_there = read.as_ref().map_or(true, ConfigFile::exists);
        let directory = host.directory(Os::current(), variable);
        let found = is_there || directory.is_some_and(|directory| directory.is_dir());
        Self { host, path, is_project, found, read }
    }

    /// Its servers in words.
    fn servers(&self) -> String {
        match &self.read {
            Err(problem) => {
                let path = self.path.display().to_string();
                let place = problem.strip_prefix(&path).unwrap_or(problem).trim_start_matches([':', ' ']);
                format!("not valid: {}", one_line(place))
            }
            Ok(file) if !file.exists() => String::new(),
            Ok(file) => {
                let name = |server: &papertape_install::Server| {
                    let name = one_line(&server.name);
                    if server.tape.is_some() { format!("{name} (recorded)") } else { name }
                };
                let names: Vec<String> = file.servers().iter().map(name).collect();
                if names.is_empty() { "none".to_owned() } else { names.join(", ") }
            }
        }
    }

    fn document(&self) -> Value {
        let servers = self.read.as_ref().ok().map(|file| {
            let server = |server: &papertape_install::Server| {
                json!({"name": server.name, "tape": server.tape.as_ref().map(|tape| tape.to_string_lossy())})
            };
            file.servers().iter().map(server).collect::<Vec<_>>()
        });
        json!({
            "host": self.host.name(),
            "title": self.host.title(),
            "found": self.found,
            "scope": if self.is_project { "project" } else { "user" },
            "file": self.path.to_string_lossy(),
            "exists": self.read.as_ref().map_or(true, ConfigFile::exists),
            "servers": servers,
            "error": self.read.as_ref().err(),
        })
    }
}

/// A line for each file.
fn table(rows: &[Row], look: Look) -> String {
    let cells = rows.iter().map(|row| {
        let found = if row.found { "yes" } else { "no" };
        [row.host.name().to_owned(), found.to_owned(), shown(&row.path, row.is_project), row.servers()]
    });
    let head = ["HOST", "FOUND", "FILE", "SERVERS"].map(str::to_owned);
    let cells: Vec<[String; 4]> = std::iter::once(head).chain(cells).collect();
    let width = |column: usize| {
        let lengths = cells.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        lengths.max().unwrap_or_default()
    };
    let widths = [0, 1, 2].map(width);
    let mut text = String::new();
    for (index, [host, found, file, servers]) in cells.iter().enumerate() {
        let [first, second, third] = widths;
        let line = format!("{host:first$}  {found:second$}  {file:third$}  {servers}");
        let line = line.trim_end();
        text += &if index == 0 { look.paint(style::DIM, line) } else { line.to_owned() };
        text.push('\n');
    }
    text
}

/// A path with `~`, or relative to the current directory.
fn shown(path: &Path, is_project: bool) -> String {
    let base = if is_project { std::env::current_dir().ok() } else { variable("HOME").map(PathBuf::from) };
    let inner =
        base.as_deref().filter(|base| base.parent().is_some()).and_then(|base| path.strip_prefix(base).ok());
    let text = match inner {
        Some(inner) if is_project => inner.display().to_string(),
        Some(inner) => format!("~/{}", inner.display()),
        None => path.display().to_string(),
    };
    one_line(&text)
}

/// What there is to know about a host.
fn page(host: &'static Host, rows: &[Row], look: Look) -> Result<String, Failure> {
    let heading = |text: &str| format!("\n{}\n", look.paint(style::HEADING, text));
    let mut text = look.paint(style::HEADING, host.title());
    text += &format!("  {}\n", look.paint(style::DIM, host.name()));
    text += &heading("Files");
    for row in rows {
        let whose = if row.is_project { "of this project" } else { "of the user" };
        let servers = row.servers();
        let servers = if servers.is_empty() { "there is none yet".to_owned() } else { servers };
        text += &hanging(&format!("  {whose}: {}: {servers}", safe(&row.path.to_string_lossy())), look.width);
    }
    if let Some(file) = host.project_file() {
        text += &format!("  of a project: {} (--project)\n", file.display());
    }
    text += &heading("Servers");
    let accepted = Beyond::ALL.into_iter().filter(|beyond| host.accepts(*beyond)).map(Beyond::name);
    let accepted = accepted.collect::<Vec<_>>().join(", ");
    let format = match host.format() {
        Format::Json if accepted.is_empty() => "plain JSON".to_owned(),
        Format::Json => format!("JSON, also with {accepted}"),
        Format::Toml => "TOML".to_owned(),
    };
    text += &format!("  {format}; the members of \"{}\", such as:\n\n", host.container());
    for line in example(host)?.lines() {
        text += &format!("    {}\n", safe(line));
    }
    for (name, what) in [
        ("After a change", host.reload()),
        ("Logs", host.logs()),
        ("Notes", host.notes()),
        ("Known by", host.evidence()),
    ] {
        if !what.is_empty() {
            text += &heading(name);
            text += &paragraphs(&print::plain(what), look.width, "  ");
        }
    }
    Ok(text)
}

fn document(host: &'static Host, rows: &[Row]) -> Result<Value, Failure> {
    Ok(json!({
        "host": host.name(),
        "title": host.title(),
        "files": rows.iter().map(Row::document).collect::<Vec<_>>(),
        "project_file": host.project_file().map(|file| file.to_string_lossy()),
        "container": host.container(),
        "example": example(host)?,
        "reload": host.reload(),
        "logs": host.logs(),
        "notes": host.notes(),
        "evidence": host.evidence(),
    }))
}

/// A file with the server grammar.
fn example(host: &'static Host) -> Result<String, Failure> {
    let entry = Entry::process(this_program()?.to_string_lossy(), ["serve", "grammar"]);
    Ok(host.example("grammar", &entry))
}
