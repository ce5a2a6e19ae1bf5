//! Invalid and very long lists of tools. C-27, M-18, S-53.

use std::io;

use serde_json::{Value, json};

use crate::faulty::Mode;
use crate::faulty::message::{Message, with, without};
use crate::faulty::server::{Server, tool, usual_tools};

pub(crate) const MODES: &[Mode] = &[
    Mode::new(
        "C-27",
        "many-tools [COUNT=10000] [PAGE=100]",
        "so many tools, on pages of that size",
        |server| {
            let (count, page) = (server.argument(0, 10_000), server.argument(1, 100));
            at_list(server, |server, message| {
                let first: usize =
                    message.params()["cursor"].as_str().and_then(|c| c.parse().ok()).unwrap_or(0);
                let next = (first + page).min(count);
                let tools: Vec<Value> =
                    (first..next).map(|number| tool(&format!("tool_{number:05}"))).collect();
                let list = json!({"tools": tools});
                server.answer(
                    message,
                    if next < count { with(list, "nextCursor", next.to_string()) } else { list },
                )
            })
        },
    ),
    Mode::new(
        "",
        "declares-more",
        "declares resources and prompts, and does not know their methods",
        |server| {
            server.capabilities = json!({"tools": {}, "resources": {}, "prompts": {}});
            server.serve(Server::usual)
        },
    ),
    Mode::new("C-27", "duplicate-names", "three tools with one name and different descriptions", |server| {
        server.tools = ["first", "second", "third"].map(|it| with(tool("same"), "description", it)).to_vec();
        server.serve(Server::usual)
    }),
    Mode::new(
        "C-27 S-53",
        "odd-tools [NAME=all] [URL=http://127.0.0.1:1/]",
        "has all odd tools, or one of them, before the usual ones; the URL is that of a remote $ref",
        |server| {
            let (name, url) =
                (server.argument(0, "all".to_owned()), server.argument(1, "http://127.0.0.1:1/".to_owned()));
            let mut tools = odd_tools(&url);
            tools.retain(|(odd, _)| name == *odd || name == "all" && *odd != TOO_DEEP);
            let tools: Vec<Value> = tools.into_iter().map(|(_, tool)| tool).chain(usual_tools()).collect();
            at_list(server, |server, message| server.answer(message, json!({"tools": tools})))
        },
    ),
    Mode::new(
        "M-18",
        "cursor [KIND=loop]",
        "one tool per page, and a cursor: `loop` the same forever, `fresh` another forever, `huge` 1 MB once, \
         `same` the same for three pages, `empty` \"\" once, `null`, a `number`, one that is `refused`, or one that is \
         `stale` the first [COUNT=1] times",
        cursor,
    ),
    Mode::new(
        "C-27",
        "odd-list [KIND=missing]",
        "the member `tools` is `missing`, `null` or an `object`",
        |server| {
            at_list(server, |server, message| {
                let result = match server.argument(0, String::new()).as_str() {
                    "null" => json!({"tools": null}),
                    "object" => json!({"tools": {"echo": tool("echo")}}),
                    _ => json!({}),
                };
                server.answer(message, result)
            })
        },
    ),
    Mode::new(
        "",
        "list-asks",
        "responds to tools/list with input_required, which is for calls only",
        |server| {
            at_list(server, |server, message| {
                server.answer(message, json!({"resultType": "input_required", "requestState": "once more"}))
            })
        },
    ),
    Mode::new("C-15", "list-silent", "never responds to tools/list", |server| at_list(server, |_, _| Ok(()))),
];

/// Serves as usual, but for `tools/list`.
fn at_list(
    server: &mut Server,
    mut answer: impl FnMut(&mut Server, &Message) -> io::Result<()>,
) -> io::Result<()> {
    server.serve(|server, message| match message.method() {
        "tools/list" => answer(server, message),
        _ => server.usual(message),
    })
}

/// Spoils the whole list for a client that limits the depth of a message: it comes only alone.
const TOO_DEEP: &str = "schema_too_deep";

/// Tools with what is odd about them.
fn odd_tools(url: &str) -> Vec<(&'static str, Value)> {
    let schema = |name, schema: Value| (name, with(tool(name), "inputSchema", schema));
    let property =
        |name, property: Value| schema(name, json!({"type": "object", "properties": {"p": property}}));
    let deep = |levels| {
        let nest = |inner, _| json!({"type": "object", "properties": {"p": inner}});
        (0..levels).fold(json!({"type": "string"}), nest)
    };
    vec![
        ("schema_missing", without(tool("schema_missing"), "inputSchema")),
        schema("schema_null", Value::Null),
        schema("schema_text", json!("object")),
        schema("schema_array", json!([])),
        schema("schema_true", json!(true)),
        schema("schema_objekt", json!({"type": "objekt"})),
        schema("schema_of_a_string", json!({"type": "string"})),
        schema("schema_untyped", json!({"properties": {}})),
        schema("schema_bad_required", json!({"type": "object", "required": "text"})),
        schema("schema_unknown_dialect", json!({"$schema": "https://example.com/mine", "type": "object"})),
        property("ref_remote", json!({"$ref": url})),
        property("ref_missing", json!({"$ref": "#/$defs/nowhere"})),
        schema(
            "ref_loop",
            json!({"type": "object", "$ref": "#/$defs/a",
            "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        ),
        schema("schema_deep", deep(50)),
        schema(TOO_DEEP, deep(500)),
        property("header_bad", json!({"type": "string", "x-mcp-header": "Bad Header\r\n"})),
        property("header_empty", json!({"type": "string", "x-mcp-header": ""})),
        property("header_of_an_object", json!({"type": "object", "x-mcp-header": "Region"})),
        schema(
            "header_twice",
            json!({"type": "object", "properties": {
            "a": {"type": "string", "x-mcp-header": "Region"}, "b": {"type": "string", "x-mcp-header": "region"}}}),
        ),
        ("output_schema_text", with(tool("output_schema_text"), "outputSchema", "object")),
        ("name_missing", without(tool("name_missing"), "name")),
        ("name_number", with(tool("name_number"), "name", 5)),
        ("name_empty", with(tool("name_empty"), "name", "")),
        ("name_strange", with(tool("name_strange"), "name", "smörgås bord/\u{1b}[31m\n")),
        ("name_long", with(tool("name_long"), "name", "n".repeat(10_000))),
        ("title_number", with(tool("title_number"), "title", 5)),
        ("description_object", with(tool("description_object"), "description", json!({}))),
        ("annotations_text", with(tool("annotations_text"), "annotations", "readOnly")),
        ("tool_null", Value::Null),
        ("tool_text", json!("echo")),
        ("members_unknown", with(tool("members_unknown"), "x-vendor", json!({"kept": true}))),
    ]
}

fn cursor(server: &mut Server) -> io::Result<()> {
    let kind = server.argument(0, "loop".to_owned());
    let mut stale = server.argument(1, 1);
    let mut page = 0;
    at_list(server, |server, message| {
        let given = message.params()["cursor"].as_str();
        page = if given.is_none() { 1 } else { page + 1 };
        let list = json!({"tools": [tool(&format!("page_{page}"))]});
        let next = match (kind.as_str(), page) {
            ("loop", _) => json!("again"),
            ("fresh", _) => json!(format!("page {page}")),
            ("null", _) => Value::Null,
            ("number", _) => json!(2),
            ("huge", 1) => json!("c".repeat(1_000_000)),
            ("empty", 1) => json!(""),
            ("same", 1 | 2) => json!("again"),
            ("refused" | "stale", 1) => json!("expired"),
            ("stale", _) if stale > 0 => {
                stale -= 1;
                return server.refuse(message, -32602, "the list has changed", Value::Null);
            }
            ("refused", _) => return server.refuse(message, -32602, "the cursor has expired", Value::Null),
            ("huge", _) if given.is_none_or(|cursor| cursor.len() != 1_000_000) => {
                return server.refuse(message, -32602, "that was not the cursor", Value::Null);
            }
            _ => return server.answer(message, list),
        };
        server.answer(message, with(list, "nextCursor", next))
    })
}
