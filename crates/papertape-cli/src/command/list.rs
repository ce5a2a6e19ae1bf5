//! `papertape list TARGET`: what a server offers.

use std::collections::BTreeMap;

use papertape::protocol::{Prompt, RawJson, Resource, ResourceTemplate, ToolDefinition};
use papertape::wire::error::METHOD_NOT_FOUND;
use papertape::{Client, ClientError, ErrorKind, Listed};
use serde_json::{Value, json};

use crate::args::{List, Output};
use crate::connect::with_server;
use crate::exit::{self, Failure};
use crate::print::{self, Look, listing};
use crate::target;

pub(crate) fn run(args: List) -> Result<(), Failure> {
    let (target, _) = target::split(args.target.into_iter().collect(), args.connect.command.clone())?;
    with_server(&args.connect, &target, async |client| {
        let (lists, failures) = Lists::ask(&client).await;
        // What the server has said beside its answers is taken down by others.
        tokio::task::yield_now().await;
        match args.connect.output {
            Output::Text => {
                print::out(lists.in_words(&client, Look::of_stdout()))?;
                for warning in &lists.warnings {
                    exit::say(&format!("warning: {}", warning.message));
                }
                told(failures)
            }
            Output::Json => {
                print::document(&lists.document(&client, failures.first()))?;
                failures.into_iter().next().map_or(Ok(()), |failure| Err(Failure::Told(failure.into())))
            }
        }
    })
}

/// All but the first failure are told here; the first decides how the process ends.
fn told(failures: Vec<Failure>) -> Result<(), Failure> {
    let mut failures = failures.into_iter();
    let first = failures.next();
    for failure in failures {
        exit::tell(&failure);
    }
    first.map_or(Ok(()), Err)
}

/// What was asked for and came.
#[derive(Debug, Default)]
struct Lists {
    tools: Option<Vec<Listed<ToolDefinition>>>,
    resources: Option<Vec<Listed<Resource>>>,
    templates: Option<Vec<Listed<ResourceTemplate>>>,
    prompts: Option<Vec<Listed<Prompt>>>,
    warnings: Vec<Warning>,
}

/// A list that the server declares and does not have.
#[derive(Debug)]
struct Warning {
    list: &'static str,
    message: String,
}

impl Lists {
    /// Asks for what the server declares; for tools also if it declares nothing at all.
    /// One list that is refused does not hide the others.
    async fn ask(client: &Client) -> (Self, Vec<Failure>) {
        let declared = client.capabilities();
        let nothing = declared.tools.is_none() && declared.resources.is_none() && declared.prompts.is_none();
        let mut lists = Self::default();
        let mut asking = Asking::default();
        if declared.tools.is_some() || nothing {
            lists.tools = asking.keep(client.tools()).await;
        }
        if declared.resources.is_some() {
            lists.resources = asking.keep_if_known("resources", client.resources()).await;
            lists.templates = asking.keep_if_known("resourceTemplates", client.resource_templates()).await;
        }
        if declared.prompts.is_some() {
            lists.prompts = asking.keep_if_known("prompts", client.prompts()).await;
        }
        lists.warnings = asking.warnings;
        (lists, asking.failures)
    }

    fn in_words(&self, client: &Client, look: Look) -> String {
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
        put("problems", problems.collect());
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

/// What is wrong with one definition.
#[derive(Debug)]
struct Problem {
    list: &'static str,
    index: usize,
    name: String,
    problem: String,
    /// The first of its definition.
    first: bool,
}

fn collect<T>(all: &mut Vec<Problem>, list: &'static str, found: Option<&[Listed<T>]>) {
    for (index, listed) in found.unwrap_or_default().iter().enumerate() {
        for (number, problem) in listed.problems.iter().enumerate() {
            let name = listing::name_of(&listed.raw);
            all.push(Problem { list, index, name, problem: problem.clone(), first: number == 0 });
        }
    }
}

/// What the server sent, digit for digit.
fn raw<T>(list: Option<&[Listed<T>]>) -> RawJson {
    let list: Vec<&RawJson> = list.unwrap_or_default().iter().map(|listed| &listed.raw).collect();
    RawJson::write(&list).unwrap_or_else(|_| Value::Null.into())
}

/// Requests one after the other, as long as it makes sense.
#[derive(Debug, Default)]
struct Asking {
    failures: Vec<Failure>,
    warnings: Vec<Warning>,
    over: bool,
}

impl Asking {
    async fn keep<T>(&mut self, list: impl Future<Output = Result<T, ClientError>>) -> Option<T> {
        if self.over {
            return None;
        }
        match list.await {
            Ok(list) => Some(list),
            Err(error) => {
                // A server that has gone or is silent gives no other list either.
                self.over = !matches!(
                    error.kind(),
                    ErrorKind::Rpc(_) | ErrorKind::Protocol(_) | ErrorKind::ResultType(_)
                );
                self.failures.push(error.into());
                None
            }
        }
    }

    /// The same for a list that may be missing although it is declared: what else there is can be used.
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
                let message = format!("{error}; left out, though the server declares the capability");
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
