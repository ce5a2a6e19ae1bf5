//! A file of a host as it was read, and what it would become.

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::diff::unified;
use crate::edit::{apply, part};
use crate::entry::{Data, Entry};
use crate::error::{Fault, InstallError};
use crate::file;
use crate::hosts::{Format, Host};
use crate::json::{self, Node};
use crate::recorder::{self, Recorder};
use crate::records::{Changes, Record, Records};
use crate::toml_text;

/// A file of a host as it was read: valid, or not there yet.
pub struct ConfigFile {
    host: &'static Host,
    /// As it was named.
    path: PathBuf,
    /// What the path leads to.
    target: PathBuf,
    /// `None` if there is no file.
    text: Option<String>,
    servers: Vec<Server>,
    /// What the host does not accept, although it can be edited.
    rejected: Option<InstallError>,
    /// The data directory, and what it has about the file.
    records: Option<(PathBuf, Records)>,
}

/// A server in a file.
#[derive(Clone)]
#[non_exhaustive]
pub struct Server {
    /// Its name.
    pub name: String,
    /// The tape of the recorder around it.
    pub tape: Option<PathBuf>,
    entry: Value,
}

/// What becomes of a file.
pub struct Plan<'a> {
    file: &'a ConfigFile,
    outcome: Outcome,
    /// `None` if the file is removed.
    text: Option<String>,
    private: bool,
    changes: Changes,
}

/// What a plan does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Adds an entry.
    Added,
    /// Puts an entry in place of another one.
    Replaced,
    /// Nothing: the file has it already.
    Unchanged,
    /// Removes an entry.
    Removed,
    /// Removes an entry and the file, which was made for it.
    FileRemoved,
    /// Puts the recorder around an entry.
    Wrapped,
    /// Takes the recorder off an entry.
    Unwrapped,
}

/// What was written.
#[derive(Debug)]
#[non_exhaustive]
pub struct Applied {
    /// The backup of the former content; `None` if there was no file, or nothing was to be done.
    pub backup: Option<PathBuf>,
    /// The entry is in the file, but the record by which it is removed to the byte cannot be written.
    pub unrecorded: Option<std::io::Error>,
}

impl ConfigFile {
    /// Reads the file of a host; one that does not exist has no servers.
    ///
    /// # Errors
    /// If it cannot be read, or is not valid.
    pub fn read(host: &'static Host, path: &Path) -> Result<Self, InstallError> {
        let target = file::target(path)?;
        let content = file::content(&target)
            .map_err(|source| InstallError::Unreadable { path: path.to_owned(), source })?;
        let text = content.map(|content| decoded(path, content)).transpose()?;
        Self::of_text(host, path, target, text)
    }

    fn of_text(
        host: &'static Host,
        path: &Path,
        target: PathBuf,
        text: Option<String>,
    ) -> Result<Self, InstallError> {
        let path = path.to_owned();
        let mut read = Self { host, path, target, text, servers: Vec::new(), rejected: None, records: None };
        read.servers = read.validated()?;
        Ok(read)
    }

    /// The text of a new file with one server.
    pub(crate) fn example(host: &'static Host, name: &str, entry: &Entry) -> String {
        let file = Self::of_text(host, Path::new(""), PathBuf::new(), None);
        let text = file.and_then(|file| Ok(file.install(name, entry, false)?.text)).unwrap_or_default();
        text.unwrap_or_default()
    }

    /// With records in this data directory, by which entries are removed to the byte.
    #[must_use]
    pub fn with_records(mut self, folder: &Path) -> Self {
        self.records = Some((folder.to_owned(), Records::read(folder)));
        self
    }

    /// Whether the file is there.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.text.is_some()
    }

    /// The path by which it was read.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its servers, in its order.
    #[must_use]
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// What the host does not accept in the file: a comment in plain JSON, a byte order mark.
    #[must_use]
    pub fn rejected(&self) -> Option<&InstallError> {
        self.rejected.as_ref()
    }

    /// Adds a server. One of the same name is replaced if it is the same, or by `force`.
    ///
    /// # Errors
    /// If there is another server of this name, or the host has no such servers.
    pub fn install(&self, name: &str, entry: &Entry, force: bool) -> Result<Plan<'_>, InstallError> {
        let title = self.host.title();
        let data = entry.data(self.host).ok_or_else(|| {
            self.unsuitable(format!(
                "{title} has no servers at a URL in this file: add it in its settings, or install \
                 `papertape bridge URL`, which is a program"
            ))
        })?;
        let known = self.servers.iter().find(|server| server.name == name);
        let outcome = match known {
            Some(server) if server.entry == data.to_value() => {
                return Ok(self.plan(Outcome::Unchanged, self.text.clone(), Changes::default()));
            }
            Some(_) if !force => {
                return Err(InstallError::Exists { path: self.path.clone(), name: name.to_owned() });
            }
            Some(_) => Outcome::Replaced,
            None => Outcome::Added,
        };
        let (text, changes) = match self.host.format() {
            Format::Json => self.install_json(name, &data)?,
            Format::Toml => self.install_toml(name, &data)?,
        };
        let plan = self.plan(outcome, Some(text), changes);
        plan.checked(|servers| {
            servers.iter().any(|(other, value)| other == name && *value == data.to_value())
        })?;
        Ok(Plan { private: entry.has_secrets(), ..plan })
    }

    fn install_json(&self, name: &str, data: &Data) -> Result<(String, Changes), InstallError> {
        let container = self.host.container();
        let mut text = self.text.clone().unwrap_or_default();
        let mut changes = Changes::default();
        // Whether it is empty now decides whether a record of it is still true.
        let stale = |object: &Node| object.members().is_none_or(<[_]>::is_empty);
        match &self.parse(&text)?.root {
            None => {
                let made = json::insert_root(&text);
                text = made.text;
                changes.added.push(self.record(&[], made.surroundings));
            }
            Some(root) if stale(root) => changes.dropped.push(Vec::new()),
            Some(_) => {}
        }
        let document = self.parse(&text)?;
        let root = document.root.as_ref().ok_or_else(|| self.unsuitable("it has no value"))?;
        match root.member(container) {
            None => {
                let made = json::insert_member(&text, root, root, container, &Data::Members(Vec::new()));
                changes.added.push(self.record(&[container], made.surroundings));
                text = made.text;
            }
            Some(member) if stale(&member.value) => changes.dropped.push(vec![container.to_owned()]),
            Some(_) => {}
        }
        let document = self.parse(&text)?;
        let root = document.root.as_ref().ok_or_else(|| self.unsuitable("it has no value"))?;
        let object = json::find(root, &[container]).ok_or_else(|| self.unsuitable("it has no servers"))?;
        match object.member(name) {
            Some(member) => {
                let new = json::replace_value(&text, root, object, member, data);
                let range = member.value.range.clone();
                text = format!("{}{new}{}", part(&text, 0..range.start), part(&text, range.end..text.len()));
            }
            None => {
                let made = json::insert_member(&text, root, object, name, data);
                changes.added.push(self.record(&[container, name], made.surroundings));
                text = made.text;
            }
        }
        Ok((text, changes))
    }

    fn install_toml(&self, name: &str, data: &Data) -> Result<(String, Changes), InstallError> {
        let container = self.host.container();
        let mut changes = Changes::default();
        let mut text = self.text.clone().unwrap_or_default();
        if self.text.is_none() {
            changes.added.push(self.record(&[], crate::edit::Surroundings::default()));
        }
        if self.servers.iter().any(|server| server.name == name) {
            text = self.without_toml(&text, name)?;
        }
        let made = toml_text::insert(&text, container, name, data);
        changes.added.push(self.record(&[container, name], made.surroundings));
        Ok((made.text, changes))
    }

    /// Removes a server; and with it the container and the file, if they were made for it and are empty.
    ///
    /// # Errors
    /// If there is no server of this name.
    pub fn uninstall(&self, name: &str) -> Result<Plan<'_>, InstallError> {
        self.known(name)?;
        let container = self.host.container();
        let text = self.text.as_deref().unwrap_or_default();
        let mut dropped = vec![vec![container.to_owned(), name.to_owned()]];
        let text = match self.host.format() {
            Format::Json => self.uninstall_json(text, name, &mut dropped)?,
            Format::Toml => self.without_toml(text, name)?,
        };
        let document = self.find_record(&[]).filter(|document| {
            // The object that was made for it.
            let rest = text.trim_start_matches('\u{feff}').trim();
            rest.is_empty()
                || (self.host.format() != Format::Toml && is_empty_object(rest) && document.created)
        });
        let made = document.is_some_and(|document| document.created);
        dropped.extend(document.map(|_| Vec::new()));
        let changes = Changes { dropped, added: Vec::new() };
        if made {
            return Ok(self.plan(Outcome::FileRemoved, None, changes));
        }
        let plan = self.plan(Outcome::Removed, Some(text), changes);
        plan.checked(|servers| servers.iter().all(|(other, _)| other != name))?;
        Ok(plan)
    }

    fn uninstall_json(
        &self,
        text: &str,
        name: &str,
        dropped: &mut Vec<Vec<String>>,
    ) -> Result<String, InstallError> {
        let container = self.host.container();
        let mut text = text.to_owned();
        for path in [&[container, name][..], &[container]] {
            let document = self.parse(&text)?;
            let parents = part_of(path);
            let Some(root) = document.root.as_ref() else { break };
            let Some(object) = json::find(root, parents) else { break };
            let Some(member) = path.last().and_then(|key| object.member(key)) else { break };
            let record = self.find_record(path);
            if parents.is_empty() {
                let empty = json::is_blank(part(&text, member.value.interior()));
                if record.is_none() || !empty {
                    return Ok(text);
                }
                dropped.push(vec![container.to_owned()]);
            }
            let surroundings = record.map(|record| &record.surroundings);
            text = apply(&text, json::remove_member(&text, object, member, surroundings));
        }
        // What was in the file before there was an object in it.
        let document = self.parse(&text)?;
        if let (Some(root), Some(record)) = (&document.root, self.find_record(&[]))
            && root.members().is_some_and(<[_]>::is_empty)
            && json::is_blank(part(&text, root.interior()))
            && let Some(undo) = record.surroundings.undo(&text, root.range.clone())
        {
            text = apply(&text, vec![undo]);
            dropped.push(Vec::new());
        }
        Ok(text)
    }

    fn without_toml(&self, text: &str, name: &str) -> Result<String, InstallError> {
        let path = [self.host.container(), name];
        let record = self.find_record(&path).map(|record| &record.surroundings);
        let edits = toml_text::remove(text, &path, record).map_err(|problem| self.unsuitable(problem))?;
        Ok(apply(text, edits))
    }

    /// Puts the recorder around a server.
    ///
    /// # Errors
    /// If there is no server of this name, it is not started as a process, or another recorder is around it.
    pub fn wrap(&self, name: &str, recorder: &Recorder) -> Result<Plan<'_>, InstallError> {
        let server = self.known(name)?;
        let text = self.text.as_deref().unwrap_or_default();
        if let Some(tape) = &server.tape {
            if *tape == recorder.tape {
                return Ok(self.plan(Outcome::Unchanged, self.text.clone(), Changes::default()));
            }
            return Err(self.unsuitable(format!(
                "the server \"{name}\" is recorded already, to {}: unwrap it first (uninstall --tap)",
                tape.display()
            )));
        }
        let edits = recorder.wrap(text, &self.places(text, name)?);
        let plan = self.plan(Outcome::Wrapped, Some(apply(text, edits)), Changes::default());
        plan.checked(|servers| {
            let wrapped = servers.iter().find(|(other, _)| other == name);
            wrapped.and_then(|(_, entry)| recorder::tape(entry)).as_ref() == Some(&recorder.tape)
        })?;
        Ok(plan)
    }

    /// Takes the recorder off a server.
    ///
    /// # Errors
    /// If there is no server of this name, or no recorder around it.
    pub fn unwrap(&self, name: &str) -> Result<Plan<'_>, InstallError> {
        self.known(name)?;
        let text = self.text.as_deref().unwrap_or_default();
        let edits = recorder::unwrap(text, &self.places(text, name)?).ok_or_else(|| {
            self.unsuitable(format!("the server \"{name}\" is not recorded: it does not run `papertape tap`"))
        })?;
        let plan = self.plan(Outcome::Unwrapped, Some(apply(text, edits)), Changes::default());
        plan.checked(|servers| {
            servers.iter().any(|(other, entry)| other == name && recorder::recorded(entry).is_none())
        })?;
        Ok(plan)
    }

    fn places(&self, text: &str, name: &str) -> Result<recorder::Places, InstallError> {
        let path = [self.host.container(), name];
        let places = match self.host.format() {
            Format::Toml => recorder::toml_places(text, &toml_text::statements(text), &path),
            Format::Json => {
                let document = self.parse(text)?;
                let entry = document.root.as_ref().and_then(|root| json::find(root, &path));
                entry.map_or(Err("is not there".to_owned()), |entry| recorder::json_places(text, entry))
            }
        };
        places.map_err(|problem| self.unsuitable(format!("the server \"{name}\" {problem}")))
    }

    fn known(&self, name: &str) -> Result<&Server, InstallError> {
        self.servers.iter().find(|server| server.name == name).ok_or_else(|| InstallError::NoServer {
            path: self.path.clone(),
            name: name.to_owned(),
            known: self.servers.iter().map(|server| server.name.clone()).collect(),
        })
    }

    fn parse(&self, text: &str) -> Result<json::Document, InstallError> {
        json::parse(text).map_err(|fault| fault.in_file(self.path.clone(), text))
    }

    /// The servers of a text.
    fn entries(&self, text: &str) -> Result<Vec<(String, Value)>, InstallError> {
        let container = self.host.container();
        let entries = match self.host.format() {
            Format::Toml => {
                toml_text::read(text).and_then(|document| toml_text::servers(&document, container))
            }
            Format::Json => json::servers(text, &self.parse(text)?, container),
        };
        entries.map_err(|fault| fault.in_file(self.path.clone(), text))
    }

    /// Its servers, and what the host would not accept.
    fn validated(&mut self) -> Result<Vec<Server>, InstallError> {
        let Some(text) = &self.text else { return Ok(Vec::new()) };
        if self.host.format() == Format::Json {
            let title = self.host.title();
            let beyond = self.parse(text)?.beyond.into_iter().find(|(_, beyond)| !self.host.accepts(*beyond));
            self.rejected = beyond.map(|(at, beyond)| {
                let problem = format!("{title} may not accept {}", beyond.name());
                Fault::new(at, problem).in_file(self.path.clone(), text)
            });
        }
        let server = |(name, entry): (String, Value)| Server { name, tape: recorder::tape(&entry), entry };
        Ok(self.entries(text)?.into_iter().map(server).collect())
    }

    fn find_record(&self, path: &[&str]) -> Option<&Record> {
        let (_, records) = self.records.as_ref()?;
        records.find(&self.target.to_string_lossy(), path)
    }

    fn record(&self, path: &[&str], surroundings: crate::edit::Surroundings) -> Record {
        Record {
            file: self.target.to_string_lossy().into_owned(),
            path: path.iter().map(|&key| key.to_owned()).collect(),
            surroundings,
            created: path.is_empty() && self.text.is_none(),
        }
    }

    fn unsuitable(&self, problem: impl Into<String>) -> InstallError {
        InstallError::Unsuitable { path: self.path.clone(), problem: problem.into() }
    }

    fn plan(&self, outcome: Outcome, text: Option<String>, changes: Changes) -> Plan<'_> {
        Plan { file: self, outcome, text, private: false, changes }
    }
}

impl Plan<'_> {
    /// What it does.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The change as a unified diff; empty if there is none.
    #[must_use]
    pub fn diff(&self) -> String {
        unified(&self.file.path.to_string_lossy(), self.file.text.as_deref(), self.text.as_deref())
    }

    /// Writes it: a backup, then the file as a whole.
    ///
    /// # Errors
    /// If the file was changed since it was read, or cannot be written. It is as it was then.
    pub fn apply(&self) -> Result<Applied, InstallError> {
        let ConfigFile { target, text, records, .. } = self.file;
        if self.outcome == Outcome::Unchanged {
            return Ok(Applied { backup: None, unrecorded: None });
        }
        let bytes = |text: &Option<String>| text.as_ref().map(|text| text.clone().into_bytes());
        let (old, new) = (bytes(text), bytes(&self.text));
        let backup = file::replace(target, old.as_deref(), new.as_deref(), self.private)?;
        let update = |(folder, _): &(PathBuf, Records)| {
            Records::update(folder, &target.to_string_lossy(), &self.changes).err()
        };
        Ok(Applied { backup, unrecorded: records.as_ref().and_then(update) })
    }

    /// Whether the new text is a valid file with what it should have: a program never writes what a host cannot read.
    fn checked(&self, is_right: impl FnOnce(&[(String, Value)]) -> bool) -> Result<(), InstallError> {
        let text = self.text.as_deref().unwrap_or_default();
        match self.file.entries(text) {
            Ok(servers) if is_right(&servers) => Ok(()),
            _ => Err(self.file.unsuitable(
                "its servers are written in a way that cannot be edited by a program: edit it by hand",
            )),
        }
    }
}

/// The text of a file.
fn decoded(path: &Path, content: Vec<u8>) -> Result<String, InstallError> {
    String::from_utf8(content).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let bytes = error.into_bytes();
        let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
        let problem =
            if utf16 { "the file is UTF-16, and hosts read UTF-8" } else { "the file is not UTF-8" };
        let valid = bytes.get(..at).unwrap_or_default();
        Fault::new(at, problem).in_file(path.to_owned(), &String::from_utf8_lossy(valid))
    })
}

fn is_empty_object(text: &str) -> bool {
    text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).is_some_and(json::is_blank)
}

/// A path without its last key.
fn part_of<'a>(path: &'a [&'a str]) -> &'a [&'a str] {
    path.split_last().map_or(&[], |(_, parents)| parents)
}

/// Without the content of the file, which may be secret.
impl fmt::Debug for ConfigFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Without its entry, which may be secret.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("name", &self.name).field("tape", &self.tape).finish_non_exhaustive()
    }
}

/// Without the content of the file, which may be secret.
impl fmt::Debug for Plan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("file", self.file)
            .field("outcome", &self.outcome)
            .finish_non_exhaustive()
    }
}
