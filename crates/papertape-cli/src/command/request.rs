//! `papertape request TARGET METHOD`: sends any request, and prints its result.

use serde_json::{Value, json};

use papertape::Client;
use papertape::protocol::RawJson;

use crate::args::{Output, Request};
use crate::command::call::read_document;
use crate::connect::with_server;
use crate::exact_json::{ExactJson, Members};
use crate::exit::Failure;
use crate::print::content::Printed;
use crate::print::{Look, Printing};
use crate::schema::Schema;
use crate::{arguments, target};

pub(crate) fn run(args: Request) -> Result<(), Failure> {
    let (target, words) = target::split(args.words, args.connect.command.clone(), &args.connect.from_file)?;
    let [method, typed @ ..] = words.as_slice() else {
        return Err(Failure::usage("which method? the target comes first, then the method, then NAME=VALUE"));
    };
    let document = args.json.as_deref().map(read_document).transpose()?;
    let printing = Printing { output: args.connect.output, folder: None, trace: args.connect.trace };
    with_server(&args.connect, &target, async |client| {
        request(&client, method, (typed, document), printing).await
    })
}

/// Sends a request, and prints its result as the server sent it. Without a schema, values that look like JSON are JSON.
pub(crate) async fn request(
    client: &Client,
    method: &str,
    (typed, document): (&[String], Option<Members>),
    printing: Printing<'_>,
) -> Result<(), Failure> {
    let params = arguments::build(Schema::new(&Value::Bool(true)), typed, document)
        .map_err(|problem| Failure::usage(format!("{method}: {problem}")))?;
    let result = client.request_raw(method, RawJson::from(ExactJson::Object(params))).await?;
    let mut printed = Printed::default();
    match printing.output {
        Output::Text => {
            printed.laid_out(result.get(), Look::of_stdout());
            printed.print()?;
        }
        Output::Json => {
            printed.print_document(&json!({"revision": client.revision().as_str(), "result": result}))?;
        }
    }
    Ok(())
}
