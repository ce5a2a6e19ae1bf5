//! `papertape list TARGET`: lists tools, resources and prompts.

use std::collections::BTreeMap;

use papertape::Client;
use papertape::client::config::ServersFile;
use papertape::client::model_api::ModelApi;
use papertape::client::{ClientError, ErrorKind, ListEntry};
use papertape::protocol::{
    PromptDefinition, RawJson, ResourceDefinition, ResourceTemplateDefinition, ToolDefinition,
};
use papertape::wire::error::METHOD_NOT_FOUND;
use serde_json::{Value, json};

use crate::args::{Api, BundledServer, List, Output};
use crate::connect::with_server;
use crate::exit::{self, Failure};
use crate::print::text::one_line;
use crate::print::{self, Look, listing};
use crate::{servers_file, target};

pub(crate) fn run(args: List) -> Result<(), Failure> {
    if let (None, true, Some(path)) =
        (&args.target, args.connect.command.is_empty(), &args.connect.from_file.config)
    {
        return print_names(&servers_file::open(path)?, args.connect.output);
    }
    if args.strict && matches!(args.declare, Some(Api::Anthropic | Api::Gemini)) {
        return Err(Failure::usage("--strict is for --as openai and --as openai-responses"));
    }
    let words = args.target.into_iter().collect();
    let (target, _) = target::split(words, args.connect.command.clone(), &args.connect.from_file)?;
    if let Some(api) = args.declare {
        return with_server(&args.connect, &target, async |client| {
            declare(&client, api.into(), args.strict).await
        });
    }
    with_server(&args.connect, &target, async |client| list(&client, args.connect.output).await)
}

/// Prints the names that a target may be.
fn print_names(file: &ServersFile, output: Output) -> Result<(), Failure> {
    let (names, bundled): (Vec<&str>, _) = (file.names().collect(), BundledServer::names());
    match output {
        Output::Text => {
            let listed = if names.is_empty() { "(none)".to_owned() } else { names.join(", ") };
            let path = file.path().display().to_string();
            print::out(format!(
                "the servers of {}: {}\nthe bundled servers: {}\n",
                one_line(&path),
                one_line(&listed),
                bundled.join(", ")
            ))?;
        }
        Output::Json => print::document(&json!({"servers": names, "bundled": bundled}))?,
    }
    Ok(())
}

/// Lists what the server has, and prints it.
pub(crate) async fn list(client: &Client, output: Output) -> Result<(), Failure> {
    let (lists, failures) = Lists::request(client).await;
    // Lets the tasks that collect the server's stderr run.
    tokio::task::yield_now().await;
    match output {
        Output::Text => {
            print::out(lists.as_text(client, Look::of_stdout()))?;
            for warning in &lists.warnings {
                exit::note(&format!("warning: {}", warning.message));
            }
            report(failures)
        }
        Output::Json => {
            print::document(&lists.document(client, failures.first()))?;
            failures.into_iter().next().map_or(Ok(()), |failure| Err(Failure::Reported(failure.into())))
        }
    }
}

/// Prints the tools as the API of a model has them, and what that leaves out.
async fn declare(client: &Client, api: ModelApi, strict: bool) -> Result<(), Failure> {
    let tools = client.tools().await?;
    let tools = tools.iter().map(|entry| &entry.item);
    let declared = if strict { api.declare_strict(tools) } else { api.declare(tools) };
    for loss in declared.losses() {
        exit::note(&format!("note: {loss}"));
    }
    print::document(&declared.tools())?;
    Ok(())
}

/// Reports all but the first failure; the first decides the exit code.
fn report(failures: Vec<Failure>) -> Result<(), Failure> {
    let mut failures = failures.into_iter();
    let first = failures.next();
    for failure in failures {
        exit::report(&failure);
    }
    first.map_or(Ok(()), Err)
}

/// The lists of a server.
#[derive(Debug, Default)]
struct Lists {
    tools: Option<Vec<ListEntry<ToolDefinition>>>,
    resources: Option<Vec<ListEntry<ResourceDefinition>>>,
    templates: Option<Vec<ListEntry<ResourceTemplateDefinition>>>,
    prompts: Option<Vec<ListEntry<PromptDefinition>>>,
    warnings: Vec<Warning>,
}

/// A list that the server declares but does not support.
#[derive(Debug)]
struct Warning {
    list: &'static str,
    message: String,
}

impl Lists {
    /// Requests what the server declares; tools also if it declares nothing at all.
    /// A list that fails does not hide the others.
    async fn request(client: &Client) -> (Self, Vec<Failure>) {
        let declared = client.capabilities();
        let nothing = declared.tools.is_none() && declared.resources.is_none() && declared.prompts.is_none();
        let mut lists = Self::default();
        let mut requests = Requests::default();
        if declared.tools.is_some() || nothing {
            lists.tools = requests.keep(client.tools()).await;
        }
        if declared.resources.is_some() {
            lists.resources = requests.keep_if_known("resources", client.resources()).await;
            lists.templates = requests.keep_if_known("resourceTemplates", client.resource_templates()).await;
        }
        if declared.prompts.is_some() {
            lists.prompts = requests.keep_if_known("prompts", client.prompts()).await;
        }
        lists.warnings = requests.warnings;
        (lists, requests.failures)
    }

    fn as_text(&self, client: &Client, look: Look) -> String {
        let mut text = listing::server(
            look,
            client.server(),
            client.revision(),
            client.newer_revision(),
            client.instructions(),
        );
        if let Some(tools) = &self.tools {
            text += &listing::section(look, "Tools", tools, listing::tool);
        }
        if let Some(resources) = &self.resources {
            text += &listing::section(look, "Resources", resources, listing::resource);
        }
        if let Some(templates) = self.templates.as_ref().filter(|templates| !templates.is_empty()) {
            text += &listing::section(look, "Resource templates", templates, listing::template);
        }
        if let Some(prompts) = &self.prompts {
            text += &listing::section(look, "Prompts", prompts, listing::prompt);
        }
        text + &listing::count_of_invalid(
            look,
            self.problems().iter().filter(|problem| problem.first).count(),
        )
    }

    fn document(&self, client: &Client, failure: Option<&Failure>) -> BTreeMap<&'static str, RawJson> {
        let mut document = BTreeMap::new();
        let mut put = |name: &'static str, value: Value| drop(document.insert(name, RawJson::from(value)));
        put("revision", client.revision().as_str().into());
        if let Some(newer) = client.newer_revision() {
            put("newerRevision", newer.into());
        }
        put("server", serde_json::to_value(client.server()).unwrap_or_default());
        put("capabilities", serde_json::to_value(client.capabilities()).unwrap_or_default());
        if let Some(instructions) = client.instructions() {
            put("instructions", instructions.into());
        }
        let problems = self.problems().into_iter().map(|problem| {
            json!({"in": problem.list, "index": problem.index, "name": problem.name, "problem": problem.problem})
        });
        let stray = client.stray_output().map(|problem| json!({"in": "stdout", "problem": problem}));
        put("problems", problems.chain(stray).collect());
        let warnings = self.warnings.iter();
        let warnings = warnings.map(|warning| json!({"in": warning.list, "message": warning.message}));
        put("warnings", warnings.collect());
        if let Some(failure) = failure {
            put("error", exit::document(failure).into());
        }
        document.insert("tools", raw(self.tools.as_deref()));
        document.insert("resources", raw(self.resources.as_deref()));
        document.insert("resourceTemplates", raw(self.templates.as_deref()));
        document.insert("prompts", raw(self.prompts.as_deref()));
        document
    }

    fn problems(&self) -> Vec<Problem> {
        let mut all = Vec::new();
        collect(&mut all, "tools", self.tools.as_deref());
        collect(&mut all, "resources", self.resources.as_deref());
        collect(&mut all, "resourceTemplates", self.templates.as_deref());
        collect(&mut all, "prompts", self.prompts.as_deref());
        all
    }
}

/// A problem with one definition.
#[derive(Debug)]
struct Problem {
    list: &'static str,
    index: usize,
    name: String,
    problem: String,
    /// The first of its definition.
    first: bool,
}

fn collect<T>(all: &mut Vec<Problem>, list: &'static str, found: Option<&[ListEntry<T>]>) {
    for (index, listed) in found.unwrap_or_default().iter().enumerate() {
        for (number, problem) in listed.problems.iter().enumerate() {
            let name = listing::name_of(&listed.raw);
            all.push(Problem { list, index, name, problem: problem.clone(), first: number == 0 });
        }
    }
}

/// The lists as the server sent them, digit for digit.
fn raw<T>(list: Option<&[ListEntry<T>]>) -> RawJson {
    let list: Vec<&RawJson> = list.unwrap_or_default().iter().map(|listed| &listed.raw).collect();
    RawJson::write(&list).unwrap_or_else(|_| Value::Null.into())
}

/// Requests in sequence, until the server is gone.
#[derive(Debug, Default)]
struct Requests {
    failures: Vec<Failure>,
    warnings: Vec<Warning>,
    over: bool,
}

impl Requests {
    async fn keep<T>(&mut self, list: impl Future<Output = Result<T, ClientError>>) -> Option<T> {
        if self.over {
            return None;
        }
        match list.await {
            Ok(list) => Some(list),
            Err(error) => {
                // A server that has exited or timed out has no other list either.
                self.over = !matches!(
                    error.kind(),
                    ErrorKind::Rpc(_) | ErrorKind::Protocol(_) | ErrorKind::ResultType(_)
                );
                self.failures.push(error.into());
                None
            }
        }
    }

    /// The same for a list that may be missing although it is declared: the others are still usable.
    async fn keep_if_known<T>(
        &mut self,
        name: &'static str,
        list: impl Future<Output = Result<T, ClientError>>,
    ) -> Option<T> {
        let known = async {
            match list.await {
                Err(error) if is_unknown(&error) => Ok(Err(error)),
                list => list.map(Ok),
            }
        };
        match self.keep(known).await? {
            Ok(list) => Some(list),
            Err(error) => {
                let message = format!("{error}; left out, although the server declares the capability");
                self.warnings.push(Warning { list: name, message });
                None
            }
        }
    }
}

/// Whether the server does not know the method.
fn is_unknown(error: &ClientError) -> bool {
    matches!(error.kind(), ErrorKind::Rpc(error) if error.code == METHOD_NOT_FOUND)
}
