//! `${VAR}` and `${VAR:-default}` from the environment, `${input:ID}` from the user.

use super::input::Inputs;

/// The text with its variables replaced; `member` is where it stands, for errors.
///
/// # Errors
/// If a variable or an input has no value and no default, or the expression is another one.
pub(super) fn expand(member: &str, text: &str, inputs: &Inputs) -> Result<String, String> {
    expand_with(member, text, inputs, |name| std::env::var(name).ok())
}

fn expand_with(
    member: &str,
    text: &str,
    inputs: &Inputs,
    get: impl Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let (mut expanded, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let Some((expression, after)) = after.split_once('}') else { break };
        expanded += before;
        rest = after;
        if let Some(id) = expression.strip_prefix("input:") {
            let value = inputs.value(id).map_err(|missing| format!("\"{member}\" needs {missing}"))?;
            expanded += &value;
            continue;
        }
        let (name, default) = match expression.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (expression, None),
        };
        // VS Code writes `${env:VAR}`.
        let name = name.strip_prefix("env:").unwrap_or(name);
        if !is_name(name) {
            return Err(format!(
                "\"{member}\" has ${{{expression}}}, which papertape does not support: write ${{VAR}} or ${{VAR:-default}} \
                 for a variable of the environment"
            ));
        }
        // As in a shell, the default is for an empty value too.
        match (get(name), default) {
            (Some(value), None) => expanded += &value,
            (Some(value), Some(_)) if !value.is_empty() => expanded += &value,
            (_, Some(default)) => expanded += default,
            (None, None) => {
                return Err(format!(
                    "\"{member}\" needs the environment variable {name}, which is not set: set it, or write \
                     ${{{name}:-default}}"
                ));
            }
        }
    }
    Ok(expanded + rest)
}

fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::{Inputs, expand_with};

    fn expand(text: &str) -> Result<String, String> {
        let mut inputs = Inputs::default();
        inputs.give("an id".to_owned(), "${A}".to_owned());
        expand_with("args", text, &inputs, |name| match name {
            "A" => Some("1".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        })
    }

    #[test]
    fn variables_are_replaced() {
        for (text, right) in [
            ("", ""),
            ("a$b{c}$", "a$b{c}$"),
            ("${A}", "1"),
            ("x${A}${A}y", "x11y"),
            ("${env:A}", "1"),
            ("${A:-2}", "1"),
            ("${B:-2}", "2"),
            ("${B:-}", ""),
            ("${EMPTY}", ""),
            ("${EMPTY:-2}", "2"),
            ("${A", "${A"),
            ("é${A}${B:-é}", "é1é"),
            // A value is not expanded again.
            ("x${input:an id}y", "x${A}y"),
        ] {
            assert_eq!(expand(text).as_deref(), Ok(right), "{text}");
        }
    }

    #[test]
    fn a_missing_variable_is_named() {
        assert!(expand("x ${B}").unwrap_err().contains("the environment variable B, which is not set"));
        assert!(
            expand("${input:key}").unwrap_err().contains("\"args\" needs the input \"key\", which has no")
        );
        for text in ["${}", "${workspaceFolder}x${1}"] {
            assert!(expand(text).is_err(), "{text}");
        }
    }
}
