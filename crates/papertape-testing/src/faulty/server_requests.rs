//! Servers that send requests or input requests to the client during a call: correct, invalid, or endless.

use std::collections::{HashMap, HashSet};
use std::io::{self, ErrorKind};

use serde_json::{Map, Value, json};

use crate::faulty::Mode;
use crate::faulty::message::{META_CAPABILITIES, Message, notification, text, with, without};
use crate::faulty::server::{Revisions, Server, tool};

pub(crate) const MODES: &[Mode] = &[
    Mode::new(
        "",
        "books",
        "the tool `book` asks for a `seat` (a form), then at once for `who` (sampling) and `where` (roots), \
         if the client can; it tells what came back, and what was wrong with it",
        books,
    ),
    Mode::new(
        "",
        "state-only [ROUNDS=1]",
        "modern: `fault` is to be sent again, with a state but no input requests; then it is an echo",
        |server| {
            let rounds = server.argument(0, 1);
            server.at_fault(|server, message| {
                let state = |round: usize| format!("{round} {}", message.text());
                let given = message.params()["requestState"].as_str();
                let round = given.map_or(Some(0), |given| (1..=rounds).find(|round| state(*round) == given));
                match round {
                    Some(round) if round < rounds => {
                        let state = state(round + 1);
                        server.answer(message, json!({"resultType": "input_required", "requestState": state}))
                    }
                    Some(_) => server.say(message, message.text()),
                    None => server.refuse(message, -32602, "that was not the state", Value::Null),
                }
            })
        },
    ),
    Mode::new(
        "M-16",
        "asks-forever [form|state]",
        "modern: `fault` needs more input each time it is sent",
        |server| {
            let mut round = 0;
            server.at_fault(|server, message| {
                round += 1;
                let mut result =
                    json!({"resultType": "input_required", "requestState": format!("round {round}")});
                if !server.has("state") {
                    result["inputRequests"] =
                        json!({"again": {"method": "elicitation/create", "params": form()}});
                }
                server.answer(message, result)
            })
        },
    ),
    Mode::new(
        "",
        "asks-oddly [KIND=nothing]",
        "modern: `fault` needs more input: `nothing`, `null`s, an `unknown` method, an `array` of questions, \
         a `number` as state; what comes then is its result",
        |server| {
            let odd = match server.argument(0, String::new()).as_str() {
                "null" => json!({"inputRequests": null, "requestState": null}),
                "unknown" => json!({"inputRequests": {"x": {"method": "files/delete", "params": {}}}}),
                "array" => json!({"inputRequests": [{"method": "elicitation/create", "params": form()}]}),
                "number" => json!({"requestState": 5}),
                _ => json!({}),
            };
            let mut asked = false;
            server.at_fault(|server, message| {
                if std::mem::replace(&mut asked, true) {
                    return server.say(message, message.params().to_string());
                }
                let mut result = odd.clone();
                result["resultType"] = json!("input_required");
                server.answer(message, result)
            })
        },
    ),
    Mode::new(
        "",
        "asks METHOD [PARAMS={}] [ID=\"ask-1\"]",
        "`fault` sends this request and tells the answer; in modern it may not ask, does not wait, \
         and any answer is odd",
        |server| {
            let (method, params) = (server.argument(0, "ping".to_owned()), server.argument(1, json!({})));
            let id: Value = server.argument(2, json!("ask-1"));
            server.at_fault(|server, message| {
                if message.modern {
                    server.send(&request(&id, &method, &params))?;
                    return server.say(message, "asked");
                }
                let answer = ask(server, &[(id.clone(), &method, params.clone())])?;
                server.say(message, json!(answer).to_string())
            })
        },
    ),
    Mode::new(
        "",
        "asks-early [METHOD=ping]",
        "legacy: sends a request before it responds to initialize; see `was_answered`",
        |server| {
            let method = server.argument(0, "ping".to_owned());
            server.revisions = Revisions::SessionBased;
            server.serve(|server, message| {
                if message.method() == "initialize" {
                    server.judge.asked.insert(json!("early"));
                    server.send(&request(&json!("early"), &method, &json!({})))?;
                }
                server.usual(message)
            })
        },
    ),
    Mode::new(
        "",
        "asks-and-cancels",
        "legacy: `fault` sends a form, cancels it, and responds; a response to it is not odd",
        |server| {
            server.at_fault(|server, message| {
                let id = json!("changed my mind");
                server.judge.asked.insert(id.clone());
                server.send(&request(&id, "elicitation/create", &form()))?;
                server.send(&notification("notifications/cancelled", &json!({"requestId": id})))?;
                server.say(message, "never mind")
            })
        },
    ),
    Mode::new(
        "",
        "asks-flood [COUNT=10000]",
        "legacy: `fault` sends so many pings before it reads again, waits for all responses, and returns their number",
        |server| {
            server.at_fault(|server, message| {
                let pings: Vec<_> =
                    (0..server.argument(0, 10_000)).map(|id| (json!(id), "ping", json!({}))).collect();
                let answers = ask(server, &pings)?;
                server.say(message, answers.len().to_string())
            })
        },
    ),
];

/// States that a client must give back as they are.
const STATES: [&str; 2] = [" 1: \"quoted\" \\ / \u{1f512} e\u{301} \u{0}\u{7f}\u{feff}\n ", "2"];

fn form() -> Value {
    let schema = json!({"type": "object", "properties": {"seat": {"type": "string"}}, "required": ["seat"]});
    json!({"message": "Which seat?", "requestedSchema": schema})
}

fn sampling() -> Value {
    let question = json!({"role": "user", "content": {"type": "text", "text": "Who travels?"}});
    json!({"messages": [question], "maxTokens": 20})
}

fn request(id: &Value, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Sends requests, all at once, and waits for their responses while it serves as usual.
fn ask(server: &mut Server, requests: &[(Value, &str, Value)]) -> io::Result<Vec<Value>> {
    let mut open: HashSet<&Value> = HashSet::new();
    for (id, method, params) in requests {
        open.insert(id);
        server.judge.asked.insert(id.clone());
        server.send(&request(id, method, params))?;
    }
    let mut answers = HashMap::new();
    while !open.is_empty() {
        let message = server.read()?.ok_or(ErrorKind::UnexpectedEof)?;
        if message.method().is_empty() && open.remove(message.id()) {
            answers.insert(message.id().clone(), without(without(message.value, "jsonrpc"), "id"));
        } else {
            server.usual(&message)?;
        }
    }
    Ok(requests.iter().map(|(id, ..)| answers.remove(id).unwrap_or_default()).collect())
}

/// The state of a booking.
#[derive(Default)]
struct Booking {
    /// The first request, as it must be repeated.
    original: Value,
    /// What came back, by key.
    got: Map<String, Value>,
    problems: Vec<String>,
}

fn books(server: &mut Server) -> io::Result<()> {
    server.tools = vec![tool("book")];
    let mut booking = Booking::default();
    server.serve(|server, message| match (message.tool(), message.modern) {
        ("book", true) => booking.next(server, message),
        ("book", false) => book_legacy(server, message),
        _ => server.usual(message),
    })
}

impl Booking {
    /// One round of a stateless call: the client sends it again with the input responses.
    fn next(&mut self, server: &mut Server, message: &Message) -> io::Result<()> {
        let params = message.params();
        let declared = message.meta(META_CAPABILITIES);
        let round = match params["requestState"].as_str() {
            None => 0,
            Some(state) => 1 + STATES.iter().position(|known| *known == state).unwrap_or(STATES.len()),
        };
        let mut questions = Map::new();
        match round {
            0 => {
                if declared["elicitation"].is_null() {
                    let data = json!({"requiredCapabilities": {"elicitation": {}}});
                    return server.refuse(message, -32021, "this needs elicitation", data);
                }
                *self = Self { original: original(message), ..Self::default() };
                if params.get("inputResponses").is_some() || params.get("requestState").is_some() {
                    self.problems.push(format!("{params} responds to no input request"));
                }
                questions
                    .insert("seat".to_owned(), json!({"method": "elicitation/create", "params": form()}));
            }
            1 => {
                self.check(message, &["seat"]);
                if !declared["sampling"].is_null() {
                    let ask = json!({"method": "sampling/createMessage", "params": sampling()});
                    questions.insert("who".to_owned(), ask);
                }
                if !declared["roots"].is_null() {
                    questions.insert("where".to_owned(), json!({"method": "roots/list"}));
                }
                if self.got["seat"]["action"] != "accept" {
                    questions.clear();
                }
            }
            2 => {
                let keys = [("who", "sampling"), ("where", "roots")];
                let keys = keys.iter().filter(|(_, capability)| !declared[*capability].is_null());
                self.check(message, &keys.map(|(key, _)| *key).collect::<Vec<_>>());
            }
            _ => return server.refuse(message, -32602, "that was not the state", Value::Null),
        }
        let Some(state) = STATES.get(round).filter(|_| !questions.is_empty()) else {
            self.got.insert("problems".to_owned(), json!(self.problems));
            return server.say(message, Value::Object(self.got.clone()).to_string());
        };
        let result =
            json!({"resultType": "input_required", "inputRequests": questions, "requestState": state});
        server.answer(message, result)
    }

    /// Takes the responses of a round; that ids are new is for the judge to see.
    fn check(&mut self, message: &Message, keys: &[&str]) {
        let original = original(message);
        if original != self.original {
            self.problems.push(format!("{original} is not {}", self.original));
        }
        let responses = message.params()["inputResponses"].as_object().cloned().unwrap_or_default();
        if responses.len() != keys.len() || !keys.iter().all(|key| responses.contains_key(*key)) {
            self.problems.push(format!("asked for {keys:?}, got {responses:?}"));
        }
        self.got.extend(responses);
        for key in keys {
            self.got.entry(*key).or_insert(Value::Null);
        }
    }
}

/// What a retry must repeat: the tokens of progress may differ.
fn original(message: &Message) -> Value {
    let mut params = without(without(message.params().clone(), "inputResponses"), "requestState");
    let meta = params["_meta"].take();
    params["_meta"] = without(meta, "progressToken");
    params
}

/// The same in a session, with requests of the server, and a ping with the id that the client has given to the call.
fn book_legacy(server: &mut Server, message: &Message) -> io::Result<()> {
    if server.client["elicitation"].is_null() {
        return server.answer(message, with(text("this needs elicitation"), "isError", true));
    }
    let seat = ask(server, &[(json!("seat"), "elicitation/create", form())])?;
    let mut keys = vec!["seat", "ping"];
    let mut questions = vec![(message.id().clone(), "ping", json!({}))];
    if !server.client["sampling"].is_null() {
        keys.push("who");
        questions.push((json!(-7), "sampling/createMessage", sampling()));
    }
    if !server.client["roots"].is_null() {
        keys.push("where");
        questions.push((json!("where"), "roots/list", json!({})));
    }
    let answers = seat.into_iter().chain(ask(server, &questions)?);
    let outcomes = answers.map(|answer| answer.get("result").unwrap_or(&answer).clone());
    let report: Map<String, Value> = keys.into_iter().map(str::to_owned).zip(outcomes).collect();
    server.say(message, Value::Object(report).to_string())
}
