//! Checks every answer of the server and every message of the client in every golden tape against the official JSON
//! Schema of its revision.
//!
//! The schemas are not ours to ship: `./test --schemas DIR` names a directory with a `REVISION.json` for each revision.
//! Run alone: `cargo test --test schemas -- DIR`.

#![expect(clippy::print_stdout, reason = "this is a program of its own, with a result to tell")]

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use papertape::protocol::Revision;
use papertape::wire::frame::{Decoder, PieceKind};
use papertape::wire::tape::{self, Direction, Entry};
use serde_json::{Value, json};

fn main() -> ExitCode {
    let Some(folder) = env::args().nth(1) else {
        println!("which directory has the schemas? cargo test --test schemas -- DIR");
        return ExitCode::FAILURE;
    };
    let mut schemas = Schemas::read(Path::new(&folder));
    let mut wrong = Vec::new();
    let (mut count, mut exempt) = (0, 0);
    for (side, read) in [("server", answers as fn(&str, Revision) -> _), ("client", requests)] {
        let tapes = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tapes").join(side);
        for folder in fs::read_dir(tapes).unwrap() {
            let folder = folder.unwrap();
            let revision =
                Revision::parse(folder.file_name().to_str().unwrap()).expect("a directory per revision");
            for path in fs::read_dir(folder.path()).unwrap() {
                let path = path.unwrap().path();
                for (number, answer) in read(&fs::read_to_string(&path).unwrap(), revision) {
                    // Before 2025-11-25 an error must have an id, yet may not have a null one: no answer could be valid.
                    if answer.message.get("id") == Some(&Value::Null) {
                        exempt += 1;
                        continue;
                    }
                    count += 1;
                    for definition in &answer.definitions {
                        for problem in schemas.check(answer.revision, definition, &answer) {
                            wrong
                                .push(format!("{}, frame {number}: {definition}: {problem}", path.display()));
                        }
                    }
                }
            }
        }
    }
    for problem in &wrong {
        println!("{problem}");
    }
    println!(
        "{exempt} errors without a readable id are not checked: older schemas allow them no form at all"
    );
    println!("{} passed, {} failed", count - wrong.len(), wrong.len());
    if wrong.is_empty() && count > 200 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A message of the server's, and what it has to be.
struct Answer {
    message: Value,
    revision: Revision,
    /// Names of schema definitions; those for results are checked against the result alone.
    definitions: Vec<&'static str>,
}

/// The server's messages on a tape, with their frames' numbers.
fn answers(text: &str, folder: Revision) -> Vec<(u64, Answer)> {
    let mut requests: HashMap<String, (String, Revision)> = HashMap::new();
    let mut negotiated = folder;
    let mut answers = Vec::new();
    for entry in tape::read(text).unwrap() {
        let Entry::Record(record) = entry else { continue };
        let Some((direction, bytes)) = record.as_frame() else { continue };
        for message in messages(bytes) {
            if direction == Direction::ToServer {
                let Some(method) = message["method"].as_str() else { continue };
                let modern = message.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion");
                let revision = if modern.is_some() { Revision::MODERN } else { negotiated };
                // A request refused because its id is in use does not replace the one that uses it.
                requests.insert(message["id"].to_string(), (method.to_owned(), revision));
                continue;
            }
            if let Some(name) = message.pointer("/result/protocolVersion").and_then(Value::as_str) {
                negotiated = Revision::parse(name).unwrap();
            }
            let (method, revision) = match message["method"].as_str() {
                Some(method) => (method.to_owned(), negotiated),
                None => {
                    requests.get(&message["id"].to_string()).cloned().unwrap_or((String::new(), negotiated))
                }
            };
            // `initialize` is answered in the revision it leads to.
            let opens = method == "initialize" && message.get("result").is_some();
            let revision = if opens { negotiated } else { revision };
            let definitions = definitions(&message, &method, revision);
            answers.push((record.number, Answer { message, revision, definitions }));
        }
    }
    answers
}

/// The client's messages on a tape, with their frames' numbers.
fn requests(text: &str, folder: Revision) -> Vec<(u64, Answer)> {
    let mut asked: HashMap<String, String> = HashMap::new();
    let mut requests = Vec::new();
    for entry in tape::read(text).unwrap() {
        let Entry::Record(record) = entry else { continue };
        let Some((direction, bytes)) = record.as_frame() else { continue };
        for message in messages(bytes) {
            let method = message["method"].as_str().map(str::to_owned);
            if direction == Direction::ToClient {
                if let Some(method) = method {
                    asked.insert(message["id"].to_string(), method);
                }
                continue;
            }
            let modern = message.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion");
            // A handshake is written in the revision it asks for.
            let wanted = message.pointer("/params/protocolVersion").and_then(Value::as_str);
            let revision = match (modern, wanted) {
                (Some(_), _) => Revision::MODERN,
                (None, Some(wanted)) => Revision::parse(wanted).unwrap(),
                (None, None) => folder,
            };
            let definition = match method.as_deref() {
                Some("server/discover") => "DiscoverRequest",
                Some("initialize") => "InitializeRequest",
                Some("ping") => "PingRequest",
                Some("tools/list") => "ListToolsRequest",
                Some("tools/call") => "CallToolRequest",
                Some("resources/list") => "ListResourcesRequest",
                Some("resources/templates/list") => "ListResourceTemplatesRequest",
                Some("resources/read") => "ReadResourceRequest",
                Some("resources/subscribe") => "SubscribeRequest",
                Some("resources/unsubscribe") => "UnsubscribeRequest",
                Some("prompts/list") => "ListPromptsRequest",
                Some("prompts/get") => "GetPromptRequest",
                Some("completion/complete") => "CompleteRequest",
                Some("subscriptions/listen") => "SubscriptionsListenRequest",
                Some("notifications/initialized") => "InitializedNotification",
                Some("notifications/cancelled") => "CancelledNotification",
                // A method of the caller's own.
                Some("x/y") => "JSONRPCRequest",
                Some(other) => panic!("no definition for {other}"),
                None if message.get("error").is_some() && revision.omits_unreadable_id() => {
                    "JSONRPCErrorResponse"
                }
                None if message.get("error").is_some() => "JSONRPCError",
                None => match asked[&message["id"].to_string()].as_str() {
                    "ping" => "EmptyResult",
                    "roots/list" => "ListRootsResult",
                    "sampling/createMessage" => "CreateMessageResult",
                    "elicitation/create" => "ElicitResult",
                    other => panic!("no definition for an answer to {other}"),
                },
            };
            requests.push((record.number, Answer { message, revision, definitions: vec![definition] }));
        }
    }
    requests
}

fn messages(bytes: &[u8]) -> Vec<Value> {
    let mut decoder = Decoder::new(1 << 30);
    decoder.push(bytes);
    let piece = decoder.next_piece();
    let piece = if piece.is_some() { piece } else { decoder.finish() };
    let Some(PieceKind::Frame(body) | PieceKind::Unfinished(body)) = piece.map(|piece| piece.kind) else {
        return Vec::new();
    };
    match serde_json::from_slice(body) {
        Ok(Value::Array(members)) => members,
        Ok(message) => vec![message],
        Err(_) => Vec::new(),
    }
}

fn definitions(message: &Value, method: &str, revision: Revision) -> Vec<&'static str> {
    let newer = revision.omits_unreadable_id();
    if message.get("method").is_some() {
        return vec![match method {
            "notifications/progress" => "ProgressNotification",
            "notifications/tools/list_changed" => "ToolListChangedNotification",
            "notifications/prompts/list_changed" => "PromptListChangedNotification",
            "notifications/resources/list_changed" => "ResourceListChangedNotification",
            "notifications/resources/updated" => "ResourceUpdatedNotification",
            "notifications/message" => "LoggingMessageNotification",
            "notifications/cancelled" => "CancelledNotification",
            "notifications/subscriptions/acknowledged" => "SubscriptionsAcknowledgedNotification",
            // An extension without a schema.
            "notifications/tasks" => "JSONRPCNotification",
            "sampling/createMessage" => "CreateMessageRequest",
            "elicitation/create" => "ElicitRequest",
            "roots/list" => "ListRootsRequest",
            other => panic!("no definition for {other}"),
        }];
    }
    if message.get("error").is_some() {
        return vec![if newer { "JSONRPCErrorResponse" } else { "JSONRPCError" }];
    }
    let result = match method {
        "initialize" => "InitializeResult",
        "ping" => "EmptyResult",
        "tools/list" => "ListToolsResult",
        "tools/call" if message["result"]["resultType"] == "input_required" => "InputRequiredResult",
        "tools/call" if message["result"]["resultType"] == "task" => "Result",
        "tools/call" => "CallToolResult",
        "server/discover" => "DiscoverResult",
        "resources/list" => "ListResourcesResult",
        "resources/templates/list" => "ListResourceTemplatesResult",
        "resources/read" => "ReadResourceResult",
        "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel" => "EmptyResult",
        "prompts/list" => "ListPromptsResult",
        "prompts/get" => "GetPromptResult",
        "completion/complete" => "CompleteResult",
        // Extensions have no schema.
        "tasks/get" | "tasks/update" | "tasks/cancel" => "Result",
        "skills/list" | "skills/get" | "resources/directory/read" => "Result",
        "subscriptions/listen" => "SubscriptionsListenResult",
        other => panic!("no definition for the result of {other}"),
    };
    vec![if newer { "JSONRPCResultResponse" } else { "JSONRPCResponse" }, result]
}

struct Schemas {
    documents: HashMap<Revision, Value>,
    validators: HashMap<(Revision, &'static str), papertape_schema::Validator>,
}

impl Schemas {
    fn read(folder: &Path) -> Self {
        let document = |revision: Revision| {
            let path = folder.join(format!("{revision}.json"));
            let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            (revision, serde_json::from_str(&text).unwrap())
        };
        Self { documents: Revision::ALL.into_iter().map(document).collect(), validators: HashMap::new() }
    }

    fn check(&mut self, revision: Revision, definition: &'static str, answer: &Answer) -> Vec<String> {
        let validator = self.validators.entry((revision, definition)).or_insert_with(|| {
            let mut schema = self.documents[&revision].clone();
            let home = if schema.get("$defs").is_some() { "$defs" } else { "definitions" };
            assert!(schema[home].get(definition).is_some(), "{revision} has no {definition}");
            let root = schema.as_object_mut().unwrap();
            root.remove("anyOf");
            root.insert("allOf".to_owned(), json!([{"$ref": format!("#/{home}/{definition}")}]));
            papertape_schema::Validator::new(&schema, papertape_schema::Draft::Draft202012).unwrap()
        });
        let instance = match answer.message.get("result") {
            Some(result) if definition.ends_with("Result") => result,
            _ => &answer.message,
        };
        validator.errors(instance).iter().map(|error| format!("{error} at {}", error.pointer())).collect()
    }
}
