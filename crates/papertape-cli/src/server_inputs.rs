//! Values of `${input:ID}` in a file of servers: those of `--input` and `--input-file`, and those that are asked for on the terminal.

use std::io::{BufRead, IsTerminal, stderr, stdin};

use papertape::client::config::{Input, ServersFile};
use papertape::guess;

use crate::args::FromFile;
use crate::connect::until_signal;
use crate::env_file;
use crate::exit::Failure;
use crate::print::text::one_line;
use crate::print::{self, Look, style};
use crate::terminal_mode::TerminalMode;

/// The file with the values that a server of it needs.
pub(crate) fn fill_in(
    mut file: ServersFile,
    server: &str,
    options: &FromFile,
) -> Result<ServersFile, Failure> {
    let needed = file.inputs(server);
    let mut given = Vec::new();
    for path in &options.input_file {
        given.extend(env_file::read(path, "--input-file")?);
    }
    // A file may have the values of several servers.
    given.retain(|(id, _)| needed.iter().any(|input| input.id == *id));
    for (id, value) in &options.input {
        check_id(id, &needed, server, &file)?;
        given.push((id.clone(), value.clone()));
    }
    let missing = needed.into_iter().filter(|input| given.iter().all(|(id, _)| *id != input.id));
    let missing: Vec<Input> = missing.collect();
    // Where no user can answer, defaults are used. Completion in a shell has a terminal too, but not on stderr.
    if !missing.is_empty() && stdin().is_terminal() && stderr().is_terminal() {
        given.extend(ask(missing, server, &file)?);
    } else if let Some(input) = missing.iter().find(|input| input.default.is_none()) {
        return Err(not_given(input, server, &file));
    }
    for (id, value) in given {
        file = file.input(id, value);
    }
    Ok(file)
}

/// A name that is not one of the inputs is a typing error.
fn check_id(id: &str, needed: &[Input], server: &str, file: &ServersFile) -> Result<(), Failure> {
    if needed.iter().any(|input| input.id == id) {
        return Ok(());
    }
    let ids: Vec<&str> = needed.iter().map(|input| input.id.as_str()).collect();
    let hint = guess::hint(id, ids.iter().copied());
    let ids = if ids.is_empty() { "it has none".to_owned() } else { ids.join(", ") };
    Err(Failure::usage(format!(
        "the server \"{server}\" of {} has no input \"{id}\"{hint}\n  its inputs: {ids}",
        file.path().display()
    )))
}

fn not_given(input: &Input, server: &str, file: &ServersFile) -> Failure {
    let id = &input.id;
    let description = input.description.as_ref().map(|text| format!(" ({text})")).unwrap_or_default();
    let options = match input.options.as_slice() {
        [] => String::new(),
        options => format!("\n  one of: {}", options.join(", ")),
    };
    Failure::usage(format!(
        "the server \"{server}\" of {} needs the input \"{id}\"{description}: add --input {id}=VALUE, or --input-file FILE with \
         a line {id}=VALUE{options}",
        file.path().display()
    ))
}

/// Asks for values on the terminal.
fn ask(inputs: Vec<Input>, server: &str, file: &ServersFile) -> Result<Vec<(String, String)>, Failure> {
    let look = Look::of_stderr();
    let needs =
        format!("The server {} of {} needs:", one_line(server), one_line(&file.path().to_string_lossy()));
    print::err(&format!("{}\n", look.paint(style::HEADING, &needs)));
    until_signal(async |signals| {
        let mut given = Vec::new();
        for input in inputs {
            // Dropped, and so restored, by a signal too.
            let mode = TerminalMode::save();
            if input.is_secret {
                mode.hide_typing().map_err(|error| {
                    Failure::usage(format!(
                        "the terminal would show what is typed ({error}): use --input-file"
                    ))
                })?;
            }
            let asked = input.clone();
            // Reading from a terminal blocks.
            let value = tokio::select! {
                value = tokio::task::spawn_blocking(move || value(&asked)) => value.ok().flatten(),
                number = signals.next() => {
                    print::err("\n");
                    return Err(Failure::Signal(number));
                }
            };
            drop(mode);
            match value {
                Some(value) => given.push((input.id, value)),
                None => {
                    print::err("\n");
                    return Err(not_given(&input, server, file));
                }
            }
        }
        Ok(given)
    })
}

/// Reads lines until one fits; `None` at the end of input.
fn value(input: &Input) -> Option<String> {
    let prompt = prompt(input, Look::of_stderr());
    loop {
        print::err(&prompt);
        let mut line = String::new();
        let count = stdin().lock().read_line(&mut line).ok()?;
        let line = line.trim_end_matches(['\n', '\r']);
        match (&input.default, line) {
            _ if count == 0 => return None,
            (Some(default), "") => return Some(default.clone()),
            (None, "") => {}
            _ if input.options.is_empty() || input.options.iter().any(|option| option == line) => {
                return Some(line.to_owned());
            }
            _ => print::err("  invalid: not one of these values\n"),
        }
    }
}

/// "  API token (token; not shown): ".
fn prompt(input: &Input, look: Look) -> String {
    let mut notes = vec![one_line(&input.id)];
    if !input.options.is_empty() {
        notes.push(format!("one of: {}", one_line(&input.options.join(", "))));
    }
    if let Some(default) = &input.default {
        notes.push(format!(
            "Enter: {}",
            if input.is_secret { "the default".to_owned() } else { one_line(default) }
        ));
    }
    if input.is_secret {
        notes.push("not shown".to_owned());
    }
    let what = input.description.as_deref().unwrap_or("Input");
    format!("  {} ({}): ", look.paint(style::NAME, &one_line(what)), notes.join("; "))
}

#[cfg(test)]
mod tests {
    use papertape::client::config::ServersFile;
    use serde_json::json;

    use super::prompt;
    use crate::print::Look;

    #[test]
    fn a_prompt_says_what_is_needed_and_is_escaped() {
        let file = json!({
            "inputs": [
                {"id": "token", "description": "API\n token\u{1b}[2J", "password": true, "default": "secret"},
                {"id": "region", "options": ["eu", "us"], "default": "eu"},
            ],
            "servers": {"s": {"command": "${input:token}${input:region}${input:x}"}},
        });
        let file = ServersFile::parse(&file.to_string(), "f.json").unwrap();
        let look = Look { colour: false, width: 80, terminal: false };
        let prompts: Vec<String> = file.inputs("s").iter().map(|input| prompt(input, look)).collect();
        assert_eq!(prompts[0], "  API token⟦1b⟧[2J (token; Enter: the default; not shown): ");
        assert_eq!(prompts[1], "  Input (region; one of: eu, us; Enter: eu): ");
        assert_eq!(prompts[2], "  Input (x): ");
    }
}
