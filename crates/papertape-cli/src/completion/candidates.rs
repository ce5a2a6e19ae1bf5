//! What the current word of a command may become, by the lists of the server.

use papertape::wire::shown::characters;
use serde_json::Value;

use super::catalog::{Callable, Listed};
use crate::print::text::one_line;
use crate::schema::{Argument, Schema, SchemaType};

/// The longest candidate, in bytes.
const LONGEST: usize = 500;

/// How many characters of a description are shown.
const LONGEST_ABOUT: usize = 80;

/// The deepest nesting of objects whose members are completed.
const DEEPEST: usize = 4;

/// The most forms of an object in which a member is looked for.
const MOST_FORMS: usize = 20;

/// A word that the current one may become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) word: String,
    pub(crate) about: String,
}

impl Candidate {
    /// `None` if a terminal would not show the word as it is: names are chosen by the server.
    pub(crate) fn new(word: impl Into<String>, about: &str) -> Option<Self> {
        let line = about.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Self::of_escaped(word, one_line(line).chars().take(LONGEST_ABOUT).collect())
    }

    /// The same with a description that can be shown as it is.
    pub(crate) fn of_escaped(word: impl Into<String>, about: String) -> Option<Self> {
        let word = word.into();
        let visible = characters(&word).all(|(_, is_shown)| is_shown);
        (visible && !word.is_empty() && word.len() <= LONGEST).then_some(Self { word, about })
    }

    /// Whether more is to be typed after it, without a space: `name=`, `object.`, the beginning of a URI.
    pub(crate) fn continues(word: &str) -> bool {
        word.ends_with(['=', '.', '/', ':'])
    }
}

/// The names of tools or prompts that begin with what is typed.
pub(crate) fn names(list: &[Callable], typed: &str) -> Vec<Candidate> {
    let fits = list.iter().filter(|callable| callable.name.starts_with(typed));
    fits.filter_map(|callable| Candidate::new(&callable.name, callable.about.as_deref().unwrap_or_default()))
        .collect()
}

/// The URIs of resources that begin with what is typed, and the beginnings of templates.
pub(crate) fn uris(resources: &[Listed], templates: &[Listed], typed: &str) -> Vec<Candidate> {
    let beginnings = templates.iter().filter_map(|template| {
        let (beginning, _) = template.uri.split_once('{')?;
        Some((beginning, template))
    });
    let resources = resources.iter().map(|resource| (resource.uri.as_str(), resource));
    let fits = resources.chain(beginnings).filter(|(uri, _)| uri.starts_with(typed) && *uri != typed);
    fits.filter_map(|(uri, listed)| Candidate::new(uri, &listed.name)).collect()
}

/// `name=` for each argument that is not among the words before, or `name=value` for each value that is listed.
pub(crate) fn arguments(schema: &Value, before: &[String], typed: &str) -> Vec<Candidate> {
    let schema = Schema::new(schema);
    match typed.split_once('=') {
        // `name:=JSON` has no list of values.
        Some((name, beginning)) => {
            let mut found: Vec<Candidate> = Vec::new();
            for argument in find(schema, name, DEEPEST) {
                let more = values(argument.schema, name, beginning);
                found.extend(more.into_iter().filter(|one| !found.contains(one)).collect::<Vec<_>>());
            }
            found
        }
        None => {
            let given: Vec<&str> = before.iter().filter_map(|word| word.split_once('=')).map(key).collect();
            let mut found = Vec::new();
            add_names(&mut found, schema, "", &given, typed, DEEPEST);
            found
        }
    }
}

fn key<'a>((name, _): (&'a str, &'a str)) -> &'a str {
    name.strip_suffix(':').unwrap_or(name)
}

/// The names of the arguments, after `within`, which is empty or ends with a dot.
fn add_names(
    found: &mut Vec<Candidate>,
    schema: Schema<'_>,
    within: &str,
    given: &[&str],
    typed: &str,
    depth: usize,
) {
    let Some(depth) = depth.checked_sub(1) else { return };
    for argument in schema.arguments() {
        let name = format!("{within}{}", argument.name);
        let object = argument.schema.objects();
        let inner = format!("{name}.");
        if !object.is_empty() && typed.starts_with(&inner) {
            for form in object {
                add_names(found, form, &inner, given, typed, depth);
            }
            continue;
        }
        let repeats = !argument.schema.lists().is_empty() || !object.is_empty();
        if given.contains(&name.as_str()) && !repeats {
            continue;
        }
        let word = if object.is_empty() { format!("{name}=") } else { inner };
        if word.starts_with(typed) && found.iter().all(|candidate| candidate.word != word) {
            found.extend(Candidate::new(word, &about(&argument)));
        }
    }
}

/// "required, one of: past, present: The tense."
fn about(argument: &Argument<'_>) -> String {
    let required = if argument.required { "required, " } else { "" };
    let description = argument.description.map(|text| format!(": {text}")).unwrap_or_default();
    format!("{required}{}{description}", argument.schema.words())
}

/// The argument of a name, `a.b` for a member of an object: in each form of that, as a tag has another value in each.
fn find<'a>(schema: Schema<'a>, name: &str, depth: usize) -> Vec<Argument<'a>> {
    let Some(depth) = depth.checked_sub(1) else { return Vec::new() };
    let arguments = schema.arguments();
    let of_name = |name: &str| arguments.iter().find(|argument| argument.name == name).copied();
    if let Some(found) = of_name(name) {
        return vec![found];
    }
    let object = name.split_once('.').and_then(|(head, rest)| Some((of_name(head)?, rest)));
    let Some((object, rest)) = object else { return Vec::new() };
    object.schema.objects().into_iter().take(MOST_FORMS).flat_map(|form| find(form, rest, depth)).collect()
}

/// `name=value` for the values that the schema lists, those of the items of a list too.
fn values(schema: Schema<'_>, name: &str, beginning: &str) -> Vec<Candidate> {
    let items = schema.lists().into_iter().filter_map(Schema::items);
    let mut texts: Vec<String> = Vec::new();
    for schema in std::iter::once(schema).chain(items) {
        // A text is typed without quotes.
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        texts.extend(schema.values().into_iter().map(text));
        if is_boolean(schema) {
            texts.extend(["true".to_owned(), "false".to_owned()]);
        }
    }
    texts.retain(|text| text.starts_with(beginning));
    texts.iter().filter_map(|text| Candidate::new(format!("{name}={text}"), "")).collect()
}

fn is_boolean(schema: Schema<'_>) -> bool {
    let has = |schema: &Schema<'_>| schema.kinds().contains(&SchemaType::Boolean);
    schema.allowed().is_none() && (has(&schema) || schema.alternatives().take(20).any(|other| has(&other)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::catalog::Listed;
    use super::{Candidate, arguments, uris};

    fn schema() -> Value {
        json!({
            "type": "object",
            "required": ["verb"],
            "properties": {
                "verb": {"type": "string", "description": "The verb."},
                "tense": {"enum": ["past simple", "present"]},
                "loud": {"type": ["boolean", "null"]},
                "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
                "page": {"anyOf": [{"$ref": "#/$defs/page"}, {"type": "null"}]},
                "again": {"$ref": "#"},
                "od\u{1b}d": {"type": "string"},
            },
            "$defs": {"page": {
                "type": "object",
                "properties": {"size": {"type": "integer"}, "order": {"enum": ["up", "down"]}},
            }},
        })
    }

    fn words(before: &[&str], typed: &str) -> Vec<String> {
        let before: Vec<String> = before.iter().map(|&word| word.to_owned()).collect();
        arguments(&schema(), &before, typed).into_iter().map(|candidate| candidate.word).collect()
    }

    #[test]
    fn names_of_arguments_are_those_that_are_left() {
        assert_eq!(words(&[], ""), ["verb=", "tense=", "loud=", "tags=", "page.", "again."]);
        assert_eq!(
            words(&["verb=x", "tense:=1", "tags=a", "page.size=1"], ""),
            ["loud=", "tags=", "page.", "again."]
        );
        assert_eq!(words(&[], "t"), ["tense=", "tags="]);
        assert_eq!(words(&["page.size=1"], "page."), ["page.order="]);
        assert_eq!(words(&[], "again.page.s"), ["again.page.size="]);
        assert!(words(&[], "again.again.again.again.again.v").is_empty());
    }

    #[test]
    fn values_are_those_that_the_schema_lists() {
        assert_eq!(words(&[], "tense="), ["tense=past simple", "tense=present"]);
        assert_eq!(words(&[], "tense=past"), ["tense=past simple"]);
        assert_eq!(words(&[], "loud=t"), ["loud=true"]);
        assert_eq!(words(&["tags=a"], "tags="), ["tags=a", "tags=b"]);
        assert_eq!(words(&[], "page.order="), ["page.order=up", "page.order=down"]);
        for nothing in ["verb=", "tense:=", "other=", "=", "page="] {
            assert!(words(&[], nothing).is_empty(), "{nothing}");
        }
    }

    #[test]
    fn a_tag_has_the_values_of_all_forms() {
        let form = |kind: &str| json!({"type": "object", "properties": {"kind": {"const": kind}, "mode": {"const": "m"}}});
        let schema = json!({"properties": {"shape": {"oneOf": [form("circle"), form("label")]}}});
        let words = |typed: &str| {
            arguments(&schema, &[], typed).into_iter().map(|candidate| candidate.word).collect::<Vec<_>>()
        };
        assert_eq!(words("shape.kind="), ["shape.kind=circle", "shape.kind=label"]);
        assert_eq!(words("shape.mode="), ["shape.mode=m"]);
    }

    #[test]
    fn an_argument_is_described() {
        let found = arguments(&schema(), &[], "v");
        assert_eq!(found[0].about, "required, text: The verb.");
    }

    #[test]
    fn uris_and_the_beginnings_of_templates() {
        let listed = |uri: &str| Listed { uri: uri.to_owned(), name: "n".to_owned() };
        let (resources, templates) = ([listed("a:1"), listed("b:\n")], [listed("a:{x}/{y}"), listed("c:d")]);
        let words = |typed: &str| -> Vec<String> {
            uris(&resources, &templates, typed).into_iter().map(|candidate| candidate.word).collect()
        };
        assert_eq!(words(""), ["a:1", "a:"]);
        assert_eq!(words("a:"), ["a:1"]);
    }

    #[test]
    fn a_word_that_cannot_be_seen_is_not_offered() {
        for word in ["", "a\nb", "a\u{1b}[31m", "a\u{202e}b", &"x".repeat(501)] {
            assert_eq!(Candidate::new(word, ""), None, "{word:?}");
        }
        assert_eq!(Candidate::new("é x", "\n one\u{7}\ntwo").unwrap().about, "one⟦07⟧");
    }
}
