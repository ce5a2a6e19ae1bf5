//! `NAME=VALUE` to JSON, by the tool's input schema.
//!
//! The schema decides the type of a value: a string stays a string, even if it looks like a number. Where several types are
//! allowed, the most specific one that fits is chosen: boolean before number before list before object before string. What
//! is given with `NAME:=JSON` or `--json` is sent unchanged, digit for digit: the server validates it.

use papertape::wire::number;
use serde_json::Value;

use crate::exact_json::{ExactJson, JsonType, Members};
use crate::schema::{Argument, Schema, SchemaType, shown};
use papertape::guess;

/// The most alternatives that are tried: a schema that refers to itself has infinitely many.
const MOST_TRIED: usize = 500;

/// The arguments of a call from what was typed.
///
/// # Errors
/// If a value does not fit the schema: a message that says which, and what would fit.
pub(crate) fn build(schema: Schema<'_>, typed: &[String], json: Option<Members>) -> Result<Members, String> {
    let validated_by_server = json.is_some();
    let given = typed.iter().map(|word| Given::parse(word, schema)).collect::<Result<Vec<_>, _>>()?;
    let mut tries = MOST_TRIED;
    let arguments = match schema.objects().len() {
        0 => set_all(schema, &given, Members::new(), &mut tries)?,
        _ => set_alternative(schema, &given, &Members::new(), &mut tries)?,
    };
    // NAME=VALUE takes precedence over --json.
    let mut all = json.unwrap_or_default();
    all.extend(arguments);
    if !validated_by_server {
        check_required(schema, &all)?;
    }
    Ok(all)
}

/// One word: `key=value`, or `key:=JSON`.
#[derive(Debug, Clone, Copy)]
struct Given<'a> {
    /// As it was typed, for errors.
    typed: &'a str,
    /// Its name within the object: `b` for `a.b` within `a`.
    key: &'a str,
    value: &'a str,
    raw: bool,
}

impl<'a> Given<'a> {
    fn parse(word: &'a str, schema: Schema<'_>) -> Result<Self, String> {
        let Some((key, value)) = word.split_once('=') else {
            return Err(format!("\"{word}\" is not an argument: write NAME=VALUE{}", names(schema)));
        };
        let raw = key.strip_suffix(':');
        match raw.unwrap_or(key) {
            "" => Err(format!("\"{word}\" has no name before the =: write NAME=VALUE{}", names(schema))),
            key => Ok(Self { typed: key, key, value, raw: raw.is_some() }),
        }
    }

    /// What stands before the key: `a.` for `a.b`.
    fn prefix(&self) -> &'a str {
        self.typed.strip_suffix(self.key).unwrap_or_default()
    }

    /// The argument that was meant, as it is typed.
    fn hint(&self, arguments: &[Argument<'_>]) -> String {
        let meant = guess::nearest(self.key, arguments.iter().map(|argument| argument.name));
        meant.map(|name| format!(": did you mean \"{}{name}\"?", self.prefix())).unwrap_or_default()
    }

    /// For `a.b=1`, a member of an object: its name `a`, and its schema.
    fn object<'s>(&self, arguments: &[Argument<'s>]) -> Option<(&'a str, Schema<'s>)> {
        let find = |name: &str| arguments.iter().find(|argument| argument.name == name);
        if find(self.key).is_some() {
            return None;
        }
        let (head, _) = self.key.split_once('.')?;
        let schema = find(head)?.schema;
        (!schema.objects().is_empty()).then_some((head, schema))
    }
}

/// The members of an object: those there are, and what was typed. `tries` bounds the alternatives of nested objects.
fn set_all(
    schema: Schema<'_>,
    given: &[Given<'_>],
    mut map: Members,
    tries: &mut usize,
) -> Result<Members, String> {
    let arguments = schema.arguments();
    let mut done: Vec<&str> = Vec::new();
    for one in given {
        let Some((head, inner)) = one.object(&arguments) else {
            set(&mut map, schema, &arguments, one)?;
            continue;
        };
        if done.contains(&head) {
            continue;
        }
        // The members of one object are read together: one of them may determine which form is meant.
        done.push(head);
        let within: Vec<Given<'_>> = given
            .iter()
            .filter(|other| other.object(&arguments).is_some_and(|(name, _)| name == head))
            .filter_map(|other| Some(Given { key: other.key.split_once('.')?.1, ..*other }))
            .collect();
        let object = map.entry(head.to_owned()).or_insert_with(|| ExactJson::Object(Members::new()));
        let taken = || format!("{} cannot be added to {head}, which is not an object", one.typed);
        let members = object.members().ok_or_else(taken)?;
        *members = set_alternative(inner, &within, members, tries)?;
    }
    Ok(map)
}

/// The members of an object that may have several forms: those of the first one that fits.
fn set_alternative(
    schema: Schema<'_>,
    given: &[Given<'_>],
    members: &Members,
    tries: &mut usize,
) -> Result<Members, String> {
    let mut fits = None;
    let mut problem: Option<((usize, usize), String)> = None;
    for object in schema.objects() {
        match tries.checked_sub(1) {
            Some(left) => *tries = left,
            None => break,
        }
        match set_all(object, given, members.clone(), tries) {
            Ok(set) if check_required(object, &set).is_ok() => return Ok(set),
            // It may be completed by --json, or rejected by the server.
            Ok(set) => fits = fits.or(Some(set)),
            Err(error) => {
                // The error of the form that was chosen by its tag, or else takes most of what was typed.
                let mut taken = given.to_vec();
                taken.retain(|one| set_all(object, &[*one], Members::new(), tries).is_ok());
                let tags = taken.iter().filter(|one| listed(object, one).is_some()).count();
                let fit = (tags, taken.len());
                if problem.as_ref().is_none_or(|(best, _)| fit > *best) {
                    problem = Some((fit, error));
                }
            }
        }
    }
    fits.ok_or_else(|| {
        let of_form = problem.map(|(_, error)| error);
        let error = wrong_tag(schema, given).or(of_form);
        error.unwrap_or_else(|| "the schema is too complex: write NAME:=JSON".to_owned())
    })
}

/// The values of a member, if the form lists them: those of a tag, such as `kind`.
fn listed<'a>(form: Schema<'a>, given: &Given<'_>) -> Option<&'a [Value]> {
    form.arguments().iter().find(|argument| argument.name == given.key)?.schema.allowed()
}

/// The error for a tag whose value is that of no form: the values of all forms.
fn wrong_tag(schema: Schema<'_>, given: &[Given<'_>]) -> Option<String> {
    let forms = schema.objects();
    given.iter().filter(|one| forms.len() > 1 && !one.raw).find_map(|one| {
        let values: Option<Vec<&[Value]>> = forms.iter().map(|form| listed(*form, one)).collect();
        let either = Value::from_iter([("enum", Value::from(values?.concat()))]);
        let either = Schema::new(&either);
        read(either, one.value).is_none().then(|| misfit(either, one))
    })
}

/// Sets one value by its name.
fn set(
    map: &mut Members,
    schema: Schema<'_>,
    arguments: &[Argument<'_>],
    given: &Given<'_>,
) -> Result<(), String> {
    if let Some(argument) = arguments.iter().find(|argument| argument.name == given.key) {
        return put(map, argument.schema, given.key, given);
    }
    match schema.additional() {
        Some(additional) => put(map, additional, given.key, given),
        None if given.raw => put(map, schema, given.key, given),
        None => Err(format!(
            "there is no argument \"{}\"{}{}",
            given.typed,
            given.hint(arguments),
            names_within(given.prefix(), schema),
        )),
    }
}

fn put(map: &mut Members, schema: Schema<'_>, key: &str, given: &Given<'_>) -> Result<(), String> {
    if given.raw {
        let value = ExactJson::json(given.value).map_err(|error| {
            let kinds = schema.kinds();
            let remedy = match kinds.is_empty() || kinds.contains(&SchemaType::String) {
                true => format!("{}=TEXT takes text", given.typed),
                false => format!("{} takes {}", given.typed, schema.words()),
            };
            format!("{}:={} is not JSON: {error}; {remedy}", given.typed, given.value)
        })?;
        map.insert(key.to_owned(), value);
        return Ok(());
    }
    let Some(before) = map.get_mut(key) else {
        let value = read(schema, given.value).ok_or_else(|| misfit(schema, given))?;
        map.insert(key.to_owned(), value);
        return Ok(());
    };
    // A key that is repeated appends to a list.
    let Some(items) = list_of(schema, &mut MOST_TRIED.clone()) else {
        return Err(format!("{} is given twice, but takes one value: {}", given.typed, schema.words()));
    };
    let item = match items {
        Some(items) => read(items, given.value).ok_or_else(|| misfit(items, given))?,
        None => guessed(given.value),
    };
    // The first may have been taken for a single value; `push` makes it a list.
    before.push(item);
    Ok(())
}

/// The schema of the items, if a list is allowed.
fn list_of<'a>(schema: Schema<'a>, tries: &mut usize) -> Option<Option<Schema<'a>>> {
    *tries = tries.checked_sub(1)?;
    if schema.kinds().contains(&SchemaType::Array) {
        return Some(schema.items());
    }
    schema.alternatives().take(MOST_TRIED).find_map(|alternative| list_of(alternative, tries))
}

/// The value of a text by a schema; `None` if it does not fit.
pub(crate) fn read(schema: Schema<'_>, text: &str) -> Option<ExactJson> {
    read_within(schema, text, &mut MOST_TRIED.clone())
}

fn read_within(schema: Schema<'_>, text: &str, tries: &mut usize) -> Option<ExactJson> {
    let mut readings = Vec::new();
    collect(&mut readings, schema, text, tries);
    readings.into_iter().min_by_key(|reading| reading.rank).map(|reading| reading.value)
}

/// One interpretation of a text; the lowest rank wins.
struct Interpretation {
    rank: u8,
    value: ExactJson,
}

impl Interpretation {
    fn new(value: ExactJson) -> Self {
        Self { rank: value.json_type() as u8, value }
    }
}

fn collect(readings: &mut Vec<Interpretation>, schema: Schema<'_>, text: &str, tries: &mut usize) {
    match tries.checked_sub(1) {
        Some(left) => *tries = left,
        None => return,
    }
    if let Some(allowed) = schema.allowed() {
        let as_text = allowed.iter().find(|value| value.as_str() == Some(text));
        let as_json = || {
            let value: Value =
                serde_json::from_str(text).ok().filter(|_| number::first_inexact(text).is_none())?;
            allowed.iter().find(|allowed| **allowed == value)
        };
        readings.extend(as_text.or_else(as_json).map(|value| Interpretation::new(value.into())));
        return;
    }
    let mut has_alternatives = false;
    for alternative in schema.alternatives() {
        has_alternatives = true;
        if *tries == 0 {
            break;
        }
        collect(readings, alternative, text, tries);
    }
    if has_alternatives {
        return;
    }
    let kinds = schema.kinds();
    for kind in &kinds {
        readings.extend(as_kind(*kind, schema, text, tries));
    }
    if kinds.is_empty() && !schema.takes_nothing() {
        readings.push(Interpretation::new(guessed(text)));
    }
}

fn as_kind(kind: SchemaType, schema: Schema<'_>, text: &str, tries: &mut usize) -> Option<Interpretation> {
    let json = |sort: JsonType| ExactJson::json(text).ok().filter(|value| value.json_type() == sort);
    let value = match kind {
        SchemaType::String => Some(ExactJson::text(text)),
        SchemaType::Null => json(JsonType::Null),
        SchemaType::Boolean => json(JsonType::Boolean),
        SchemaType::Integer => json(JsonType::Number).filter(|_| is_integer(text)),
        SchemaType::Number => json(JsonType::Number),
        SchemaType::Object => json(JsonType::Object),
        SchemaType::Array => match json(JsonType::List) {
            None => return one_item(schema, text, tries),
            list => list,
        },
    };
    value.map(Interpretation::new)
}

/// The first item of a list, if no other interpretation fits.
fn one_item(schema: Schema<'_>, text: &str, tries: &mut usize) -> Option<Interpretation> {
    let item = match schema.items() {
        Some(items) => read_within(items, text, tries)?,
        None => guessed(text),
    };
    Some(Interpretation { rank: 6, value: ExactJson::List(vec![item]) })
}

/// Whether a number is an integer: 1.0 and 1e3 are integers too.
fn is_integer(number: &str) -> bool {
    !number.contains(['.', 'e', 'E']) || number.trim().parse().is_ok_and(|value: f64| value.fract() == 0.0)
}

/// Without a schema: what looks like JSON is JSON.
fn guessed(text: &str) -> ExactJson {
    ExactJson::json(text).unwrap_or_else(|_| ExactJson::text(text))
}

fn misfit(schema: Schema<'_>, given: &Given<'_>) -> String {
    let allowed: Vec<String> = schema.values().into_iter().map(shown).collect();
    let hint = guess::hint(given.value, allowed.iter().map(String::as_str));
    format!("{0}={1} does not fit{hint}\n  {0}: {2}", given.typed, given.value, schema.words())
}

fn check_required(schema: Schema<'_>, given: &Members) -> Result<(), String> {
    let arguments = schema.arguments();
    let missing = |argument: &&Argument<'_>| argument.required && !given.contains_key(argument.name);
    let missing: Vec<String> = arguments.iter().filter(missing).map(described).collect();
    match missing.len() {
        0 => Ok(()),
        1 => Err(format!("an argument is missing:\n  {}", missing.concat())),
        count => Err(format!("{count} arguments are missing:\n  {}", missing.join("\n  "))),
    }
}

/// "tense: one of: past, present", and below it what that is.
fn described(argument: &Argument<'_>) -> String {
    let description = argument.description.map(|text| format!("\n    {}", text.trim())).unwrap_or_default();
    format!("{}: {}{description}", argument.name, argument.schema.words())
}

/// The names of the arguments, on a separate line.
fn names(schema: Schema<'_>) -> String {
    names_within("", schema)
}

/// The same for the members of an object, after its name and a dot.
fn names_within(prefix: &str, schema: Schema<'_>) -> String {
    let arguments = schema.arguments();
    let names: Vec<String> = arguments.iter().map(|argument| format!("{prefix}{}", argument.name)).collect();
    if names.is_empty() {
        "\n  it takes no arguments".to_owned()
    } else {
        format!("\n  its arguments: {}", names.join(", "))
    }
}

#[cfg(test)]
mod tests;
