//! `papertape read TARGET URI`: reads a resource.

use papertape::Client;
use papertape::client::{ClientError, ErrorKind};
use papertape::guess;
use papertape::protocol::ResourceContents;
use papertape::protocol::error_code::{INVALID_PARAMS, RESOURCE_NOT_FOUND};
use serde_json::json;

use crate::args::{Output, Read};
use crate::connect::with_server;
use crate::exit::Failure;
use crate::print::content::{Destination, Printed, decoded};
use crate::print::{Look, Printing};
use crate::target;

/// The most resources that an error lists.
const MOST_LISTED: usize = 20;

pub(crate) fn run(args: Read) -> Result<(), Failure> {
    let (target, words) = target::split(args.words, args.connect.command.clone(), &args.connect.from_file)?;
    let uri = match words.as_slice() {
        [uri] => uri,
        [] => {
            let message = format!("which resource? `papertape list {target}` lists them");
            return Err(Failure::usage(message));
        }
        [_, more, ..] => {
            return Err(Failure::usage(format!(
                "unexpected argument \"{more}\": read one resource at a time"
            )));
        }
    };
    with_server(&args.connect, &target, async |client| {
        read(&client, uri, Printing::of(&args.connect, &args.save)).await
    })
}

/// Reads a resource and prints it.
pub(crate) async fn read(client: &Client, uri: &str, printing: Printing<'_>) -> Result<(), Failure> {
    let contents = match client.read(uri).await {
        Ok(contents) => contents,
        Err(error) => {
            let hint = hint(client, &error, uri).await;
            return Err(Failure::from(error).with_hint(hint));
        }
    };
    let printed = printed(&contents, Destination { look: Look::of_stdout(), folder: printing.folder })?;
    match printing.output {
        Output::Text => printed.print()?,
        Output::Json => {
            let document = json!({"revision": client.revision().as_str(), "contents": contents});
            printed.print_document(&document)?;
        }
    }
    Ok(())
}

/// For a resource that the server does not have: the nearest one that it lists, or what it lists.
async fn hint(client: &Client, error: &ClientError, uri: &str) -> String {
    let is_unknown = matches!(error.kind(), ErrorKind::Rpc(error) if [RESOURCE_NOT_FOUND, INVALID_PARAMS].contains(&error.code));
    if !is_unknown {
        return String::new();
    }
    // The error is the server's; a list that fails as well adds nothing to it.
    let resources = client.resources().await.unwrap_or_default();
    let uris: Vec<&str> = resources.iter().map(|listed| listed.item.uri.as_str()).collect();
    // It is there, and something else is wrong.
    if uris.contains(&uri) {
        return String::new();
    }
    let meant = guess::hint(uri, uris.iter().copied());
    let templates = client.resource_templates().await.unwrap_or_default();
    let templates = templates.iter().map(|listed| listed.item.uri_template.as_str());
    let list = |what: &str, known: Vec<&str>| match known.len() {
        0 => String::new(),
        count => {
            let more = if count > MOST_LISTED { ", .." } else { "" };
            format!(
                "\n  its {what}: {}{more}",
                known.into_iter().take(MOST_LISTED).collect::<Vec<_>>().join(", ")
            )
        }
    };
    format!("{meant}{}{}", list("resources", uris), list("resource templates", templates.collect()))
}

fn printed(contents: &[ResourceContents], place: Destination<'_>) -> Result<Printed, Failure> {
    let mut printed = Printed::default();
    for resource in contents {
        match resource.blob.as_deref().filter(|_| resource.text.is_none()).and_then(decoded) {
            // Bytes are only kept from a terminal.
            Some(bytes) if !place.look.terminal && place.folder.is_none() => printed.output.extend(bytes),
            _ => printed.resource(resource, place)?,
        }
    }
    Ok(printed)
}
