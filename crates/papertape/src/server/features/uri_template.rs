//! A URI to the values of a template's variables (RFC 6570), in linear time.

use std::collections::BTreeMap;

use fancy_regex::Regex;
use percent_encoding::percent_decode_str;

/// A template that URIs can be held against.
#[derive(Debug)]
pub(crate) struct UriTemplate {
    /// What every URI of it begins with.
    beginning: String,
    pattern: Regex,
    /// Its variables, in order.
    variables: Vec<Variable>,
}

#[derive(Debug)]
enum Variable {
    /// Its value stands where it stands.
    Plain {
        name: String,
        /// It may hold reserved characters as they are.
        reserved: bool,
    },
    /// Values are looked up by name in the query.
    Query(Vec<String>),
}

impl UriTemplate {
    /// Reads a template; the error says what is not understood.
    pub(crate) fn parse(template: &str) -> Result<Self, String> {
        let mut pattern = String::from("^");
        let mut variables = Vec::new();
        let mut rest = template;
        let beginning = template.split('{').next().unwrap_or_default().to_owned();
        while let Some((literal, after)) = rest.split_once('{') {
            push_literal(&mut pattern, literal)?;
            let (expression, after) = after.split_once('}').ok_or("a `{` has no `}`".to_owned())?;
            push_expression(&mut pattern, &mut variables, expression)?;
            rest = after;
        }
        push_literal(&mut pattern, rest)?;
        pattern.push('$');
        if variables.is_empty() {
            return Err("it has no variable: make it a resource".to_owned());
        }
        let pattern = Regex::new(&pattern).map_err(|error| error.to_string())?;
        let template = Self { beginning, pattern, variables };
        let mut names: Vec<&str> = template.names().collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair.first() == pair.last()) {
            Some(pair) => Err(format!("the variable {} occurs twice", pair.concat())),
            None => Ok(template),
        }
    }

    /// The names of its variables.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.variables
            .iter()
            .flat_map(|variable| match variable {
                Variable::Plain { name, .. } => std::slice::from_ref(name),
                Variable::Query(names) => names,
            })
            .map(String::as_str)
    }

    /// The values that make this URI from the template, if it can be made from it.
    pub(crate) fn match_uri(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        if !uri.starts_with(&self.beginning) {
            return None;
        }
        let captures = self.pattern.captures(uri).ok()??;
        let mut values = BTreeMap::new();
        for (at, variable) in self.variables.iter().enumerate() {
            let Some(text) = captures.get(at + 1).map(|found| found.as_str()) else { continue };
            match variable {
                Variable::Plain { name, .. } => drop(values.insert(name.clone(), decode(text)?)),
                Variable::Query(names) => {
                    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
                        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                        let name = decode(name)?;
                        if !names.contains(&name) {
                            return None;
                        }
                        values.insert(name, decode(value)?);
                    }
                }
            }
        }
        Some(values)
    }

    /// A URI that matches, in the spelling that all others with these values have in common: an encoded letter is the same as
    /// the letter, and so is another order of the query.
    pub(crate) fn usual_uri(&self, uri: &str) -> Option<String> {
        let captures = self.pattern.captures(uri).ok()??;
        let mut spelled = String::with_capacity(uri.len());
        let mut end = 0;
        for (at, variable) in self.variables.iter().enumerate() {
            let Some(found) = captures.get(at + 1) else { continue };
            spelled.push_str(uri.get(end..found.start())?);
            end = found.end();
            match variable {
                Variable::Plain { reserved, .. } => spelled.push_str(&usual(found.as_str(), *reserved)),
                Variable::Query(names) => {
                    let query = usual_query(found.as_str(), names);
                    if query.is_empty() {
                        // The `?` of a query that says nothing.
                        spelled.pop();
                    }
                    spelled.push_str(&query);
                }
            }
        }
        Some(spelled + uri.get(end..)?)
    }
}

/// The text of a value without needless percent-encoding: of characters that never need it (RFC 3986, section 2.3), and of
/// reserved ones where a value may hold them. The rest of the encoding is in upper case.
fn usual(text: &str, reserved: bool) -> String {
    let mut usual = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('%') {
        usual.push_str(before);
        let encoded = from.get(..2).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = encoded.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code.map(char::from).filter(|decoded| is_needless(*decoded, reserved)) {
            Some(decoded) => usual.push(decoded),
            None => usual = usual + "%" + &encoded.unwrap_or_default().to_ascii_uppercase(),
        }
        rest = from.get(encoded.map_or(0, str::len)..).unwrap_or_default();
    }
    usual + rest
}

/// Whether a character need not be encoded in a value.
fn is_needless(decoded: char, reserved: bool) -> bool {
    decoded.is_ascii_alphanumeric()
        || "-._~".contains(decoded)
        || (reserved && ":/?#[]@!$&'()*+,;=".contains(decoded))
}

/// A query in the order of the template, without what changes no value.
fn usual_query(text: &str, names: &[String]) -> String {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let values: BTreeMap<_, _> = pairs.filter_map(|(name, value)| Some((decode(name)?, value))).collect();
    let values = names.iter().filter_map(|name| Some((name, values.get(name)?)));
    let pairs: Vec<_> = values.map(|(name, value)| format!("{name}={}", usual(value, false))).collect();
    pairs.join("&")
}

fn push_literal(pattern: &mut String, literal: &str) -> Result<(), String> {
    if literal.contains('}') {
        return Err("a `}` has no `{`".to_owned());
    }
    pattern.push_str(&fancy_regex::escape(literal));
    Ok(())
}

fn push_expression(
    pattern: &mut String,
    variables: &mut Vec<Variable>,
    expression: &str,
) -> Result<(), String> {
    let operator = expression.chars().next().filter(|c| !c.is_alphanumeric() && *c != '_');
    let names = operator.and_then(|operator| expression.strip_prefix(operator)).unwrap_or(expression);
    let names: Vec<String> = names.split(',').map(str::to_owned).collect();
    let is_name =
        |name: &String| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    if let Some(odd) = names.iter().find(|name| !is_name(name)) {
        return Err(format!(
            "{odd:?} is not a supported variable name (modifiers such as `*` and `:3` are not supported)"
        ));
    }
    // What stands before each value, and what a value may hold. What is not given is not there at all.
    let (before, value) = match operator {
        None => ("", "([^/?#,]+)"),
        Some('+') => ("", "(.+?)"),
        Some('#') => ("#", "(.+?)"),
        Some('.') => (r"\.", "([^/?#.]+)"),
        Some('/') => ("/", "([^/?#]+)"),
        Some('?') if variables.iter().any(|variable| matches!(variable, Variable::Query(_))) => {
            return Err("it has two queries".to_owned());
        }
        Some('?') => {
            pattern.push_str(r"(?:\?([^#]*))?");
            variables.push(Variable::Query(names));
            return Ok(());
        }
        Some(other) => return Err(format!("the operator {other:?} is not supported")),
    };
    for (at, name) in names.into_iter().enumerate() {
        let before = match operator {
            None | Some('+' | '#') if at > 0 => ",",
            _ => before,
        };
        let optional = !before.is_empty() && before != ",";
        // What may not be there must not be taken by what stands before it.
        if optional && pattern.ends_with("]+)") {
            pattern.insert(pattern.len() - 1, '?');
        }
        pattern.push_str(&if optional {
            format!("(?:{before}{value})?")
        } else {
            format!("{before}{value}")
        });
        variables.push(Variable::Plain { name, reserved: matches!(operator, Some('+' | '#')) });
    }
    Ok(())
}

fn decode(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::UriTemplate;

    fn values(template: &str, uri: &str) -> Option<Vec<String>> {
        let values = UriTemplate::parse(template).unwrap().match_uri(uri)?;
        Some(values.into_iter().map(|(name, value)| format!("{name}={value}")).collect())
    }

    fn check(template: &str, uri: &str, expected: &[&str]) {
        assert_eq!(
            values(template, uri).as_deref(),
            Some(&expected.iter().map(|&s| s.to_owned()).collect::<Vec<_>>()[..]),
            "{template} {uri}"
        );
    }

    #[test]
    fn uris_give_values() {
        check("grammar://verb/{verb}", "grammar://verb/eat", &["verb=eat"]);
        check("grammar://verb/{verb}", "grammar://verb/caf%C3%A9%20au", &["verb=café au"]);
        check("a:{x},{y}", "a:1,2", &["x=1", "y=2"]);
        check("a:{x,y}", "a:1,2", &["x=1", "y=2"]);
        check("file:///{+path}", "file:///a/b/c.md", &["path=a/b/c.md"]);
        check("a:b{/x,y}", "a:b/1/2", &["x=1", "y=2"]);
        check("a:b{.ext}", "a:b.md", &["ext=md"]);
        check("a:b{#part}", "a:b#c/d", &["part=c/d"]);
        check("a:s{?q,n}", "a:s?n=2&q=x%26y", &["n=2", "q=x&y"]);
        check("a:s{?q,n}", "a:s", &[]);
        check("a:{x}{?q}", "a:1?q=", &["q=", "x=1"]);
    }

    #[test]
    fn other_uris_do_not() {
        for (template, uri) in [
            ("a:{x}", "a:"),
            ("a:{x}", "a:1/2"),
            ("a:{x}", "b:1"),
            ("a:{x}", "a:%ff"),
            ("a:s{?q}", "a:s?other=1"),
            ("a.b:{x}", "aXb:1"),
        ] {
            assert_eq!(values(template, uri), None, "{template} {uri}");
        }
    }

    #[test]
    fn all_spellings_of_a_uri_have_one_in_common() {
        for (template, uri, expected) in [
            ("a:{x}", "a:%6bey", "a:key"),
            ("a:{x}", "a:caf%c3%a9%20%2f%2E", "a:caf%C3%A9%20%2F."),
            ("a:{x}", "a:é b", "a:é b"),
            ("a:{x}", "a:%", "a:%"),
            ("a:{x}", "a:%%41%4é%+f", "a:%A%4é%+f"),
            ("a:{+x}", "a:b%2fc/%64%20", "a:b/c/d%20"),
            ("a:b{/x,y}", "a:b/%31", "a:b/1"),
            ("a:s{?q,n}", "a:s?n=%32&&q", "a:s?q=&n=2"),
            ("a:s{?q,n}", "a:s?n=1&n=2", "a:s?n=2"),
            ("a:s{?q,n}", "a:s?&", "a:s"),
            ("a:{x}{?q}#z", "a:1?%71=1#z", "a:1?q=1#z"),
        ] {
            let template = UriTemplate::parse(template).unwrap();
            let usual = template.usual_uri(uri);
            assert_eq!(usual.as_deref(), Some(expected), "{uri}");
            assert_eq!(template.usual_uri(expected).as_deref(), Some(expected));
            assert_eq!(template.match_uri(uri), template.match_uri(expected), "{uri}");
        }
    }

    #[test]
    fn an_invalid_template_is_reported() {
        for (template, why) in [
            ("a:b", "no variable"),
            ("a:{x", "no `}`"),
            ("a:x}", "no `{`"),
            ("a:{x*}", "modifiers"),
            ("a:{}", "not a supported variable name"),
            ("a:{;x}", "operator"),
            ("a:{x}/{x}", "twice"),
        ] {
            let problem = UriTemplate::parse(template).unwrap_err();
            assert!(problem.contains(why), "{template}: {problem}");
        }
    }
}
