//! `papertape call TARGET TOOL NAME=VALUE...`: a tool, from the shell.

use std::collections::BTreeMap;
use std::io::Read;

use anyhow::Context;
use papertape::protocol::{CallToolResult, RawJson, ToolDefinition};
use papertape::wire::error::METHOD_NOT_FOUND;
use papertape::{CallOptions, Client, ClientError, Content, ErrorKind, Listed};
use serde_json::Value;

use crate::args::{Call, Output};
use crate::connect::with_server;
use crate::exit::{self, Failure};
use crate::print::content::{Place, Printed};
use crate::print::{self, Look};
use crate::progress::ProgressLine;
use crate::schema::Schema;
use crate::typed::{Members, Sort, Typed};
use crate::{arguments, guess, target};

pub(crate) fn run(args: Call) -> Result<(), Failure> {
    let (target, words) = target::split(args.words, args.connect.command.clone())?;
    let (tool, typed) = name_and_rest(&words, "tool", &target.to_string())?;
    let document = args.json.as_deref().map(read_document).transpose()?;
    with_server(&args.connect, &target, async |client| {
        let schema = input_schema(&client, tool).await?;
        let arguments = arguments::build(Schema::new(&schema), typed, document)
            .map_err(|problem| Failure::usage(format!("{tool}: {problem}")))?;
        // The line goes before anything else is printed.
        let line = ProgressLine::default();
        let mut options = CallOptions::new();
        let look = Look::of_stderr();
        if look.terminal && !args.connect.trace {
            options = options.on_progress(line.teller(look));
        }
        let result = client.call_raw(tool, Typed::Object(arguments), options).await;
        drop(line);
        let (result, raw) = result?;
        let place = Place { look: Look::of_stdout(), folder: args.out.as_deref() };
        let printed = printed(&result, place)?;
        match args.connect.output {
            Output::Json => {
                let revision = Value::from(client.revision().as_str()).into();
                printed.print_document(&BTreeMap::from([("revision", revision), ("result", raw)]))?;
            }
            Output::Text if result.is_error => printed.print_to_stderr(),
            Output::Text => printed.print()?,
        }
        if result.is_error { Err(Failure::SaidNo) } else { Ok(()) }
    })
}

/// The tool's or prompt's name, and the words after it.
pub(crate) fn name_and_rest<'a>(
    words: &'a [String],
    what: &str,
    target: &str,
) -> Result<(&'a str, &'a [String]), Failure> {
    match words {
        [] => {
            let target = shell_words::quote(target);
            Err(Failure::usage(format!("which {what}? papertape list {target} shows what there is")))
        }
        [name, ..] if name.contains('=') => Err(Failure::usage(format!(
            "\"{name}\" stands where the name of the {what} should: the target comes first, then the {what}, then \
             NAME=VALUE"
        ))),
        [name, rest @ ..] => Ok((name, rest)),
    }
}

/// What the tool takes. A tool that the server does not list is wrong usage.
async fn input_schema(client: &Client, tool: &str) -> Result<Value, Failure> {
    const ANYTHING: Value = Value::Bool(true);
    let tools: Vec<Listed<ToolDefinition>> = match client.tools().await {
        Ok(tools) => tools,
        // A server that cannot list its tools may still have them.
        Err(error) if may_have_it(&error) => {
            exit::tell(&error.into());
            print::err("papertape: so the tool is called with arguments as they look\n");
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

/// Whether a server that does not list something may have it all the same.
pub(crate) fn may_have_it(error: &ClientError) -> bool {
    match error.kind() {
        ErrorKind::Rpc(error) => error.code != METHOD_NOT_FOUND,
        ErrorKind::Protocol(_) | ErrorKind::ResultType(_) => true,
        _ => false,
    }
}

/// "there is no tool "x"", with those there are.
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
fn read_document(given: &str) -> Result<Members, Failure> {
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
        Typed::json(&text).map_err(|error| Failure::usage(format!("--json is not JSON: {error}")))?;
    let sort = document.sort();
    match document.members() {
        Some(members) => Ok(std::mem::take(members)),
        None if sort == Sort::Object => {
            Err(Failure::usage("--json has a member whose name no text can hold"))
        }
        None => {
            Err(Failure::usage(format!("--json must be an object such as {{\"a\": 1}}, not {}", text.trim())))
        }
    }
}

/// Text, or structured content if there is none. What a tool says when it failed goes to stderr. A text that is the structured
/// content again is laid out for people, and left as it is for programs.
fn printed(result: &CallToolResult, place: Place<'_>) -> Result<Printed, Failure> {
    let place = if result.is_error { Place { look: Look::of_stderr(), ..place } } else { place };
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

/// Whether a text is this JSON, perhaps written in another way.
fn is_same(text: &str, json: &RawJson) -> bool {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    text == json.get() || json.inexact().is_none() && value(text).is_some_and(|text| *json == text)
}
