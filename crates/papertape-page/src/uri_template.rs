//! URI templates (RFC 6570) with values that are text.

use std::collections::BTreeMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All but unreserved characters.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// All but unreserved and reserved ones, and `%`.
const RESERVED: &AsciiSet = &UNRESERVED
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'#')
    .remove(b'[')
    .remove(b']')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b'%');

/// The URI of a template with these values; variables without one are left out.
pub(crate) fn expand(template: &str, values: &BTreeMap<String, String>) -> String {
    let mut uri = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((expression, after)) = after.split_once('}') else { break };
        uri.push_str(before);
        uri.push_str(&expand_expression(expression, values));
        rest = after;
    }
    uri + rest
}

fn expand_expression(expression: &str, values: &BTreeMap<String, String>) -> String {
    let operator = expression.chars().next().filter(|first| "+#./;?&".contains(*first));
    let names = operator.map_or(expression, |operator| expression.trim_start_matches(operator));
    let (first, between, named, set) = match operator {
        Some('+') => ("", ",", false, RESERVED),
        Some('#') => ("#", ",", false, RESERVED),
        Some('.') => (".", ".", false, UNRESERVED),
        Some('/') => ("/", "/", false, UNRESERVED),
        Some(';') => (";", ";", true, UNRESERVED),
        Some('?') => ("?", "&", true, UNRESERVED),
        Some('&') => ("&", "&", true, UNRESERVED),
        _ => ("", ",", false, UNRESERVED),
    };
    let expand_one = |name: &str| {
        let (name, length) = name.split_once(':').unwrap_or((name, ""));
        let name = name.trim_end_matches('*');
        let value: String = values.get(name)?.chars().take(length.parse().unwrap_or(usize::MAX)).collect();
        let value = utf8_percent_encode(&value, set).to_string();
        Some(if named { format!("{name}={value}") } else { value })
    };
    let expanded: Vec<String> = names.split(',').filter_map(expand_one).collect();
    if expanded.is_empty() { String::new() } else { format!("{first}{}", expanded.join(between)) }
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn templates_of_the_rfc() {
        let values =
            [("var", "value"), ("hello", "Hello World!"), ("path", "/foo/bar"), ("x", "1024"), ("y", "768")];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        for (template, uri) in [
            ("{var}", "value"),
            ("{hello}", "Hello%20World%21"),
            ("{+hello}", "Hello%20World!"),
            ("{+path}/here", "/foo/bar/here"),
            ("X{#var}", "X#value"),
            ("map?{x,y}", "map?1024,768"),
            ("X{.x,y}", "X.1024.768"),
            ("{/var,x}/here", "/value/1024/here"),
            ("{;x,y}", ";x=1024;y=768"),
            ("{?x,y}", "?x=1024&y=768"),
            ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
            ("{var:3}", "val"),
            ("{unknown}a{?unknown}", "a"),
            ("a{b", "a{b"),
        ] {
            assert_eq!(expand(template, &values), uri, "{template}");
        }
    }
}
