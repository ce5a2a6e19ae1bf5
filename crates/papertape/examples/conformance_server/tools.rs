//! Tools that return one kind of content each, and tools that log, send progress, fail, or change lists.

use std::time::Duration;

use papertape::protocol::{Content, LogLevel};
use papertape::server::Tool;
use papertape::{Cx, Server, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// A picture of one red point.
pub(crate) const PNG: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00,
    0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53, 0xde, 0x00,
    0x00, 0x00, 0x0c, 0x49, 0x44, 0x41, 0x54, 0x08, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0x00, 0x00, 0x03, 0x01,
    0x01, 0x00, 0x18, 0xdd, 0x8d, 0xb0, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60,
    0x82,
];

/// A sound of no length.
const WAV: &[u8] = b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00";

/// Between two messages of one call: long enough for both to be delivered.
const PAUSE: Duration = Duration::from_millis(50);

/// How long the work goes on after the client was let go, and when that should come back.
const AFTERWARDS: Duration = Duration::from_millis(100);

pub(crate) fn register(mut server: Server) -> Server {
    let (tools, prompts) = (server.tools(), server.prompts());
    server
        .tool(named("test_simple_text", "Return a text."), |(), _| async {
            Ok("This is a simple text response for testing.")
        })
        .tool(named("test_image_content", "Return a picture."), |(), _| async {
            Ok(Content::image(PNG, "image/png"))
        })
        .tool(named("test_audio_content", "Return a sound."), |(), _| async {
            Ok(Content::audio(WAV, "audio/wav"))
        })
        .tool(named("test_embedded_resource", "Return a resource."), |(), _| async {
            Ok(Content::text_resource(
                "test://embedded-resource",
                "text/plain",
                "The text of an embedded resource.",
            ))
        })
        .tool(
            named("test_multiple_content_types", "Return a text, a picture and a resource."),
            |(), _| async {
                Ok(vec![
                    Content::text("Several kinds of content:"),
                    Content::image(PNG, "image/png"),
                    Content::text_resource(
                        "test://mixed-content-resource",
                        "application/json",
                        r#"{"test":"data"}"#,
                    ),
                ])
            },
        )
        .tool(named("test_error_handling", "Fail."), |(), _| async {
            Err::<String, _>(ToolError::failed("This tool intentionally returns an error for testing"))
        })
        .tool(named("test_tool_with_logging", "Log three lines."), |(), cx| log_three_lines(cx))
        .tool(named("test_logging_tool", "Log one line, if the client wants any."), |(), cx: Cx| async move {
            cx.log(LogLevel::Info, "A line of the log");
            Ok("Logged, if that was wanted.")
        })
        .tool(named("test_tool_with_progress", "Tell progress three times."), |(), cx| tell_progress(cx))
        .tool(named("test_reconnection", "Answer when the client has come back."), |(), cx| reconnect(cx))
        .tool("test_custom_header", |args: CustomHeader, _| async move {
            Ok(format!("The value is {}", args.value))
        })
        .raw_tool(
            named("json_schema_2020_12_tool", "Take arguments whose schema uses what 2020-12 has.")
                .input_schema(newest_json_schema()),
            |arguments, _| async move { Ok(format!("Taken: {arguments}")) },
        )
        .tool(
            named("test_trigger_tool_change", "Change the list of tools, and change it back."),
            move |(), _| {
                let tools = tools.clone();
                async move {
                    let passing = named("test_passing", "Is there for a moment.");
                    tools.add(passing, |(), _: Cx| async { Ok("still there") })?;
                    Ok(format!("It was there: {}", tools.remove("test_passing")))
                }
            },
        )
        .tool(
            named("test_trigger_prompt_change", "Change the list of prompts, and change it back."),
            move |(), _| {
                let prompts = prompts.clone();
                async move {
                    prompts.add("test_passing", |(), _: Cx| async { Ok("still there".to_owned()) })?;
                    Ok(format!("It was there: {}", prompts.remove("test_passing")))
                }
            },
        )
}

/// A tool without arguments has nowhere else to be described.
pub(crate) fn named(name: &str, description: &str) -> Tool {
    Tool::new(name).description(description)
}

async fn log_three_lines(cx: Cx) -> Result<&'static str, ToolError> {
    for (pause, line) in [
        (Duration::ZERO, "Tool execution started"),
        (PAUSE, "Tool processing data"),
        (PAUSE, "Tool execution completed"),
    ] {
        tokio::time::sleep(pause).await;
        cx.log(LogLevel::Info, line);
    }
    Ok("Three lines were logged.")
}

async fn tell_progress(cx: Cx) -> Result<&'static str, ToolError> {
    for (pause, done) in [(Duration::ZERO, 0.0), (PAUSE, 50.0), (PAUSE, 100.0)] {
        tokio::time::sleep(pause).await;
        cx.progress(done, 100.0, None);
    }
    Ok("Done.")
}

async fn reconnect(cx: Cx) -> Result<&'static str, ToolError> {
    cx.close_stream(AFTERWARDS);
    tokio::time::sleep(AFTERWARDS).await;
    Ok("Reconnection test completed successfully.")
}

/// Return a value that HTTP clients also send as a header.
#[derive(Deserialize, JsonSchema)]
struct CustomHeader {
    /// Goes into the header `Mcp-Param-Value`.
    #[schemars(extend("x-mcp-header" = "Value"))]
    value: String,
}

fn newest_json_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "address",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}
