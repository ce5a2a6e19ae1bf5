//! Elicitation on the terminal: forms and URLs.

mod checked_url;

use std::io::{BufRead, stdin};
use std::sync::Arc;

use papertape::protocol::{ElicitResult, FormRequest, UrlRequest};
use serde_json::{Map, Value};

use crate::arguments;
use crate::print::text::{one_line, paragraphs};
use crate::print::{self, Look, style};
use crate::schema::{Argument, Schema, SchemaType, shown};
use checked_url::CheckedUrl;

/// Shows a prompt and reads one line; `None` at the end of input.
pub(crate) type ReadLine = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The lines of stdin.
pub(crate) fn stdin_lines() -> ReadLine {
    Arc::new(|prompt| {
        print::err(&format!("{}: ", Look::of_stderr().paint(style::NAME, prompt)));
        let mut line = String::new();
        let count = stdin().lock().read_line(&mut line).ok()?;
        (count > 0).then_some(line)
    })
}

/// Prompts for each field of a form of the server `from`. Ctrl-D cancels the elicitation.
pub(crate) async fn form(from: String, form: FormRequest, lines: ReadLine) -> ElicitResult {
    // Reading from a terminal blocks.
    tokio::task::spawn_blocking(move || fill_in(&from, &form, &lines))
        .await
        .unwrap_or_else(|_| ElicitResult::cancel())
}

/// Shows a URL, which the user opens or declines.
pub(crate) async fn url(from: String, request: UrlRequest, lines: ReadLine) -> ElicitResult {
    tokio::task::spawn_blocking(move || open_url(&from, &request, &lines))
        .await
        .unwrap_or_else(|_| ElicitResult::cancel())
}

fn open_url(from: &str, request: &UrlRequest, lines: &ReadLine) -> ElicitResult {
    let look = Look::of_stderr();
    introduce(look, from, &request.message);
    print::err(&format!("  {}\n", look.paint(style::NAME, &one_line(&request.url))));
    let url = match CheckedUrl::check(&request.url) {
        Ok(url) => url,
        Err(problem) => {
            warn(look, &format!("{problem}: declined"));
            return ElicitResult::decline();
        }
    };
    print::err(&format!("  on the host {}\n", look.paint(style::STRONG, &one_line(&url.host))));
    for warning in &url.warnings {
        warn(look, warning);
    }
    match read_line(lines, "press Enter when you have opened it, or n to decline") {
        Some(text) if text.is_empty() || is_yes(&text) => ElicitResult::visit(),
        Some(_) => ElicitResult::decline(),
        None => ElicitResult::cancel(),
    }
}

fn fill_in(from: &str, form: &FormRequest, lines: &ReadLine) -> ElicitResult {
    let look = Look::of_stderr();
    introduce(look, from, &form.message);
    let fields = Schema::new(&form.requested_schema).arguments();
    let mut values = Map::new();
    for field in &fields {
        match field_value(look, field, lines) {
            Some(value) => put(&mut values, field, value),
            None => return ElicitResult::cancel(),
        }
    }
    let find = |name: &str| fields.iter().find(|field| field.name == name);
    // A word that is the name of a field means the field.
    let decline = ["n", "no", "-"].into_iter().find(|word| find(word).is_none()).unwrap_or("!");
    let prompt =
        format!("press Enter to send, type the name of a field to correct it, or {decline} to decline");
    loop {
        review(look, from, &values);
        let text = match read_line(lines, &prompt) {
            None => return ElicitResult::cancel(),
            Some(text) if text.is_empty() => return ElicitResult::accept(values),
            Some(text) => text,
        };
        match find(&text) {
            None if [decline, "no"].contains(&text.as_str()) => return ElicitResult::decline(),
            // Who reads "n to decline" types it to agree.
            None if is_yes(&text) => return ElicitResult::accept(values),
            Some(field) => match field_value(look, field, lines) {
                Some(value) => put(&mut values, field, value),
                None => return ElicitResult::cancel(),
            },
            None => {
                let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
                print::err(&format!("  unknown field; the fields: {}\n", one_line(&names.join(", "))));
            }
        }
    }
}

fn is_yes(text: &str) -> bool {
    ["y", "yes"].contains(&text.to_ascii_lowercase().as_str())
}

fn put(values: &mut Map<String, Value>, field: &Argument<'_>, value: Option<Value>) {
    match value {
        Some(value) => values.insert(field.name.to_owned(), value),
        None => values.remove(field.name),
    };
}

/// Shows what will be sent, and to which server.
fn review(look: Look, from: &str, values: &Map<String, Value>) {
    let mut text = format!("\n  This will be sent to {}:\n", look.paint(style::STRONG, &one_line(from)));
    if values.is_empty() {
        text += "    an empty form (your consent)\n";
    }
    for (name, value) in values {
        let name = look.paint(style::NAME, &one_line(name));
        text += &format!("    {name}: {}\n", one_line(&shown(value)));
    }
    print::err(&text);
}

fn introduce(look: Look, from: &str, message: &str) {
    print::err(&format!(
        "\n{}\n{}",
        look.paint(style::HEADING, &format!("The server {} requests input:", one_line(from))),
        paragraphs(message, look.width, "  ")
    ));
}

fn warn(look: Look, warning: &str) {
    print::err(&format!("  {} {}\n", look.paint(style::WRONG, "warning:"), one_line(warning)));
}

/// Prompts until the input fits: a value, no value (`Some(None)`), or `None` at the end of input.
fn field_value(look: Look, field: &Argument<'_>, lines: &ReadLine) -> Option<Option<Value>> {
    if let Some(description) = field.description {
        print::err(&paragraphs(description, look.width, "  "));
    }
    let words = if is_boolean(field) { "yes or no".to_owned() } else { field.schema.words() };
    let kind = match (field.default, field.required) {
        (Some(default), _) => format!("{words}; Enter: {}", answer(field, default)),
        (None, true) => words.clone(),
        (None, false) => format!("{words}; Enter to skip"),
    };
    loop {
        let text = read_line(lines, &format!("{} ({kind})", field.name))?;
        if text.is_empty() && (field.default.is_some() || !field.required) {
            return Some(field.default.cloned());
        }
        if let Some(value) = yes_or_no(&text).filter(|_| is_boolean(field)) {
            return Some(Some(value.into()));
        }
        match arguments::read(field.schema, &text).map(|typed| typed.to_value()) {
            Some(Ok(value)) if field.schema.is_within_limits(&value) => return Some(Some(value)),
            Some(Err(inexact)) => print::err(&format!("  invalid: {inexact}\n")),
            Some(Ok(_)) | None => print::err(&format!("  invalid: {}\n", one_line(&words))),
        }
    }
}

/// Whether the field takes only `true` and `false`.
fn is_boolean(field: &Argument<'_>) -> bool {
    field.schema.kinds() == [SchemaType::Boolean]
}

/// A value as the user would type it.
fn answer(field: &Argument<'_>, value: &Value) -> String {
    match value {
        Value::Bool(true) if is_boolean(field) => "yes".to_owned(),
        Value::Bool(false) if is_boolean(field) => "no".to_owned(),
        value => shown(value),
    }
}

/// `y`, `Yes`, `NO`, `true`.
fn yes_or_no(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "y" | "yes" | "true" => Some(true),
        "n" | "no" | "false" => Some(false),
        _ => None,
    }
}

/// One line from the terminal; `None` at the end of input.
fn read_line(lines: &ReadLine, prompt: &str) -> Option<String> {
    lines(&format!("  {}", one_line(prompt))).map(|line| line.trim().to_owned())
}
