//! What a validator finds wrong to sentences.

use std::fmt;

use papertape_schema::{ErrorKind, JsonType, ValidationError, Validator};
use serde_json::Value;

use super::compile::compile;
use super::variant::{self, Meant};
use super::{absent, walk};
use crate::guess;
use crate::wire::error::excerpt;

/// The most violations one message lists.
const MOST_LISTED: usize = 5;

pub(super) fn place(pointer: &str) -> &str {
    if pointer.is_empty() { "the root" } else { pointer }
}

/// An argument that the input schema does not allow.
#[derive(Debug)]
pub struct Violation<'a> {
    argument: String,
    value: &'a Value,
    keyword: &'a str,
    sentence: String,
}

impl Violation<'_> {
    /// The name of the argument: a member of the call's `arguments`.
    #[must_use]
    pub fn argument(&self) -> &str {
        &self.argument
    }

    /// The value that is not allowed (of a missing argument, all arguments).
    #[must_use]
    pub fn value(&self) -> &Value {
        self.value
    }

    /// The schema keyword that forbids it, such as `enum`, `type` or `required`.
    #[must_use]
    pub fn keyword(&self) -> &str {
        self.keyword
    }
}

/// A tool's own words for a violation.
pub(crate) type Explain = dyn Fn(&Violation<'_>) -> Option<String> + Send + Sync;

/// Arguments of more bytes than this are refused without a list of what is wrong with them: a validator collects all
/// errors before it reports one, and each is many times the size of what it is about.
const MOST_EXPLAINED: usize = 64 * 1024;

/// What arguments must be, and a tool's own words for those that are not.
pub(crate) struct Input {
    schema: Value,
    pub(crate) validator: Validator,
    explain: Option<Box<Explain>>,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.schema.fmt(f)
    }
}

impl Input {
    /// Arguments of a schema; the error says what is wrong with that.
    pub(crate) fn new(schema: Value, explain: Option<Box<Explain>>) -> Result<Self, String> {
        let validator = compile(&schema)?;
        Ok(Self { schema, validator, explain })
    }

    /// Leaves out what is `null` and optional.
    pub(crate) fn leave_out_nulls(&self, arguments: &mut Value) {
        absent::leave_out_nulls(&self.schema, arguments);
    }

    /// What is wrong with arguments that are not valid, in one message. `size` is their JSON's.
    pub(crate) fn violations(&self, tool: &str, arguments: &Value, size: usize) -> String {
        if size > MOST_EXPLAINED {
            return format!(
                "invalid arguments for tool \"{tool}\": they break its input schema ({size} bytes are too many to say where)"
            );
        }
        let errors = self.validator.errors(arguments);
        let found = describe_all(&errors, arguments, &self.schema).into_iter();
        let explain = |violation: Violation<'_>| {
            let own = self.explain.as_ref().and_then(|explain| explain(&violation));
            own.unwrap_or(violation.sentence)
        };
        let mut sentences: Vec<String> = found.take(MOST_LISTED + 1).map(explain).collect();
        sentences.dedup();
        let more = if sentences.len() > MOST_LISTED { "; and more" } else { "" };
        sentences.truncate(MOST_LISTED);
        format!("invalid arguments for tool \"{tool}\": {}{more}", sentences.join("; "))
    }
}

/// A value of the wrong type often breaks a more telling rule too.
fn telling<'a, 'i>(errors: &'a [ValidationError<'i>]) -> Vec<&'a ValidationError<'i>> {
    let is_told = |error: &ValidationError<'_>| {
        let more_telling = |other: &ValidationError<'_>| {
            other.pointer() == error.pointer() && other.kind().keyword() == "enum"
        };
        error.kind().keyword() == "type" && errors.iter().any(more_telling)
    };
    errors.iter().filter(|error| !is_told(error)).collect()
}

/// The first thing that is wrong with a value, where it is and what.
pub(crate) fn first_violation(validator: &Validator, value: &Value) -> Option<String> {
    if validator.is_valid(value) {
        return None;
    }
    let errors = validator.errors(value);
    let mut inner = errors.first()?;
    // Of a choice, what is wrong with the alternative that was meant.
    while let Some(context) = variant::alternatives(inner.kind())
        && let Meant::Variant { errors: [first, ..], .. } = variant::meant(context, inner.pointer())
    {
        inner = first;
    }
    Some(format!("at {}: {}", place(inner.pointer()), inner))
}

/// The violations that errors about the same value stand for.
fn describe_all<'a>(
    errors: &'a [ValidationError<'_>],
    arguments: &'a Value,
    schema: &Value,
) -> Vec<Violation<'a>> {
    let mut found = Vec::new();
    for error in telling(errors) {
        match error.kind() {
            // Where no alternative fits, the members of all of them count as unknown too.
            ErrorKind::UnevaluatedProperties(unexpected) if has_choice_beside(error, errors) => {
                let pointer = error.pointer();
                let known = known_members(schema, pointer);
                let unknown: Vec<String> =
                    unexpected.iter().filter(|name| !known.contains(&name.as_str())).cloned().collect();
                if !unknown.is_empty() {
                    found.push(unknown_members(&unknown, error, &known, arguments));
                }
            }
            _ => found.extend(describe(error, arguments, schema)),
        }
    }
    found
}

/// Whether the value of this error fits no alternative of a choice either.
fn has_choice_beside(error: &ValidationError<'_>, errors: &[ValidationError<'_>]) -> bool {
    errors
        .iter()
        .any(|other| other.pointer() == error.pointer() && variant::alternatives(other.kind()).is_some())
}

/// One error as the violations it stands for: of a choice, those of the alternative that was meant.
fn describe<'a>(error: &'a ValidationError<'_>, arguments: &'a Value, schema: &Value) -> Vec<Violation<'a>> {
    let pointer = error.pointer();
    let Some(context) = variant::alternatives(error.kind()) else {
        return vec![describe_one(error, arguments, schema)];
    };
    let keyword = error.kind().keyword();
    let one = |at: &str, sentence: String| vec![violation(at, keyword, arguments, sentence)];
    match variant::meant(context, pointer) {
        Meant::Variant { errors, tag, alone } => {
            let why = match tag {
                Some(tag) => format!("as {} is {}, ", name(tag), show_at(arguments, tag)),
                None if alone => String::new(),
                None => {
                    format!("{} fits none of {} forms; for the nearest, ", subject(pointer), context.len())
                }
            };
            let mut found = describe_all(errors, arguments, schema);
            for violation in &mut found {
                violation.sentence.insert_str(0, &why);
            }
            found
        }
        Meant::Tag { at, options } => {
            let options: Vec<String> = options.into_iter().map(show).collect();
            one(at, format!("{} is {}, allowed are {}", name(at), show_at(arguments, at), options.join(", ")))
        }
        Meant::Lacking(names) => {
            let sentences: Vec<String> =
                names.into_iter().map(|missing| lacking(missing, pointer, schema)).collect();
            one(pointer, sentences.join(", "))
        }
        Meant::OneMember { names, unknown } => {
            let hints = not_known(unknown, pointer, &names);
            let names: Vec<String> = names.iter().map(|name| excerpt(name)).collect();
            one(pointer, format!("{} needs one of {}; {hints}", subject(pointer), names.join(", ")))
        }
        Meant::Nothing => vec![describe_one(error, arguments, schema)],
    }
}

fn describe_one<'a>(error: &'a ValidationError<'_>, arguments: &'a Value, schema: &Value) -> Violation<'a> {
    let pointer = error.pointer();
    let keyword = error.kind().keyword();
    match error.kind() {
        ErrorKind::Required(missing) => {
            let sentence = format!("{}{} is missing", excerpt(missing), within(pointer));
            let mut violation = violation(pointer, keyword, arguments, sentence);
            if pointer.is_empty() {
                (*missing).clone_into(&mut violation.argument);
            }
            violation
        }
        ErrorKind::AdditionalProperties(unexpected) | ErrorKind::UnevaluatedProperties(unexpected) => {
            unknown_members(unexpected, error, &known_members(schema, pointer), arguments)
        }
        kind => {
            let is = if pointer.is_empty() {
                "the arguments".to_owned()
            } else {
                format!("{} is {}", name(pointer), show_at(arguments, pointer))
            };
            let sentence = match allowed(kind) {
                Some(options) => format!("{is}, allowed are {}", options.join(", ")),
                None => format!("{is}: {error}"),
            };
            violation(pointer, keyword, arguments, sentence)
        }
    }
}

/// Members of a value that its schema, which knows some, does not know.
fn unknown_members<'a>(
    unknown: &[String],
    error: &'a ValidationError<'_>,
    known: &[&str],
    arguments: &'a Value,
) -> Violation<'a> {
    let pointer = error.pointer();
    let sentence = not_known(unknown, pointer, known);
    let mut violation = violation(pointer, error.kind().keyword(), arguments, sentence);
    if pointer.is_empty() {
        violation.argument = unknown.first().cloned().unwrap_or_default();
    }
    violation
}

fn violation<'a>(pointer: &str, keyword: &'a str, arguments: &'a Value, sentence: String) -> Violation<'a> {
    let argument = unescaped(pointer.split('/').nth(1).unwrap_or_default());
    Violation { argument, value: arguments.pointer(pointer).unwrap_or(arguments), keyword, sentence }
}

/// A member of the arguments by its name, one in depth by its whole path.
fn name(pointer: &str) -> String {
    match pointer.strip_prefix('/') {
        Some(only) if !only.contains('/') => excerpt(&unescaped(only)),
        _ => excerpt(pointer),
    }
}

fn subject(pointer: &str) -> String {
    if pointer.is_empty() { "the value".to_owned() } else { name(pointer) }
}

fn within(pointer: &str) -> String {
    if pointer.is_empty() { String::new() } else { format!(" in {}", name(pointer)) }
}

fn unescaped(name: &str) -> String {
    name.replace("~1", "/").replace("~0", "~")
}

/// What is missing in every alternative: what distinguishes them, with the values that do.
fn lacking(missing: &str, pointer: &str, schema: &Value) -> String {
    let member = format!("{pointer}/{}", papertape_schema::pointer_step(missing));
    let mut options: Vec<String> = Vec::new();
    let schemas = walk::at_pointer(schema, &member);
    for value in schemas.iter().filter_map(|schema| schema.get("enum")?.as_array()).flatten() {
        let shown = show(value);
        if !options.contains(&shown) {
            options.push(shown);
        }
    }
    let allowed =
        if options.is_empty() { String::new() } else { format!(", allowed are {}", options.join(", ")) };
    format!("{}{} is missing{allowed}", excerpt(missing), within(pointer))
}

/// The members that an object may have by its schema.
fn known_members<'a>(schema: &'a Value, pointer: &str) -> Vec<&'a str> {
    let schemas = walk::at_pointer(schema, pointer);
    let parts = schemas.iter().flat_map(|part| walk::applicable(schema, part));
    let members =
        parts.filter_map(|part| part.get("properties")?.as_object()).flat_map(|members| members.keys());
    let mut known: Vec<&str> = Vec::new();
    for member in members {
        if !known.contains(&member.as_str()) {
            known.push(member);
        }
    }
    known
}

/// `"vreb" is unknown: did you mean "verb"?`
fn not_known(unexpected: &[String], pointer: &str, known: &[&str]) -> String {
    let sentence = |typed: &String| {
        // An alternative that was not chosen has it.
        if known.contains(&typed.as_str()) {
            return format!("{}{} does not go with the other members", excerpt(typed), within(pointer));
        }
        let hint = guess::hint(typed, known.iter().copied());
        format!("{}{} is unknown{hint}", excerpt(typed), within(pointer))
    };
    let sentences: Vec<String> = unexpected.iter().take(MOST_LISTED).map(sentence).collect();
    sentences.join(", ")
}

/// The values a schema names one by one, and the types, also through `oneOf` and `anyOf`.
fn allowed(kind: &ErrorKind<'_>) -> Option<Vec<String>> {
    match kind {
        ErrorKind::Enum(options) => Some(options.iter().map(show).collect()),
        ErrorKind::Const(expected) => Some(vec![show(expected)]),
        kind => {
            let errors = variant::alternatives(kind)?.iter().flat_map(|errors| telling(errors));
            let mut options: Vec<String> =
                errors.filter_map(|error| allowed_of_one(error.kind())).flatten().collect();
            options.dedup();
            (!options.is_empty()).then_some(options)
        }
    }
}

fn allowed_of_one(kind: &ErrorKind<'_>) -> Option<Vec<String>> {
    match kind {
        ErrorKind::Type(types) => Some(match types.only()? {
            JsonType::Null => vec!["null".to_owned()],
            only => vec![format!("any {only}")],
        }),
        kind => allowed(kind),
    }
}

fn show_at(arguments: &Value, pointer: &str) -> String {
    arguments.pointer(pointer).map_or_else(|| "missing".to_owned(), show)
}

/// A value as a person reads it; long ones in part, nested ones not at all.
fn show(value: &Value) -> String {
    match value {
        Value::String(text) => excerpt(text),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Input;

    fn violations(schema: &Value, arguments: &Value, size: usize) -> String {
        Input::new(schema.clone(), None).unwrap().violations("t", arguments, size)
    }

    fn check(schema: &Value, arguments: &Value, expected: &str) {
        let message = violations(schema, arguments, 0);
        assert_eq!(message, format!("invalid arguments for tool \"t\": {expected}"));
    }

    #[test]
    fn violations_name_argument_value_and_what_is_allowed() {
        let schema = json!({
            "type": "object",
            "properties": {
                "verb": {"enum": ["eat", "go"]},
                "count": {"type": "integer", "minimum": 1},
                "mode": {"oneOf": [{"const": "a"}, {"const": "b"}]},
                "nested": {"type": "array", "items": {"type": "object", "required": ["x"]}},
            },
            "required": ["verb"],
            "additionalProperties": false,
        });
        check(&schema, &json!({"verb": "run"}), r#""verb" is "run", allowed are "eat", "go""#);
        check(&schema, &json!({}), r#""verb" is missing"#);
        let typed = json!({"type": "object", "properties": {"a": {"type": "string", "enum": ["x"]}}});
        check(&typed, &json!({"a": 5}), r#""a" is 5, allowed are "x""#);
        check(&schema, &json!({"verb": "eat", "ver": 1}), r#""ver" is unknown: did you mean "verb"?"#);
        check(&schema, &json!({"verb": "eat", "mode": 5}), r#""mode" is 5, allowed are "a", "b""#);
        check(
            &schema,
            &json!({"verb": "eat", "count": "5"}),
            r#""count" is "5": value is not of type "integer""#,
        );
        check(&schema, &json!({"verb": "eat", "nested": [{}]}), r#""x" in "/nested/0" is missing"#);
        check(
            &schema,
            &json!({"verb": "eat", "count": 0}),
            r#""count" is 0: value is less than the minimum of 1"#,
        );
    }

    #[test]
    fn a_violation_never_quotes_a_megabyte() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
        let arguments = json!({"a": "x".repeat(1 << 20)});
        for size in [0, 1 << 20] {
            let message = violations(&schema, &arguments, size);
            assert!(message.len() < 300, "{}", message.len());
        }
    }

    #[test]
    fn a_choice_reports_the_closest_alternative() {
        let variant = |kind: &str, member: &str| {
            json!({
                "type": "object",
                "properties": {"kind": {"type": "string", "enum": [kind]}, member: {"type": "number"}},
                "required": ["kind", member],
                "additionalProperties": false,
            })
        };
        let tagged = json!({"anyOf": [variant("circle", "radius"), variant("square", "side")]});
        let schema = json!({"type": "object", "properties": {"shape": tagged}});
        for (shape, expected) in [
            (json!({"kind": "circle"}), r#"as "/shape/kind" is "circle", "radius" in "shape" is missing"#),
            (
                json!({"kind": "circle", "radius": "x"}),
                r#"as "/shape/kind" is "circle", "/shape/radius" is "x": value is not of type "number""#,
            ),
            (
                json!({"kind": "cube", "side": 1}),
                r#""/shape/kind" is "cube", allowed are "circle", "square""#,
            ),
            (json!({"side": 1}), r#""kind" in "shape" is missing, allowed are "circle", "square""#),
            (json!(5), r#""shape" is 5, allowed are any object"#),
            (
                json!({"kind": "square", "sied": 1}),
                r#"as "/shape/kind" is "square", "side" in "shape" is missing; as "/shape/kind" is "square", "sied" in "shape" is unknown: did you mean "side"?"#,
            ),
        ] {
            check(&schema, &json!({ "shape": shape }), expected);
        }
    }

    #[test]
    fn the_members_of_a_flattened_choice_are_known() {
        let variant = |kind: &str, member: &str| {
            json!({
                "type": "object",
                "properties": {"kind": {"type": "string", "enum": [kind]}, member: {"type": "number"}},
                "required": ["kind", member],
            })
        };
        let schema = json!({
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "anyOf": [variant("circle", "radius"), variant("square", "side")],
            "unevaluatedProperties": false,
        });
        for (arguments, expected) in [
            (json!({"kind": "circle", "side": 1}), r#"as "kind" is "circle", "radius" is missing"#),
            (json!({"kind": "cube", "side": 1}), r#""kind" is "cube", allowed are "circle", "square""#),
            (
                json!({"kind": "circle", "radios": 1}),
                r#"as "kind" is "circle", "radius" is missing; "radios" is unknown: did you mean "radius"?"#,
            ),
            (
                json!({"kind": "circle", "radius": 1, "side": 1, "nam": "x"}),
                r#""side" does not go with the other members, "nam" is unknown: did you mean "name"?"#,
            ),
        ] {
            check(&schema, &arguments, expected);
        }
    }

    #[test]
    fn a_choice_by_member_reports_the_members() {
        let variant = |name: &str| {
            json!({
                "type": "object",
                "properties": {name: {"type": "object", "properties": {"size": {"type": "number"}}, "required": ["size"]}},
                "required": [name],
                "additionalProperties": false,
            })
        };
        let schema = json!({"type": "object", "properties": {
            "shape": {"anyOf": [variant("circle"), variant("square"), {"type": "string", "enum": ["none"]}]},
            "loose": {"anyOf": [
                {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]},
                {"type": "object", "properties": {"c": {"type": "integer"}}, "required": ["c"]},
            ]},
            "number": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        }});
        for (arguments, expected) in [
            (json!({"shape": {"square": {}}}), r#""size" in "/shape/square" is missing"#),
            (
                json!({"shape": {"cirlce": {}}}),
                r#""shape" needs one of "circle", "square"; "cirlce" in "shape" is unknown: did you mean "circle"?"#,
            ),
            (
                json!({"loose": {"c": "x"}}),
                r#""loose" fits none of 2 forms; for the nearest, "/loose/c" is "x": value is not of type "integer""#,
            ),
            (json!({"number": "x"}), r#""number" is "x", allowed are any integer, null"#),
        ] {
            check(&schema, &arguments, expected);
        }
    }
}
