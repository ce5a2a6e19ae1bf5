//! `papertape read TARGET URI`: reads a resource.

use papertape::protocol::ResourceContents;
use serde_json::json;

use crate::args::{Output, Read};
use crate::connect::with_server;
use crate::exit::Failure;
use crate::print::Look;
use crate::print::content::{Place, Printed, decoded};
use crate::target;

pub(crate) fn run(args: Read) -> Result<(), Failure> {
    let (target, words) =
        target::split(args.words, args.connect.command.clone(), args.connect.config.as_deref())?;
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
        let contents = client.read(uri).await?;
        let printed =
            printed(&contents, Place { look: Look::of_stdout(), folder: args.save.out.as_deref() })?;
        match args.connect.output {
            Output::Text => printed.print()?,
            Output::Json => {
                let document = json!({"revision": client.revision().as_str(), "contents": contents});
                printed.print_document(&document)?;
            }
        }
        Ok(())
    })
}

fn printed(contents: &[ResourceContents], place: Place<'_>) -> Result<Printed, Failure> {
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
