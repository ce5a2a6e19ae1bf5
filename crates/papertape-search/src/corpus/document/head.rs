//! The front matter of a file, and its name, to what is known of it before its first word.

use std::ops::Range;

use papertape_front_matter as front_matter;
use serde_json::{Map, Value};

use super::date;
use crate::analysis::Language;

/// The most characters of a title, a heading or a tag.
pub(super) const MOST_NAME: usize = 200;

/// The most tags, and the most aliases.
pub(super) const MOST_TAGS: usize = 64;

/// The most characters of a description or a summary.
const MOST_PROSE: usize = 2_000;

/// The most bytes of TOML.
const MOST_TOML: usize = 64 * 1024;

/// The most characters of a date that is not understood.
const MOST_SHOWN: usize = 40;

const SWITCHES: [&str; 4] = ["yes", "no", "on", "off"];
const TITLES: [&str; 2] = ["title", "Title"];
const DATES: [&str; 14] = [
    "date",
    "Date",
    "published",
    "publishDate",
    "publish_date",
    "pubDate",
    "published_at",
    "publishedAt",
    "created",
    "lastmod",
    "last_modified_at",
    "updated",
    "modified",
    "lastUpdated",
];
const TAGS: [&str; 7] = ["tags", "Tags", "tag", "keywords", "categories", "category", "topics"];
/// Of these, Jekyll takes one text as words between blanks, unless there are commas in it.
const SPACED: [&str; 3] = ["tags", "Tags", "categories"];
const ALIASES: [&str; 3] = ["aliases", "alias", "Aliases"];
const ABOUT: [&str; 5] = ["description", "summary", "Description", "Summary", "excerpt"];
const LANGUAGES: [&str; 3] = ["lang", "language", "locale"];

/// What front matter says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) title: Option<String>,
    pub(super) date: Option<String>,
    pub(super) tags: Vec<String>,
    /// Other titles.
    pub(super) aliases: Vec<String>,
    /// What it says the text is about.
    pub(super) about: String,
    pub(super) language: Option<Language>,
    /// Where the text begins.
    pub(super) body: usize,
    /// What looks like front matter, and is a part of the text because it cannot be read.
    pub(super) unread: Option<Range<usize>>,
    pub(super) warning: Option<String>,
}

impl Head {
    /// With what the text says of itself where the front matter says nothing.
    pub(super) fn with(mut self, own: Self) -> Self {
        self.title = self.title.or(own.title);
        self.date = self.date.or(own.date);
        self.language = self.language.or(own.language);
        self.warning = self.warning.or(own.warning);
        own.tags.iter().for_each(|tag| add_tag(&mut self.tags, tag));
        if self.about.is_empty() {
            self.about = own.about;
        }
        self
    }
}

/// Reads the front matter, YAML or TOML, if there is any. `named` is the day in the file's name, which counts if there is
/// no other.
pub(super) fn read(text: &str, named: Option<&str>) -> Head {
    if text.starts_with("---\n") || text.starts_with("---\r\n") {
        let halves = front_matter::split(text);
        let nothing = |yaml: &str| yaml.lines().all(|line| line.trim().is_empty() || line.starts_with('#'));
        let members = match halves {
            Some((yaml, _)) if nothing(yaml) => Ok(Map::new()),
            _ => front_matter::read(text),
        };
        return known(text, halves.map(|(_, body)| body), members, named);
    }
    match toml_halves(text) {
        Some((toml, body)) => known(text, Some(body), read_toml(toml), named),
        None => Head::default(),
    }
}

fn known(
    text: &str,
    body: Option<&str>,
    members: Result<Map<String, Value>, String>,
    named: Option<&str>,
) -> Head {
    let body = body.map_or(0, |body| text.len() - body.len());
    match members {
        Ok(members) => {
            let date = DATES.iter().find_map(|name| date::day(&word(members.get(*name)?)?));
            Head {
                title: TITLES.iter().find_map(|name| word(members.get(*name)?)),
                warning: if date.is_none() { not_understood(&members, named) } else { None },
                date,
                tags: tags(&members),
                aliases: aliases(&members),
                about: about(&members),
                language: LANGUAGES
                    .iter()
                    .find_map(|name| Language::from_code(members.get(*name)?.as_str()?)),
                body,
                unread: None,
            }
        }
        Err(problem) => {
            let unread = (body > 0).then_some(0..body);
            Head { unread, warning: Some(format!("read as plain text: {problem}")), ..Head::default() }
        }
    }
}

/// The warning for an invalid date. `published: yes` is not meant as a date.
fn not_understood(members: &Map<String, Value>, named: Option<&str>) -> Option<String> {
    let is_switch = |text: &String| SWITCHES.iter().any(|switch| text.eq_ignore_ascii_case(switch));
    let mut written = DATES.iter().filter_map(|name| word(members.get(*name)?));
    let date = written.find(|text| !is_switch(text))?;
    let shown: String = date.chars().take(MOST_SHOWN).collect();
    let more = if shown.len() < date.len() { "…" } else { "" };
    let so = match named {
        Some(day) => format!("the day in its name counts, {day}"),
        None => "since and until leave it out".to_owned(),
    };
    Some(format!("its date \"{shown}{more}\" is not understood, so {so}; write YYYY-MM-DD"))
}

fn tags(members: &Map<String, Value>) -> Vec<String> {
    let taxonomies = members.get("taxonomies").and_then(Value::as_object);
    let named = |name: &str| {
        let maps = [Some(members), taxonomies];
        maps.into_iter().flatten().find_map(|map| map.get(name))
    };
    let mut tags: Vec<String> = Vec::new();
    for name in TAGS {
        let Some(value) = named(name) else { continue };
        let words: Vec<String> = match value {
            Value::String(list) if SPACED.contains(&name) && !list.contains(',') => {
                list.split_whitespace().filter_map(|part| word(&part.into())).collect()
            }
            value => words(value),
        };
        words.iter().for_each(|word| add_tag(&mut tags, word));
    }
    tags
}

/// Adds a tag, with or without the `#` that some write before it, unless it is there already.
pub(super) fn add_tag(tags: &mut Vec<String>, tag: &str) {
    let tag = tag.trim_start_matches('#').trim_matches(|c: char| c == '/' || c.is_whitespace());
    let is_new = || {
        let lower = tag.to_lowercase();
        !tags.iter().any(|known| known.to_lowercase() == lower)
    };
    if !tag.is_empty() && tags.len() < MOST_TAGS && is_new() {
        tags.push(tag.to_owned());
    }
}

/// The other titles of a page. Those of Hugo are paths it was once at.
fn aliases(members: &Map<String, Value>) -> Vec<String> {
    let values = ALIASES.iter().filter_map(|name| members.get(*name));
    let mut aliases: Vec<String> = values.flat_map(words).filter(|alias| !is_address(alias)).collect();
    aliases.truncate(MOST_TAGS);
    aliases
}

fn is_address(alias: &str) -> bool {
    alias.contains("://") || alias.starts_with(['/', '.']) || alias.ends_with('/')
}

fn about(members: &Map<String, Value>) -> String {
    let values = ABOUT.iter().filter_map(|name| members.get(*name)?.as_str());
    values
        .map(|text| bounded(text, MOST_PROSE))
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

/// A list, or a text with commas between its parts.
fn words(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().filter_map(word).collect(),
        Value::String(list) => list.split(',').filter_map(|part| word(&part.into())).collect(),
        _ => word(value).into_iter().collect(),
    }
}

/// A value as a line of text, unless there is nothing in it.
fn word(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => line(text),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Text on one line, without control characters (no store keeps a NUL), and not too long.
pub(super) fn line(text: &str) -> String {
    bounded(text, MOST_NAME)
}

/// A description or a summary on one line.
pub(super) fn prose(text: &str) -> String {
    bounded(text, MOST_PROSE)
}

fn bounded(text: &str, most: usize) -> String {
    let mut result = String::new();
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    for word in words.take(most) {
        if !result.is_empty() {
            result.push(' ');
        }
        result.extend(word.chars().take(most));
    }
    match result.char_indices().nth(most) {
        Some((end, _)) => result.get(..end).unwrap_or_default().trim_end().to_owned(),
        None => result,
    }
}

fn toml_halves(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix("+++\n").or_else(|| text.strip_prefix("+++\r\n"))?;
    let mut length = 0;
    for line in inside.split_inclusive('\n') {
        if line.trim_end() == "+++" {
            let (toml, rest) = inside.split_at_checked(length)?;
            return Some((toml, rest.strip_prefix(line)?));
        }
        length += line.len();
        if length > MOST_TOML {
            return None;
        }
    }
    None
}

fn read_toml(toml: &str) -> Result<Map<String, Value>, String> {
    let table: toml::Table = toml::from_str(toml)
        .map_err(|error| format!("the front matter is not TOML: {}", line(error.message())))?;
    Ok(table.into_iter().map(|(name, value)| (name, json(value))).collect())
}

/// Depth has a bound: the parser's.
fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(truth) => truth.into(),
        toml::Value::Datetime(date) => date.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(json).collect(),
        toml::Value::Table(table) => {
            Value::Object(table.into_iter().map(|(name, value)| (name, json(value))).collect())
        }
    }
}

/// What a file's path says: a title from its name, and a day, if its name or that of a directory begins with one, or its
/// directories are a year, a month and perhaps a day.
pub(super) fn name(path: &str) -> (String, Option<String>) {
    let mut names = path.rsplit('/');
    let file = names.next().unwrap_or_default();
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let stem = match stem.trim_start_matches('_').to_ascii_lowercase().as_str() {
        "index" | "readme" => names.next().unwrap_or(stem),
        _ => stem,
    };
    let (day, rest) = match date::leading_day(stem) {
        Some((day, rest)) => (Some(day), if rest.is_empty() { stem } else { rest }),
        None => (date::in_path(path), stem),
    };
    let words = line(&rest.replace(['-', '_', '+'], " "));
    let mut letters = words.chars();
    let title = letters.next().map(|first| first.to_uppercase().chain(letters).collect());
    (title.unwrap_or_else(|| line(file)), day)
}

#[cfg(test)]
#[path = "head/tests.rs"]
mod tests;
