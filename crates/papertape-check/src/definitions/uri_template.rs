//! URI templates (RFC 6570).

use super::uris::has_scheme;

/// Why a text is not a template.
pub(super) fn problem(template: &str) -> Result<(), String> {
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        check_literal(literal)?;
        let (expression, after) = after.split_once('}').ok_or("a `{` has no `}`")?;
        check_expression(expression)?;
        rest = after;
    }
    check_literal(rest)?;
    let begins_with_variable = template.starts_with('{');
    if !begins_with_variable && !has_scheme(template) {
        return Err("its URIs have no scheme".to_owned());
    }
    Ok(())
}

fn check_literal(literal: &str) -> Result<(), String> {
    if literal.contains('}') {
        return Err("a `}` has no `{`".to_owned());
    }
    let is_wrong = |c: &char| c.is_ascii_control() || " \"<>\\^`|".contains(*c);
    match literal.chars().find(is_wrong) {
        Some(wrong) => Err(format!("the character {wrong:?} must be percent-encoded")),
        None => Ok(()),
    }
}

fn check_expression(expression: &str) -> Result<(), String> {
    let names = expression.strip_prefix(['+', '#', '.', '/', ';', '?', '&']).unwrap_or(expression);
    for variable in names.split(',') {
        let (name, length) = match variable.strip_suffix('*') {
            Some(name) => (name, None),
            None => variable.split_once(':').map_or((variable, None), |(name, length)| (name, Some(length))),
        };
        let is_length =
            |length: &str| (1..=4).contains(&length.len()) && length.bytes().all(|b| b.is_ascii_digit());
        if length.is_some_and(|length| !is_length(length)) {
            return Err(format!("the length after `:` in {variable:?} is not a number up to 9999"));
        }
        let is_name_character = |c: char| c.is_ascii_alphanumeric() || "_%.".contains(c);
        if name.is_empty() || !name.chars().all(is_name_character) {
            return Err(format!("{name:?} is not the name of a variable"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn templates_of_the_rfc_are_accepted() {
        for template in [
            "file:///{path}",
            "{+uri}",
            "notes://{year}/{title}{?lang,full}",
            "db://{table:3}/{keys*}{#part}",
            "demo://resource/dynamic/text/{resourceId}",
            "repo://{owner}/{repo}/contents{/path*}",
            "a:plain",
        ] {
            assert_eq!(problem(template), Ok(()), "{template}");
        }
    }

    #[test]
    fn others_are_not() {
        for (template, why) in [
            ("notes://{year", "a `{` has no `}`"),
            ("notes://year}", "a `}` has no `{`"),
            ("notes://{}", "\"\" is not the name of a variable"),
            ("notes://{my name}", "\"my name\" is not the name of a variable"),
            ("notes://{a:x}", "the length after `:` in \"a:x\" is not a number up to 9999"),
            ("notes/{a}", "its URIs have no scheme"),
            ("notes://a b/{a}", "the character ' ' must be percent-encoded"),
            ("notes://{{a}}", "\"{a\" is not the name of a variable"),
        ] {
            assert_eq!(problem(template), Err(why.to_owned()), "{template}");
        }
    }
}
