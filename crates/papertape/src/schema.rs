//! JSON Schemas to validators, and what they find wrong to sentences.

use std::error::Error;

use jsonschema::error::{ValidationError, ValidationErrorKind};
use jsonschema::{Draft, PatternOptions, Retrieve, Uri, Validator};
use schemars::JsonSchema;
use serde_json::{Map, Value};

use crate::wire::error::excerpt;

/// The most violations one message lists.
const MOST_LISTED: usize = 5;

/// Steps a pattern with look-around may take on one value; without, patterns take linear time.
const MOST_BACKTRACKS: usize = 100_000;

/// The schema of a type.
pub(crate) fn of<T: JsonSchema>() -> Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    if let Some(root) = schema.as_object_mut() {
        // 2020-12 is what MCP assumes, and the type's name says nothing to a model.
        root.remove("$schema");
        root.remove("title");
    }
    unwrap_descriptions(&mut schema);
    drop_formats_of_rust(&mut schema);
    schema
}

/// `uint8` and the like are formats that only Rust knows, and that strict clients complain about.
fn drop_formats_of_rust(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            let is_rusty = |format: &str| {
                format.strip_prefix('u').unwrap_or(format).starts_with("int")
                    || ["float", "double"].contains(&format)
            };
            if members.get("format").and_then(Value::as_str).is_some_and(is_rusty) {
                members.remove("format");
            }
            members.values_mut().for_each(drop_formats_of_rust);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_formats_of_rust),
        _ => {}
    }
}

/// The schema of a type, with all its parts where they belong.
pub(crate) fn inlined<T: JsonSchema>() -> Value {
    let settings =
        schemars::generate::SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    unwrap_descriptions(&mut schema);
    schema
}

/// The schema of a form: a flat object of plain values.
pub(crate) fn of_form<T: JsonSchema>() -> Result<Value, String> {
    let mut schema = inlined::<T>();
    let Some(root) = schema.as_object_mut().filter(|root| root.get("type") == Some(&Value::from("object")))
    else {
        return Err("its type must be a struct".to_owned());
    };
    // A form has these members and no others.
    root.retain(|member, _| ["type", "properties", "required"].contains(&member.as_str()));
    let properties = root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    for (name, property) in properties.as_object_mut().into_iter().flatten() {
        make_plain(property).map_err(|problem| format!("{name:?} {problem}"))?;
    }
    Ok(schema)
}

/// A value that may be missing is one that is not required, and not one that may be null.
fn make_plain(property: &mut Value) -> Result<(), String> {
    unwrap_optional(property);
    let Some(members) = property.as_object_mut() else { return Err("can be anything".to_owned()) };
    // A choice of one.
    if let Some(only) = members.remove("const") {
        members.insert("enum".to_owned(), Value::Array(vec![only]));
    }
    if members.get("default").is_some_and(Value::is_null) {
        members.remove("default");
    }
    if let Some(Value::Array(kinds)) = members.get("type") {
        let kinds: Vec<Value> = kinds.iter().filter(|kind| *kind != "null").cloned().collect();
        if let [kind] = &kinds[..] {
            members.insert("type".to_owned(), kind.clone());
        }
    }
    if let Some(Value::Array(values)) = members.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    // Only those formats have a meaning in a form.
    let known = ["email", "uri", "date", "date-time"];
    if !members
        .get("format")
        .is_none_or(|format| format.as_str().is_some_and(|format| known.contains(&format)))
    {
        members.remove("format");
    }
    match members.get("type").and_then(Value::as_str) {
        Some("string" | "number" | "integer" | "boolean") => Ok(()),
        Some("array") => make_choices(members),
        _ if members.get("oneOf").is_some() || members.get("enum").is_some() => {
            members.insert("type".to_owned(), "string".into());
            for choice in members.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten() {
                spell_out_choice(choice);
            }
            Ok(())
        }
        _ => Err("is no string, number, boolean or plain choice".to_owned()),
    }
}

/// Of some things a user may choose several: a `Vec` of an enum.
fn make_choices(members: &mut Map<String, Value>) -> Result<(), String> {
    let problem = "is a list, but not of plain choices";
    let Some(items) = members.get_mut("items") else { return Err(problem.to_owned()) };
    make_plain(items)?;
    let Some(items) = items.as_object_mut() else { return Err(problem.to_owned()) };
    if let Some(choices) = items.remove("oneOf") {
        items.insert("anyOf".to_owned(), choices);
        items.remove("type");
    } else if !items.contains_key("enum") {
        return Err(problem.to_owned());
    }
    Ok(())
}

/// What may be missing is written as one of itself and null.
fn unwrap_optional(property: &mut Value) {
    let Some(Value::Array(ways)) = property.get("anyOf") else { return };
    let mut ways = ways.iter().filter(|way| way.get("type") != Some(&Value::from("null")));
    let (Some(Value::Object(only)), None) = (ways.next().cloned(), ways.next()) else { return };
    if let Some(members) = property.as_object_mut() {
        members.remove("anyOf");
        for (name, value) in only {
            members.entry(name).or_insert(value);
        }
    }
}

/// `1.0` and `1` are the same number, and some languages cannot tell them apart.
pub(crate) fn spell_numbers_alike(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            // As an integer it would be written without a point.
            let digits = number.as_f64().map(|float| format!("{float}"));
            if let Some(integer) = digits.and_then(|digits| digits.parse::<i64>().ok()) {
                *value = integer.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(spell_numbers_alike),
        Value::Object(members) => members.values_mut().for_each(spell_numbers_alike),
        _ => {}
    }
}

/// A choice has a value and a title.
fn spell_out_choice(choice: &mut Value) {
    let Some(members) = choice.as_object_mut() else { return };
    let title = members.get("description").or(members.get("const")).cloned().unwrap_or_default();
    members.entry("title").or_insert(title);
    members.retain(|member, _| ["const", "title"].contains(&member.as_str()));
}

/// Doc comments are wrapped for the source's sake; a description is not. Empty lines between paragraphs stay.
fn unwrap_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if name == "description" => {
                        let paragraphs: Vec<String> =
                            text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect();
                        *text = paragraphs.join("\n\n");
                    }
                    _ => unwrap_descriptions(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(unwrap_descriptions),
        _ => {}
    }
}

/// A validator, if the schema is one; otherwise what is wrong with it. Nothing is ever fetched.
pub(crate) fn compile(schema: &Value) -> Result<Validator, String> {
    if !schema.is_object() {
        return Err("a schema must be a JSON object".to_owned());
    }
    let draft = match schema
        .get("$schema")
        .map(|dialect| dialect.as_str().unwrap_or_default().trim_end_matches('#'))
    {
        None | Some("https://json-schema.org/draft/2020-12/schema") => Draft::Draft202012,
        Some("http://json-schema.org/draft-07/schema" | "https://json-schema.org/draft-07/schema") => {
            Draft::Draft7
        }
        Some(other) => {
            return Err(format!("the dialect {} is not supported: use 2020-12 or draft-07", excerpt(other)));
        }
    };
    if parts(schema) > MOST_PARTS {
        return Err(format!("it has over {MOST_PARTS} parts, too many to be checked"));
    }
    if let Some(reference) = reference_loop(schema) {
        return Err(format!("the `$ref` {} leads back to itself", excerpt(reference)));
    }
    jsonschema::options()
        .with_draft(draft)
        .with_retriever(Offline)
        .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(MOST_BACKTRACKS))
        .build(schema)
        .map_err(|error| match error.schema_path().as_str() {
            "" => error.to_string(),
            _ => format!("{error} (at {})", place(error.instance_path().as_str())),
        })
}

/// The most parts a schema may have: somebody else's can be made to take for ever.
const MOST_PARTS: usize = 10_000;

/// How many objects, arrays and values there are in a schema, or one more than allowed.
fn parts(schema: &Value) -> usize {
    let mut todo = vec![schema];
    let mut count = 0;
    while let Some(part) = todo.pop() {
        count += 1;
        if count > MOST_PARTS {
            break;
        }
        match part {
            Value::Object(members) => todo.extend(members.values()),
            Value::Array(items) => todo.extend(items),
            _ => {}
        }
    }
    count
}

/// A reference that leads to nothing but references, and back to itself.
fn reference_loop(schema: &Value) -> Option<&str> {
    let target = |reference: &str| reference.strip_prefix('#').and_then(|pointer| schema.pointer(pointer));
    let reference = |schema: &'_ Value| schema.get("$ref").and_then(Value::as_str).map(str::to_owned);
    let mut todo = vec![schema];
    while let Some(part) = todo.pop() {
        let mut seen = Vec::new();
        let mut next = reference(part);
        while let Some(name) = next {
            if seen.contains(&name) {
                return part.get("$ref").and_then(Value::as_str);
            }
            next = target(&name).and_then(reference);
            seen.push(name);
        }
        match part {
            Value::Object(members) => todo.extend(members.values()),
            Value::Array(items) => todo.extend(items),
            _ => {}
        }
    }
    None
}

/// Answers every reference out of a schema with a refusal.
struct Offline;

impl Retrieve for Offline {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        Err(format!("{uri} is not fetched: a schema may only refer to its own parts").into())
    }
}

fn place(pointer: &str) -> &str {
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
/// errors before it tells one, and each is many times the size of what it is about.
const MOST_EXPLAINED: usize = 64 * 1024;

/// What is wrong with the arguments of a call, in one message, or `None` if nothing is. `size` is their JSON's.
pub(crate) fn violations(
    validator: &Validator,
    tool: &str,
    arguments: &Value,
    size: usize,
    explain: Option<&Explain>,
) -> Option<String> {
    if validator.is_valid(arguments) {
        return None;
    }
    if size > MOST_EXPLAINED {
        return Some(format!(
            "invalid arguments for tool \"{tool}\": they break its input schema ({size} bytes are too many to say where)"
        ));
    }
    let errors: Vec<_> = validator.iter_errors(arguments).collect();
    // A value of the wrong type often breaks a more telling rule too.
    let telling = |error: &ValidationError<'_>| {
        let at = error.instance_path();
        let other =
            |other: &ValidationError<'_>| other.instance_path() == at && other.kind().keyword() == "enum";
        error.kind().keyword() != "type" || !errors.iter().any(other)
    };
    let mut sentences: Vec<String> = errors
        .iter()
        .filter(|error| telling(error))
        .take(MOST_LISTED)
        .map(|error| {
            let violation = describe(error, arguments);
            explain.and_then(|explain| explain(&violation)).unwrap_or(violation.sentence)
        })
        .collect();
    sentences.dedup();
    let more = if errors.len() > MOST_LISTED { "; and more" } else { "" };
    Some(format!("invalid arguments for tool \"{tool}\": {}{more}", sentences.join("; ")))
}

/// The first thing that is wrong with a value, where it is and what.
pub(crate) fn first_violation(validator: &Validator, value: &Value) -> Option<String> {
    let error = validator.validate(value).err()?;
    Some(format!("at {}: {}", place(error.instance_path().as_str()), error.masked()))
}

fn describe<'a>(error: &'a ValidationError<'_>, arguments: &'a Value) -> Violation<'a> {
    let pointer = error.instance_path().as_str();
    let value = arguments.pointer(pointer).unwrap_or(arguments);
    let first = pointer.split('/').nth(1).unwrap_or_default().replace("~1", "/").replace("~0", "~");
    // A member in depth is named by its whole path.
    let shown = if pointer.matches('/').count() > 1 { excerpt(pointer) } else { excerpt(&first) };
    let (argument, sentence) = match error.kind() {
        ValidationErrorKind::Required { property } => {
            let missing = property.as_str().unwrap_or_default();
            let within = if pointer.is_empty() { String::new() } else { format!(" in {shown}") };
            let argument = if pointer.is_empty() { missing.to_owned() } else { first };
            (argument, format!("{}{within} is missing", excerpt(missing)))
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let names: Vec<String> = unexpected.iter().take(MOST_LISTED).map(|name| excerpt(name)).collect();
            let argument =
                if pointer.is_empty() { unexpected.first().cloned().unwrap_or_default() } else { first };
            (argument, format!("{} is not known to it", names.join(", ")))
        }
        kind => {
            let is = if pointer.is_empty() {
                "the arguments".to_owned()
            } else {
                format!("{shown} is {}", show(value))
            };
            let sentence = match allowed(kind) {
                Some(options) => format!("{is}, allowed are {}", options.join(", ")),
                None => format!("{is}: {}", error.masked()),
            };
            (first, sentence)
        }
    };
    Violation { argument, value, keyword: error.kind().keyword(), sentence }
}

/// The values a schema names one by one, also through `oneOf` and `anyOf`.
fn allowed(kind: &ValidationErrorKind) -> Option<Vec<String>> {
    match kind {
        ValidationErrorKind::Enum { options } => Some(options.as_array()?.iter().map(show).collect()),
        ValidationErrorKind::Constant { expected_value } => Some(vec![show(expected_value)]),
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            let options: Vec<String> =
                context.iter().flatten().filter_map(|error| allowed(error.kind())).flatten().collect();
            (!options.is_empty()).then_some(options)
        }
        _ => None,
    }
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

    use super::{compile, violations};

    fn check(schema: &Value, arguments: &Value, expected: &str) {
        let validator = compile(schema).unwrap();
        let message = violations(&validator, "t", arguments, 0, None).unwrap();
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
        check(&schema, &json!({"verb": "eat", "ver": 1}), r#""ver" is not known to it"#);
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
        let validator =
            compile(&json!({"type": "object", "properties": {"a": {"type": "integer"}}})).unwrap();
        let arguments = json!({"a": "x".repeat(1 << 20)});
        for size in [0, 1 << 20] {
            let message = violations(&validator, "t", &arguments, size, None).unwrap();
            assert!(message.len() < 300, "{}", message.len());
        }
    }

    #[test]
    fn bad_schemas_are_refused_with_a_reason() {
        for (schema, reason) in [
            (json!({"type": "objekt"}), "objekt"),
            (json!({"$ref": "http://127.0.0.1:1/schema"}), "127.0.0.1"),
            (json!({"$schema": "http://json-schema.org/draft-03/schema#"}), "use 2020-12 or draft-07"),
            (json!({"properties": {"a": {"pattern": "("}}}), "("),
            (json!(true), "must be a JSON object"),
        ] {
            let problem = compile(&schema).unwrap_err();
            assert!(problem.contains(reason), "{schema}: {problem}");
        }
    }

    #[test]
    fn a_wrapped_doc_comment_is_one_line_a_paragraph() {
        /// One
        /// sentence.
        ///
        /// Another.
        #[derive(schemars::JsonSchema)]
        #[expect(dead_code, reason = "only its schema matters")]
        struct Arguments {
            /// A
            /// field.
            description: String,
        }
        let schema = super::of::<Arguments>();
        assert_eq!(schema["description"], "One sentence.\n\nAnother.");
        assert_eq!(schema["properties"]["description"]["description"], "A field.");
    }

    #[test]
    fn the_dialect_decides() {
        // In draft-07 `items` may be an array; in 2020-12 that is `prefixItems`.
        let tuple = json!({"properties": {"a": {"items": [{"type": "integer"}]}}});
        assert!(compile(&tuple).is_err());
        let mut draft7 = tuple;
        draft7["$schema"] = json!("http://json-schema.org/draft-07/schema#");
        let validator = compile(&draft7).unwrap();
        assert!(violations(&validator, "t", &json!({"a": ["x"]}), 0, None).is_some());
        assert!(violations(&validator, "t", &json!({"a": [1]}), 0, None).is_none());
    }
}
