//! `papertape call TARGET TOOL NAME=VALUE...`: calls a tool.

use std::collections::BTreeMap;
use std::io::{self, Read};

use anyhow::Context;
use papertape::Client;
use papertape::client::{Called, ClientError, ErrorKind, ListEntry};
use papertape::guess;
use papertape::protocol::Content;
use papertape::protocol::{CallToolResult, RawJson, ToolDefinition};
use papertape::wire::error::METHOD_NOT_FOUND;
use serde_json::Value;

use crate::args::{Call, Output};
use crate::command::task;
use crate::connect::with_server;
use crate::exact_json::{ExactJson, JsonType, Members};
use crate::exit::{self, Failure};
use crate::print::content::{Destination, Printed};
use crate::print::{self, Look, Printing};
use crate::progress_line::ProgressLine;
use crate::schema::Schema;
use crate::target::Connector;
use crate::{arguments, target};

pub(crate) fn run(args: Call) -> Result<(), Failure> {
    let (target, words) = target::split(args.words, args.connect.command.clone(), &args.connect.from_file)?;
    let (tool, typed) = name_and_rest(&words, "tool", &target.to_string())?;
    if args.detach && matches!(target.connector()?, Connector::Process(_)) {
        return Err(Failure::usage(format!(
            "--detach leaves a task on a server that continues, and {target} is a process that ends with this command: leave \
             out --detach to wait for the result"
        )));
    }
    let document = args.json.as_deref().map(read_document).transpose()?;
    with_server(&args.connect, &target, async |client| {
        let printing = Printing::of(&args.connect, &args.save);
        if !args.detach {
            return call(&client, tool, (typed, document), args.task.task_timeout, printing).await;
        }
        let arguments = read_arguments(&client, tool, (typed, document)).await?;
        match client.call_task(tool, arguments).await? {
            Called::Task(detached) => task::print_detached(&detached, &target, &client, args.connect.output),
            Called::Result(result) => {
                let raw = RawJson::write(&result).map_err(io::Error::from)?;
                print_result(&client, (&result, raw), printing)
            }
        }
    })
}

/// What was typed, and the members of `--json`.
type Typed<'a> = (&'a [String], Option<Members>);

/// Calls a tool, waits for a task up to `task_timeout`, and prints the result.
pub(crate) async fn call(
    client: &Client,
    tool: &str,
    typed: Typed<'_>,
    task_timeout: f64,
    printing: Printing<'_>,
) -> Result<(), Failure> {
    let arguments = read_arguments(client, tool, typed).await?;
    // Cleared before anything else is printed.
    let line = ProgressLine::default();
    let mut options = task::waiting(task_timeout);
    let look = Look::of_stderr();
    if look.redraws() && !printing.trace {
        options = options.on_progress(line.callback(look)).on_status(line.status_callback(look));
    }
    let result = client.call_raw(tool, arguments, options).await;
    drop(line);
    let (result, raw) = result.map_err(task::failure)?;
    print_result(client, (&result, raw), printing)
}

/// The arguments of a tool, by its input schema.
async fn read_arguments(
    client: &Client,
    tool: &str,
    (typed, document): Typed<'_>,
) -> Result<ExactJson, Failure> {
    let schema = input_schema(client, tool).await?;
    let arguments = arguments::build(Schema::new(&schema), typed, document)
        .map_err(|problem| Failure::usage(format!("{tool}: {problem}")))?;
    Ok(ExactJson::Object(arguments))
}

/// Prints the result of a tool, which may be an error.
pub(crate) fn print_result(
    client: &Client,
    (result, raw): (&CallToolResult, RawJson),
    printing: Printing<'_>,
) -> Result<(), Failure> {
    let place = Destination { look: Look::of_stdout(), folder: printing.folder };
    let printed = printed(result, place)?;
    match printing.output {
        Output::Json => {
            let revision = Value::from(client.revision().as_str()).into();
            printed.print_document(&BTreeMap::from([("revision", revision), ("result", raw)]))?;
        }
        Output::Text if result.is_error => printed.print_to_stderr(),
        Output::Text => printed.print()?,
    }
    if result.is_error { Err(Failure::ToolError) } else { Ok(()) }
}

/// The tool's or prompt's name, and the arguments after it.
pub(crate) fn name_and_rest<'a>(
    words: &'a [String],
    what: &str,
    target: &str,
) -> Result<(&'a str, &'a [String]), Failure> {
    match words {
        [] => {
            let target = shell_words::quote(target);
            Err(Failure::usage(format!("which {what}? `papertape list {target}` lists them")))
        }
        [name, ..] if name.contains('=') => Err(Failure::usage(format!(
            "expected the name of the {what}, found \"{name}\": the target comes first, then the {what}, then \
             NAME=VALUE"
        ))),
        [name, rest @ ..] => Ok((name, rest)),
    }
}

/// The input schema of a tool. A tool that the server does not list is wrong usage.
async fn input_schema(client: &Client, tool: &str) -> Result<Value, Failure> {
    const ANYTHING: Value = Value::Bool(true);
    let tools: Vec<ListEntry<ToolDefinition>> = match client.tools().await {
        Ok(tools) => tools,
        // A server that cannot list its tools may still have them.
        Err(error) if may_have_it(&error) => {
            exit::report(&error.into());
            print::err("papertape: without a schema, arguments that look like JSON are sent as JSON\n");
            return Ok(ANYTHING);
        }
        Err(error) => return Err(error.into()),
    };
    match tools.iter().find(|listed| listed.item.name == tool) {
        Some(found) => {
            if !found.problems.is_empty() {
                let problems = found.problems.join("; ");
                print::err(&format!(
                    "papertape: the definition of \"{tool}\" is invalid: {}\n",
                    print::text::one_line(&problems)
                ));
            }
            Ok(if found.item.input_schema.is_object() { found.item.input_schema.clone() } else { ANYTHING })
        }
        None => Err(unknown("tool", tool, tools.iter().map(|listed| listed.item.name.as_str()))),
    }
}

/// Whether the server may still have what it failed to list.
pub(crate) fn may_have_it(error: &ClientError) -> bool {
    match error.kind() {
        ErrorKind::Rpc(error) => error.code != METHOD_NOT_FOUND,
        ErrorKind::Protocol(_) | ErrorKind::ResultType(_) => true,
        _ => false,
    }
}

/// The usage error for an unknown tool or prompt, with the known ones.
pub(crate) fn unknown<'a>(what: &str, typed: &str, known: impl Iterator<Item = &'a str> + Clone) -> Failure {
    let names: Vec<&str> = known.clone().filter(|name| !name.is_empty()).collect();
    let names = if names.is_empty() {
        format!("it has no {what}s")
    } else {
        format!("its {what}s: {}", names.join(", "))
    };
    Failure::usage(format!("there is no {what} \"{typed}\"{}\n  {names}", guess::hint(typed, known)))
}

/// The object that `--json` gives.
pub(crate) fn read_document(given: &str) -> Result<Members, Failure> {
    let text = match given.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(path).with_context(|| format!("--json: cannot read {path}")),
        None if given == "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map(|_| text).context("--json: cannot read stdin")
        }
        None => Ok(given.to_owned()),
    };
    let text = text.map_err(|error| Failure::usage(format!("{error:#}")))?;
    let mut document =
        ExactJson::json(&text).map_err(|error| Failure::usage(format!("--json is not JSON: {error}")))?;
    let json_type = document.json_type();
    match document.members() {
        Some(members) => Ok(std::mem::take(members)),
        None if json_type == JsonType::Object => {
            Err(Failure::usage("--json has a member name that is not valid Unicode"))
        }
        None => {
            Err(Failure::usage(format!("--json must be an object such as {{\"a\": 1}}, not {}", text.trim())))
        }
    }
}

/// Text, or structured content if there is none. An error of the tool goes to stderr. A text that repeats the structured content
/// is pretty-printed on a terminal, and unchanged elsewhere.
fn printed(result: &CallToolResult, place: Destination<'_>) -> Result<Printed, Failure> {
    let place = if result.is_error { Destination { look: Look::of_stderr(), ..place } } else { place };
    let mut printed = Printed::default();
    if place.look.terminal
        && let (Some(value), [Content::Text(block)]) = (&result.structured_content, result.content.as_slice())
        && is_same(&block.text, value)
    {
        printed.laid_out(&block.text, place.look);
        return Ok(printed);
    }
    printed.content(&result.content, place)?;
    let has_text = |block: &Content| match block {
        Content::Text(_) => true,
        Content::Resource(embedded) => embedded.resource.text.is_some(),
        _ => false,
    };
    if let Some(value) = &result.structured_content
        && !result.content.iter().any(has_text)
    {
        printed.laid_out(value.get(), place.look);
    }
    Ok(printed)
}

/// Whether a text is the same JSON value.
fn is_same(text: &str, json: &RawJson) -> bool {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    text == json.get() || json.inexact().is_none() && value(text).is_some_and(|text| *json == text)
}
