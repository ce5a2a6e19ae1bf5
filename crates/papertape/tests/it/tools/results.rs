//! What a tool gives back, and how it fails.

use papertape::protocol::Content;
use papertape::server::{Tool, ToolErrorKind};
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
fn the_question_mark_converts_errors_of_libraries() {
    fn anyhow() -> anyhow::Result<()> {
        anyhow::Context::context("x".parse::<u8>().map(drop), "the line 3")
    }
    fn boxed() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Err("a box".into())
    }
    let server = || {
        Server::new("failing", "1")
            .tool("anyhow", async |_: Nothing, _: Cx| Ok(anyhow()?))
            .tool("boxed", async |_: Nothing, _: Cx| Ok(boxed()?))
            .tool("string", async |_: Nothing, _: Cx| Ok(Err::<(), _>("a string".to_owned())?))
            .tool("str", async |_: Nothing, _: Cx| Ok(None::<String>.ok_or("a str")?))
            .tool("io", async |_: Nothing, _: Cx| Ok(std::fs::read_to_string("/no/such/file")?))
    };
    check_call(server, "anyhow", "F(7)", "the line 3: invalid digit", "");
    check_call(server, "boxed", "F(7)", "a box", "");
    check_call(server, "string", "F(7)", "a string", "");
    check_call(server, "str", "F(7)", "a str", "");
    check_call(server, "io", "F(7)", "No such file", "");
}

#[test]
fn an_rpc_error_reaches_the_client_as_it_is() {
    let server = || {
        Server::new("failing", "1").tool("quota", async |_: Nothing, _: Cx| {
            Err::<(), _>(ToolError::rpc(1001, "the quota is used up", json!({"retryAfterSeconds": 60})))
        })
    };
    check_call(server, "quota", "E(1001,7)", "the quota is used up", "");
    check_call(server, "quota", "E(1001,7)", "retryAfterSeconds", "");
}

#[test]
fn a_tool_error_has_a_message_and_a_kind() {
    for (error, kind, message) in [
        (ToolError::failed("a"), ToolErrorKind::Failed, "a"),
        (ToolError::refused("b"), ToolErrorKind::Refused, "b"),
        (ToolError::rpc(1001, "c", None), ToolErrorKind::Rpc, "c"),
        (ToolError::internal("d"), ToolErrorKind::Internal, "d"),
        (ToolError::from("e"), ToolErrorKind::Failed, "e"),
    ] {
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, message), "{error:?}");
    }
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
