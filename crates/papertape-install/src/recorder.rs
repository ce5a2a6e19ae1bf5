//! The recorder around an entry: `command args..` becomes `papertape tap --tape FILE -- command args..`, and back.
//!
//! What was there is in the wrapped entry itself, token for token: the string of the command moves in front of the arguments. An entry
//! without `args` is marked by `--tape=FILE`, written as one argument, so that it has none again afterwards.

use std::ops::Range;
use std::path::PathBuf;

use serde_json::Value;

use crate::edit::{Edit, newline, part};
use crate::json::{self, Kind, Node};
use crate::toml_text::{self, Item, ItemKind, TomlValue, TomlValueKind};

/// What records a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorder {
    /// The program `papertape`.
    pub program: PathBuf,
    /// The file that is written.
    pub tape: PathBuf,
}

/// Where an entry has what the recorder is put around.
pub(crate) struct Places {
    command: Range<usize>,
    args: Option<Args>,
    /// What comes between the command and `args`, if there are none yet, and the list itself begins.
    missing: String,
    quoted: fn(&str) -> String,
}

struct Args {
    /// Its key and its value.
    member: Range<usize>,
    /// After the bracket.
    start: usize,
    /// Its strings and where they are; `None` for what is no string.
    items: Vec<(Range<usize>, Option<String>)>,
}

/// The length of `tap --tape=FILE --` and of `tap --tape FILE --`.
const MARKED: usize = 3;
const USUAL: usize = 4;

impl Recorder {
    /// The edits that put the recorder around an entry.
    pub(crate) fn wrap(&self, text: &str, places: &Places) -> Vec<Edit> {
        let quoted = places.quoted;
        let (program, tape) = (self.program.to_string_lossy(), self.tape.to_string_lossy());
        let command = part(text, places.command.clone());
        let mut edits = vec![Edit { range: places.command.clone(), text: quoted(&program) }];
        match &places.args {
            Some(args) => {
                let head = ["tap", "--tape", &tape, "--"].map(quoted).join(", ");
                let comma = if args.items.is_empty() { "" } else { "," };
                edits.push(Edit::insert(args.start, format!("{head}, {command}{comma}")));
            }
            None => {
                let head = ["tap", &format!("--tape={tape}"), "--"].map(quoted).join(", ");
                let list = format!("{}[{head}, {command}]", places.missing);
                edits.push(Edit::insert(places.command.end, list));
            }
        }
        edits
    }
}

/// The command that a recorder is around: its words, and how many of them are the recorder's.
pub(crate) fn recorded(entry: &Value) -> Option<usize> {
    let args: Vec<&str> = entry.get("args")?.as_array()?.iter().map_while(Value::as_str).collect();
    recorder_words(&args)
}

/// How many of these arguments are the recorder's; `None` if it is not around.
fn recorder_words(args: &[&str]) -> Option<usize> {
    match args {
        ["tap", tape, "--", _, ..] if tape.starts_with("--tape=") => Some(MARKED),
        ["tap", "--tape", _, "--", _, ..] => Some(USUAL),
        _ => None,
    }
}

/// The tape of a wrapped entry.
pub(crate) fn tape(entry: &Value) -> Option<PathBuf> {
    let arg = |index: usize| entry.get("args")?.get(index)?.as_str();
    match recorded(entry)? {
        MARKED => arg(1)?.strip_prefix("--tape=").map(PathBuf::from),
        _ => arg(2).map(PathBuf::from),
    }
}

/// The edits that take the recorder off an entry; `None` if it is not around it.
pub(crate) fn unwrap(text: &str, places: &Places) -> Option<Vec<Edit>> {
    let args = places.args.as_ref()?;
    let words: Vec<&str> = args.items.iter().map_while(|(_, word)| word.as_deref()).collect();
    let count = recorder_words(&words)?;
    let (command, _) = args.items.get(count)?;
    let mut edits =
        vec![Edit { range: places.command.clone(), text: part(text, command.clone()).to_owned() }];
    let follows = args.member.start >= places.command.end
        && !part(text, places.command.end..args.member.start).contains(['#', '/']);
    if count == MARKED && args.items.len() == MARKED + 1 && follows {
        edits.push(Edit::delete(places.command.end..args.member.end));
        return Some(edits);
    }
    // With the comma after it, if there are arguments.
    let next = args.items.get(count + 1).map_or(command.end, |(next, _)| next.start);
    let comma = part(text, command.end..next).find(',').map_or(command.end, |at| command.end + at + 1);
    edits.push(Edit::delete(args.start..comma));
    Some(edits)
}

/// The places of an entry in JSON. The error says what the entry has in their place.
pub(crate) fn json_places(text: &str, entry: &Node) -> Result<Places, String> {
    let command = entry.member("command").ok_or_else(|| no_command(&entry.to_value(text)))?;
    if !matches!(command.value.kind, Kind::String(_)) {
        return Err(NOT_A_STRING.to_owned());
    }
    let args = entry.member("args").map(|member| {
        let Kind::Array(items) = &member.value.kind else { return Err(NOT_A_LIST.to_owned()) };
        let items = items.iter().map(|item| {
            let word = if let Kind::String(word) = &item.kind { Some(word.clone()) } else { None };
            (item.range.clone(), word)
        });
        Ok(Args { member: member.range(), start: member.value.interior().start, items: items.collect() })
    });
    let before = part(text, entry.range.start..command.key_range.start);
    let space = part(before, before.trim_end_matches([' ', '\t', '\r', '\n']).len()..before.len());
    let tight = command.key_range.end + 1 == command.value.range.start;
    let missing = if tight {
        ",\"args\":".to_owned()
    } else {
        format!(",{}\"args\": ", if space.is_empty() { " " } else { space })
    };
    Ok(Places {
        command: command.value.range.clone(),
        args: args.transpose()?,
        missing,
        quoted: json::quoted,
    })
}

/// The places of a server in TOML.
pub(crate) fn toml_places(text: &str, items: &[Item], path: &[&str]) -> Result<Places, String> {
    let mut found: Vec<(&str, Range<usize>, &TomlValue)> = Vec::new();
    let mut inline = false;
    for item in items.iter().filter(|item| item.is_below(path)) {
        let ItemKind::Value(value) = &item.kind else { continue };
        match (item.path.get(path.len()..).unwrap_or_default(), &value.kind) {
            ([key], _) => found.push((key, item.range.clone(), value)),
            ([], TomlValueKind::Table(members)) => {
                inline = true;
                for (keys, value) in members {
                    if let [key] = keys.as_slice() {
                        // The key itself is not needed: between the command and the list there is only it.
                        found.push((key, value.range.clone(), value));
                    }
                }
            }
            _ => {}
        }
    }
    let find = |name: &str| found.iter().find(|(key, ..)| *key == name);
    let Some((_, statement, command)) = find("command") else {
        return Err(if find("url").is_some() { AT_A_URL } else { NO_COMMAND }.to_owned());
    };
    if !matches!(command.kind, TomlValueKind::String(_)) {
        return Err(NOT_A_STRING.to_owned());
    }
    let args = find("args").map(|(_, member, value)| {
        let TomlValueKind::Array(items) = &value.kind else { return Err(NOT_A_LIST.to_owned()) };
        let items = items.iter().map(|item| {
            let word = if let TomlValueKind::String(word) = &item.kind { Some(word.clone()) } else { None };
            (item.range.clone(), word)
        });
        Ok(Args { member: member.clone(), start: value.range.start + 1, items: items.collect() })
    });
    let before = part(text, 0..statement.start);
    let space = part(before, before.trim_end_matches([' ', '\t']).len()..before.len());
    // The same keys before it: `[mcp_servers]` may have `NAME.command = ..`.
    let keys = part(text, statement.start..command.range.start);
    let keys = keys.rsplit_once("command").map_or("", |(keys, _)| keys);
    let missing =
        if inline { ", args = ".to_owned() } else { format!("{}{space}{keys}args = ", newline(text)) };
    Ok(Places { command: command.range.clone(), args: args.transpose()?, missing, quoted: toml_text::quoted })
}

const AT_A_URL: &str = "is at a URL, and the recorder is for servers that are started";
const NO_COMMAND: &str = "has no \"command\"";
const NOT_A_STRING: &str = "has a \"command\" that is not a string, which is not wrapped: edit it by hand";
const NOT_A_LIST: &str = "has \"args\" that are not a list";

fn no_command(entry: &Value) -> String {
    let url = ["url", "httpUrl", "serverUrl"].iter().any(|member| entry.get(member).is_some());
    if url { AT_A_URL } else { NO_COMMAND }.to_owned()
}
