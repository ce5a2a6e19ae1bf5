//! `papertape prompt TARGET PROMPT NAME=VALUE...`: gets a prompt.

use papertape::Client;
use papertape::protocol::{PromptDefinition as Definition, PromptResult, RawJson, Role};
use serde_json::{Map, Value, json};

use super::call::{may_have_it, name_and_rest, unknown};
use crate::args::{Output, Prompt};
use crate::connect::with_server;
use crate::exit::{self, Failure};
use crate::print::content::{Destination, Printed};
use crate::print::{Look, Printing, style};
use crate::schema::Schema;
use crate::{arguments, target};

pub(crate) fn run(args: Prompt) -> Result<(), Failure> {
    let (target, words) = target::split(args.words, args.connect.command.clone(), &args.connect.from_file)?;
    let (name, typed) = name_and_rest(&words, "prompt", &target.to_string())?;
    with_server(&args.connect, &target, async |client| {
        get(&client, name, typed, Printing::of(&args.connect, &args.save)).await
    })
}

/// Gets a prompt with what was typed, and prints it.
pub(crate) async fn get(
    client: &Client,
    name: &str,
    typed: &[String],
    printing: Printing<'_>,
) -> Result<(), Failure> {
    let schema = schema_of(client, name).await?;
    let wrong = |problem| Failure::usage(format!("{name}: {problem}"));
    let typed = arguments::build(Schema::new(&schema), typed, None).map_err(wrong)?;
    let mut arguments = Map::new();
    for (key, value) in typed {
        let json = RawJson::from(value);
        let Ok(text) = json.parse::<String>() else {
            return Err(wrong(format!(
                "{key}:={json} is not a string, and the arguments of a prompt are strings"
            )));
        };
        arguments.insert(key, text.into());
    }
    let result = client.prompt(name, arguments).await?;
    let printed = printed(&result, Destination { look: Look::of_stdout(), folder: printing.folder })?;
    match printing.output {
        Output::Text => printed.print()?,
        Output::Json => {
            let document = json!({"revision": client.revision().as_str(), "result": result});
            printed.print_document(&document)?;
        }
    }
    Ok(())
}

/// The arguments of a prompt as a schema: every value is a string.
async fn schema_of(client: &Client, name: &str) -> Result<Value, Failure> {
    let prompts = match client.prompts().await {
        Ok(prompts) => prompts,
        // A server that cannot list its prompts may still have them.
        Err(error) if may_have_it(&error) => {
            exit::report(&error.into());
            return Ok(json!({"additionalProperties": {"type": "string"}}));
        }
        Err(error) => return Err(error.into()),
    };
    match prompts.iter().find(|listed| listed.item.name == name) {
        Some(found) => Ok(as_schema(&found.item)),
        None => Err(unknown("prompt", name, prompts.iter().map(|listed| listed.item.name.as_str()))),
    }
}

pub(crate) fn as_schema(prompt: &Definition) -> Value {
    let properties: serde_json::Map<String, Value> = prompt
        .arguments
        .iter()
        .map(|argument| {
            let description = argument.description.as_ref().or(argument.title.as_ref());
            (argument.name.clone(), json!({"type": "string", "description": description}))
        })
        .collect();
    let required =
        prompt.arguments.iter().filter(|argument| argument.required).map(|argument| &argument.name);
    let required: Vec<&String> = required.collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn printed(result: &PromptResult, place: Destination<'_>) -> Result<Printed, Failure> {
    let mut printed = Printed::default();
    for (index, message) in result.messages.iter().enumerate() {
        let role = match message.role {
            Role::User => "user:",
            Role::Assistant => "assistant:",
        };
        let gap = if index == 0 { "" } else { "\n" };
        printed.output.extend(format!("{gap}{}\n", place.look.paint(style::HEADING, role)).into_bytes());
        printed.content(std::slice::from_ref(&message.content), place)?;
    }
    Ok(printed)
}
