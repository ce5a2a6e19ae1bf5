//! A server's questions to the person at the terminal, and back.

use std::io::{BufRead, stdin};

use papertape::protocol::{ElicitResult, FormRequest, UrlRequest};
use serde_json::{Map, Value};

use crate::address::Address;
use crate::arguments;
use crate::print::text::{one_line, paragraphs};
use crate::print::{self, Look, style};
use crate::schema::{Argument, Schema, shown};

/// Asks for each field of a form of the server `from`. Ctrl-D ends the questions without an answer.
pub(crate) async fn form(from: String, form: FormRequest) -> ElicitResult {
    // Reading from a terminal blocks.
    tokio::task::spawn_blocking(move || fill_in(&from, &form))
        .await
        .unwrap_or_else(|_| ElicitResult::cancel())
}

/// Shows the address. It is for the person to open it, or not.
pub(crate) async fn page(from: String, page: UrlRequest) -> ElicitResult {
    tokio::task::spawn_blocking(move || visit(&from, &page)).await.unwrap_or_else(|_| ElicitResult::cancel())
}

fn visit(from: &str, page: &UrlRequest) -> ElicitResult {
    let look = Look::of_stderr();
    introduce(look, from, &page.message);
    print::err(&format!("  {}\n", look.paint(style::NAME, &one_line(&page.url))));
    let address = match Address::judge(&page.url) {
        Ok(address) => address,
        Err(problem) => {
            warn(look, &format!("{problem}: the question is declined"));
            return ElicitResult::decline();
        }
    };
    print::err(&format!("  on the host {}\n", look.paint(style::STRONG, &one_line(&address.host))));
    for warning in &address.warnings {
        warn(look, warning);
    }
    match answer(look, "Enter when you have been there, n if you will not go") {
        Some(text) if text.is_empty() => ElicitResult::visit(),
        Some(_) => ElicitResult::decline(),
        None => ElicitResult::cancel(),
    }
}

fn fill_in(from: &str, form: &FormRequest) -> ElicitResult {
    let look = Look::of_stderr();
    introduce(look, from, &form.message);
    let fields = Schema::new(&form.requested_schema).arguments();
    let mut values = Map::new();
    for field in &fields {
        match field_value(look, field) {
            Some(value) => put(&mut values, field, value),
            None => return ElicitResult::cancel(),
        }
    }
    let find = |name: &str| fields.iter().find(|field| field.name == name);
    // A word that is the name of a field stands for the field.
    let decline = ["n", "no", "-"].into_iter().find(|word| find(word).is_none()).unwrap_or("!");
    let question =
        format!("Enter to send this, the name of a field to correct it, {decline} to send nothing");
    loop {
        review(look, from, &values);
        let text = match answer(look, &question) {
            None => return ElicitResult::cancel(),
            Some(text) if text.is_empty() => return ElicitResult::accept(values),
            Some(text) => text,
        };
        match find(&text) {
            None if [decline, "no"].contains(&text.as_str()) => return ElicitResult::decline(),
            Some(field) => match field_value(look, field) {
                Some(value) => put(&mut values, field, value),
                None => return ElicitResult::cancel(),
            },
            None => {
                let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
                print::err(&format!(
                    "  there is no such field; there are: {}\n",
                    one_line(&names.join(", "))
                ));
            }
        }
    }
}

fn put(values: &mut Map<String, Value>, field: &Argument<'_>, value: Option<Value>) {
    match value {
        Some(value) => values.insert(field.name.to_owned(), value),
        None => values.remove(field.name),
    };
}

/// What would be sent, and to whom.
fn review(look: Look, from: &str, values: &Map<String, Value>) {
    let mut text = format!("\n  This goes to {}:\n", look.paint(style::STRONG, &one_line(from)));
    if values.is_empty() {
        text += "    nothing but your consent\n";
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
        look.paint(style::HEADING, &format!("The server {} asks:", one_line(from))),
        paragraphs(message, look.width, "  ")
    ));
}

fn warn(look: Look, warning: &str) {
    print::err(&format!("  {} {}\n", look.paint(style::WRONG, "warning:"), one_line(warning)));
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
        match arguments::read(field.schema, &text).map(|typed| typed.to_value()) {
            Some(Ok(value)) => return Some(Some(value)),
            Some(Err(inexact)) => print::err(&format!("  that does not fit: {inexact}\n")),
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
