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
    Plain(String),
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
                Variable::Plain(name) => std::slice::from_ref(name),
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
                Variable::Plain(name) => drop(values.insert(name.clone(), decode(text)?)),
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
        variables.push(Variable::Plain(name));
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
