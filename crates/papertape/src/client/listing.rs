//! Lists, page by page: everything is kept, and what is wrong with it is said.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jsonschema::Validator;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::Client;
use super::error::{ClientError, ErrorKind};
use super::session::{Params, Trouble};
use crate::protocol::{Prompt, RawJson, Resource, ResourceTemplate, ToolDefinition, method, mirror};
use crate::schema;
use crate::wire::error::{INVALID_PARAMS, excerpt, shortened};

/// The most pages a list may have.
const MOST_PAGES: usize = 1_000;
/// How often a list is begun again because the server no longer takes its own cursor.
const MOST_RESTARTS: usize = 2;
/// The most members a list may have.
const MOST_MEMBERS: usize = 100_000;
/// The most bytes of JSON a list may have.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// A member of a list, as it came, and what is wrong with it.
///
/// Nothing is left out of a list because it is wrong: a tool that cannot be understood is still a tool that its author
/// looks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed<T> {
    /// What could be understood.
    pub item: T,
    /// What came, every digit of it.
    pub raw: RawJson,
    /// Why it is invalid; nothing if it is not.
    pub problems: Vec<String>,
}

/// Whether a list failed because the server does not take its own cursor.
enum Cursor {
    Refused,
    Fine,
}

/// Something that servers list.
pub(super) trait Definition: DeserializeOwned + Serialize + Default {
    const METHOD: &'static str;
    /// The member of the result that is the list.
    const LIST: &'static str;
    /// The member that names each.
    const KEY: &'static str;

    fn key(&self) -> &str;

    /// What is wrong with it beyond its shape.
    fn check(&self, _: &mut Vec<String>) {}
}

impl Definition for ToolDefinition {
    const METHOD: &'static str = method::TOOLS_LIST;
    const LIST: &'static str = "tools";
    const KEY: &'static str = "name";

    fn key(&self) -> &str {
        &self.name
    }

    fn check(&self, problems: &mut Vec<String>) {
        match &self.input_schema {
            Value::Null => problems.push("`inputSchema` is missing".to_owned()),
            schema => {
                if let Some(problem) = schema_problem(schema, true) {
                    problems.push(format!("`inputSchema` is invalid: {problem}"));
                }
                mirror::find(schema, problems);
            }
        }
        if let Some(problem) = self.output_schema.as_ref().and_then(|schema| schema_problem(schema, false)) {
            problems.push(format!("`outputSchema` is invalid: {problem}"));
        }
    }
}

impl Definition for Resource {
    const METHOD: &'static str = method::RESOURCES_LIST;
    const LIST: &'static str = "resources";
    const KEY: &'static str = "uri";

    fn key(&self) -> &str {
        &self.uri
    }
}

impl Definition for ResourceTemplate {
    const METHOD: &'static str = method::TEMPLATES_LIST;
    const LIST: &'static str = "resourceTemplates";
    const KEY: &'static str = "uriTemplate";

    fn key(&self) -> &str {
        &self.uri_template
    }
}

impl Definition for Prompt {
    const METHOD: &'static str = method::PROMPTS_LIST;
    const LIST: &'static str = "prompts";
    const KEY: &'static str = "name";

    fn key(&self) -> &str {
        &self.name
    }
}

impl Client {
    /// The tools there are, from all pages; those that are invalid are marked with the reason.
    ///
    /// On HTTP, tools that want arguments in headers that cannot be there are left out, as MCP demands; that is told among
    /// the problems of the last one.
    ///
    /// From here on, what a tool returns is held against its output schema.
    ///
    /// # Errors
    /// If the server does not list them.
    pub async fn tools(&self) -> Result<Vec<Listed<ToolDefinition>>, ClientError> {
        // Whatever changes from here on, this list may not have.
        self.session().take_tools_changed();
        let mut tools = self.list_all::<ToolDefinition>().await?;
        if self.mirrors() {
            self.mirror(&mut tools);
        }
        let outputs = tools.iter().filter_map(|tool| {
            let schema = tool.item.output_schema.as_ref()?;
            Some((tool.item.name.clone(), schema::compile(schema).ok().map(Arc::new)?))
        });
        self.set_outputs(outputs.collect());
        Ok(tools)
    }

    /// Notes which arguments are mirrored in headers. A tool for which that cannot be done must not be called, and is
    /// left out; the reason is told with the tool before it.
    fn mirror(&self, tools: &mut Vec<Listed<ToolDefinition>>) {
        let mut mirrored = HashMap::new();
        let mut left_out = Vec::new();
        tools.retain(|tool| match mirror::annotations(&tool.item.input_schema) {
            Ok(annotations) => {
                if !annotations.is_empty() {
                    mirrored.insert(tool.item.name.clone(), annotations.into());
                }
                true
            }
            Err(problem) => {
                let name = excerpt(&tool.item.name);
                left_out
                    .push(format!("the tool {name} was left out: on HTTP it cannot be called, {problem}"));
                false
            }
        });
        for problem in left_out {
            tracing::warn!("{problem}");
            if let Some(last) = tools.last_mut() {
                last.problems.push(problem);
            }
        }
        self.session().set_mirrored(mirrored);
    }

    /// The resources there are, from all pages.
    ///
    /// # Errors
    /// If the server does not list them.
    pub async fn resources(&self) -> Result<Vec<Listed<Resource>>, ClientError> {
        self.list_all().await
    }

    /// The templates of resources there are, from all pages.
    ///
    /// # Errors
    /// If the server does not list them.
    pub async fn resource_templates(&self) -> Result<Vec<Listed<ResourceTemplate>>, ClientError> {
        self.list_all().await
    }

    /// The prompts there are, from all pages.
    ///
    /// # Errors
    /// If the server does not list them.
    pub async fn prompts(&self) -> Result<Vec<Listed<Prompt>>, ClientError> {
        self.list_all().await
    }

    async fn list_all<T: Definition>(&self) -> Result<Vec<Listed<T>>, ClientError> {
        self.list(T::METHOD, Map::new()).await
    }

    /// All pages of a list, within the time of one call. `of` is what the list is of, if there are several.
    ///
    /// A server may refuse a cursor that it gave, because the list has changed or because another replica answers. Then
    /// the list is read from its beginning again.
    pub(super) async fn list<T: Definition>(
        &self,
        method: &str,
        of: Map<String, Value>,
    ) -> Result<Vec<Listed<T>>, ClientError> {
        let last = Instant::now() + self.timing().longest;
        let mut restarts = 0;
        loop {
            match self.list_from_start(method, &of, last).await {
                Err((error, Cursor::Refused)) if restarts < MOST_RESTARTS => {
                    restarts += 1;
                    tracing::info!("the list is read again from its beginning: {error}");
                }
                Err((error, _)) => return Err(error),
                Ok(listed) => return Ok(listed),
            }
        }
    }

    async fn list_from_start<T: Definition>(
        &self,
        method: &str,
        of: &Map<String, Value>,
        last: Instant,
    ) -> Result<Vec<Listed<T>>, (ClientError, Cursor)> {
        let mut listed: Vec<Listed<T>> = Vec::new();
        let mut names = HashSet::new();
        let mut bytes = 0;
        let mut cursor: Option<String> = None;
        for page in 1.. {
            let doing = || match page {
                1 => format!("listing {}", T::LIST),
                page => format!("listing {} (page {page})", T::LIST),
            };
            let mut params: Params = of.clone().into_iter().collect();
            if let Some(cursor) = cursor.take() {
                params.push("cursor", cursor.into());
            }
            let raw = self.ask(method, params, self.timing(), last, None).await.map_err(|trouble| {
                let refused = matches!(&trouble.kind, ErrorKind::Rpc(error) if error.code == INVALID_PARAMS);
                let cursor = if page > 1 && refused { Cursor::Refused } else { Cursor::Fine };
                (self.session().error(doing(), trouble), cursor)
            })?;
            bytes += raw.get().len();
            let broken = |problem: String| {
                let trouble = Trouble::broken(problem, raw.get().as_bytes());
                (self.session().error(doing(), trouble), Cursor::Fine)
            };
            let mut result: HashMap<String, RawJson> =
                serde_json::from_str(raw.get()).map_err(|error| broken(format!("no list: {error}")))?;
            let members = result.remove(T::LIST).and_then(|list| list.parse::<Vec<RawJson>>().ok());
            let Some(members) = members else {
                return Err(broken(format!("the result has no array `{}`", T::LIST)));
            };
            for raw in members {
                let member = read_member(raw, &mut names);
                listed.push(member);
            }
            // A cursor may come again: what it means is the server's affair, and the number of pages is bounded.
            let next = result.remove("nextCursor").unwrap_or_else(|| Value::Null.into());
            let problem = match next.rounded() {
                Value::Null => return Ok(listed),
                Value::String(_)
                    if page >= MOST_PAGES || listed.len() >= MOST_MEMBERS || bytes >= MOST_BYTES =>
                {
                    let members = listed.len();
                    format!("the list is too long: it was read up to page {page}, {members} members")
                }
                Value::String(next) => {
                    cursor = Some(next);
                    continue;
                }
                _ => {
                    let next = shortened(next.get());
                    format!("the list may go on: `nextCursor` is {next} and no string")
                }
            };
            return self.end_list(listed, problem).map_err(broken);
        }
        Ok(listed)
    }

    /// What is wrong with a list as a whole is said with its last member.
    #[expect(clippy::unused_self, reason = "reads as the end of `list`")]
    fn end_list<T>(&self, mut listed: Vec<Listed<T>>, problem: String) -> Result<Vec<Listed<T>>, String> {
        tracing::warn!("{problem}");
        match listed.last_mut() {
            Some(last) => last.problems.push(problem),
            None => return Err(problem),
        }
        Ok(listed)
    }
}

fn read_member<T: Definition>(raw: RawJson, names: &mut HashSet<String>) -> Listed<T> {
    let mut problems = Vec::new();
    let value: Value = match raw.parse() {
        Ok(value) => value,
        Err(error) => {
            return Listed { item: T::default(), raw, problems: vec![error.to_string()] };
        }
    };
    let item: T = salvage(&value, &mut problems);
    if value.is_object() {
        let name = item.key();
        if name.is_empty() && problems.is_empty() {
            problems.push(format!("`{}` is empty", T::KEY));
        } else if !name.is_empty() && !names.insert(name.to_owned()) {
            problems.push(format!("the {} {} occurs more than once", T::KEY, excerpt(name)));
        }
        item.check(&mut problems);
    }
    Listed { item, raw, problems }
}

/// Reads what can be read: a member that makes no sense is left out, with the reason.
pub(super) fn salvage<T>(raw: &Value, problems: &mut Vec<String>) -> T
where
    T: DeserializeOwned + Serialize + Default,
{
    let error = match serde_json::from_value(raw.clone()) {
        Ok(item) => return item,
        Err(error) => error,
    };
    let mut item = T::default();
    let Value::Object(members) = raw else {
        problems.push(error.to_string());
        return item;
    };
    let Ok(Value::Object(mut sound)) = serde_json::to_value(&item) else { return item };
    let before = problems.len();
    for (name, value) in members {
        let replaced = sound.insert(name.clone(), value.clone());
        match serde_json::from_value(Value::Object(sound.clone())) {
            Ok(read) => item = read,
            Err(error) => {
                problems.push(format!("`{name}` makes no sense: {error}"));
                match replaced {
                    Some(value) => drop(sound.insert(name.clone(), value)),
                    None => drop(sound.remove(name)),
                }
            }
        }
    }
    if problems.len() == before {
        problems.push(error.to_string());
    }
    item
}

/// Why a schema is none. That of arguments must be an object's.
fn schema_problem(schema: &Value, of_arguments: bool) -> Option<String> {
    if of_arguments && schema.is_object() && schema.get("type") != Some(&Value::from("object")) {
        let got = schema.get("type").map_or("nothing".to_owned(), Value::to_string);
        return Some(format!("its `type` must be \"object\", got {got}"));
    }
    let compiled: Result<Validator, String> = schema::compile(schema);
    compiled.err()
}
