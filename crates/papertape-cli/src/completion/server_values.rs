//! Values that the server completes (`completion/complete`): arguments of prompts, variables of URI templates.

use papertape::Client;
use papertape::protocol::Reference;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value};

use super::candidates::Candidate;
use super::catalog::Listed;

/// What a variable without an operator leaves as it is (RFC 6570): the unreserved characters.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A value to complete, and how the word continues around it.
#[derive(Debug, PartialEq)]
pub(crate) struct ValueQuery {
    pub(crate) reference: Reference,
    pub(crate) argument: String,
    /// The beginning of the value.
    pub(crate) value: String,
    /// The other arguments that are given.
    known: Map<String, Value>,
    before: String,
    after: String,
    /// Whether the value is percent-encoded in the word.
    encoded: bool,
}

impl ValueQuery {
    /// For `name=beginning`, an argument of a prompt.
    pub(crate) fn of_prompt(prompt: &str, given: &[String], typed: &str) -> Option<Self> {
        let (argument, value) = typed.split_once('=')?;
        Some(Self {
            reference: Reference::Prompt { name: prompt.to_owned() },
            argument: argument.to_owned(),
            value: value.to_owned(),
            known: known_arguments(given),
            before: format!("{argument}="),
            after: String::new(),
            encoded: false,
        })
    }

    /// For the beginning of a URI, the first variable of each template that it fits.
    pub(crate) fn of_templates(templates: &[Listed], typed: &str) -> Vec<Self> {
        templates.iter().filter_map(|template| Self::of_template(&template.uri, typed)).collect()
    }

    fn of_template(template: &str, typed: &str) -> Option<Self> {
        let (before, rest) = template.split_once('{')?;
        let (expression, after) = rest.split_once('}')?;
        let name = expression.strip_prefix('+').unwrap_or(expression);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        let value = typed.strip_prefix(before)?;
        let encoded = name.len() == expression.len();
        let value = if encoded { percent_decode_str(value).decode_utf8_lossy() } else { value.into() };
        Some(Self {
            reference: Reference::Resource { uri: template.to_owned() },
            argument: name.to_owned(),
            value: value.into_owned(),
            known: Map::new(),
            before: before.to_owned(),
            // Up to the next variable, which is completed by itself.
            after: after.split('{').next().unwrap_or_default().to_owned(),
            encoded,
        })
    }

    /// The words that the server suggests; none if it fails.
    pub(crate) async fn candidates(self, client: &Client) -> Vec<Candidate> {
        let Self { reference, argument, value, known, .. } = &self;
        let completed = client.complete(reference.clone(), argument, value, known.clone()).await;
        let values = completed.map(|completion| completion.values).unwrap_or_default();
        values.iter().filter_map(|value| Candidate::new(self.word(value), "")).collect()
    }

    fn word(&self, value: &str) -> String {
        let Self { before, after, .. } = self;
        match self.encoded {
            true => format!("{before}{}{after}", utf8_percent_encode(value, RESERVED)),
            false => format!("{before}{value}{after}"),
        }
    }
}

/// The arguments that are given, as a server sees them.
pub(crate) fn known_arguments(given: &[String]) -> Map<String, Value> {
    let pairs = given.iter().filter_map(|word| word.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.into())).collect()
}

#[cfg(test)]
mod tests {
    use super::ValueQuery;

    #[test]
    fn the_first_variable_of_a_template_is_completed() {
        let query = ValueQuery::of_template("notes://{day}/{page}?x", "notes://a%20b").unwrap();
        assert_eq!((query.argument.as_str(), query.value.as_str()), ("day", "a b"));
        assert_eq!(query.word("a b/c"), "notes://a%20b%2Fc/");
        let query = ValueQuery::of_template("file:///{+path}", "file:///a%20/").unwrap();
        assert_eq!((query.argument.as_str(), query.value.as_str()), ("path", "a%20/"));
        assert_eq!(query.word("a/b"), "file:///a/b");
        for (template, typed) in [("notes://{day}", "n"), ("x", "x"), ("a{?x,y}", "a"), ("a{x", "a")] {
            assert_eq!(ValueQuery::of_template(template, typed), None, "{template}");
        }
    }

    #[test]
    fn the_other_arguments_of_a_prompt_are_known() {
        let given = ["language=rust".to_owned(), "x".to_owned()];
        let query = ValueQuery::of_prompt("review", &given, "style=st").unwrap();
        assert_eq!((query.argument.as_str(), query.value.as_str()), ("style", "st"));
        assert_eq!(query.known.len(), 1);
        assert_eq!(query.word("strict"), "style=strict");
        assert_eq!(ValueQuery::of_prompt("review", &given, "style"), None);
    }
}
