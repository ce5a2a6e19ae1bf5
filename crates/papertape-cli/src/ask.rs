//! A server's questions to the person at the terminal, and back.

use std::io::{BufRead, stdin};

use papertape::protocol::{ElicitResult, FormRequest, UrlRequest};
use serde_json::{Map, Value};

use crate::arguments;
use crate::print::text::{one_line, paragraphs};
use crate::print::{self, Look, style};
use crate::schema::{Argument, Schema, shown};

/// Asks for each field of a form. Ctrl-D ends the questions without an answer.
pub(crate) async fn form(form: FormRequest) -> ElicitResult {
    // Reading from a terminal blocks.
    tokio::task::spawn_blocking(move || fill_in(&form)).await.unwrap_or_else(|_| ElicitResult::cancel())
}

/// Shows the address. It is for the person to open it, or not.
pub(crate) async fn page(page: UrlRequest) -> ElicitResult {
    tokio::task::spawn_blocking(move || {
        let look = Look::of_stderr();
        introduce(look, &page.message);
        print::err(&format!("  {}\n", look.paint(style::NAME, &one_line(&page.url))));
        match answer(look, "Enter when you have been there, n if you will not go") {
            Some(text) if text.is_empty() => ElicitResult::visit(),
            Some(_) => ElicitResult::decline(),
            None => ElicitResult::cancel(),
        }
    })
    .await
    .unwrap_or_else(|_| ElicitResult::cancel())
}

fn fill_in(form: &FormRequest) -> ElicitResult {
    let look = Look::of_stderr();
    introduce(look, &form.message);
    let mut values = Map::new();
    for field in Schema::new(&form.requested_schema).arguments() {
        match field_value(look, &field) {
            Some(value) => values.extend(value.map(|value| (field.name.to_owned(), value))),
            None => return ElicitResult::cancel(),
        }
    }
    match answer(look, "Enter to send this, n to send nothing") {
        Some(text) if text.is_empty() => ElicitResult::accept(values),
        Some(_) => ElicitResult::decline(),
        None => ElicitResult::cancel(),
    }
}

fn introduce(look: Look, message: &str) {
    print::err(&format!(
        "\n{}\n{}",
        look.paint(style::HEADING, "The server asks:"),
        paragraphs(message, look.width, "  ")
    ));
}

/// Asks until the answer fits: a value, none (`Some(None)`), or the end of the questions.
fn field_value(look: Look, field: &Argument<'_>) -> Option<Option<Value>> {
    if let Some(description) = field.description {
        print::err(&paragraphs(description, look.width, "  "));
    }
    let kind = match (field.default, field.required) {
        (Some(default), _) => format!("{}; Enter for {}", field.schema.words(), shown(default)),
        (None, true) => field.schema.words(),
        (None, false) => format!("{}; Enter to leave it out", field.schema.words()),
    };
    loop {
        let text = answer(look, &format!("{} ({kind})", field.name))?;
        if text.is_empty() && (field.default.is_some() || !field.required) {
            return Some(field.default.cloned());
        }
        match arguments::read(field.schema, &text).and_then(|typed| typed.to_value().ok()) {
            Some(value) => return Some(Some(value)),
            None => print::err(&format!("  that does not fit: {}\n", field.schema.words())),
        }
    }
}

/// One line from the terminal; nothing at its end.
fn answer(look: Look, question: &str) -> Option<String> {
    print::err(&format!("  {}: ", look.paint(style::NAME, &one_line(question))));
    let mut line = String::new();
    let count = stdin().lock().read_line(&mut line).ok()?;
    (count > 0).then(|| line.trim().to_owned())
}
