//! An MCP server without a library for the protocol: docs/mcp-by-hand.md builds it step by step.

#![expect(clippy::indexing_slicing, reason = "a missing member of a JSON value reads as null")]

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

/// Reads a line, writes the response if there is one, until the input ends.
fn main() -> io::Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut session = false;
    let mut frame = Vec::new();
    while input.read_until(b'\n', &mut frame)? > 0 && frame.ends_with(b"\n") {
        if let Some(response) = respond(frame.trim_ascii(), &mut session) {
            writeln!(output, "{response}")?;
            output.flush()?;
        }
        frame.clear();
    }
    log("end of input");
    Ok(())
}

/// The response to a frame: a result or an error, with the id of the request.
fn respond(frame: &[u8], session: &mut bool) -> Option<Value> {
    let mut response = json!({"jsonrpc": "2.0"});
    let outcome = match serde_json::from_slice::<Value>(frame) {
        _ if frame.is_empty() => return None,
        Err(why) => Err(error(-32700, format!("not JSON: {why}"))),
        Ok(message) => {
            if is_id(&message["id"]) {
                response["id"] = message["id"].clone();
            }
            serve(&message, session)?
        }
    };
    match outcome {
        Ok(result) => response["result"] = result,
        Err(error) => response["error"] = error,
    }
    Some(response)
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

fn error(code: i32, message: impl Into<String>) -> Value {
    json!({"code": code, "message": message.into()})
}

/// Tells requests from notifications, responses and invalid messages. Only requests and invalid messages have an outcome.
fn serve(message: &Value, session: &mut bool) -> Option<Result<Value, Value>> {
    let has = |member| message.get(member).is_some();
    if message["jsonrpc"] != "2.0" {
        return Some(Err(error(-32600, r#"a message is an object with "jsonrpc": "2.0""#)));
    }
    if has("id") && has("method") && !is_id(&message["id"]) {
        return Some(Err(error(-32600, r#""id" must be a string or an integer"#)));
    }
    match message["method"].as_str() {
        Some(method) if has("id") => Some(dispatch(method, &message["params"], session)),
        Some(_notification) => None,
        None if has("result") || has("error") => None,
        None => Some(Err(error(-32600, r#""method" must be a string"#))),
    }
}

const SESSION_BASED: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";

/// Whether a request is stateless: then `params._meta` has its revision and the client's capabilities.
fn is_stateless(params: &Value) -> Result<bool, Value> {
    let meta = &params["_meta"];
    let has_capabilities = meta["io.modelcontextprotocol/clientCapabilities"].is_object();
    match &meta["io.modelcontextprotocol/protocolVersion"] {
        Value::Null => Ok(false),
        Value::String(revision) if has_capabilities && revision == STATELESS => Ok(true),
        Value::String(revision) if has_capabilities => Err(json!({
            "code": -32022,
            "message": format!("revision {revision} is not supported"),
            "data": {"supported": [STATELESS, SESSION_BASED], "requested": revision},
        })),
        _ => Err(error(-32602, r#""_meta" needs a revision and the client's capabilities"#)),
    }
}

fn object_or_absent(name: &str, value: &Value) -> Result<(), Value> {
    let valid = value.is_object() || value.is_null();
    if valid { Ok(()) } else { Err(error(-32602, format!("{name:?} must be an object"))) }
}

/// The result of a request, or its error.
fn dispatch(method: &str, params: &Value, session: &mut bool) -> Result<Value, Value> {
    object_or_absent("params", params)?;
    let stateless = is_stateless(params)?;
    let server = json!({"name": "by-hand", "version": "1.0.0"});
    let mut result = match method {
        "initialize" if !stateless => {
            *session = true;
            json!({"protocolVersion": SESSION_BASED, "capabilities": {"tools": {}}, "serverInfo": server})
        }
        "ping" if !stateless => json!({}),
        "server/discover" if stateless => {
            json!({"supportedVersions": [STATELESS, SESSION_BASED], "capabilities": {"tools": {}}})
        }
        _ if !stateless && !*session => return Err(error(-32602, "send initialize first")),
        "tools/list" => json!({"tools": [definition()]}),
        "tools/call" => call(params)?,
        _ => return Err(error(-32601, format!("unknown method {method:?}"))),
    };
    if stateless {
        result["resultType"] = json!("complete");
        result["_meta"] = json!({"io.modelcontextprotocol/serverInfo": server});
        if method != "tools/call" {
            result["ttlMs"] = json!(0);
            result["cacheScope"] = json!("private");
        }
    }
    Ok(result)
}

/// What a model reads to decide whether and how to call the tool.
fn definition() -> Value {
    json!({
        "name": "past_tense",
        "description": "The past tense of an irregular English verb.",
        "inputSchema": {
            "type": "object",
            "properties": {"verb": {"type": "string", "description": "The infinitive, such as eat."}},
            "required": ["verb"],
        },
    })
}

/// Calls the tool. A call that cannot be made is an error; a tool that fails has a result that says so.
fn call(params: &Value) -> Result<Value, Value> {
    if params["name"] != "past_tense" {
        return Err(error(-32602, format!("unknown tool {}", params["name"])));
    }
    object_or_absent("arguments", &params["arguments"])?;
    let (text, is_error) = match past_tense(&params["arguments"]) {
        Ok(text) => (text.to_owned(), false),
        Err(why) => (why, true),
    };
    Ok(json!({"content": [{"type": "text", "text": text}], "isError": is_error}))
}

/// The tool.
fn past_tense(arguments: &Value) -> Result<&'static str, String> {
    let verb = arguments["verb"].as_str().ok_or(r#""verb" must be a string"#)?;
    log(&format!("past tense of {verb:?}"));
    match verb {
        "eat" => Ok("ate"),
        "go" => Ok("went"),
        "write" => Ok("wrote"),
        _ => Err(format!("{verb:?} is not in the table: try eat, go or write")),
    }
}

#[expect(clippy::print_stderr, reason = "logs go to stderr: stdout is for frames only")]
fn log(text: &str) {
    eprintln!("by_hand: {text}");
}
