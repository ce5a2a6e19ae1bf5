//! What MCP costs when nothing but the JSON is done: one parse into borrowed types, one answer. No schemas, no
//! cancellation, no concurrency, no limits.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::{json, value::RawValue};

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    params: Params<'a>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    protocol_version: Option<&'a str>,
    #[serde(rename = "_meta")]
    meta: Option<IgnoredAny>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    arguments: Option<Arguments<'a>>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Serialize)]
struct Reply<'a, R> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: R,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallResult<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    content: [Text<'a>; 1],
}

#[derive(Serialize)]
struct Text<'a> {
    r#type: &'static str,
    text: &'a str,
}

/// Appends the answer to a line, if it needs one.
///
/// # Errors
/// When the line is not a JSON-RPC request or notification.
pub fn answer(line: &[u8], replies: &mut Vec<u8>) -> serde_json::Result<()> {
    let Message { id: Some(id), method, params } = serde_json::from_slice(line)? else {
        return Ok(()); // a notification
    };
    match (&*method, &params) {
        ("tools/call", Params { name: Some(name), arguments: Some(Arguments { text }), meta, .. })
            if name == "echo" =>
        {
            let result_type = meta.is_some().then_some("complete");
            reply(replies, id, CallResult { result_type, content: [Text { r#type: "text", text }] })
        }
        ("initialize", _) => {
            let info = json!({"name": "floor", "version": "0"});
            let version = params.protocol_version;
            reply(
                replies,
                id,
                json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}),
            )
        }
        ("server/discover", _) => {
            let result = json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                "ttlMs": 0, "cacheScope": "public",
            });
            reply(replies, id, result)
        }
        _ => reply(replies, id, json!({"isError": true, "content": []})),
    }
}

fn reply(replies: &mut Vec<u8>, id: &RawValue, result: impl Serialize) -> serde_json::Result<()> {
    serde_json::to_writer(&mut *replies, &Reply { jsonrpc: "2.0", id, result })?;
    replies.push(b'\n');
    Ok(())
}
