//! What a tool gives back, and how it fails.

use papertape::protocol::Content;
use papertape::server::Tool;
use papertape::{Cx, Json, Server, ToolError};
use serde_json::{Value, json};

use super::{Nothing, check_call, nothing};

#[test]
fn a_tool_fails_in_three_ways() {
    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] std::num::ParseIntError);

    let server = || {
        Server::new("failing", "1")
            .tool("failed", async |_: Nothing, _: Cx| Err::<(), _>(ToolError::failed("no such verb")))
            .tool("refused", async |_: Nothing, _: Cx| Err::<(), _>(ToolError::refused("not today")))
            .tool("internal", async |_: Nothing, _: Cx| {
                Err::<(), _>(ToolError::internal("the password is swordfish"))
            })
            .tool("thrown", async |_: Nothing, _: Cx| Ok("x".parse::<u8>()?.to_string()))
            .tool("caused", async |_: Nothing, _: Cx| {
                "x".parse::<u8>().map_err(Outer)?;
                Ok(())
            })
            .tool("later", async |_: Nothing, _: Cx| {
                tokio::task::yield_now().await;
                Err::<(), _>(ToolError::internal("the password is swordfish"))
            })
    };
    check_call(server, "failed", "F(7)", "no such verb", "");
    check_call(server, "refused", "E(-32602,7)", "not today", "");
    check_call(server, "internal", "E(-32603,7)", "internal error", "swordfish");
    check_call(server, "later", "E(-32603,7)", "internal error", "swordfish");
    check_call(server, "thrown", "F(7)", "invalid digit", "");
    check_call(server, "caused", "F(7)", "outer: invalid digit", "");
}

#[test]
fn a_result_that_breaks_its_own_schema_is_the_servers_fault() {
    let schema =
        || json!({"type": "object", "required": ["truth"], "properties": {"truth": {"type": "boolean"}}});
    let tool = |name: &str| Tool::new(name).input_schema(json!({"type": "object"})).output_schema(schema());
    let server = || {
        Server::new("liars", "1")
            .raw_tool(tool("missing"), async |_: Value, _: Cx| Ok(Json(json!({}))))
            .raw_tool(tool("wrong"), async |_: Value, _: Cx| Ok(Json(json!({"truth": "yes"}))))
            .raw_tool(tool("absent"), async |_: Value, _: Cx| Ok("the truth"))
            .raw_tool(tool("good"), async |_: Value, _: Cx| Ok(Json(json!({"truth": true}))))
            .raw_tool(tool("sorry"), async |_: Value, _: Cx| Err::<(), _>(ToolError::failed("I do not know")))
    };
    for name in ["missing", "wrong", "absent"] {
        check_call(server, name, "E(-32603,7)", name, "");
    }
    check_call(server, "good", "R(7)", "truth", "");
    // What a failure looks like, no schema says.
    check_call(server, "sorry", "F(7)", "I do not know", "");
}

#[test]
fn a_tool_returns_nothing_or_a_block_or_many() {
    let server = || {
        Server::new("outputs", "1")
            .tool("none", nothing)
            .tool("one", async |_: Nothing, _: Cx| Ok(Content::text("x")))
            .tool("static", async |_: Nothing, _: Cx| Ok("x"))
            .tool("no_blocks", async |_: Nothing, _: Cx| Ok(Vec::<Content>::new()))
            .tool("unit", async |(): (), _: Cx| Ok("x"))
    };
    check_call(server, "none", "R(7)", r#""content":[]"#, "structuredContent");
    check_call(server, "no_blocks", "R(7)", r#""content":[]"#, "");
    for name in ["one", "static", "unit"] {
        check_call(server, name, "R(7)", r#""content":[{"type":"text","text":"x"}]"#, "");
    }
}
